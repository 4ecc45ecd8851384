import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, BOB, ForkedChain, LEDGER, deploy, quantity, send, word } from './upstream.fixture.ts'

const WHALE = '0x000000000000000000000000000000000000beef'
const SMALL = { sponsor: false, wallet: false, bundler: false } as const

let chain: ForkedChain
let ledger: string
let forkNumber: number
let forkHash: string

beforeEach(async () => {
  chain = await ForkedChain.start()
  ledger = await deploy(chain.upstream, LEDGER)
  await send(chain.upstream, { to: ledger, data: `0x${word(1)}${word(100)}` })
  await send(chain.upstream, { to: WHALE, value: '0x64' })
  const { number, hash } = (await chain.upstream.ask('eth_getBlockByNumber', 'latest', false)) as Record<string, string>
  forkNumber = Number(number)
  forkHash = hash!
})

afterEach(() => chain[Symbol.asyncDispose]())

const valueOf = async (node: RunningNode, key: number): Promise<number> =>
  Number(await node.ask('eth_call', { to: ledger, data: `0x${word(key)}${word(0)}` }))
const stateOf = (node: RunningNode) =>
  Promise.all([
    valueOf(node, 1),
    valueOf(node, 2),
    node.ask('eth_getBalance', WHALE),
    node.ask('eth_getTransactionCount', ALICE),
    node.ask('eth_getCode', BOB),
    node.ask('eth_getCode', ledger),
  ])

async function changed(): Promise<{ fork: RunningNode; dump: string }> {
  const fork = await chain.fork()
  await send(fork, { to: ledger, data: `0x${word(1)}${word(5)}` })
  await send(fork, { to: ledger, data: `0x${word(2)}${word(7)}` })
  await fork.ask('anvil_setBalance', WHALE, '0x0')
  await fork.ask('anvil_setCode', BOB, '0x6001')
  return { fork, dump: (await fork.ask('anvil_dumpState')) as string }
}

const bytesOf = (hex: string) => Buffer.from(hex.slice(2), 'hex')
const refusal = (here: string) =>
  new RegExp(
    `fork is block ${forkNumber} \\(${forkHash}\\) of chain 31337, and ${here}; start with --fork-url and --fork-block-number ${forkNumber}`,
  )

describe('a state file of a fork', () => {
  it('holds what was changed there and the identity of the fork block', async () => {
    const { fork, dump } = await changed()
    const file = JSON.parse(gunzipSync(bytesOf(dump)).toString()) as {
      fork: object
      accounts: Record<string, { code: string; storage: Record<string, string>; balance: string }>
    }
    expect(file.fork).toEqual({ chainId: 31_337, blockNumber: forkNumber, blockHash: forkHash })
    expect(Object.values(file.accounts[ledger]!.storage).map(Number)).toEqual([105, 7])
    expect(file.accounts[ledger]!.code).toBe(await fork.ask('eth_getCode', ledger))
    expect(file.accounts[WHALE]).toMatchObject({ balance: '0x0', code: '0x' })
    expect(file).not.toHaveProperty('pocketchain')
    expect([...fork.node.stateFile()].join('')).toBe(gunzipSync(bytesOf(dump)).toString())
  })

  it('restores the changes on a fork of the same block, at its start and later', async () => {
    const { fork, dump } = await changed()
    const expected = await stateOf(fork)
    expect(expected.slice(0, 3)).toEqual([105, 7, '0x0'])
    const atStart = await chain.fork({ stateFile: bytesOf(dump) }, { blockNumber: forkNumber })
    expect(await stateOf(atStart)).toEqual(expected)
    expect(await send(atStart, { to: ledger, data: `0x${word(1)}${word(1)}` })).toMatchObject({ status: '0x1' })
    expect(await valueOf(atStart, 1)).toBe(106)
    const later = await chain.fork({}, { blockNumber: forkNumber })
    expect(await later.ask('anvil_loadState', dump)).toBe(true)
    expect(await stateOf(later)).toEqual(expected)
  })

  it('is refused on a fork of another block and on a chain that is not a fork', async () => {
    const { dump } = await changed()
    const other = await chain.fork({}, { blockNumber: forkNumber - 1 })
    await expect(other.ask('anvil_loadState', dump)).rejects.toThrow(
      refusal(`this chain is forked from block ${forkNumber - 1} \\(0x[0-9a-f]{64}\\) of chain 31337`),
    )
    await expect(other.ask('anvil_loadState', dump)).rejects.toThrow(/^-32602 invalid argument 0 \(state\)/)
    await expect(chain.upstream.ask('anvil_loadState', dump)).rejects.toThrow(refusal('this chain is not a fork'))
    expect(await valueOf(chain.upstream, 2)).toBe(0)
    const stateFile = bytesOf(dump)
    await expect(chain.fork({ stateFile }, { blockNumber: forkNumber - 1 })).rejects.toThrow(refusal('this chain is forked from .*'))
    await expect(startNode({ ...SMALL, stateFile })).rejects.toThrow(refusal('this chain is not a fork'))
  })

  it('may be one of a chain that is not a fork, whose accounts are laid over the fork block', async () => {
    await using node = await startNode({ ...SMALL, cadence: 'instant' })
    await node.ask('anvil_setBalance', WHALE, quantity(77))
    const fork = await chain.fork({ stateFile: bytesOf((await node.ask('anvil_dumpState')) as string) })
    expect(await fork.ask('eth_getBalance', WHALE)).toBe(quantity(77))
    expect(await valueOf(fork, 1)).toBe(100)
  })
})
