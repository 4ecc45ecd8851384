import { CODE, RpcError } from '../jsonrpc/index.ts'
import type { Rpc } from '../jsonrpc/index.ts'
import { SUBSCRIPTIONS_PER_PROVIDER } from './limits.ts'

/** The `eth_subscribe` subscriptions of one provider. */
export class Subscriptions {
  readonly #onResult: (subscription: string, result: unknown) => void
  readonly #onError: (error: unknown) => void
  /** null until the node has answered */
  readonly #open = new Map<string, (() => Promise<void>) | null>()
  #isClosed = false

  constructor(onResult: (subscription: string, result: unknown) => void, onError: (error: unknown) => void) {
    this.#onResult = onResult
    this.#onError = onError
  }

  /** Returns a random subscription id. Throws RpcError: that of the node, -32005 when there are too many. */
  async start(rpc: Rpc, params: readonly unknown[]): Promise<string> {
    if (this.#open.size >= SUBSCRIPTIONS_PER_PROVIDER) {
      const message = `too many subscriptions: at most ${SUBSCRIPTIONS_PER_PROVIDER} for one provider; end one with eth_unsubscribe`
      throw new RpcError(CODE.limitExceeded, message, { reason: 'too-many-subscriptions', limit: SUBSCRIPTIONS_PER_PROVIDER })
    }
    const id = randomQuantity()
    this.#open.set(id, null)
    try {
      const end = await rpc.subscribe(params, (result) => {
        if (this.#open.has(id)) this.#onResult(id, result)
      })
      if (this.#open.has(id)) this.#open.set(id, end)
      else await end()
    } catch (error) {
      this.#open.delete(id)
      throw error
    }
    if (this.#isClosed) throw new RpcError(CODE.server, 'the provider was closed while the subscription began', { reason: 'closed' })
    return id
  }

  /** False if there is none with this id. */
  end(id: string): boolean {
    const end = this.#open.get(id)
    if (!this.#open.delete(id)) return false
    // Not awaited: an unreachable node has ended it too.
    end?.().catch(this.#onError)
    return true
  }

  /** For a site that switched its chain, so that it receives no results of the former one. */
  endAll(): void {
    for (const id of [...this.#open.keys()]) this.end(id)
  }

  close(): void {
    this.#isClosed = true
    this.endAll()
  }
}

/** 16 random bytes as a quantity. */
function randomQuantity(): string {
  const [high = 0n, low = 0n] = crypto.getRandomValues(new BigUint64Array(2))
  return `0x${((high << 64n) | low).toString(16)}`
}
