import type { Block } from '../../eth/index.ts'
import type { Mutex } from '../mutex.ts'
import type { NextBlock } from '../view/nextblock.ts'
import type { ChainTime } from './chaintime.ts'

interface NextBlocksDeps {
  readonly mutex: Mutex
  readonly time: ChainTime
  readonly isNative: () => boolean
  readonly build: (parent: Block) => NextBlock
}

/** The beginning of the next block. Kept until the parent, a setting or its timestamp changes. */
export class NextBlocks {
  readonly #deps: NextBlocksDeps
  #last: { readonly parent: Block; readonly changes: number; readonly timestampMs: number; readonly next: NextBlock } | null = null

  constructor(deps: NextBlocksDeps) {
    this.#deps = deps
  }

  after(parent: Block): NextBlock {
    const { mutex, time, isNative, build } = this.#deps
    const { changes } = mutex
    const timestampMs = time.nextTimestampMs(parent, isNative())
    const last = this.#last
    if (last?.parent === parent && last.changes === changes && last.timestampMs === timestampMs) return last.next
    const next = build(parent)
    this.#last = { parent, changes, timestampMs, next }
    return next
  }
}
