import type { Block, Log } from '../../eth/index.ts'
import type { LogFilter, LocatedLog } from './blockstore.ts'

/** True if the log matches. Empty filter positions beyond the log's topics match, as in Base's node (alloy `matches_topics`). */
export function matchesFilter(filter: LogFilter, log: Log): boolean {
  if (filter.addresses !== null && !filter.addresses.has(log.address)) return false
  for (let i = 0; i < filter.topics.length; i++) {
    const accepted = filter.topics[i] ?? null
    if (accepted === null) continue
    const topic = log.topics[i]
    if (topic === undefined || !accepted.has(topic)) return false
  }
  return true
}

/** Yields the matching logs of `block` in order, from transaction `first` on. */
export function* logsOfBlock(block: Block, filter: LogFilter, first = 0): Iterable<LocatedLog> {
  for (let index = first; index < block.receipts.length; index++) {
    const receipt = block.receipts[index]!
    for (let i = 0; i < receipt.logs.length; i++) {
      const log = receipt.logs[i]!
      if (!matchesFilter(filter, log)) continue
      yield { log, block, transactionIndex: index, logIndex: receipt.firstLogIndex + i }
    }
  }
}
