import { UpstreamError } from '../chain/index.ts'
import { AuthorityError } from '../server/index.ts'
import { StorageError } from '../store/index.ts'

/** A full disk fails in every slot: the same line is repeated after this interval only. */
const REPEAT_MS = 30_000

/** Returns an `onError` that logs errors after which the node continues. `now`: a monotonic clock in milliseconds. */
export function createErrorLog(log: (line: string) => void, now: () => number = () => performance.now()): (error: unknown) => void {
  let previous = { line: '', atMs: -REPEAT_MS }
  return (error) => {
    if (error instanceof AuthorityError) return log(`TLS connections fail: ${error.message}`)
    if (error instanceof UpstreamError) return log(error.message)
    if (!(error instanceof StorageError))
      return log(`internal error, the node continues: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    const line = `no block can be sealed: ${error.message}; the node continues and retries`
    const nowMs = now()
    if (line === previous.line && nowMs - previous.atMs < REPEAT_MS) return
    previous = { line, atMs: nowMs }
    log(line)
  }
}
