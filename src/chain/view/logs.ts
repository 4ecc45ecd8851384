import type { Block, Log } from '../../eth/index.ts'
import type { LogFilter, PlacedLog } from './blockstore.ts'

/** Positions a filter has beyond the log's topics are free when empty, as Base's node answers (alloy `matches_topics`). */
export function matches(filter: LogFilter, log: Log): boolean {
  if (filter.addresses !== null && !filter.addresses.has(log.address)) return false
  for (let i = 0; i < filter.topics.length; i++) {
    const accepted = filter.topics[i] ?? null
    if (accepted === null) continue
    const topic = log.topics[i]
    if (topic === undefined || !accepted.has(topic)) return false
  }
  return true
}

/** The logs of `block` that match, in order; from transaction `first` on. */
export function* logsOfBlock(block: Block, filter: LogFilter, first = 0): Iterable<PlacedLog> {
  for (let index = first; index < block.receipts.length; index++) {
    const receipt = block.receipts[index]!
    for (let i = 0; i < receipt.logs.length; i++) {
      const log = receipt.logs[i]!
      if (!matches(filter, log)) continue
      yield { log, block, transactionIndex: index, logIndex: receipt.firstLogIndex + i }
    }
  }
}
