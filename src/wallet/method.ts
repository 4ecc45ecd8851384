import { defineMethods } from '../jsonrpc/index.ts'
import type { Method } from '../jsonrpc/index.ts'
import type { WalletContext } from './context.ts'
import type { Subscriptions } from './subscriptions.ts'

/** The sender of a provider request. */
export interface ProviderCaller {
  /** set by the browser; `local` in process */
  readonly origin: string
  /** aborted when the sender disconnects, which withdraws its pending questions */
  readonly signal: AbortSignal | null
  /** subscriptions of the sender's provider; absent or null: notifications cannot be delivered, as over HTTP */
  readonly subscriptions?: Subscriptions | null
}

/** A row of the provider's methods. */
export type WalletMethod = Method<WalletContext, ProviderCaller>

export const walletMethod = defineMethods<WalletContext, ProviderCaller>()
