// Waits for the receipts of user operations: one request polls all pending ones.

const POLL_MS = 10

export class ReceiptWatch {
  #askAll
  #timeoutMs
  /** @type {Map<string, { resolve: (seenMs: number) => void, reject: (error: Error) => void, untilMs: number }>} */
  #waiting = new Map()
  #isStopped = false
  #running

  /**
   * @param {(calls: [method: string, ...params: unknown[]][]) => Promise<any[]>} askAll
   * @param {number} timeoutMs timeout for a receipt
   */
  constructor(askAll, timeoutMs) {
    this.#askAll = askAll
    this.#timeoutMs = timeoutMs
    this.#running = this.#poll()
  }

  /** Resolves when the receipt exists. Rejects if the operation failed or the timeout passed. @returns {Promise<number>} */
  seen(/** @type {string} */ hash) {
    return new Promise((resolve, reject) => this.#waiting.set(hash, { resolve, reject, untilMs: performance.now() + this.#timeoutMs }))
  }

  async stop() {
    this.#isStopped = true
    await this.#running
  }

  async #poll() {
    while (!this.#isStopped) {
      const hashes = [...this.#waiting.keys()]
      const receipts = hashes.length === 0 ? [] : await this.#askAll(hashes.map((hash) => ['eth_getUserOperationReceipt', hash]))
      const nowMs = performance.now()
      for (const [i, hash] of hashes.entries()) this.#look(hash, receipts[i], nowMs)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }

  #look(hash, receipt, nowMs) {
    const { resolve, reject, untilMs } = this.#waiting.get(hash)
    if (receipt === null && nowMs < untilMs) return
    this.#waiting.delete(hash)
    if (receipt === null) reject(new Error(`${hash} has no receipt after ${this.#timeoutMs} ms`))
    else if (receipt.success) resolve(nowMs)
    else reject(new Error(`${hash} has failed`))
  }
}
