// Writes JSON from records. The host copies a record to INPUT and passes the address of the text; functions return its end.

import { accepts } from './filter'
import { SELECT_FILTERED_LOGS, LOG_INDEX_LIST, SELECT_LISTED_LOGS, RECORD_LOG_COUNT_OFFSET } from './layout'
import { beginLogs, logAt, writeLog } from './log'

export { indexList } from './filter'
export { writeBlock, writeReceipt, writeReceipts, writeTransaction } from './object'
export { reserve } from './capacity'

/** the next log to write */
let next: u32 = 0

/**
 * Writes logs from…to, each followed by a comma, until the text reaches `full`; `position()` is the next log. `which`: SELECT_FILTERED_LOGS
 * applies the filter; with SELECT_LISTED_LOGS from…to are positions in a list, which LOG_INDEX_LIST holds.
 */
export function writeLogs(input: usize, start: usize, full: usize, which: i32, from: u32, to: u32): usize {
  const isFiltered = (which & SELECT_FILTERED_LOGS) != 0
  const isListed = (which & SELECT_LISTED_LOGS) != 0
  const count = load<u32>(input, RECORD_LOG_COUNT_OFFSET)
  let out = start
  let i = from
  beginLogs(input)
  for (; i < to && out < full; i++) {
    const index = isListed ? load<u32>(LOG_INDEX_LIST + 4 * (i - from)) : i
    if (index >= count) unreachable()
    const log = logAt(index)
    if (!isFiltered || accepts(log)) out = writeLog(log, index, out)
  }
  next = i
  return out
}

export function position(): u32 {
  return next
}
