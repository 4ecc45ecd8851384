// When the receipts of user operations are there: all that are waited for are asked for in one request, again and again.

const POLL_MS = 10

export class ReceiptWatch {
  #askAll
  #patienceMs
  /** @type {Map<string, { resolve: (seenMs: number) => void, reject: (error: Error) => void, untilMs: number }>} */
  #waiting = new Map()
  #isStopped = false
  #running

  /**
   * @param {(calls: [method: string, ...params: unknown[]][]) => Promise<any[]>} askAll
   * @param {number} patienceMs whoever has no receipt after so long is given up
   */
  constructor(askAll, patienceMs) {
    this.#askAll = askAll
    this.#patienceMs = patienceMs
    this.#running = this.#poll()
  }

  /** When its receipt was seen. Rejects when it has failed, and when there is none. @returns {Promise<number>} */
  seen(/** @type {string} */ hash) {
    return new Promise((resolve, reject) => this.#waiting.set(hash, { resolve, reject, untilMs: performance.now() + this.#patienceMs }))
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
    if (receipt === null) reject(new Error(`${hash} has no receipt after ${this.#patienceMs} ms`))
    else if (receipt.success) resolve(nowMs)
    else reject(new Error(`${hash} has failed`))
  }
}
