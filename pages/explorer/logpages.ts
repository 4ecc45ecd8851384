import { useState } from 'preact/hooks'
import { useLoaded } from './head.ts'
import type { LoadState } from './head.ts'
import { askAll } from './node.ts'
import type { LogJson } from './wire.ts'

// Pages of logs, newest first. The searched range grows until a page is full, so that neither an address with a million logs nor one with a few in
// a long chain takes a long request.

interface LogFilter {
  readonly address?: string | readonly string[]
  readonly topics?: readonly (string | null)[]
}

/** A position in the chain: the logs of a page are older than it. */
export interface LogPosition {
  readonly block: number
  readonly logIndex: number
}

export interface LogPage {
  readonly logs: readonly LogJson[]
  /** where the next page begins; null after the first block */
  readonly next: LogPosition | null
  /** the oldest block that was searched */
  readonly from: number
}

/** Blocks of the first search of a page; each further search of it has four times as many. */
const FIRST_BLOCKS = 64
const GROWTH = 4
/** Searches of a page: 64 + 256 + … are 5.6 million blocks. */
const SEARCHES = 9

/** Returns the position after all logs of the block. */
export function endOfBlock(latest: number): LogPosition {
  return { block: latest, logIndex: Infinity }
}

/** Returns an address as a topic. */
export function wordOfAddress(address: string): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
}

/** Returns at least one and at most `rows` logs that any of the filters finds, unless there are none. Throws the error of the node. */
export async function readLogPage(
  filters: readonly LogFilter[],
  { before, rows, downTo = 0 }: { readonly before: LogPosition; readonly rows: number; readonly downTo?: number },
  signal: AbortSignal,
): Promise<LogPage> {
  const logs = new Map<string, LogJson>()
  let [to, size] = [before.block, FIRST_BLOCKS]
  for (let search = 0; search < SEARCHES && to >= downTo && logs.size < rows; search++, size *= GROWTH) {
    const from = Math.max(downTo, to - size + 1)
    const range = { fromBlock: hex(from), toBlock: hex(to) }
    const answers = await askAll(
      filters.map((filter) => ['eth_getLogs', { ...filter, ...range }] as const),
      { signal },
    )
    const failed = answers.find((answer) => answer instanceof Error)
    if (failed !== undefined && search === 0) throw failed
    if (failed !== undefined) break // the node limits the range; the next page continues from here
    const found = answers.flatMap((answer) => answer as readonly LogJson[]) // the results of the method
    for (const log of newestFirst(found)) if (isOlder(log, before)) logs.set(`${log.blockNumber} ${log.logIndex}`, log)
    to = from - 1
  }
  const page = [...logs.values()].slice(0, rows)
  const last = page.at(-1)
  if (logs.size > rows && last !== undefined) return { logs: page, next: placeOf(last), from: Number(last.blockNumber) }
  return { logs: page, next: to < downTo ? null : { block: to, logIndex: Infinity }, from: to + 1 }
}

/** A page of logs, which is updated with the chain while it is the newest page, and buttons for older and newer pages. */
export interface LogPages {
  readonly loaded: LoadState<LogPage>
  /** counts from 0 */
  readonly page: number
  readonly older: () => void
  readonly newer: () => void
}

export function useLogPages(filters: readonly LogFilter[], { latest, rows }: { readonly latest: number; readonly rows: number }): LogPages {
  const [turned, setTurned] = useState<readonly LogPosition[]>([])
  const before = turned.at(-1) ?? null
  const loaded = useLoaded(
    (signal) => readLogPage(filters, { before: before ?? endOfBlock(latest), rows }, signal),
    [JSON.stringify(filters), before, before === null ? latest : 0],
  )
  const next = loaded.value?.next ?? null
  return {
    loaded,
    page: turned.length,
    older: () => next !== null && setTurned([...turned, next]),
    newer: () => setTurned(turned.slice(0, -1)),
  }
}

function newestFirst(logs: readonly LogJson[]): readonly LogJson[] {
  return logs.toSorted((a, b) => Number(b.blockNumber) - Number(a.blockNumber) || Number(b.logIndex) - Number(a.logIndex))
}

function placeOf({ blockNumber, logIndex }: LogJson): LogPosition {
  return { block: Number(blockNumber), logIndex: Number(logIndex) }
}

function isOlder(log: LogJson, before: LogPosition): boolean {
  const { block, logIndex } = placeOf(log)
  return block < before.block || (block === before.block && logIndex < before.logIndex)
}

function hex(block: number): string {
  return `0x${block.toString(16)}`
}
