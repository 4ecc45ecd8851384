import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHAOS_PROFILES, ManualClock } from '../../src/chain/index.ts'
import { ZERO_HASH, startNode } from '../node.fixture.ts'
import type { LogJson, ReceiptJson, RunningNode } from '../node.fixture.ts'

// What users of other pre-confirming nodes report (base/base and others), checked after every flashblock of a chain with faults.

const FLASHBLOCKS = 150
/** As `rough`, with more fail-overs: the test has 14 blocks. */
const FAULTS = { ...CHAOS_PROFILES.rough, failOver: 0.4 }
const COUNTER = '0x00000000000000000000000000000000000c0017'
/** Counts its calls, and logs the count. */
const COUNTER_CODE = '0x60005460010180600055600052602a60206000a100'
const ENVIRONMENT = '0x00000000000000000000000000000000000e0170'
/** Returns the block's number, its timestamp, and the balance of the address in the input. */
const ENVIRONMENT_CODE = '0x43600052426020526000353160405260606000f3'
const BOB = '0x00000000000000000000000000000000000b0b00'

interface Block {
  readonly number: string
  readonly timestamp: string
  readonly hash: string | null
  readonly transactions: readonly string[]
}

/** The answers of one batch, which all see the same state. */
interface Observation {
  readonly pending: Block | null
  readonly latest: Block
  readonly environment: readonly bigint[]
  readonly balance: bigint
  readonly logs: readonly LogJson[]
  readonly receipts: readonly (ReceiptJson | null)[]
  /** receipts and transactions that were sent so far, by hash */
  readonly byHash: ReadonlyMap<string, readonly [receipt: ReceiptJson | null, transaction: { readonly blockNumber: string | null } | null]>
}

describe('on a chain with faults', () => {
  const observations: Observation[] = []
  let running: RunningNode

  beforeAll(async () => {
    const clock = new ManualClock(1_700_000_000_000)
    running = await startNode({
      clock,
      timestamp: 1_700_000_000,
      chaos: FAULTS,
      seed: 'complaints',
      wallet: false,
      bundler: false,
      sponsor: false,
    })
    await running.ask('anvil_setCode', COUNTER, COUNTER_CODE)
    await running.ask('anvil_setCode', ENVIRONMENT, ENVIRONMENT_CODE)
    const senders = running.node.accounts.map(({ address }) => address)
    const hashes: string[] = []
    for (let i = 0; i < FLASHBLOCKS; i++) {
      for (const from of senders.slice(0, 3)) {
        const transaction = i % 2 === 0 ? { from, to: COUNTER, gas: '0xea60' } : { from, to: BOB, value: '0x1', gas: '0x5208' }
        hashes.push(String(await running.ask('eth_sendTransaction', transaction)))
      }
      await clock.advance(200)
      observations.push(await observe(running, hashes.slice(-30)))
    }
  }, 60_000)

  afterAll(() => running[Symbol.asyncDispose]())

  it('has retracted promises, and blocks of several sequencers', () => {
    expect(running.node.promises.totals.retracted).toBeGreaterThan(10)
    expect(running.node.promises.records({ outcome: 'retracted' }).promises.map(({ cause }) => cause)).toContain('failOver')
  })

  it('the pending block is never null, also between two blocks (base/base#178, #187)', () => {
    for (const { pending, latest } of observations) {
      expect(pending).not.toBeNull()
      expect(Number(pending!.number)).toBeGreaterThanOrEqual(Number(latest.number))
    }
  })

  it('calls at pending see the environment of the pending block (base/base#1439, base/docs#1234)', () => {
    for (const { pending, latest, environment } of observations) {
      const [number, timestamp] = environment
      // While no block is open, as for a moment in a fail-over, a call runs in the next one.
      if (pending!.number === latest.number) expect(number).toBe(BigInt(latest.number) + 1n)
      else expect([number, timestamp]).toEqual([BigInt(pending!.number), BigInt(pending!.timestamp)])
    }
  })

  it('the balance at pending and a call at pending agree (berachain/bera-reth#284, #285)', () => {
    for (const { balance, environment } of observations) expect(environment[2]).toBe(balance)
  })

  it('logs up to pending are those of the receipts, without phantoms of retracted promises, and in order (base/base#888)', () => {
    for (const { pending, logs, receipts } of observations) {
      const expected = receipts.flatMap((receipt) => receipt?.logs ?? [])
      const own = logs.filter(({ blockNumber }) => blockNumber === pending!.number)
      expect(own).toEqual(expected)
      for (const log of logs) expect(log.removed).toBe(false)
    }
  })

  it('a transaction and its receipt become visible in the same instant, and vanish in the same (wevm/viem#3873)', () => {
    let vanished = 0
    const visible = new Set<string>()
    for (const { byHash } of observations) {
      for (const [hash, [receipt, transaction]] of byHash) {
        expect([hash, receipt?.blockNumber ?? null]).toEqual([hash, transaction?.blockNumber ?? null])
        if (receipt !== null) visible.add(hash)
        else if (visible.delete(hash)) vanished++
      }
    }
    expect(vanished).toBeGreaterThan(3)
  })

  it('every receipt of the pending block is returned, with the hash of zeros (base/base#2265, base/node#153)', () => {
    for (const { pending, receipts } of observations) {
      expect(receipts.map((receipt) => receipt!.transactionHash)).toEqual(pending!.transactions)
      if (pending!.hash === null) for (const receipt of receipts) expect(receipt!.blockHash).toBe(ZERO_HASH)
    }
  })
})

async function observe({ askAll }: RunningNode, hashes: readonly string[]): Promise<Observation> {
  const [pending, latest, environment, balance, logs, receipts, ...byHash] = await askAll([
    ['eth_getBlockByNumber', 'pending', false],
    ['eth_getBlockByNumber', 'latest', false],
    ['eth_call', { to: ENVIRONMENT, data: `0x${BOB.slice(2).padStart(64, '0')}` }, 'pending'],
    ['eth_getBalance', BOB, 'pending'],
    ['eth_getLogs', { fromBlock: 'latest', toBlock: 'pending', address: COUNTER }],
    ['eth_getBlockReceipts', 'pending'],
    ...hashes.flatMap((hash) => [['eth_getTransactionReceipt', hash] as const, ['eth_getTransactionByHash', hash] as const]),
  ])
  const words = String(environment).slice(2).match(/.{64}/g) ?? []
  return {
    pending: pending as Block | null,
    latest: latest as Block,
    environment: words.map((word) => BigInt(`0x${word}`)),
    balance: BigInt(String(balance)),
    logs: logs as LogJson[],
    receipts: receipts as (ReceiptJson | null)[],
    byHash: new Map(hashes.map((hash, i) => [hash, [byHash[2 * i], byHash[2 * i + 1]]])) as unknown as Observation['byHash'],
  }
}
