import type { Head } from '../chain/index.ts'
import type { Flashblock } from '../eth/index.ts'
import { compress, plainFrame } from './frame.ts'
import type { Encoding, Frame } from './frame.ts'
import { COMPRESSION_QUEUE, WAITING_FRAMES } from './limits.ts'

/** One reader of the stream. */
export interface Subscriber {
  readonly send: (frame: Frame) => void
  /** the stream cannot be continued without a hole; nothing more is sent */
  readonly cut: (reason: string) => void
}

/**
 * Turns flashblocks into frames, each made once and handed to every subscriber in order. Who subscribes gets what happens from
 * then on, nothing of before. Without subscribers it does nothing.
 */
export class Publisher {
  readonly #plain = new Set<Subscriber>()
  readonly #brotli = new Set<Subscriber>()
  readonly #waiting: Delivery[] = []
  readonly #leave: () => void
  #compressing = false

  constructor(head: Head) {
    this.#leave = head.subscribe((event) => {
      if (event.kind === 'block' && !event.sealed) this.#publish(event.flashblock)
    })
  }

  get subscribers(): number {
    return this.#plain.size + this.#brotli.size
  }

  /** Answers the function that ends the subscription. */
  subscribe(encoding: Encoding, subscriber: Subscriber): () => void {
    const subscribers = encoding === 'plain' ? this.#plain : this.#brotli
    subscribers.add(subscriber)
    return () => subscribers.delete(subscriber)
  }

  /** Listens to the head no longer. What waits for compression is still delivered. */
  close(): void {
    this.#leave()
  }

  #publish(flashblock: Flashblock): void {
    if (this.subscribers === 0) return
    const frame = plainFrame(flashblock)
    for (const subscriber of this.#plain) subscriber.send(frame)
    if (this.#brotli.size > 0) this.#enqueue({ frame, to: [...this.#brotli] })
  }

  #enqueue(delivery: Delivery): void {
    if (this.#waiting.length >= WAITING_FRAMES) return this.#cutOff()
    this.#waiting.push(delivery)
    if (!this.#compressing) void this.#deliver()
  }

  /** One frame at a time: order is kept without bookkeeping, and one encoder's memory is enough. */
  async #deliver(): Promise<void> {
    this.#compressing = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const frame = await this.#packed(next.frame)
      for (const subscriber of next.to) if (this.#brotli.has(subscriber)) subscriber.send(frame)
    }
    this.#compressing = false
  }

  /** Plain text when compression has fallen behind or fails: readers look at the first byte anyway. */
  async #packed(frame: Frame): Promise<Frame> {
    if (this.#waiting.length >= COMPRESSION_QUEUE) return frame
    return compress(frame).catch(() => frame)
  }

  #cutOff(): void {
    const subscribers = [...this.#brotli]
    this.#brotli.clear()
    this.#waiting.length = 0
    for (const subscriber of subscribers) subscriber.cut(`more than ${WAITING_FRAMES} flashblocks are waiting to be compressed`)
  }
}

/** A frame and those who were subscribed when it happened. */
interface Delivery {
  readonly frame: Frame
  readonly to: readonly Subscriber[]
}
