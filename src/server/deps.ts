import type { Chain } from '../chain/index.ts'
import type { Body, Caller, ForkStatus, RequestCounters } from '../rpc/index.ts'
import type { FleetStatus } from '../fleet/index.ts'
import type { Publisher } from '../stream/index.ts'
import type { WalletApi } from '../wallet/index.ts'

/**
 * The reply to a JSON-RPC body; null if it contains only notifications. A stream is read at the client's pace and ended when the client disconnects;
 * if it throws, the response is not completed. An RpcError thrown by a stream is a refusal, any other error a bug.
 */
export interface Reply {
  readonly body: Body | null
  /** HTTP status, 200 by default */
  readonly status?: number
  /** further HTTP headers: names and values in turn */
  readonly headers?: readonly string[]
}

/** The modules behind the server. */
export interface ServerDeps {
  readonly rpc: {
    readonly handle: (body: string | Uint8Array, caller: Caller) => Reply | Promise<Reply>
    /** absent: `/metrics` has no samples of requests */
    readonly counters?: RequestCounters
  }
  readonly chain: Chain
  readonly publisher: Publisher
  /** Returns null for a chain that is not a fork. */
  readonly forkStatus?: () => ForkStatus | null
  /** absent: one process, in no fleet */
  readonly fleetStatus?: () => FleetStatus
  /** such as `pocketchain/1.2.3/…` */
  readonly clientVersion: string
  /** null or absent: the node has no wallet, and `/wallet` is 404 */
  readonly walletApi?: WalletApi | null
  /** null or absent: the node has no sponsor, and `/paymaster` is 404 */
  readonly paymaster?: PaymasterApi | null
  /** receives lines about the server, such as changes of the file of API keys; dropped if absent */
  readonly onNote?: (line: string) => void
  /** receives bugs: the request was answered with -32603, and the server continues */
  readonly onError: (error: unknown) => void
}

/** Answers requests to `/paymaster` (ERC-7677). */
export interface PaymasterApi {
  /** Answers one JSON-RPC body. `apiKey`: as sent; `signal` is aborted when the client disconnects. Never rejects. The body is empty if nothing is to be answered. */
  readonly handle: (
    body: Uint8Array,
    caller: { readonly apiKey: string | null; readonly signal?: AbortSignal },
  ) => Promise<{ readonly status: number; readonly body: string }>
}

/** Body of the response if a handler threw. */
export const CRASHED = '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"method handler crashed"}}'
