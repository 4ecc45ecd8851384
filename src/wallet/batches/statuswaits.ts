import { STATUS_WAITERS } from '../limits.ts'

/** Those who wait until a batch has another status. */
export class StatusWaits {
  readonly #waits = new Map<string, Set<() => void>>()
  #count = 0
  #isClosed = false

  /** Resolves when that batch is woken, the time is over, or the asker has gone; at once when too many wait already. */
  wait(key: string, waitMs: number, signal: AbortSignal | null): Promise<void> {
    if (this.#count >= STATUS_WAITERS || this.#isClosed || signal?.aborted === true) return Promise.resolve()
    this.#count++
    const waits = this.#waits.get(key) ?? new Set()
    this.#waits.set(key, waits)
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', wake)
        this.#count--
        waits.delete(wake)
        if (waits.size === 0) this.#waits.delete(key)
        resolve()
      }
      const timer = setTimeout(wake, waitMs)
      signal?.addEventListener('abort', wake)
      waits.add(wake)
    })
  }

  wake(key: string): void {
    for (const wake of [...(this.#waits.get(key) ?? [])]) wake()
  }

  close(): void {
    this.#isClosed = true
    for (const key of [...this.#waits.keys()]) this.wake(key)
  }
}
