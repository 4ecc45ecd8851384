import type { Head } from '../chain/index.ts'
import type { Flashblock } from '../eth/index.ts'
import { compress, plainFrame } from './frame.ts'
import type { Encoding, Frame } from './frame.ts'
import { RecentFlashblocks } from './recentflashblocks.ts'
import type { StreamPosition } from './recentflashblocks.ts'
import { MAX_COMPRESSION_BACKLOG, MAX_QUEUED_FRAMES } from './limits.ts'

/** A reader of the stream. */
export interface Subscriber {
  readonly send: (frame: Frame) => void
  /** Called when the stream cannot continue without a gap; no frame follows. */
  readonly terminate: (reason: string) => void
}

/**
 * Encodes each flashblock once and sends the frame to every subscriber in order, from the time of subscription or from an earlier position. Encodes nothing
 * without subscribers.
 */
export class Publisher {
  readonly #plain = new Set<Subscriber>()
  readonly #brotli = new Set<Subscriber>()
  readonly #queue: Delivery[] = []
  readonly #recent = new RecentFlashblocks()
  readonly #unsubscribe: () => void
  #compressing = false

  constructor(head: Head) {
    this.#unsubscribe = head.subscribe((event) => {
      if (event.kind === 'block' && !event.sealed) this.#publish(event.flashblock)
      if (event.kind === 'rewind' && (event.cause === 'reset' || event.cause === 'restart')) this.#recent.clear()
    })
  }

  get subscribers(): number {
    return this.#plain.size + this.#brotli.size
  }

  /** The place of the newest flashblock; null before the first. */
  get newest(): StreamPosition | null {
    return this.#recent.newest
  }

  /** Returns whether a subscriber can continue from there. */
  find(position: StreamPosition): 'known' | 'unknown' | 'ambiguous' {
    const continuation = this.#recent.after(position)
    return typeof continuation === 'string' ? continuation : 'known'
  }

  /**
   * Returns the unsubscribe function. `after`: the subscriber first gets what was published after it, as plain text. Throws RangeError for a position that is
   * not `known`.
   */
  subscribe(encoding: Encoding, subscriber: Subscriber, after: StreamPosition | null = null): () => void {
    const missed = after === null ? [] : this.#recent.after(after)
    if (typeof missed === 'string') throw new RangeError(`the position is ${missed}`)
    for (const flashblock of missed) subscriber.send(plainFrame(flashblock))
    const subscribers = encoding === 'plain' ? this.#plain : this.#brotli
    subscribers.add(subscriber)
    return () => subscribers.delete(subscriber)
  }

  /** Unsubscribes from the head. Frames waiting for compression are still sent. */
  close(): void {
    this.#unsubscribe()
  }

  #publish(flashblock: Flashblock): void {
    this.#recent.add(flashblock)
    if (this.subscribers === 0) return
    const frame = plainFrame(flashblock)
    for (const subscriber of this.#plain) subscriber.send(frame)
    if (this.#brotli.size > 0) this.#enqueue({ frame, to: [...this.#brotli] })
  }

  #enqueue(delivery: Delivery): void {
    if (this.#queue.length >= MAX_QUEUED_FRAMES) return this.#terminateAll()
    this.#queue.push(delivery)
    if (!this.#compressing) void this.#deliver()
  }

  /** Compresses one frame at a time, which keeps the order and needs one encoder's memory. */
  async #deliver(): Promise<void> {
    this.#compressing = true
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const frame = await this.#compressed(next.frame)
      for (const subscriber of next.to) if (this.#brotli.has(subscriber)) subscriber.send(frame)
    }
    this.#compressing = false
  }

  /** Falls back to plain text when compression is behind or fails; readers check the first byte. */
  async #compressed(frame: Frame): Promise<Frame> {
    if (this.#queue.length >= MAX_COMPRESSION_BACKLOG) return frame
    return compress(frame).catch(() => frame)
  }

  #terminateAll(): void {
    const subscribers = [...this.#brotli]
    this.#brotli.clear()
    this.#queue.length = 0
    for (const subscriber of subscribers) subscriber.terminate(`more than ${MAX_QUEUED_FRAMES} flashblocks are waiting to be compressed`)
  }
}

/** A frame and its subscribers when it was published. */
interface Delivery {
  readonly frame: Frame
  readonly to: readonly Subscriber[]
}
