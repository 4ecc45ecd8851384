import type { Worker } from 'node:worker_threads'
import { ENDED } from './lease.ts'
import type { LeaseThreadData } from './lease.ts'

/**
 * A thread with its own connection that renews the lease while the main thread is busy, for BUSY_MS at most. The process is then slow, but not lost.
 * Every commit still requires the epoch of the lease.
 */
export class LeaseThread {
  readonly #beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  #worker: Worker | null = null

  /** Starts the thread, which does not keep the process alive. Without it a process that is busy may lose its lease. */
  constructor({ config, epoch }: Omit<LeaseThreadData, 'beats'>, entry = ENTRY) {
    if (entry !== null) void this.#start(entry, { config, epoch, beats: this.#beats })
  }

  /** Shows that the main thread is not busy: it renews the lease itself. */
  beat(): void {
    Atomics.store(this.#beats, 0, (Atomics.load(this.#beats, 0) + 1) & MAX_BEATS)
  }

  /** The lease is not renewed from then on. */
  end(): void {
    Atomics.store(this.#beats, 0, ENDED)
    void this.#worker?.terminate()
  }

  async #start(entry: URL, workerData: LeaseThreadData): Promise<void> {
    try {
      const { Worker } = await import('node:worker_threads')
      const worker = new Worker(entry, { name: 'pocketchain lease', workerData })
      worker.unref()
      // The main thread still renews the lease.
      worker.on('error', () => undefined)
      this.#worker = worker
    } catch {
      // Node's permission model forbids threads without --allow-worker.
    }
  }
}

/** The counter starts again at 0 after it. */
const MAX_BEATS = 0x7fff_ffff
/** In the same folder of the compiled program; null when the sources run. */
const ENTRY = import.meta.url.endsWith('.ts') ? null : new URL('./leasethreadentry.js', import.meta.url)
