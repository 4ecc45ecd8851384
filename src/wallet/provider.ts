import { Hex } from '../eth/index.ts'
import { RpcError } from '../jsonrpc/index.ts'
import type { WalletContext } from './context.ts'
import { WALLET_CODE } from './errors.ts'
import type { Asker } from './method.ts'
import type { AnswerRequest, ProviderRequest } from './request.ts'
import type { SiteChange } from './sites.ts'
import { Subscriptions } from './subscriptions.ts'

/** What each event of EIP-1193 hands to its listeners. */
export interface ProviderEvents {
  connect: { readonly chainId: Hex }
  disconnect: RpcError
  chainChanged: Hex
  accountsChanged: readonly string[]
  message: ProviderMessage
}

export type ProviderEvent = keyof ProviderEvents

/** `eth_subscription`: an item of a subscription. `wallet_callsStatus`: a batch of the origin has another status. */
export type ProviderMessage =
  | { readonly type: 'eth_subscription'; readonly data: { readonly subscription: string; readonly result: unknown } }
  | { readonly type: 'wallet_callsStatus'; readonly data: { readonly id: string; readonly status: number } }

/** EIP-1193, for one origin. Errors have `code`, `message` and `data`. */
export interface Provider {
  /** Rejects with RpcError only. `signal`: nobody waits any more, a question is withdrawn. */
  request(request: ProviderRequest, options?: { readonly signal?: AbortSignal | null }): Promise<unknown>
  on<E extends ProviderEvent>(event: E, listener: (value: ProviderEvents[E]) => void): this
  removeListener<E extends ProviderEvent>(event: E, listener: (value: ProviderEvents[E]) => void): this
  /** Ends its subscriptions and withdraws its questions. What was permitted stays. */
  close(): void
}

type Listener = (value: never) => void

/** One connection of one origin; what one of them changes, all of the origin are told. */
export class SiteProvider implements Provider {
  readonly #wallet: WalletContext
  readonly #answer: AnswerRequest
  readonly #origin: string
  readonly #listeners = new Map<ProviderEvent, Set<Listener>>()
  readonly #subscriptions: Subscriptions
  #isClosed = false
  /** of the requests under way: one signal for all would collect a listener of each, of which Node warns */
  readonly #underWay = new Set<AbortController>()
  readonly #ends: readonly (() => void)[]
  readonly #onClose: (provider: SiteProvider) => void

  constructor(wallet: WalletContext, answer: AnswerRequest, origin: string, onClose: (provider: SiteProvider) => void) {
    this.#wallet = wallet
    this.#answer = answer
    this.#origin = origin
    this.#onClose = onClose
    // Some apps take it off the provider.
    this.request = this.request.bind(this)
    const tell = (subscription: string, result: unknown): void =>
      this.#emit('message', { type: 'eth_subscription', data: { subscription, result } })
    this.#subscriptions = new Subscriptions(tell, wallet.onError)
    this.#ends = [
      wallet.sites.subscribe((change) => {
        if (change.site.origin === origin) this.#follow(change)
      }),
      wallet.batches.subscribe(({ origin: sender, id, status }) => {
        if (sender === origin) this.#emit('message', { type: 'wallet_callsStatus', data: { id, status } })
      }),
    ]
    // Whoever was handed the provider has had time to listen.
    queueMicrotask(() => {
      if (!this.#isClosed) this.#emit('connect', { chainId: this.#chainId })
    })
  }

  async request(request: ProviderRequest, { signal = null }: { readonly signal?: AbortSignal | null } = {}): Promise<unknown> {
    if (this.#isClosed) throw disconnected()
    const gone = new AbortController()
    const asker: Asker = {
      origin: this.#origin,
      signal: signal === null ? gone.signal : AbortSignal.any([gone.signal, signal]),
      subscriptions: this.#subscriptions,
    }
    this.#underWay.add(gone)
    try {
      return await this.#answer(request, asker)
    } finally {
      this.#underWay.delete(gone)
    }
  }

  on<E extends ProviderEvent>(event: E, listener: (value: ProviderEvents[E]) => void): this {
    const listeners = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, listeners.add(listener))
    return this
  }

  removeListener<E extends ProviderEvent>(event: E, listener: (value: ProviderEvents[E]) => void): this {
    this.#listeners.get(event)?.delete(listener)
    return this
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const end of this.#ends) end()
    this.#subscriptions.close()
    for (const gone of this.#underWay) gone.abort()
    this.#onClose(this)
    this.#emit('disconnect', disconnected())
  }

  get #chainId(): Hex {
    return Hex.fromQuantity(this.#wallet.sites.get(this.#origin).chainId)
  }

  #follow({ site, before }: SiteChange): void {
    if (site.chainId !== before.chainId) {
      this.#subscriptions.endAll()
      this.#emit('chainChanged', Hex.fromQuantity(site.chainId))
    }
    const isSame = site.accounts.length === before.accounts.length && site.accounts.every((account, i) => account === before.accounts[i])
    if (!isSame) this.#emit('accountsChanged', [...site.accounts])
  }

  /** What a listener throws is its own affair, and no reason to leave out the others. */
  #emit<E extends ProviderEvent>(event: E, value: ProviderEvents[E]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      try {
        ;(listener as (value: ProviderEvents[E]) => void)(value) // `on` put it there for this event
      } catch (error) {
        this.#wallet.onError(error)
      }
    }
  }
}

function disconnected(): RpcError {
  return new RpcError(WALLET_CODE.disconnected, 'the provider is closed', { reason: 'closed' })
}
