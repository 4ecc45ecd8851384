import { CODE, RpcError } from '../jsonrpc/index.ts'
import type { Rpc } from '../jsonrpc/index.ts'
import { SUBSCRIPTIONS_PER_PROVIDER } from './limits.ts'

/** What a node tells one provider (`eth_subscribe`). */
export class Subscriptions {
  readonly #tell: (subscription: string, result: unknown) => void
  readonly #onError: (error: unknown) => void
  /** null: on its way */
  readonly #open = new Map<string, (() => Promise<void>) | null>()
  #isClosed = false

  constructor(tell: (subscription: string, result: unknown) => void, onError: (error: unknown) => void) {
    this.#tell = tell
    this.#onError = onError
  }

  /** Answers the subscription's name, which nobody can guess. Throws RpcError: the node's, -32005 when there are too many. */
  async start(rpc: Rpc, params: readonly unknown[]): Promise<string> {
    if (this.#open.size >= SUBSCRIPTIONS_PER_PROVIDER) {
      const message = `too many subscriptions: at most ${SUBSCRIPTIONS_PER_PROVIDER} for one provider; end one with eth_unsubscribe`
      throw new RpcError(CODE.limitExceeded, message, { reason: 'too-many-subscriptions', limit: SUBSCRIPTIONS_PER_PROVIDER })
    }
    const id = randomQuantity()
    this.#open.set(id, null)
    try {
      const end = await rpc.subscribe(params, (result) => {
        if (this.#open.has(id)) this.#tell(id, result)
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

  /** False: there is no such one. */
  end(id: string): boolean {
    const end = this.#open.get(id)
    if (!this.#open.delete(id)) return false
    // Nobody waits for it, and a node that is gone has ended it, too.
    end?.().catch(this.#onError)
    return true
  }

  /** The site is on another chain now: what the old one tells would be taken for the new one's. */
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
