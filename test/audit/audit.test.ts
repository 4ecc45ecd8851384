import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditReport } from '../../src/audit/index.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import { launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import { cuttableProxy, reportOf, startAudit } from './audit.fixture.ts'

// Real processes with real sockets and clocks. The chains have blocks of 1 s with five flashblocks, so that runs are short. Those that only wait for
// their own chain run concurrently.

const FAST = ['--block-time', '1'] as const
/** Of the audit: a promise that comes again within this time counts as the same. */
const REPROMISE_MS = 50
/** A promise that comes again within 50 ms counts as the same: flashblocks that reach a busy watcher late must still be further apart. */
const SLOW = ['--block-time', '1', '--flashblock-time', '250'] as const

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const commands: Command[] = []
afterAll(async () => {
  for (const command of commands) await command.kill()
})

async function node(...argv: readonly string[]): Promise<Command> {
  const command = await launch(...argv)
  commands.push(command)
  return command
}

interface Record {
  readonly id: number
  readonly hash: string
  readonly blockNumber: string | null
  readonly flashblockIndex: number | null
  readonly promisedMs: number | null
  readonly settledMs: number | null
  readonly outcome: string
  readonly cause: string | null
}

/** All records of the node's ledger. */
async function ledgerOf({ ask }: Command): Promise<readonly Record[]> {
  const records: Record[] = []
  for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null;) {
    const query: { before?: string } = before === Number.MAX_SAFE_INTEGER ? {} : { before: numberToHex(before) }
    const page = (await ask('pocketchain_promises', query)) as { readonly promises: readonly Record[]; readonly next: number | null }
    records.push(...page.promises)
    before = page.next
  }
  return records
}

/** Sends transactions of all accounts for so long. */
async function load({ ask }: Pick<Command, 'ask'>, milliseconds: number): Promise<void> {
  const accounts = (await ask('eth_accounts')) as readonly string[]
  const endMs = performance.now() + milliseconds
  for (let i = 0; performance.now() < endMs; i++) {
    const from = accounts[i % accounts.length]
    await ask('eth_sendTransaction', { from, to: accounts[(i + 1) % accounts.length], value: '0x1', gas: '0x5208' })
    await pause(30)
  }
}

/** Waits for a block with open promises of its first flashblock, when later ones have followed. */
async function promised({ ask }: Command, blocks: number): Promise<void> {
  const first = Number(await ask('eth_blockNumber')) + blocks
  for (;;) {
    const { promises } = (await ask('pocketchain_promises', { outcome: 'open' })) as { readonly promises: readonly Record[] }
    const indices = promises.filter(({ blockNumber }) => Number(blockNumber) >= first).map(({ flashblockIndex }) => flashblockIndex ?? 0)
    if (indices.includes(1) && Math.max(...indices) > 1) return
    await pause(20)
  }
}

/** Waits until no promise is open and the pool is empty, and one block more. */
async function settled({ ask }: Command): Promise<void> {
  for (;;) {
    const { totals } = (await ask('pocketchain_promises', { limit: '0x1' })) as { readonly totals: { readonly open: number } }
    const { pending, queued } = (await ask('txpool_status')) as { readonly pending: string; readonly queued: string }
    if (totals.open === 0 && Number(pending) + Number(queued) === 0) break
    await pause(100)
  }
  const number = Number(await ask('eth_blockNumber'))
  while (Number(await ask('eth_blockNumber')) < number + 1) await pause(50)
}

function countsOf(records: readonly Record[]) {
  const count = (wanted: string) => records.filter(({ outcome }) => outcome === wanted).length
  return { kept: count('kept'), changed: count('changed'), retracted: count('retracted'), open: count('open'), unobserved: 0 }
}

/**
 * An audit cannot distinguish a promise that is made again within REPROMISE_MS from one that was never retracted, nor one that is made again later because its
 * own process was starved. It compares the first of both with the sealed receipt, so that another position counts as a change. The same holds for one whose
 * transaction a fail-over puts into its own blocks at once, which is no promise again: to the ledger it is retracted and nothing else.
 */
function expectLedger({ blocks, totals }: AuditReport, records: readonly Record[]): void {
  const first = blocks?.first ?? Infinity
  const watched = records.filter(({ promisedMs, blockNumber }) => promisedMs !== null && Number(blockNumber) >= first)
  const { kept, changed, retracted, ...others } = countsOf(watched)
  expect(totals).toMatchObject(others)
  const sealed = new Set(watched.filter(({ outcome }) => outcome === 'kept' || outcome === 'changed').map(({ hash }) => hash))
  const replaced = watched.filter(({ outcome, cause, hash }) => outcome === 'retracted' && cause === 'failOver' && !sealed.has(hash)).length
  const surplus = totals.kept + totals.changed - kept - changed
  expect(surplus, 'sealed promises').toBeGreaterThanOrEqual(0)
  expect(surplus, 'sealed promises').toBeLessThanOrEqual(replaced)
  const isAgain = ({ hash, settledMs }: Record) =>
    watched.some((each) => each.hash === hash && Math.abs((each.promisedMs ?? 0) - (settledMs ?? 0) - REPROMISE_MS / 2) < REPROMISE_MS)
  const ambiguous = watched.filter((each) => each.outcome === 'retracted' && isAgain(each)).length
  const difference = (counted: number, count: number, max: number) =>
    expect(Math.abs(counted - count), `${counted} of ${count}, ${ambiguous} promised again`).toBeLessThanOrEqual(max)
  difference(totals.changed, changed, changed === 0 ? 0 : ambiguous + surplus + 2)
  difference(totals.retracted, retracted, ambiguous + surplus + 2)
}

describe('an audit of a node', () => {
  it.concurrent('counts as its ledger under --chaos rough, by the stream and by subscriptions', async () => {
    const command = await node(...SLOW, '--chaos', 'rough', '--seed', '7')
    await using subscriptions = await cuttableProxy(command.url, /^GET \/flashblocks/)
    const audits = [command.url, `http://127.0.0.1:${subscriptions.port}`].map((url) => startAudit('--rpc', url, '--json'))
    await Promise.all(audits.map(({ watching }) => watching))
    await load(command, 32_000)
    await settled(command)
    const records = await ledgerOf(command)
    const [stream, subscribed] = await Promise.all(audits.map(async ({ stop }) => reportOf(await stop())))
    expect(stream).toMatchObject({ feed: { kind: 'flashblocks' }, gaps: { count: 0 } })
    expect(subscribed).toMatchObject({ feed: { kind: 'newFlashblocks' }, gaps: { count: 0 } })
    expectLedger(stream!, records)
    expectLedger(subscribed!, records)
    expect(stream!.totals).toMatchObject({ kept: expect.toSatisfy((n: number) => n > 50), changed: expect.toSatisfy((n: number) => n > 0) })
    expect(stream!.totals.retracted).toBeGreaterThan(0)
    const known = new Set(records.filter(({ outcome }) => outcome !== 'dropped').map(({ hash }) => hash))
    const dropped = records.filter(({ outcome, hash }) => outcome === 'dropped' && !known.has(hash)).length
    expect(stream!.pool!.waiting).toBe(0)
    // One that left the pool before the audit saw it is unknown to it.
    expect(stream!.pool!.dropped).toBeLessThanOrEqual(dropped)
    expect(stream!.pool!.dropped).toBeGreaterThanOrEqual(dropped - 3)
    expect(stream!.durations.seenToPromise.count).toBeGreaterThan(100)
  })

  it.concurrent('reports a gap when the connection is lost, and counts nothing of it as kept', async () => {
    const command = await node(...FAST)
    await using proxy = await cuttableProxy(command.url)
    const { stop, watching } = startAudit('--rpc', `http://127.0.0.1:${proxy.port}`, '--json')
    await watching
    const loading = load(command, 8_000)
    await promised(command, 2)
    const cutMs = Date.now()
    proxy.cut()
    await pause(2_500)
    const restoredMs = Date.now()
    proxy.restore()
    await loading
    await settled(command)
    const report = reportOf(await stop())
    expect(report.gaps.list.map(({ source }) => source).toSorted()).toEqual(['heads', 'promises'])
    for (const { fromMs, toMs } of report.gaps.list) {
      expect(fromMs).toBeLessThan(cutMs + 500)
      expect(toMs).toBeGreaterThanOrEqual(restoredMs - 5)
    }
    const { kept, unobserved, changed, retracted, open } = report.totals
    expect(unobserved).toBeGreaterThan(0)
    expect([changed, retracted, open]).toEqual([0, 0, 0])
    // Promises of blocks that overlap the gap are not among the kept ones.
    const records = (await ledgerOf(command)).filter(({ blockNumber }) => Number(blockNumber) >= report.blocks!.first)
    const lost = new Set(
      records.filter(({ promisedMs }) => promisedMs! > cutMs && promisedMs! < restoredMs).map(({ blockNumber }) => blockNumber),
    )
    const unaffected = records.filter(({ blockNumber }) => !lost.has(blockNumber)).length
    expect(lost.size).toBeGreaterThan(1)
    expect(kept).toBeGreaterThan(0)
    expect(kept).toBeLessThanOrEqual(unaffected)
    expect(report.broken.every(({ outcome }) => outcome === 'unobserved')).toBe(true)
  })

  it.concurrent('goes on after kill -9 and restart of the node', async () => {
    const data = join(folder, 'data')
    const first = await node(...FAST, '--data', data)
    await using proxy = await cuttableProxy(first.url)
    const { stop, watching } = startAudit('--rpc', `http://127.0.0.1:${proxy.port}`, '--json')
    await watching
    const loading = load(first, 20_000).catch(() => undefined) // killed
    await promised(first, 3)
    const port = new URL(first.url).port
    await first.kill()
    await loading
    const second = await node(...FAST, '--data', data, '--port', port)
    await pause(1_500)
    await load(second, 2_500)
    await settled(second)
    const report = reportOf(await stop())
    expect(report.gaps.count).toBeGreaterThanOrEqual(2)
    expect(report.totals.unobserved).toBeGreaterThan(0)
    expect(report.totals.kept).toBeGreaterThan(20)
    expect(report.totals).toMatchObject({ changed: 0, retracted: 0, open: 0 })
    expect(report.heads.reorgCount).toBe(0)
  })

  it.concurrent('writes a page with the numbers of the report, without a draft beside it', async () => {
    const command = await node(...FAST, '--client-version', '<script>alert(1)</script>\u202e"&')
    const own = await mkdtemp(join(folder, 'page-'))
    const file = join(own, 'report.html')
    const { ended, watching } = startAudit('--rpc', command.url, '--minutes', '0.1', '--json', '--html', file)
    await watching
    await load(command, 3_000)
    const report = reportOf(await ended)
    expect(report.endpoint.client).toBe('<script>alert(1)</script>\\u{202e}"&')
    const page = await readFile(file, 'utf8')
    expect(page).not.toMatch(/<script|\u202e/)
    expect(page).toContain('&#60;script&#62;alert(1)&#60;/script&#62;')
    expect(page).toContain(`<dt>kept</dt><dd class="kept">${report.totals.kept}</dd>`)
    const { p50, p99 } = report.durations.promiseToSeal
    for (const value of [p50, p99]) expect(page).toContain(`>${value} ms</td>`)
    for (const { count } of report.durations.promiseToSeal.histogram.filter((range) => range.count > 0))
      expect(page).toContain(`>${count}</text>`)
    expect(await readdir(own)).toEqual(['report.html'])
  })

  it('finds every promise kept on a calm chain, with percentiles of both intervals', async () => {
    const command = await node(...FAST, '--chaos', 'calm', '--seed', '7')
    const { stop, watching } = startAudit('--rpc', command.url, '--ws', `${command.wsUrl}/flashblocks?compression=brotli`, '--json')
    await watching
    await load(command, 5_000)
    await settled(command)
    const report = reportOf(await stop())
    expectLedger(report, await ledgerOf(command))
    const { kept } = report.totals
    expect(kept).toBeGreaterThan(50)
    expect([report.broken, report.problems, report.gaps.count]).toEqual([[], [], 0])
    for (const { count, p50, p90, p99, max, histogram } of [report.durations.seenToPromise, report.durations.promiseToSeal]) {
      expect(count).toBe(kept)
      expect([p50, p90, p99, max]).toEqual([p50, p90, p99, max].toSorted((a, b) => a! - b!))
      expect(histogram.reduce((sum, range) => sum + range.count, 0)).toBe(kept)
    }
    expect(report.durations.promiseToSeal.max).toBeLessThan(2_000)
    expect(report.durations.betweenHeads.p50).toBeGreaterThan(800)
  })

  it.each([
    ['native', { kind: 'heads', sentence: 'only heads by newHeads' }],
    ['instant', { kind: 'flashblocks', sentence: 'flashblock stream, heads by newHeads' }],
  ] as const)('finds no promises under --cadence %s, as its ledger', async (cadence, feed) => {
    const command = await node('--cadence', cadence)
    const { stop, watching } = startAudit('--rpc', command.url, '--json')
    await watching
    await load(command, 2_000)
    await settledBlocks(command)
    const report = reportOf(await stop())
    expect(report.feed).toMatchObject(feed)
    // A head that reaches a busy audit more than 50 ms after its flashblock makes that a promise.
    const { kept, ...others } = report.totals
    expect(kept).toBeLessThanOrEqual(cadence === 'native' ? 0 : 3)
    expect(others).toMatchObject({ changed: 0, retracted: 0, open: 0, unobserved: 0 })
    expect(report.heads.count).toBeGreaterThan(5)
    if (cadence === 'native')
      expect(report.feed.limits.join(' ')).toMatch(/announces no promises.*Its sealed blocks take the place of promises/)
    else expect(report.atOnce).toBeGreaterThan(20)
  })
})

/** Waits for two blocks, or for the mined transactions. */
async function settledBlocks({ ask }: Command): Promise<void> {
  for (;;) {
    const { pending } = (await ask('txpool_status')) as { readonly pending: string }
    if (Number(pending) === 0) return pause(500)
    await pause(50)
  }
}

describe('an audit of an endpoint without promises', () => {
  it.skipIf(ANVIL === null)('reports the block times of anvil, and says what it cannot see', async () => {
    await using anvil = await startAnvil('--block-time', '1')
    const { stop, watching } = startAudit('--rpc', anvil.url)
    await watching
    for (const start = Number(await anvil.ask('eth_blockNumber')); Number(await anvil.ask('eth_blockNumber')) < start + 3;) await pause(100)
    const { code, out } = await stop()
    expect(code).toBe(0)
    expect(out).toMatch(
      /Feed: only heads by newHeads\n {2}This endpoint announces no promises: nothing is known of a block before its seal\.\n/,
    )
    expect(out).toMatch(/Refused subscriptions: newFlashblocks: /)
    expect(out).toMatch(/between heads +[1-9]/)
    expect(out).not.toContain('kept')
  })
})
