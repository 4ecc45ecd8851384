import type { Flashblock, Hex } from '../eth/index.ts'
import { RECENT_BYTES, RECENT_FLASHBLOCKS } from './limits.ts'

/** A flashblock's place in the stream: BLOCK.INDEX, or BLOCK.INDEX.PAYLOAD, which is exact if a block was built again. */
export interface StreamPosition {
  readonly blockNumber: number
  readonly index: number
  /** null: the only one that was published at this place */
  readonly payloadId: Hex | null
}

export const StreamPosition = { parse, format }

/** Returns null for a text that is not a position. */
function parse(text: string): StreamPosition | null {
  const [, blockNumber, index, payloadId] = POSITION.exec(text) ?? []
  if (blockNumber === undefined || index === undefined) return null
  return { blockNumber: Number(blockNumber), index: Number(index), payloadId: (payloadId?.toLowerCase() as Hex | undefined) ?? null } // 0x and digits
}

const POSITION = /^(\d{1,15})\.(\d{1,9})(?:\.(0x[0-9a-f]{16}))?$/i

function format({ blockNumber, index, payloadId }: StreamPosition): string {
  return `${blockNumber}.${index}${payloadId === null ? '' : `.${payloadId}`}`
}

/** The result of looking up a position. `ambiguous`: its block was built more than once, and it names no payload. */
type Continuation = readonly Flashblock[] | 'unknown' | 'ambiguous'

/** The newest flashblocks, for subscribers that come back. */
export class RecentFlashblocks {
  readonly #flashblocks: Flashblock[] = []
  /** Flashblocks of blocks that were built before, as another payload. */
  readonly #replacements = new WeakSet<Flashblock>()
  #sizeBytes = 0
  #highestBlock = -1
  #isReplacement = false

  add(flashblock: Flashblock): void {
    if (flashblock.payloadId !== this.#flashblocks.at(-1)?.payloadId) this.#isReplacement = flashblock.blockNumber <= this.#highestBlock
    this.#highestBlock = Math.max(this.#highestBlock, flashblock.blockNumber)
    if (this.#isReplacement) this.#replacements.add(flashblock)
    this.#flashblocks.push(flashblock)
    this.#sizeBytes += sizeOf(flashblock)
    while (this.#flashblocks.length > RECENT_FLASHBLOCKS || (this.#sizeBytes > RECENT_BYTES && this.#flashblocks.length > 1)) {
      const oldest = this.#flashblocks.shift()
      if (oldest !== undefined) this.#sizeBytes -= sizeOf(oldest)
    }
  }

  /** Null before the first. */
  get newest(): StreamPosition | null {
    const flashblock = this.#flashblocks.at(-1)
    return flashblock === undefined ? null : positionOf(flashblock)
  }

  /** Forgets all flashblocks: another chain follows. */
  clear(): void {
    this.#flashblocks.length = 0
    this.#sizeBytes = 0
  }

  /** Returns what was published after a position, in order. */
  after({ blockNumber, index, payloadId }: StreamPosition): Continuation {
    const isThere = (each: Flashblock) =>
      each.blockNumber === blockNumber && each.index === index && (payloadId === null || each.payloadId === payloadId)
    const place = this.#flashblocks.findIndex(isThere)
    const found = this.#flashblocks[place]
    if (found === undefined) return 'unknown'
    // The former payload of a replacement may have been dropped, so a single match is not enough.
    const isExact = payloadId !== null || (!this.#replacements.has(found) && this.#flashblocks.findLastIndex(isThere) === place)
    return isExact ? this.#flashblocks.slice(place + 1) : 'ambiguous'
  }
}

function positionOf({ blockNumber, index, payloadId }: Flashblock): StreamPosition {
  return { blockNumber, index, payloadId }
}

/** Most of its memory: the transactions. */
function sizeOf({ diff }: Flashblock): number {
  return diff.transactions.reduce((sum, { length }) => sum + length, 0)
}
