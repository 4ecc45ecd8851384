/** A JSON-RPC call without its envelope. */
export interface RpcRequest {
  readonly method: string
  readonly params?: readonly unknown[]
}

/**
 * The one way in which wallet, bundler and paymaster reach a node: ours in the same process, or any other over a wire.
 * Values are JSON-ready. Refusals are RpcError with the node's code, message and data.
 */
export interface Rpc {
  readonly request: (request: RpcRequest) => Promise<unknown>
  /** `eth_subscribe` with these params; `listener` gets each result. Answers what ends it. */
  readonly subscribe: (params: readonly unknown[], listener: (result: unknown) => void) => Promise<() => Promise<void>>
}
