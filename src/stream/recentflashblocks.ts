import type { Flashblock, Hex } from '../eth/index.ts'
import { RECENT_BYTES, RECENT_FLASHBLOCKS } from './limits.ts'

/** A flashblock's place in the stream: BLOCK.INDEX, or BLOCK.INDEX.PAYLOAD, which is exact if a block was built again. */
export interface StreamPosition {
  readonly blockNumber: number
  readonly index: number
  /** null: the first flashblock that was published at this place */
  readonly payloadId: Hex | null
}

export const StreamPosition = { parse, format }

/** Returns null for a text that is no position. */
function parse(text: string): StreamPosition | null {
  const [, blockNumber, index, payloadId] = POSITION.exec(text) ?? []
  if (blockNumber === undefined || index === undefined) return null
  return { blockNumber: Number(blockNumber), index: Number(index), payloadId: (payloadId?.toLowerCase() as Hex | undefined) ?? null } // 0x and digits
}

const POSITION = /^(\d{1,15})\.(\d{1,9})(?:\.(0x[0-9a-f]{16}))?$/i

function format({ blockNumber, index, payloadId }: StreamPosition): string {
  return `${blockNumber}.${index}${payloadId === null ? '' : `.${payloadId}`}`
}

/** The newest flashblocks, for subscribers that come back. */
export class RecentFlashblocks {
  readonly #flashblocks: Flashblock[] = []
  #sizeBytes = 0

  add(flashblock: Flashblock): void {
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

  /** Returns what was published after a position, in order; null if it is not known any more. */
  after({ blockNumber, index, payloadId }: StreamPosition): readonly Flashblock[] | null {
    const place = this.#flashblocks.findIndex(
      (each) => each.blockNumber === blockNumber && each.index === index && (payloadId === null || each.payloadId === payloadId),
    )
    return place < 0 ? null : this.#flashblocks.slice(place + 1)
  }
}

function positionOf({ blockNumber, index, payloadId }: Flashblock): StreamPosition {
  return { blockNumber, index, payloadId }
}

/** Most of its memory: the transactions. */
function sizeOf({ diff }: Flashblock): number {
  return diff.transactions.reduce((sum, { length }) => sum + length, 0)
}
