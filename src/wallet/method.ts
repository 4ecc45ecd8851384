import { defineMethods } from '../jsonrpc/index.ts'
import type { Method } from '../jsonrpc/index.ts'
import type { WalletContext } from './context.ts'
import type { Subscriptions } from './subscriptions.ts'

/** The sender of a provider request. */
export interface Asker {
  /** as the browser named it; `local` in process */
  readonly origin: string
  /** aborted when the sender has gone: a question that waits for an answer is then withdrawn */
  readonly signal: AbortSignal | null
  /** of the sender's provider; absent or null: notifications cannot be delivered, as over HTTP */
  readonly subscriptions?: Subscriptions | null
}

/** A row of the provider's methods. */
export type WalletMethod = Method<WalletContext, Asker>

export const walletMethod = defineMethods<WalletContext, Asker>()
