import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { bytecode } from '../../examples/contract/counter.mjs'
import { ManualClock } from '../../src/chain/index.ts'
import { ZERO_HASH, listen, startNode } from '../node.fixture.ts'
import type { HeaderJson, Heard, LogJson, ReceiptJson, RunningNode } from '../node.fixture.ts'

// Notifications during a reorg are enough to reconstruct the chain's state.

const INCREMENT = '0xd09de08a'
const COUNT = '0x06661abd'
const DEPTH = 3
const FEEDS = {
  logs: ['logs', {}],
  heads: ['newHeads'],
  pendingLogs: ['pendingLogs'],
  transactions: ['newFlashblockTransactions', true],
} as const
type Feed = keyof typeof FEEDS

describe('a reorg', () => {
  it('under load removes each log once, old before new, and leaves subscribers with what the node returns', async () => {
    await using running = await startNode({ cadence: { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 200 } })
    const counter = await deployCounter(running)
    const listener = await listen<Feed>(running.wsUrl, FEEDS)
    const load = new Load(running, counter)
    await listener.until((heard) => heads(heard).length >= DEPTH + 1 && hasPromise(heard))
    await running.ask('anvil_reorg', DEPTH, [
      [{ from: load.spare, to: counter, data: INCREMENT }, 0],
      [{ from: load.spare, to: counter, data: INCREMENT }, 2],
    ])
    const atReorg = of(listener.heard, 'heads').length
    await listener.until((heard) => of(heard, 'heads').length >= atReorg + DEPTH + 2)
    await load.stop()
    const loaded = of(listener.heard, 'heads').length
    // The last submission is sealed within two blocks.
    await listener.until((heard) => of(heard, 'heads').length >= loaded + 2)
    listener.close()

    const { canonical, replaced } = followHeads(heads(listener.heard))
    expect(replaced).toHaveLength(DEPTH)
    const received = logs(listener.heard, 'logs')
    const removed = received.filter((log) => log.removed)
    const first = received.findIndex((log) => log.removed)
    expect(received.slice(first, first + removed.length), 'all removals precede the new logs').toEqual(removed)
    expect(removed, 'exactly the logs received for the replaced blocks').toEqual(
      received
        .filter((log) => !log.removed && replaced.some(({ hash }) => hash === log.blockHash))
        .map((log) => ({ ...log, removed: true })),
    )
    const [oldest, newest] = [canonical[0]!, canonical.at(-1)!]
    const range = { fromBlock: oldest.number, toBlock: newest.number }
    const answered = (await running.ask('eth_getLogs', range)) as readonly LogJson[] // the result type of this method
    expect(followLogs(received, sealedPlace)).toEqual(answered)
    const sealedThere = logs(listener.heard, 'pendingLogs').filter(({ blockNumber }) => Number(blockNumber) <= Number(newest.number))
    expect(followLogs(sealedThere, promisedPlace).map(promisedPlace)).toEqual(answered.map(promisedPlace))
    expect(await Promise.all(canonical.map(({ number }) => running.ask('eth_getBlockByNumber', number, false)))).toMatchObject(
      canonical.map(({ hash, parentHash }) => ({ hash, parentHash })),
    )
    console.log(
      `reorg under load: ${received.length - removed.length} logs received, ${removed.length} removed, ${await vanished(running, listener.heard)} transactions gone`,
    )
  })

  it.each(['anvil_reorg', 'anvil_rollback', 'evm_revert'])('retracts a pre-confirmed transaction removed by %s', async (method) => {
    const clock = new ManualClock(1_700_000_000_000)
    await using running = await startNode({ clock, timestamp: 1_700_000_000 })
    const to = await deployCounter(running, () => clock.advance(200))
    await clock.advance(4_000)
    const snapshot = await running.ask('evm_snapshot')
    const listener = await listen<Feed>(running.wsUrl, FEEDS)
    const from = running.node.accounts[1]!.address
    const hash = await running.ask('eth_sendTransaction', { from, to, data: INCREMENT })
    await clock.advance(200)
    const promised = (await running.ask('eth_getTransactionReceipt', hash)) as ReceiptJson
    expect(promised).toMatchObject({ status: '0x1', blockHash: ZERO_HASH })

    await running.ask(method, method === 'evm_revert' ? snapshot : 1)
    expect(await running.ask('eth_getTransactionReceipt', hash)).toBeNull()
    expect(await running.ask('eth_getTransactionByHash', hash)).toBeNull()
    expect(await running.ask('eth_getLogs', { fromBlock: 'pending', toBlock: 'pending' })).toEqual([])
    expect(await running.ask('eth_getTransactionCount', from, 'pending')).toBe('0x0')
    expect(await running.ask('eth_call', { to, data: COUNT }, 'pending')).toBe(ZERO_HASH)
    await listener.until((heard) => logs(heard, 'pendingLogs').length === 2)
    await clock.advance(4_000)
    await listener.until((heard) => heads(heard).length >= 2)
    listener.close()
    expect(logs(listener.heard, 'pendingLogs')).toEqual([promised.logs[0], { ...promised.logs[0], removed: true }])
    // Its block was never sealed, so subscribers of sealed logs received nothing.
    expect(logs(listener.heard, 'logs').filter(({ transactionHash }) => transactionHash === hash)).toEqual([])
    const announced = of(listener.heard, 'transactions').filter((item) => (item as { hash: string }).hash === hash)
    expect(announced).toMatchObject([{ logs: [{ removed: false }] }, { removed: true, logs: [{ removed: true }] }])
    expect(announced[0]).not.toHaveProperty('removed')
  })
})

async function deployCounter(running: RunningNode, wait: () => Promise<void> = () => delay(20)): Promise<string> {
  const from = running.node.accounts.at(-1)!.address
  const hash = await running.ask('eth_sendTransaction', { from, data: bytecode })
  for (;;) {
    const receipt = (await running.ask('eth_getTransactionReceipt', hash)) as (ReceiptJson & { readonly contractAddress: string }) | null
    if (receipt !== null) return receipt.contractAddress
    await wait()
  }
}

/** Calls the contract continuously from several accounts. */
class Load {
  /** An account that the load does not use. */
  readonly spare: string
  #on = true
  readonly #ended: Promise<unknown>

  constructor(running: RunningNode, to: string) {
    const [spare, ...senders] = running.node.accounts.map(({ address }) => address)
    this.spare = spare!
    this.#ended = Promise.all(senders.slice(0, 5).map((from) => this.#send(running, { from, to, data: INCREMENT, gas: '0x186a0' })))
  }

  async #send({ ask }: RunningNode, request: object): Promise<void> {
    while (this.#on) {
      await ask('eth_sendTransaction', request)
      await delay(25)
    }
  }

  async stop(): Promise<void> {
    this.#on = false
    await this.#ended
  }
}

// --- received notifications ---------------------------------------------------------------------------------------------

function of(heard: readonly Heard<Feed>[], kind: Feed): readonly unknown[] {
  return heard.filter((each) => each.kind === kind).map(({ item }) => item)
}

function logs(heard: readonly Heard<Feed>[], kind: 'logs' | 'pendingLogs'): readonly LogJson[] {
  return of(heard, kind) as readonly LogJson[] // one log per notification
}

function heads(heard: readonly Heard<Feed>[]): readonly HeaderJson[] {
  return of(heard, 'heads') as readonly HeaderJson[] // one header per notification
}

/** True if a log was received for a block that is not sealed yet. */
function hasPromise(heard: readonly Heard<Feed>[]): boolean {
  return Number(logs(heard, 'pendingLogs').at(-1)?.blockNumber) > Number(heads(heard).at(-1)?.number)
}

/** The chain according to newHeads; a head on an older parent replaces the heads above it. */
function followHeads(received: readonly HeaderJson[]): {
  readonly canonical: readonly HeaderJson[]
  readonly replaced: readonly HeaderJson[]
} {
  const canonical: HeaderJson[] = []
  const replaced: HeaderJson[] = []
  for (const head of received) {
    const place = canonical.findIndex(({ number }) => number === head.number)
    if (place >= 0) replaced.push(...canonical.splice(place))
    const parent = canonical.at(-1)
    if (parent !== undefined) expect(head.parentHash).toBe(parent.hash)
    canonical.push(head)
  }
  return { canonical, replaced }
}

/** The logs after all notifications: a position is filled once and emptied only by the same log. */
function followLogs(received: readonly LogJson[], placeOf: (log: LogJson) => string): readonly LogJson[] {
  const standing = new Map<string, LogJson>()
  for (const log of received) {
    const place = placeOf(log)
    expect(standing.has(place), `${place} was received as ${log.removed ? 'removed' : 'added'}`).toBe(log.removed)
    if (log.removed) standing.delete(place)
    else standing.set(place, log)
  }
  return [...standing.values()]
}

function sealedPlace({ blockHash, logIndex }: LogJson): string {
  return `${blockHash} ${logIndex}`
}

/** A pre-confirmed object has a block number but no block hash. */
function promisedPlace({ blockNumber, logIndex, transactionHash, data }: LogJson): string {
  return `${blockNumber} ${logIndex} ${transactionHash} ${data}`
}

/**
 * Every transaction was announced, and removed, as often as its log; its log is either in the chain or was removed as often as added (the same
 * transaction may be sent again after the reorg). Returns the number of removed transactions.
 */
async function vanished(running: RunningNode, heard: readonly Heard<Feed>[]): Promise<number> {
  // One per notification. A deposit has no log.
  const transactions = (of(heard, 'transactions') as readonly TransactionNotice[]).filter(({ type }) => type !== '0x7e')
  const times = count(transactions.flatMap(({ hash, removed }) => (removed === true ? [] : hash)))
  const marked = count(transactions.flatMap(({ hash, removed }) => (removed === true ? hash : [])))
  const there = count(logs(heard, 'pendingLogs').flatMap(({ removed, transactionHash }) => (removed ? [] : transactionHash)))
  const gone = count(logs(heard, 'pendingLogs').flatMap(({ removed, transactionHash }) => (removed ? transactionHash : [])))
  let lost = 0
  for (const [hash, announced] of times) {
    const isIncluded = (await running.ask('eth_getTransactionReceipt', hash)) !== null
    const removals = announced - (isIncluded ? 1 : 0)
    expect({ there: there.get(hash), gone: gone.get(hash) ?? 0, marked: marked.get(hash) ?? 0 }, hash).toEqual({
      there: announced,
      gone: removals,
      marked: removals,
    })
    if (!isIncluded) lost++
  }
  expect(lost).toBeGreaterThan(0)
  return lost
}

interface TransactionNotice {
  readonly hash: string
  readonly type: string
  readonly removed?: true
}

function count(values: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
