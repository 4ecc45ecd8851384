// Prints JSON from records. The host copies a record to INPUT and says where the text goes; answers are where the text ends.

import { accepts } from './filter'
import { FILTERED_LOGS, LIST, LISTED_LOGS, R_LOGS } from './layout'
import { beginLogs, logAt, writeLog } from './log'

export { indexList } from './filter'
export { writeBlock, writeReceipt, writeReceipts, writeTransaction } from './object'
export { reserve } from './room'

/** where the logs go on */
let next: u32 = 0

/**
 * Logs from…to, each with a comma behind it, until the text reaches `full`. Where they go on is `position()`. `which`: of FILTERED_LOGS only
 * those that the filter accepts; of LISTED_LOGS these are places in a list, of which LIST holds from…to.
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
