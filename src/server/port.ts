import type { Chain } from '../chain/index.ts'
import type { Body, Caller } from '../rpc/index.ts'
import type { Publisher } from '../stream/index.ts'
import type { WalletApi } from '../wallet/index.ts'

/**
 * What comes back for a body: null when there is nothing to answer (only notifications). A stream is pulled as the client reads, and ended when
 * the client goes; when it throws, the client gets no end. Only a refusal (RpcError) may be thrown by a stream that is sound.
 */
export interface Reply {
  readonly body: Body | null
  /** HTTP status; 200 unless said */
  readonly status?: number
}

/** What the server serves. */
export interface Served {
  readonly rpc: { readonly handle: (body: string | Uint8Array, caller: Caller) => Reply | Promise<Reply> }
  readonly chain: Chain
  readonly publisher: Publisher
  /** such as `pocketchain/0.1.0/…` */
  readonly clientVersion: string
  /** null or absent: there is none, and nothing at `/wallet` */
  readonly walletApi?: WalletApi | null
  /** null or absent: there is none, and nothing at `/paymaster` */
  readonly paymaster?: PaymasterFace | null
  /** a bug: the request was answered with -32603, the server lives on */
  readonly onError: (error: unknown) => void
}

/** What answers at `/paymaster` (ERC-7677). */
export interface PaymasterFace {
  /** One body of JSON-RPC. `apiKey` as the request brought it; `signal` ends when the client is gone. Never rejects. An empty body: nothing to answer. */
  readonly handle: (
    body: Uint8Array,
    caller: { readonly apiKey: string | null; readonly signal?: AbortSignal },
  ) => Promise<{ readonly status: number; readonly body: string }>
}

/** The answer to a request whose handler broke. */
export const CRASHED = '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"method handler crashed"}}'
