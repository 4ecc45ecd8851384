import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Hash, Hex } from '../../src/eth/index.ts'
import { begin, launch, refusal } from '../command.fixture.ts'
import type { Command, Start } from '../command.fixture.ts'
import { ALICE, ForkedChain, LEDGER, deploy, quantity, send, word } from './upstream.fixture.ts'
import type { Proxy } from './upstream.fixture.ts'

// A fork in a process of its own, killed while a round of fetching is under way.

/** Reads the slot of its call data, then the slot that the value names, until a value is zero. Returns the number of the last slot. */
const WALK = '5f355b80548015600f5790506002565b505f5260205ff3'
/** The slots that a walk from the first one reads, each in a round of its own. The value of the last one is zero. */
const SLOTS = [0x11, 0x2022, 0x3033, 0x4044, 0x5055] as const
const COLD = '0x00000000000000000000000000000000000c01d0'

let chain: ForkedChain
let folder = ''
let walk = ''
let ledger = ''
let blockNumber = 0
/** Ends each connection at once. */
let deadServer: Server
let deadUrl = ''

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-kill-'))
  deadServer = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => deadServer.listen(0, '127.0.0.1', resolve))
  deadUrl = `http://127.0.0.1:${(deadServer.address() as AddressInfo).port}`
  chain = await ForkedChain.start()
  walk = await deploy(chain.upstream, WALK)
  ledger = await deploy(chain.upstream, LEDGER)
  await send(chain.upstream, { to: ledger, data: `0x${word(1)}${word(7)}` })
  for (const [i, slot] of SLOTS.slice(0, -1).entries()) {
    await chain.upstream.ask('anvil_setStorageAt', walk, `0x${word(slot)}`, `0x${word(SLOTS[i + 1]!)}`)
  }
  await chain.upstream.ask('evm_mine')
  blockNumber = Number(await chain.upstream.ask('eth_blockNumber'))
  // An access list would name all slots of a walk in its first round.
  chain.proxy.refuse = ({ method }) => (method === 'eth_createAccessList' ? { code: -32_601, message: 'the method does not exist' } : null)
})

afterEach(async () => {
  await new Promise((resolve) => deadServer.close(resolve))
  await chain[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe('a fork that is killed while a round is under way', () => {
  const WALKS = {
    call: (command: Command) => command.ask('eth_call', walkFrom(SLOTS[0])),
    transaction: (command: Command) => command.ask('eth_sendTransaction', { from: ALICE, gas: '0x100000', ...walkFrom(SLOTS[0]) }),
  } as const

  it.each([
    ['call', 0],
    ['call', 3],
    ['call', SLOTS.length - 1],
    ['transaction', 2],
  ] as const)('of a %s keeps the %i rounds before it on disk', { timeout: 60_000 }, async (kind, rounds) => {
    const killed = await launch(...argvOf(chain.proxy.url))
    await killed.ask('eth_getCode', walk, 'latest')
    await changeLocally(killed)
    await killDuring(killed, chain.proxy, rounds + 1, () => WALKS[kind](killed))

    expect(Object.keys((await fetchedOfUpstream()).slots[walk] ?? {})).toEqual(SLOTS.slice(0, rounds).map((slot) => `0x${word(slot)}`))

    const offline = await launch(...argvOf(deadUrl))
    expect(Number(await offline.ask('eth_blockNumber'))).toBe(blockNumber)
    expect(await offline.ask('eth_getCode', walk, 'latest')).toBe(`0x${WALK}`)
    for (const [i, slot] of SLOTS.slice(0, rounds).entries()) {
      expect(await offline.ask('eth_getStorageAt', walk, `0x${word(slot)}`, 'latest')).toBe(`0x${word(SLOTS[i + 1] ?? 0)}`)
    }
    await expect(WALKS.call(offline)).rejects.toThrow(`missing: slot 0x${word(SLOTS[rounds]!)} of ${walk} of block ${blockNumber}`)
    // The ledger's value is upstream's: local changes ended with the process.
    expect(await offline.ask('eth_call', { to: ledger, data: `0x${word(1)}${word(0)}` }, 'latest')).toBe(`0x${word(7)}`)
    expect((await offline.stop()).code).toBe(0)

    const before = chain.proxy.requests.length
    const online = await launch(...argvOf(chain.proxy.url))
    expect(chain.proxy.requests.length - before).toBe(0)
    expect(Number(await WALKS.call(online))).toBe(SLOTS.at(-1))
    expect(chain.proxy.requests.length - before).toBe(SLOTS.length - rounds)
    expect(await online.ask('eth_getBalance', COLD, 'latest')).toBe('0x0')
    expect((await online.stop()).code).toBe(0)
    expect(Object.keys((await fetchedOfUpstream()).slots[walk]!)).toHaveLength(SLOTS.length)
  })

  it('goes on where the one before it was killed, so that each round is fetched once', { timeout: 60_000 }, async () => {
    let before = 0
    for (const _ of SLOTS) {
      const command = await launch(...argvOf(chain.proxy.url))
      before ||= chain.proxy.requests.length // after the first start
      await killDuring(command, chain.proxy, 2, () => WALKS.call(command))
    }
    // The code of the contract, then one slot per process; the killed process of each had asked for the next slot.
    expect(chain.proxy.requests.length - before).toBe(2 * SLOTS.length)
    expect(Object.keys((await fetchedOfUpstream()).slots[walk] ?? {})).toHaveLength(SLOTS.length - 1)
    const last = await launch(...argvOf(chain.proxy.url))
    expect(Number(await WALKS.call(last))).toBe(SLOTS.at(-1))
    expect(chain.proxy.requests.length - before).toBe(2 * SLOTS.length + 1)
    await last.stop()
  })

  it('starts again from its last state file and from the cache, without upstream', { timeout: 60_000 }, async () => {
    const state = ['--state', join(folder, 'state.json')]
    const first = await launch(...argvOf(chain.proxy.url), ...state)
    await changeLocally(first)
    expect((await first.stop()).code).toBe(0)
    const saved = readFileSync(state[1]!, 'utf8')

    const killed = await launch(...argvOf(chain.proxy.url), ...state)
    await killed.ask('eth_getCode', walk, 'latest')
    await changeLocally(killed)
    await killDuring(killed, chain.proxy, 3, () => WALKS.call(killed))
    expect(readFileSync(state[1]!, 'utf8')).toBe(saved)
    expect(Object.keys((await fetchedOfUpstream()).slots[walk]!)).toHaveLength(2)

    const offline = await launch(...argvOf(deadUrl), ...state)
    expect(await offline.ask('eth_call', { to: ledger, data: `0x${word(1)}${word(0)}` }, 'latest')).toBe(`0x${word(12)}`)
    expect(await offline.ask('eth_getBalance', COLD, 'latest')).toBe('0x1234')
    expect(await offline.ask('eth_getStorageAt', walk, `0x${word(SLOTS[1])}`, 'latest')).toBe(`0x${word(SLOTS[2])}`)
    await expect(WALKS.call(offline)).rejects.toThrow(`missing: slot 0x${word(SLOTS[2])} of ${walk}`)
    expect((await offline.stop()).code).toBe(0)
  })
})

it('a fork that is killed in any round of its start starts completely at the next time', { timeout: 60_000 }, async () => {
  const whole = chain.proxy.requests.length
  const reference = await launch(...argvOf(chain.proxy.url))
  await reference.stop()
  const requests = chain.proxy.requests.length - whole
  const expected = await fetchedOfUpstream()
  for (let round = 1; round <= requests; round++) {
    rmSync(join(folder, 'cache'), { recursive: true, force: true })
    const start = begin(...argvOf(chain.proxy.url))
    await killDuring(start, chain.proxy, round)
    const { code, err } = await refusal(...argvOf(deadUrl))
    expect([code, err.trimEnd().split('\n').length]).toEqual([1, 1])

    const again = await launch(...argvOf(chain.proxy.url))
    expect(Number(await again.ask('eth_blockNumber'))).toBe(blockNumber)
    await again.stop()
    expect(await fetchedOfUpstream()).toEqual(expected)
  }
  await (await launch(...argvOf(deadUrl))).stop()
})

function argvOf(url: string): readonly string[] {
  const fork = ['--fork-url', url, '--fork-block-number', String(blockNumber), '--fork-chain-id', '31337', '--retries', '0']
  return [...fork, '--cache-path', join(folder, 'cache'), '--cadence', 'instant', '--no-sponsor', '--no-bundler', '--no-wallet']
}

function walkFrom(slot: number): { readonly to: string; readonly data: string } {
  return { to: walk, data: `0x${word(slot)}` }
}

/** Changes an account, a slot, a code and, by a transaction, the ledger. */
async function changeLocally(command: Command): Promise<void> {
  await command.ask('anvil_setBalance', COLD, '0x1234')
  await command.ask('anvil_setCode', COLD, '0x600160005260206000f3')
  await command.ask('anvil_setStorageAt', COLD, '0x1', `0x${word(9)}`)
  const hash = await command.ask('eth_sendTransaction', { from: ALICE, to: ledger, data: `0x${word(1)}${word(5)}` })
  expect(await command.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
}

/** Runs `work` until its request of this number (1 is the first) arrives at the proxy, which does not answer it, and sends SIGKILL. */
async function killDuring(
  { kill }: Pick<Start, 'kill'>,
  proxy: Proxy,
  number: number,
  work: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  let left = number
  let release = (): void => {}
  const arrived = new Promise<void>((arrive) => {
    proxy.onRequest = () => {
      if (--left > 0) return
      proxy.gate = new Promise((resolve) => (release = resolve))
      arrive()
    }
  })
  const done = work().catch(() => undefined) // its connection ends with the process
  await arrived
  expect(await kill()).toMatchObject({ signal: 'SIGKILL' })
  await done
  proxy.onRequest = () => {}
  proxy.gate = Promise.resolve()
  release()
}

/** Returns the cached values, after a comparison of each with upstream's state of the fork block. */
async function fetchedOfUpstream(): Promise<{ readonly accounts: object; readonly slots: Readonly<Record<string, object>> }> {
  const files = readdirSync(join(folder, 'cache', 'fork', '31337'))
  expect(files).toHaveLength(1)
  const text = readFileSync(join(folder, 'cache', 'fork', '31337', files[0]!), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '')
  const rounds = lines.slice(2).map((line) => JSON.parse(line.slice(9)) as CachedRound) // after the checksum
  const accounts = Object.assign({}, ...rounds.map(({ a }) => a)) as CachedRound['a']
  const codes = Object.assign({}, ...rounds.map(({ c }) => c)) as CachedRound['c']
  const slots: Record<string, Record<string, string>> = {}
  for (const { s } of rounds) for (const [address, values] of Object.entries(s)) slots[address] = { ...slots[address], ...values }
  const at = quantity(blockNumber)
  for (const [address, account] of Object.entries(accounts)) {
    const [nonce, balance, code] = await chain.upstream.askAll([
      ['eth_getTransactionCount', address, at],
      ['eth_getBalance', address, at],
      ['eth_getCode', address, at],
    ])
    const codeHash = Hash.keccak(Hex.toBytes(code as Hex))
    expect([address, ...(account ?? ['0x0', '0x0', codeHash])]).toEqual([address, nonce, balance, codeHash])
    if (code !== '0x') expect(codes[codeHash]).toBe(code)
  }
  for (const [address, values] of Object.entries(slots)) {
    for (const [slot, value] of Object.entries(values)) {
      expect([address, slot, BigInt(value)]).toEqual([
        address,
        slot,
        BigInt((await chain.upstream.ask('eth_getStorageAt', address, slot, at)) as string),
      ])
    }
  }
  return { accounts, slots }
}

/** One line of a cache file: accounts as nonce, balance and code hash, codes by hash, and slots. */
interface CachedRound {
  readonly a: Readonly<Record<string, readonly [string, string, string] | null>>
  readonly c: Readonly<Record<string, string>>
  readonly s: Readonly<Record<string, Readonly<Record<string, string>>>>
}
