import type { Chain } from '../chain/index.ts'
import type { Compat } from '../compat.ts'
import type { DevAccounts } from './accounts.ts'
import type { Filters } from './filters.ts'
import type { Parallel, Sharing, Spell } from './parallel.ts'
import type { RpcRequest } from './port.ts'
import type { BlockTexts } from './texts.ts'

/** What handlers work with; one per running node. */
export interface Context {
  readonly chain: Chain
  readonly accounts: DevAccounts
  /** what eth_newFilter and its like have installed */
  readonly filters: Filters
  /** sealed blocks as they were answered before */
  readonly texts: BlockTexts
  readonly compat: Compat
  /** threads for what takes long; null: there are none */
  readonly parallel: Parallel | null
  /** of requests that come from outside by themselves; null: in a batch and in process one comes after the other */
  readonly sharing: Sharing | null
  /** what a computed result in bytes becomes */
  readonly spell: Spell
  /** the wallet of the same process; null: there is none */
  readonly wallet: WalletPort | null
  /** the bundler of the same process; null: there is none */
  readonly bundler: BundlerPort | null
  /** the sponsor of the same process; null: there is none */
  readonly sponsor: SponsorPort | null
  /** such as `pocketchain/0.1.0/linux-x64/node20.20.2` */
  readonly clientVersion: string
}

/** What a node answers for the wallet beside it: apps ask for their batches where they ask for their blocks. */
export interface WalletPort {
  /**
   * What wallet_getCallsStatus answers. An id that the wallet made is known to whoever knows it, one that an app chose to its own origin alone.
   * Throws RpcError, 5730 for an unknown one.
   */
  readonly callsStatus: (id: string, origin: string | null) => Promise<unknown>
}

/** What a node answers for the bundler beside it (ERC-4337): clients ask both at one url. */
export interface BundlerPort {
  /** Throws RpcError with the codes of ERC-7769. */
  readonly request: (request: RpcRequest) => Promise<unknown>
}

/** What a node answers for the sponsor beside it (ERC-7677): what it is told and shown. What it pays for is asked at a url of its own. */
export interface SponsorPort {
  /** Throws RpcError. */
  readonly request: (request: RpcRequest) => Promise<unknown>
}

/** Who asks. A `session` exists on WebSocket only: it can be sent notifications. */
export interface Caller {
  readonly tier: 'dedicated' | 'public'
  readonly session: Session | null
  /** the page's, as its browser named it; absent or null: a program */
  readonly origin?: string | null
  /** true if the request has the control credential; absent: no. Read only for requests with an Origin: programs need none here */
  readonly isControl?: () => boolean
}

/** One WebSocket connection, as the methods see it. */
export interface Session {
  /** sends `eth_subscription` with this result; answers false when the client reads too slowly and was cut off */
  readonly notify: (subscription: string, result: unknown) => boolean
  /** run when the connection ends */
  readonly onClose: (listener: () => void) => void
}
