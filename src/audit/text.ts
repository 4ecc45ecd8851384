import type { Hex } from '../eth/index.ts'
import type { DurationSummary } from './durations.ts'
import { TEXT_PROMISES } from './limits.ts'
import type { AuditedPromise, AuditOutcome } from './promises.ts'
import type { AuditReport } from './report.ts'

/** Returns the report as lines of text. */
export function reportText(report: AuditReport): string {
  const { endpoint, feed, durations, heads, gaps, problems, broken } = report
  const lines = [
    `Audit of ${endpoint.rpc}, chain ${endpoint.chainId}${endpoint.client === '' ? '' : `, ${endpoint.client}`}`,
    `Feed: ${feed.sentence}${endpoint.promises === null ? '' : ` at ${endpoint.promises}`}`,
    ...feed.limits.map((limit) => `  ${limit}`),
    `Watched for ${secondsText(report.endedMs - report.startedMs)}${blocksText(report)}`,
    '',
    ...(report.feed.kind === 'heads' ? [] : [...outcomeRows(report).map(([name, value]) => row(name, value)), '']),
    row('', ...PERCENTILES),
    ...durationRows(durations).map(([name, summary]) => row(name, ...cells(summary))),
    '',
    `Heads: ${heads.count}, reorganisations: ${heads.reorgCount}`,
    ...heads.reorgs.map(({ number, depth, from, to }) => `  block ${number}, depth ${depth}: ${from} → ${to ?? 'none'}`),
    ...(gaps.count === 0 ? [] : [`Without connection: ${gaps.count} times, ${secondsText(gaps.totalMs)}`]),
    ...gaps.list.map(
      ({ source, fromMs, toMs, reason }) => `  ${source}: ${timeText(fromMs)} to ${toMs === null ? 'the end' : timeText(toMs)}, ${reason}`,
    ),
    ...(problems.length === 0 ? [] : ['Irregularities:']),
    ...problems.map(({ kind, count, example }) => `  ${count} × ${kind} (${example})`),
    ...(broken.length === 0 ? [] : [`Promises that were not kept${listedText(report, TEXT_PROMISES)}:`]),
    ...broken.slice(0, TEXT_PROMISES).map((promise) => `  ${promise.hash} ${placeText(promise)}: ${verdictText(promise)}`),
  ]
  return `${lines.join('\n')}\n`
}

export const PERCENTILES = ['count', 'p50', 'p90', 'p99', 'max'] as const

/** Names and numbers of the outcomes. */
export function outcomeRows({ totals, causes, atOnce, pool }: AuditReport): readonly (readonly [string, string])[] {
  const made = Object.values(totals).reduce((sum, count) => sum + count, 0)
  return [
    ['promises', String(made)],
    ...OUTCOMES.map((outcome): readonly [string, string] => [outcome, `${totals[outcome]}${shareText(totals[outcome], made)}`]),
    ...(totals.retracted === 0
      ? []
      : [['retracted how', `${causes.announced} announced, ${causes.silent} silently, ${causes.reorg} after the seal`] as const]),
    ...(atOnce === 0 ? [] : [['announced with the seal', String(atOnce)] as const]),
    ...(pool === null ? [] : [['only in the pool', `${pool.dropped} dropped, ${pool.waiting} waiting`] as const]),
  ]
}

const OUTCOMES: readonly AuditOutcome[] = ['kept', 'changed', 'retracted', 'unobserved', 'open']

export function durationRows(durations: AuditReport['durations']): readonly (readonly [string, DurationSummary])[] {
  return [
    ['seen → promise', durations.seenToPromise],
    ['promise → seal', durations.promiseToSeal],
    ['between heads', durations.betweenHeads],
  ]
}

/** Count and percentiles; `–` for none. */
export function cells({ count, p50, p90, p99, max }: DurationSummary): readonly string[] {
  return [String(count), ...[p50, p90, p99, max].map((value) => (value === null ? '–' : `${value} ms`))]
}

export function placeText({ blockNumber, flashblockIndex }: AuditedPromise): string {
  return `block ${blockNumber}${flashblockIndex === null ? '' : `, flashblock ${flashblockIndex}`}`
}

export function verdictText({ outcome, cause, differences }: AuditedPromise): string {
  const how = cause === null ? '' : ` (${CAUSES[cause]})`
  return `${outcome}${how}${differences.length === 0 ? '' : `: ${differences.join(', ')}`}`
}

const CAUSES = {
  announced: 'announced',
  silent: 'silently: its block was sealed without it',
  reorg: 'its sealed block was replaced',
} as const

export function blocksText({ blocks }: AuditReport): string {
  return blocks === null ? '' : `, promises of blocks ${blocks.first} to ${blocks.last}`
}

export function listedText({ broken, totals }: AuditReport, max = Infinity): string {
  const listed = Math.min(broken.length, max)
  const all = totals.changed + totals.retracted + totals.unobserved
  return listed < all ? ` (the first ${listed} of ${all})` : ''
}

export function secondsText(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`
}

/** UTC, as `16:05:01.250`. */
export function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(11, 23)
}

/** The first and the last digits of a hash. */
export function shortHash(hash: Hex): string {
  return `${hash.slice(0, 10)}…${hash.slice(-8)}`
}

function shareText(count: number, of: number): string {
  return of === 0 ? '' : ` (${((100 * count) / of).toFixed(2)} %)`
}

function row(name: string, ...values: readonly string[]): string {
  return [name.padEnd(24), ...values.map((value) => value.padStart(10))].join('').trimEnd()
}
