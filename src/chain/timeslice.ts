import { TIME_SLICE_MS } from './limits.ts'

/** Yields to the event loop between the blocks of a long change, every TIME_SLICE_MS. Uses machine time; no block depends on it. */
export class TimeSlice {
  #endMs = performance.now() + TIME_SLICE_MS

  get isExpired(): boolean {
    return performance.now() >= this.#endMs
  }

  /** Yields to the event loop when the slice has expired. Returns `null` when it has not. */
  yieldIfExpired(): Promise<void> | null {
    return this.isExpired ? this.#yield() : null
  }

  async #yield(): Promise<void> {
    await nextTurn()
    this.#endMs = performance.now() + TIME_SLICE_MS
  }
}

/** Browsers have no setImmediate, and delay nested timers by 4 ms. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') {
      setImmediate(resolve)
      return
    }
    const { port1, port2 } = new MessageChannel()
    port1.addEventListener('message', () => {
      port1.close()
      resolve()
    })
    port1.start()
    port2.postMessage(null)
  })
}
