// Upstream of a fork: forwards JSON-RPC requests after a delay, counts them, and refuses those above a rate.
import { createServer } from 'node:http'

export class ForkProxy {
  /** HTTP requests so far */
  requests = 0
  /** HTTP requests per second; above it 429 */
  limit = Infinity
  #server
  #recent = []

  static async start(/** @type {number} port of the node */ upstream, /** @type {number} */ delayMs) {
    const proxy = new ForkProxy(upstream, delayMs)
    await new Promise((resolve) => proxy.#server.listen(0, '127.0.0.1', () => resolve(undefined)))
    return proxy
  }

  constructor(upstream, delayMs) {
    this.#server = createServer((request, response) => {
      this.requests += 1
      const isRefused = this.#isAboveLimit()
      const pieces = []
      request.on('data', (piece) => pieces.push(piece))
      request.on('end', () => {
        setTimeout(() => {
          if (isRefused) response.writeHead(429).end()
          else void forward(upstream, Buffer.concat(pieces), response)
        }, delayMs)
      })
    })
  }

  get url() {
    return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (this.#server.address()).port}`
  }

  stop() {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** In the last second. */
  #isAboveLimit() {
    const nowMs = performance.now()
    this.#recent = this.#recent.filter((atMs) => atMs > nowMs - 1_000)
    if (this.#recent.length >= this.limit) return true
    this.#recent.push(nowMs)
    return false
  }
}

/**
 * @param {number} upstream
 * @param {Buffer} body
 * @param {import('node:http').ServerResponse} response
 */
async function forward(upstream, body, response) {
  try {
    const answer = await fetch(`http://127.0.0.1:${upstream}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  } catch {
    response.destroy()
  }
}
