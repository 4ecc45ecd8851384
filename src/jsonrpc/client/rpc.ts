/** A JSON-RPC call without its envelope. */
export interface RpcRequest {
  readonly method: string
  readonly params?: readonly unknown[]
}

/**
 * The port through which wallet, bundler and paymaster use a node, in the same process or over HTTP. Values are JSON-ready. Errors are RpcError with
 * the node's code, message and data.
 */
export interface Rpc {
  readonly request: (request: RpcRequest) => Promise<unknown>
  /** `eth_subscribe` with these params; `listener` receives each result. Returns the function that ends it. */
  readonly subscribe: (params: readonly unknown[], listener: (result: unknown) => void) => Promise<() => Promise<void>>
}
