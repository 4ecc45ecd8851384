import { Address, Hash } from '../../eth/index.ts'
import type { Signature } from '../../eth/index.ts'
import { RECOVERIES } from '../limits.ts'

/** What `Secp256k1.recover` returns: null for an invalid signature. */
export type Sender = Address | null

/**
 * Signatures in memory that the main thread shares with another one, by positions that count up. Each is recovered by the thread that takes it. The main
 * thread puts them in and reads the senders; after RECOVERIES positions it uses a slot again.
 */
export class SignatureRing {
  readonly shared: SharedArrayBuffer
  /** states of the slots, and the number of positions that were put in */
  readonly #states: Int32Array
  readonly #data: DataView
  readonly #bytes: Uint8Array

  constructor(shared = new SharedArrayBuffer(STATES_BYTES + RECOVERIES * SLOT_BYTES)) {
    this.shared = shared
    this.#states = new Int32Array(shared, 0, RECOVERIES + 1)
    this.#data = new DataView(shared, STATES_BYTES)
    this.#bytes = new Uint8Array(shared, STATES_BYTES)
  }

  /** Main thread. Returns false if the other thread still works in the slot. Positions are put in one after the other. */
  put(position: number, digest: Hash, { r, s, yParity }: Signature): boolean {
    const slot = slotOf(position)
    if (Atomics.load(this.#states, slot) === TAKEN) return false
    const at = slot * SLOT_BYTES
    this.#bytes.set(Hash.toBytes(digest), at)
    this.#setWord(at + 32, r)
    this.#setWord(at + 64, s)
    this.#bytes[at + 96] = yParity
    Atomics.store(this.#states, slot, WAITING)
    Atomics.store(this.#states, COUNT, position + 1)
    Atomics.notify(this.#states, COUNT)
    return true
  }

  /** Returns whether this thread recovers the sender. The main thread keeps its result for itself. */
  take(position: number): boolean {
    return Atomics.compareExchange(this.#states, slotOf(position), WAITING, TAKEN) === WAITING
  }

  /** Main thread, of a position that it took. */
  free(position: number): void {
    Atomics.store(this.#states, slotOf(position), FREE)
  }

  /** Main thread. undefined: the other thread has not finished it. */
  sender(position: number): Sender | undefined {
    const slot = slotOf(position)
    const state = Atomics.load(this.#states, slot)
    if (state === INVALID) return null
    const at = slot * SLOT_BYTES
    return state === RECOVERED ? Address.from(this.#bytes.slice(at, at + 20)) : undefined
  }

  /** Other thread. Blocks until the position was put in. */
  waitFor(position: number): void {
    for (;;) {
      const count = Atomics.load(this.#states, COUNT)
      if (((count - position) | 0) > 0) return
      Atomics.wait(this.#states, COUNT, count)
    }
  }

  /** Other thread, of a position that it took. */
  finish(position: number, recover: (digest: Uint8Array, r: bigint, s: bigint, yParity: number) => Sender): void {
    const slot = slotOf(position)
    const at = slot * SLOT_BYTES
    const sender = recover(this.#bytes.slice(at, at + 32), this.#word(at + 32), this.#word(at + 64), this.#bytes[at + 96] ?? 0)
    if (sender !== null) this.#bytes.set(Address.toBytes(sender), at)
    Atomics.store(this.#states, slot, sender === null ? INVALID : RECOVERED)
  }

  #setWord(at: number, value: bigint): void {
    // setBigUint64 takes the lowest 64 bits.
    this.#data.setBigUint64(at, value >> 192n)
    this.#data.setBigUint64(at + 8, value >> 128n)
    this.#data.setBigUint64(at + 16, value >> 64n)
    this.#data.setBigUint64(at + 24, value)
  }

  #word(at: number): bigint {
    let value = 0n
    for (let i = 0; i < 4; i++) value = (value << 64n) | this.#data.getBigUint64(at + 8 * i)
    return value
  }
}

/** States of a slot. */
const [FREE, WAITING, TAKEN, RECOVERED, INVALID] = [0, 1, 2, 3, 4]
/** Behind the states. */
const COUNT = RECOVERIES
const STATES_BYTES = 8 * Math.ceil((RECOVERIES + 1) / 2)
/** Digest (32), r (32), s (32), parity (1). The sender (20) replaces the digest. */
const SLOT_BYTES = 104

/** Positions wrap as 32-bit integers do. */
function slotOf(position: number): number {
  return position & (RECOVERIES - 1)
}
