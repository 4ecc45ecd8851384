import { STATUS_WAITERS } from '../limits.ts'

/** Requests that wait until the status of a batch changes. */
export class StatusWaiters {
  readonly #waiters = new Map<string, Set<() => void>>()
  #count = 0
  #isClosed = false

  /** Resolves on `notify(key)`, after `waitMs`, or when `signal` is aborted; immediately if STATUS_WAITERS requests wait. */
  wait(key: string, waitMs: number, signal: AbortSignal | null): Promise<void> {
    if (this.#count >= STATUS_WAITERS || this.#isClosed || signal?.aborted === true) return Promise.resolve()
    this.#count++
    const waiters = this.#waiters.get(key) ?? new Set()
    this.#waiters.set(key, waiters)
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', finish)
        this.#count--
        waiters.delete(finish)
        if (waiters.size === 0) this.#waiters.delete(key)
        resolve()
      }
      const timer = setTimeout(finish, waitMs)
      signal?.addEventListener('abort', finish)
      waiters.add(finish)
    })
  }

  notify(key: string): void {
    for (const finish of [...(this.#waiters.get(key) ?? [])]) finish()
  }

  close(): void {
    this.#isClosed = true
    for (const key of [...this.#waiters.keys()]) this.notify(key)
  }
}
