import { AuthorityError } from '../server/index.ts'
import { StorageError } from '../store/index.ts'

/** A disk that is full is met again in every slot: the same words are told again after so long. */
const AGAIN_MS = 30_000

/** Tells of what broke although the node lives on. `now`: milliseconds of a steady clock. */
export function troubleTeller(tell: (line: string) => void, now: () => number = () => performance.now()): (error: unknown) => void {
  let told = { line: '', atMs: -AGAIN_MS }
  return (error) => {
    if (error instanceof AuthorityError) return tell(`nobody is served over TLS: ${error.message}`)
    if (!(error instanceof StorageError)) return tell(`internal error, the node lives on: ${wordsOf(error)}`)
    // Nobody's bug, and the message says what to do.
    const line = `nothing can be sealed: ${error.message}; the node lives on and tries again`
    const nowMs = now()
    if (line === told.line && nowMs - told.atMs < AGAIN_MS) return
    told = { line, atMs: nowMs }
    tell(line)
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
