import { numberToHex } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { FlashblocksFeed, LogsFeed, StreamFeed, TransactionsFeed } from './feeds.ts'
import type { Feed } from './feeds.ts'
import { LISTED_PROMISES } from './limits.ts'
import { Problems } from './problems.ts'
import { PromiseAudit } from './promises.ts'
import type { WatchedBlock } from './promises.ts'
import { receiptsFrom } from './sealedreceipts.ts'
import { ManualClock } from '../chain/index.ts'
import type { Chain, ChaosName, PromiseRecord } from '../chain/index.ts'
import type { Hash } from '../eth/index.ts'
import { feedsOf } from '../rpc/index.ts'
import { Publisher } from '../stream/index.ts'
import { createPocketchain } from '../index.ts'

// The audit and the ledger follow one chain with a manual clock, so that equal seeds give equal runs.

const START = { timestamp: 1_700_000_000, wallet: false, bundler: false, sponsor: false } as const
const FLASHBLOCK_MS = 200
const STEP_MS = 10
/** that chaos makes after one event */
const MOST_MOVES = 5
/** Two logs without data, and a write to storage. */
const CODE = '0x60006000a060006000a0600160005560016000f3'

interface Header {
  readonly number: string
  readonly hash: Hash
}

type Connect = (chain: Chain, audit: PromiseAudit, problems: Problems, nowMs: () => number) => void

const stream: Connect = (chain, promises, problems, nowMs) => {
  const feed: Feed = new StreamFeed({ promises, problems, nowMs })
  const publisher = new Publisher(chain.head)
  publisher.subscribe('plain', { send: ({ bytes }) => feed.accept(bytes), terminate: (reason) => expect.fail(reason) })
}

/** The stream, and receipts from a subscription. */
const streamAndReceipts: Connect = (chain, promises, problems, nowMs) => {
  stream(chain, promises, problems, nowMs)
  const receipts = new TransactionsFeed({ promises, problems, nowMs }, () => false)
  feedsOf(chain).flashblockTransactions(true, (item) => receipts.accept(json(item)))
}

const flashblocks: Connect = (chain, promises, problems, nowMs) => {
  const feed = new FlashblocksFeed({ promises, problems, nowMs })
  const receipts = new TransactionsFeed({ promises, problems, nowMs }, () => false)
  feedsOf(chain).flashblocks((item) => feed.accept(json(item)))
  feedsOf(chain).flashblockTransactions(true, (item) => receipts.accept(json(item)))
}

const transactions: Connect = (chain, promises, problems, nowMs) => {
  const feed = new TransactionsFeed({ promises, problems, nowMs }, () => true)
  feedsOf(chain).flashblockTransactions(true, (item) => feed.accept(json(item)))
}

/** Sees only transactions that emit logs. */
const logs: Connect = (chain, promises, problems, nowMs) => {
  const feed = new LogsFeed({ promises, problems, nowMs })
  feedsOf(chain).pendingLogs({ addresses: null, topics: [] }, (item) => feed.accept(json(item)))
}

/** As it arrives over a connection. */
function json(item: unknown): unknown {
  return JSON.parse(JSON.stringify(item))
}

/** A submission that ends when every earlier change of the chain has: chaos moves wait for each other, not for the clock. */
function nothing(): never {
  throw new Error('nothing is submitted')
}

function ignored(): void {}

interface Observer {
  readonly connect: Connect
  readonly audit: PromiseAudit
  /** blocks whose receipts the audit waits for */
  readonly wanted: WatchedBlock[]
}

function observe(connect: Connect, chain: Chain, nowMs: () => number): Observer {
  const wanted: WatchedBlock[] = []
  const problems = new Problems()
  const audit = new PromiseAudit({ problems, onWanted: (block) => wanted.push(block) })
  const heads = new Map<number, Hash>()
  connect(chain, audit, problems, nowMs)
  feedsOf(chain).heads((header) => {
    const { number, hash } = header as Header
    const replaced = [...heads].filter(([each]) => each >= Number(number))
    for (const [each] of replaced) heads.delete(each)
    if (replaced.length > 0) audit.onReplaced(new Set(replaced.map(([, each]) => each)), nowMs())
    heads.set(Number(number), hash)
    audit.onSealed(Number(number), hash, nowMs())
  })
  return { connect, audit, wanted }
}

/** One run of a chain, which audits by every feed follow. */
interface Run {
  readonly observers: readonly Observer[]
  readonly ledger: readonly PromiseRecord[]
  /** hashes of the transactions that emit logs */
  readonly logging: ReadonlySet<unknown>
}

async function audited(connects: readonly Connect[], chaos: ChaosName, seed: string): Promise<Run> {
  const clock = new ManualClock(1_700_000_000_000)
  const bugs: unknown[] = []
  const node = await createPocketchain({ ...START, clock, chaos, seed, onError: (error) => bugs.push(error) })
  const ask = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  const { chain } = node
  const nowMs = () => clock.nowMs()
  const observers = connects.map((connect) => observe(connect, chain, nowMs))
  const step = async () => {
    for (let ms = 0; ms < FLASHBLOCK_MS; ms += STEP_MS) {
      await clock.advance(STEP_MS)
      for (let moves = 0; moves < MOST_MOVES; moves++) await chain.submit(nothing).catch(ignored)
    }
    for (const { audit, wanted } of observers) {
      for (const block of wanted.splice(0)) {
        if (block.isReplaced) continue
        const answer = await ask('eth_getBlockReceipts', numberToHex(block.number))
        expect(answer).not.toBeNull()
        const receipts = receiptsFrom(answer as readonly unknown[])
        if (receipts !== null) audit.settle(block, receipts)
      }
      audit.advance(nowMs())
    }
  }
  const senders = node.accounts.slice(0, 5).map(({ address }) => address)
  const logging = new Set<unknown>()
  for (let i = 0; i < 250; i++) {
    for (const from of senders) {
      const hasLogs = i % 3 === 0
      const hash = await ask('eth_sendTransaction', hasLogs ? { from, data: CODE, gas: '0x30d40' } : { from, to: from, gas: '0x5208' })
      if (hasLogs) logging.add(hash)
    }
    await step()
  }
  for (let i = 0; i < 60; i++) await step()
  expect(bugs).toEqual([])
  const ledger = chain.promises.records({ limit: 10_000 }).promises
  await node.close()
  return { observers, ledger, logging }
}

function countsOf(records: readonly Pick<Outcome, 'outcome'>[]): Record<string, number> {
  const counts: Record<string, number> = { kept: 0, changed: 0, retracted: 0, open: 0 }
  for (const { outcome } of records) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

interface Outcome extends Pick<PromiseRecord, 'hash' | 'blockNumber' | 'differences'> {
  readonly outcome: string
}

/** Promises that were not kept. The differences of retracted ones are not known if the sealed block was replaced immediately. */
function brokenOf(records: readonly Outcome[], hasReceipts: boolean): readonly string[] {
  return records
    .filter(({ outcome }) => outcome === 'changed' || outcome === 'retracted')
    .map(({ hash, blockNumber, outcome, differences }) =>
      [hash, blockNumber, outcome, ...(hasReceipts && outcome === 'changed' ? differences.toSorted() : [])].join(' '),
    )
    .toSorted()
}

const FEEDS = [
  // First, because the first subscription decides when all are notified: a receipt belongs to the newest flashblock of the stream.
  ['the flashblock stream with receipts', streamAndReceipts],
  ['the flashblock stream', stream],
  ['newFlashblocks', flashblocks],
  ['newFlashblockTransactions', transactions],
  ['pendingLogs', logs],
] as const

describe.each([
  ['rough', '7'],
  ['rough', '8'],
  ['normal', '7'],
  ['calm', '7'],
] as const)('with --chaos %s --seed %s', (chaos, seed) => {
  let run: Run
  beforeAll(async () => {
    const connects = FEEDS.map(([, connect]) => connect)
    run = await audited(connects, chaos, seed)
  })

  it.each(FEEDS)('an audit by %s counts as the ledger does', (_, connect) => {
    const { audit } = run.observers.find((each) => each.connect === connect)!
    const ledger = connect === logs ? run.ledger.filter(({ hash }) => run.logging.has(hash)) : run.ledger
    const first = audit.firstBlock ?? 0
    const promised = ledger.filter(({ promisedMs, blockNumber }) => promisedMs !== null && (blockNumber ?? 0) >= first)
    expect(promised.length).toBeGreaterThan(300)
    const { unobserved, ...totals } = audit.totals
    expect(unobserved).toBe(0)
    const counts = countsOf(promised)
    const [expected, listed] = [promised, audit.broken].map((records) => brokenOf(records, connect !== stream && connect !== logs)) as [
      readonly string[],
      readonly string[],
    ] // of two
    if (connect === stream || connect === logs) {
      // Without receipts a transaction in its promised place counts as kept, unless its logs, or the gas at the end of a flashblock, differ.
      expect({ ...totals, kept: 0, changed: totals.kept + totals.changed }).toEqual({
        ...counts,
        kept: 0,
        changed: counts.kept! + counts.changed!,
      })
      expect(listed.filter((each) => !expected.includes(each))).toEqual([])
      expect(totals.changed).toBeGreaterThanOrEqual(0.8 * counts.changed!)
    } else {
      expect(totals).toEqual(counts)
      if (expected.length <= LISTED_PROMISES) expect(listed).toEqual(expected)
    }
    if (chaos === 'rough') for (const count of Object.values({ ...totals, open: 1 })) expect(count).toBeGreaterThan(0)
    if (chaos === 'calm') expect(expected).toEqual([])
  })
})
