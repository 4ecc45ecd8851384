import type { Chain } from '../chain/index.ts'
import type { Compat } from '../compat.ts'
import type { DevAccounts } from './accounts.ts'
import type { Filters } from './logs/filters.ts'
import type { WorkerPort, OffloadPolicy } from './execution/workerport.ts'
import type { ForkPort } from './forkport.ts'
import type { RequestObserver } from './observer.ts'
import type { Quota } from './quota.ts'
import type { SenderRecovery } from './recovery/senders.ts'
import type { TransactionSearch } from './search/search.ts'
import type { BlockTexts } from './texts.ts'

/** Dependencies of the handlers of the node's own methods; one per node. */
export interface Context {
  readonly chain: Chain
  readonly accounts: DevAccounts
  /** installed by eth_newFilter and its like */
  readonly filters: Filters
  /** JSON of sealed blocks, kept for the next request */
  readonly texts: BlockTexts
  /** the transactions of an address, inner calls included */
  readonly search: TransactionSearch
  readonly compat: Compat
  /** absent: requests are not logged */
  readonly observer?: RequestObserver
  /** null: the chain cannot be a fork */
  readonly fork: ForkPort | null
  /** worker threads for long requests; null: none */
  readonly workers: WorkerPort | null
  /** moves requests to worker threads when several long ones arrive together; null: every request starts on this thread */
  readonly offloadPolicy: OffloadPolicy | null
  /** recovers the senders of raw transactions */
  readonly senders: SenderRecovery
  /** such as `pocketchain/1.2.3/linux-x64/node20.20.2` */
  readonly clientVersion: string
  /** what `web3_clientVersion` returns on the dedicated tier; such as `anvil/v1.7.1/pocketchain/1.2.3` */
  readonly devClientVersion: string
  /** all methods that a caller of this tier can use, whichever module answers them */
  readonly methodNames: (tier: Caller['tier']) => readonly string[]
}

/** The sender of a request. A `session` exists on WebSocket only: it receives notifications. */
export interface Caller {
  readonly tier: 'dedicated' | 'public'
  readonly session: Session | null
  /** a request of this process, which is not logged */
  readonly isInProcess?: true
  /** the Origin that the browser sent; absent or null: no browser */
  readonly origin?: string | null
  /** true if the request has the control credential; absent: no. Read only for requests with an Origin: programs need none here */
  readonly isControl?: () => boolean
  /** value of the header x-request-id, for the log; absent: the request has no such header */
  readonly requestId?: string
  /** called with the id of a subscription before its first notification; absent: the id is sent before all of them */
  readonly onSubscribe?: (subscription: string) => void
  /** limits of the public tier; absent: none */
  readonly quota?: Quota
}

/** One WebSocket connection, as the methods see it. */
export interface Session {
  /** sends `eth_subscription` with this result, and with `position` if given; returns false if the client reads too slowly and was disconnected */
  readonly notify: (subscription: string, result: unknown, position?: unknown) => boolean
  /** resolves when the notifications so far have left the process, or the connection has ended; absent: they leave synchronously */
  readonly drained?: () => Promise<void>
  /** disconnects the client, because a subscription cannot continue without a gap */
  readonly disconnect?: (reason: string) => void
  /** run when the connection ends */
  readonly onClose: (listener: () => void) => void
}
