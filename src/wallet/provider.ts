import { Hex } from '../eth/index.ts'
import { RpcError, copyJson } from '../jsonrpc/index.ts'
import type { WalletContext } from './context.ts'
import { WALLET_CODE } from './errors.ts'
import type { ProviderCaller } from './method.ts'
import type { AnswerRequest, ProviderRequest } from './request.ts'
import type { SiteChange } from './sites.ts'
import { Subscriptions } from './subscriptions.ts'

/** The events of EIP-1193 and their values. */
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
  /** Rejects with RpcError only. `signal`: cancels the request, which withdraws its question. */
  request(request: ProviderRequest, options?: { readonly signal?: AbortSignal | null }): Promise<unknown>
  on<E extends ProviderEvent>(event: E, listener: (value: ProviderEvents[E]) => void): this
  removeListener<E extends ProviderEvent>(event: E, listener: (value: ProviderEvents[E]) => void): this
  /** Ends its subscriptions and withdraws its questions. Permissions stay. */
  close(): void
}

type Listener = (value: never) => void

/**
 * One connection of one origin. All connections of an origin receive its events.
 *
 * All state is in the constructor's closure: apps wrap a provider in a Proxy, where `#private` members throw, and take methods off it, where
 * `this` is lost.
 */
export class SiteProvider implements Provider {
  readonly request: Provider['request']
  readonly on: <E extends ProviderEvent>(event: E, listener: (value: ProviderEvents[E]) => void) => this
  readonly removeListener: <E extends ProviderEvent>(event: E, listener: (value: ProviderEvents[E]) => void) => this
  readonly close: () => void

  constructor(wallet: WalletContext, answer: AnswerRequest, origin: string, onClose: (provider: SiteProvider) => void) {
    const listeners = new Map<ProviderEvent, Set<Listener>>()
    /** one for each request: listeners on a shared signal would reach the limit above which Node warns */
    const openRequests = new Set<AbortController>()
    let isClosed = false

    /** Each listener receives a copy. The error of a listener is reported, and the others are still called. */
    const emit = <E extends ProviderEvent>(event: E, value: ProviderEvents[E]): void => {
      for (const listener of [...(listeners.get(event) ?? [])]) {
        try {
          ;(listener as (value: ProviderEvents[E]) => void)(value instanceof Error ? value : copyJson(value)) // `on` put it there for this event
        } catch (error) {
          wallet.onError(error)
        }
      }
    }

    const follow = ({ site, before }: SiteChange): void => {
      if (site.chainId !== before.chainId) {
        subscriptions.endAll()
        emit('chainChanged', Hex.fromQuantity(site.chainId))
      }
      const isSame = site.accounts.length === before.accounts.length && site.accounts.every((account, i) => account === before.accounts[i])
      if (!isSame) emit('accountsChanged', site.accounts)
    }

    const subscriptions = new Subscriptions(
      (subscription, result) => emit('message', { type: 'eth_subscription', data: { subscription, result } }),
      wallet.onError,
    )
    const ends = [
      wallet.sites.subscribe((change) => {
        if (change.site.origin === origin) follow(change)
      }),
      wallet.batches.subscribe(({ origin: sender, id, status }) => {
        if (sender === origin) emit('message', { type: 'wallet_callsStatus', data: { id, status } })
      }),
    ]

    this.request = async (request, { signal = null } = {}) => {
      if (isClosed) throw disconnected()
      const controller = new AbortController()
      const caller: ProviderCaller = {
        origin,
        signal: signal === null ? controller.signal : AbortSignal.any([controller.signal, signal]),
        subscriptions,
      }
      openRequests.add(controller)
      try {
        return copyJson(await answer(request, caller))
      } finally {
        openRequests.delete(controller)
      }
    }

    this.on = (event, listener) => {
      listeners.set(event, (listeners.get(event) ?? new Set()).add(listener))
      return this
    }

    this.removeListener = (event, listener) => {
      listeners.get(event)?.delete(listener)
      return this
    }

    this.close = () => {
      if (isClosed) return
      isClosed = true
      for (const end of ends) end()
      subscriptions.close()
      for (const controller of openRequests) controller.abort()
      onClose(this)
      emit('disconnect', new RpcError(NORMAL_CLOSURE, CLOSED, { reason: 'closed' }))
    }

    // In a microtask, so that the caller can add listeners first.
    queueMicrotask(() => {
      if (!isClosed) emit('connect', { chainId: Hex.fromQuantity(wallet.sites.get(origin).chainId) })
    })
  }
}

/** EIP-1193 takes the code of a `disconnect` event from the codes of CloseEvent. */
const NORMAL_CLOSURE = 1000
const CLOSED = 'the provider is closed'

function disconnected(): RpcError {
  return new RpcError(WALLET_CODE.disconnected, CLOSED, { reason: 'closed' })
}
