// Prints JSON from records. The host copies a record to INPUT and says where the text goes; answers are where the text ends.

import { accepts } from './filter'
import { EVERY_LOG, FILTERED_LOGS, LIST } from './layout'
import { beginLogs, logAt, writeLog } from './log'

export { indexList } from './filter'
export { writeBlock, writeReceipt, writeReceipts, writeTransaction } from './object'
export { reserve } from './room'

/** where the logs go on */
let next: u32 = 0

/**
 * Logs from…to, each with a comma behind it, until the text reaches `full`. Where they go on is `position()`. Of LISTED_LOGS these are places
 * in a list, of which LIST holds from…to.
 */
export function writeLogs(input: usize, start: usize, full: usize, which: i32, from: u32, to: u32): usize {
  let out = start
  let i = from
  beginLogs(input)
  if (which == EVERY_LOG) {
    for (; i < to && out < full; i++) out = writeLog(logAt(i), i, out)
  } else if (which == FILTERED_LOGS) {
    for (; i < to && out < full; i++) {
      const log = logAt(i)
      if (accepts(log)) out = writeLog(log, i, out)
    }
  } else {
    for (; i < to && out < full; i++) {
      const index = load<u32>(LIST + 4 * (i - from))
      out = writeLog(logAt(index), index, out)
    }
  }
  next = i
  return out
}

export function position(): u32 {
  return next
}
