import type { Block, Header } from '../../eth/index.ts'
import type { Mutex } from '../mutex.ts'
import type { ChainTime } from './chaintime.ts'

interface NextHeaderDeps {
  readonly mutex: Mutex
  readonly time: ChainTime
  readonly isNative: () => boolean
  readonly build: (parent: Block) => Header
}

/** The fields of the next block's header that are fixed before its first transaction. Kept until the parent, a setting or its timestamp changes. */
export class NextHeader {
  readonly #deps: NextHeaderDeps
  #last: { readonly parent: Block; readonly changes: number; readonly timestampMs: number; readonly header: Header } | null = null

  constructor(deps: NextHeaderDeps) {
    this.#deps = deps
  }

  after(parent: Block): Header {
    const { mutex, time, isNative, build } = this.#deps
    const { changes } = mutex
    const timestampMs = time.nextTimestampMs(parent, isNative())
    const last = this.#last
    if (last?.parent === parent && last.changes === changes && last.timestampMs === timestampMs) return last.header
    const header = build(parent)
    this.#last = { parent, changes, timestampMs, header }
    return header
  }
}
