import { Secp256k1 } from '../../eth/index.ts'
import type { Hash, Signature } from '../../eth/index.ts'
import { inNextTurn } from '../../jsonrpc/index.ts'
import { RECOVERIES, RECOVERIES_BEFORE_THREAD, RECOVERY_SLICE_MS, THREAD_IDLE_MS } from '../limits.ts'
import { SignatureRing } from './ring.ts'
import type { Sender } from './ring.ts'

/** Starts a thread that recovers what is put into the ring, and returns the function that ends it. */
export type StartRecoveryThread = (ring: SharedArrayBuffer, onEnd: (why: unknown) => void) => Promise<() => Promise<void>>

interface Waiting {
  readonly digest: Hash
  readonly signature: Signature
  readonly resolve: (sender: Sender) => void
  /** undefined: not recovered on this thread */
  sender: Sender | undefined
}

/**
 * Recovers the senders of transactions, which takes longer than the rest of their admission. One that arrives alone is recovered at once. Of those that
 * arrive in the same turn of the event loop, the others wait for the end of the turn, and a thread recovers a share of them. Senders are returned in the
 * order of the calls.
 */
export class SenderRecovery {
  readonly #start: StartRecoveryThread | null
  readonly #onBug: (error: unknown) => void
  /** Recoveries that a thread could have shared. */
  #shareable = 0
  /** Resolves when the thread has started; null before it is needed. */
  #started: Promise<void> | null = null
  /** null without a thread */
  #ring: SignatureRing | null = null
  #endThread: (() => Promise<void>) | null = null
  readonly #idleMs: number
  /** Ends the thread when it has been idle for a whole interval; null without a thread. */
  #idleCheck: ReturnType<typeof setInterval> | null = null
  #isUsed = false
  /** `close` was called, or the thread has ended. */
  #isClosed = false
  #isInTurn = false
  readonly #waiting: Waiting[] = []
  /** Position of the first one that waits. */
  #first = 0
  /** Position of the first one that this thread has not tried to take. */
  #untaken = 0
  /** The position for whose sender the previous turn waited. */
  #awaited = -1

  /** `start` null: every sender is recovered at once. */
  constructor(start: StartRecoveryThread | null, onBug: (error: unknown) => void, idleMs = THREAD_IDLE_MS) {
    this.#start = start
    this.#onBug = onBug
    this.#idleMs = idleMs
  }

  /** Null for an invalid signature. Requests that need no recovery may overtake this one. */
  recover(digest: Hash, signature: Signature): Sender | Promise<Sender> {
    if (this.#start === null) return recovered(digest, signature)
    const isAlone = this.#waiting.length === 0 && !this.#isInTurn
    this.#beginTurn()
    const ring = isAlone ? null : this.#ringOrNull(this.#start)
    if (ring === null) return this.#recoverAfterOthers(digest, signature)
    this.#isUsed = true
    while (this.#waiting.length === RECOVERIES) this.#recoverNext(ring)
    // The thread has been paused in this slot for RECOVERIES positions.
    if (!ring.put(this.#first + this.#waiting.length, digest, signature)) return this.#recoverAfterOthers(digest, signature)
    return new Promise((resolve) => this.#waiting.push({ digest, signature, resolve, sender: undefined }))
  }

  #recoverAfterOthers(digest: Hash, signature: Signature): Sender | Promise<Sender> {
    if (this.#ring === null || this.#waiting.length === 0) return recovered(digest, signature)
    while (this.#waiting.length > 0) this.#recoverNext(this.#ring)
    // What continues after those that waited comes first.
    return Promise.resolve(recovered(digest, signature))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#started
    if (this.#idleCheck !== null) clearInterval(this.#idleCheck)
    await this.#endThread?.()
  }

  #beginTurn(): void {
    if (this.#isInTurn) return
    this.#isInTurn = true
    inNextTurn(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    this.#isInTurn = false
    const ring = this.#ring
    if (ring === null) return
    const endMs = performance.now() + RECOVERY_SLICE_MS
    while (this.#recoverNext(ring)) if (performance.now() > endMs) break
    if (this.#waiting.length > 0) this.#beginTurn()
  }

  /** Returns false if there is nothing to do now: all are recovered, or the other thread recovers the rest. */
  #recoverNext(ring: SignatureRing): boolean {
    const taken = this.#takeNext(ring)
    if (taken !== null) taken.sender = recovered(taken.digest, taken.signature)
    this.#resolveFirst(ring)
    const [first] = this.#waiting
    if (taken !== null || first === undefined) return first !== undefined
    // The thread has had a turn of the event loop for it, and may be paused.
    if (this.#awaited === this.#first) first.sender = recovered(first.digest, first.signature)
    else this.#awaited = this.#first
    return first.sender !== undefined
  }

  #takeNext(ring: SignatureRing): Waiting | null {
    this.#untaken = Math.max(this.#untaken, this.#first)
    for (; this.#untaken < this.#first + this.#waiting.length; this.#untaken++) {
      if (!ring.take(this.#untaken)) continue
      ring.free(this.#untaken)
      return this.#waiting[this.#untaken++ - this.#first] ?? null
    }
    return null
  }

  /** Returns the senders that are known, up to the first one that is not. */
  #resolveFirst(ring: SignatureRing): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const sender = first.sender === undefined ? ring.sender(this.#first) : first.sender
      if (sender === undefined) return
      this.#waiting.shift()
      this.#first++
      first.resolve(sender)
    }
  }

  /** Null until the thread has started, which takes memory that a few transactions are not worth. */
  #ringOrNull(start: StartRecoveryThread): SignatureRing | null {
    if (this.#isClosed) return null
    if (this.#started === null && ++this.#shareable > RECOVERIES_BEFORE_THREAD) this.#started = this.#startThread(start).catch(this.#onBug)
    return this.#ring
  }

  async #startThread(start: StartRecoveryThread): Promise<void> {
    const ring = new SignatureRing()
    this.#endThread = await start(ring.shared, (why) => {
      if (this.#isClosed || this.#ring !== ring) return
      this.#isClosed = true
      this.#onBug(why)
    })
    this.#ring = ring
    this.#isUsed = true
    this.#idleCheck = setInterval(() => this.#endIfIdle(), this.#idleMs)
    this.#idleCheck.unref()
  }

  #endIfIdle(): void {
    if (this.#isUsed || this.#waiting.length > 0 || this.#idleCheck === null) {
      this.#isUsed = false
      return
    }
    clearInterval(this.#idleCheck)
    const end = this.#endThread
    // The next burst starts another thread, whose ring begins at position 0.
    this.#idleCheck = this.#endThread = this.#ring = this.#started = null
    this.#shareable = this.#first = this.#untaken = 0
    this.#awaited = -1
    void end?.().catch(this.#onBug)
  }
}

function recovered(digest: Hash, { r, s, yParity }: Signature): Sender {
  return Secp256k1.recover(digest, r, s, yParity)
}
