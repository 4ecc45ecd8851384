import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, BOB, ForkedChain, LEDGER, POINTER, deploy, quantity, send, word } from './upstream.fixture.ts'

// A fork with n random transactions equals upstream with the same n transactions.

const SEEDS = process.env['FORK_SEEDS']?.split(',').map(Number) ?? [1, 2, 3]
const TRANSACTIONS = 40
const KEYS = 8
const CAROL = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'
const SENDERS = [ALICE, BOB, CAROL]
/** Stores its input's first word in slot 0, creates a contract from that word with CREATE2, and returns the contract's address. */
const FACTORY = '6000358060005560005260206000602060006000f560205260206020f3'

const folder = mkdtempSync(join(tmpdir(), 'pocketchain-property-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A generator of whole numbers below a bound (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

interface Contracts {
  readonly ledger: string
  readonly pointer: string
  readonly factory: string
}

function transactions(seed: number, { ledger, pointer, factory }: Contracts): readonly Record<string, unknown>[] {
  const next = random(seed)
  const kinds = [
    () => ({ to: ledger, data: `0x${word(next(KEYS))}${word(next(1_000))}` }),
    () => ({ to: pointer, data: next(2) === 0 ? `0x${word(1 + next(KEYS))}` : '0x' }),
    () => ({ to: quantity(0xb0b0_0000_0000 + next(KEYS)).padEnd(42, '0'), value: quantity(1 + next(1_000)) }),
    () => ({ to: factory, data: `0x${word(next(3))}` }),
    () => ({ data: `0x60${(1 + next(200)).toString(16).padStart(2, '0')}60005500` }),
    () => ({ to: ledger, data: '0x', gas: quantity(22_000 + next(3_000)) }),
  ]
  return Array.from({ length: TRANSACTIONS }, () => ({
    from: SENDERS[next(SENDERS.length)],
    gas: '0x493e0',
    ...kinds[next(kinds.length)]!(),
  }))
}

/** Sends each transaction in a block of its own at fixed times, and returns everything that can be compared. */
async function outcome(node: RunningNode, sent: readonly Record<string, unknown>[], contracts: Contracts, timestamp: number) {
  const receipts: Record<string, unknown>[] = []
  for (const [index, transaction] of sent.entries()) {
    await node.ask('evm_setNextBlockTimestamp', quantity(timestamp + 2 * index))
    receipts.push(await send(node, { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1', ...transaction }))
  }
  const touched = [...new Set([...SENDERS, ...Object.values(contracts), ...receipts.flatMap(addressesOf)])] as readonly string[]
  const state = await node.askAll(
    touched.flatMap((address) => [
      ['eth_getBalance', address, 'latest'],
      ['eth_getTransactionCount', address, 'latest'],
      ['eth_getCode', address, 'latest'],
      ...Array.from({ length: KEYS + 2 }, (_, slot) => ['eth_getStorageAt', address, quantity(slot), 'latest'] as const),
    ]),
  )
  const logs = (await node.ask('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest', address: contracts.ledger })) as readonly object[]
  const sums = await node.askAll(
    Array.from({ length: KEYS }, (_, key) => ['eth_call', { to: contracts.ledger, data: `0x${word(key)}${word(0)}` }, 'latest'] as const),
  )
  return { receipts: receipts.map(withoutBlock), logs: logs.map(withoutBlock), state, sums }
}

function addressesOf({ to, contractAddress }: Record<string, unknown>): unknown[] {
  return [to, contractAddress].filter((address) => address !== null)
}

/** The hash of a block depends on its state root, which a fork cannot compute. */
function withoutBlock(item: object): object {
  return JSON.parse(JSON.stringify(item, (key, value: unknown) => (key === 'blockHash' ? undefined : value))) as object
}

describe.each(['op', 'l1'] as const)('a fork of an %s chain equals upstream after the same random transactions', (chainType) => {
  it.each(SEEDS)('seed %i: cold, warm, and restarted from disk without upstream', async (seed) => {
    await using chain = await ForkedChain.start({ chainType, clock: 'manual' })
    const { upstream, proxy } = chain
    const contracts = {
      ledger: await deploy(upstream, LEDGER),
      pointer: await deploy(upstream, POINTER),
      factory: await deploy(upstream, FACTORY),
    }
    for (const transaction of transactions(seed + 1_000, contracts)) await send(upstream, transaction)
    const { number, timestamp } = (await upstream.ask('eth_getBlockByNumber', 'latest', false)) as { number: string; timestamp: string }
    const sent = transactions(seed, contracts)
    const fixed = { blockNumber: Number(number), chainId: 31_337, storageCaching: true, cachePath: join(folder, `${chainType}-${seed}`) }
    const start = async () => chain.fork({ chainType, clock: 'manual' }, fixed)
    const run = async (node: RunningNode) => outcome(node, sent, contracts, Number(timestamp) + 2)

    const cold = await run(await start())
    const requests = proxy.requests.length
    const warm = await run(await start())
    expect(proxy.requests.slice(requests).filter((methods) => !methods.includes('eth_getLogs'))).toEqual([])
    // A fork funds the dev accounts again.
    for (const address of SENDERS) await upstream.ask('anvil_setBalance', address, quantity(10_000n * 10n ** 18n))
    const expected = await run(upstream)
    expect(cold).toEqual(expected)
    expect(warm).toEqual(expected)
    expect(new Set(expected.receipts.map((receipt) => (receipt as { status: string }).status))).toEqual(new Set(['0x0', '0x1']))

    await proxy[Symbol.asyncDispose]()
    const offline = await start()
    for (const [index, transaction] of sent.entries()) {
      await offline.ask('evm_setNextBlockTimestamp', quantity(Number(timestamp) + 2 + 2 * index))
      const receipt = await send(offline, { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1', ...transaction })
      expect(withoutBlock(receipt)).toEqual(expected.receipts[index])
    }
  })
})
