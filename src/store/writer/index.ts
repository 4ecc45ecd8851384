// Writes JSON from records. The host copies a record to INPUT and passes the address of the text; functions return its end.

import { accepts } from './filter'
import { FILTERED_LOGS, LIST, LISTED_LOGS, R_LOGS } from './layout'
import { beginLogs, logAt, writeLog } from './log'

export { indexList } from './filter'
export { writeBlock, writeReceipt, writeReceipts, writeTransaction } from './object'
export { reserve } from './capacity'

/** the next log to write */
let next: u32 = 0

/**
 * Writes logs from…to, each followed by a comma, until the text reaches `full`; `position()` is the next log. `which`: FILTERED_LOGS
 * applies the
 * filter; with LISTED_LOGS from…to are positions in a list, which LIST holds.
 */
export function writeLogs(input: usize, start: usize, full: usize, which: i32, from: u32, to: u32): usize {
  const isFiltered = (which & FILTERED_LOGS) != 0
  const isListed = (which & LISTED_LOGS) != 0
  const count = load<u32>(input, R_LOGS)
  let out = start
  let i = from
  beginLogs(input)
  for (; i < to && out < full; i++) {
    const index = isListed ? load<u32>(LIST + 4 * (i - from)) : i
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
