/** An error that is sent to the client: JSON-RPC `code`, a message for people, `data` for programs. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }

  /** The message, under the name by which viem recognises a revert of code -32000 that a provider has thrown. */
  get details(): string {
    return this.message
  }
}

/** Codes of JSON-RPC and EIP-1474. */
export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** "invalid input" of EIP-1474; geth's code for nearly every refusal */
  server: -32000,
  notFound: -32001,
  timeout: -32002,
  responseTooLarge: -32003,
  /** "method not supported" of EIP-1474: it exists, but not on this endpoint */
  methodNotSupported: -32004,
  limitExceeded: -32005,
  /** EIP-1193; the request lacks the control credential */
  unauthorized: 4100,
  /** history that is no longer kept */
  pruned: 4444,
  /** eth_sendRawTransactionSync: accepted, but no receipt in time */
  unconfirmed: 4,
} as const

export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(CODE.invalidParams, message, data)
}

/** `why`: a sentence for a method that is left out on purpose. */
export function methodNotFound(name: string, why?: string): RpcError {
  const reason = why === undefined ? '' : `: ${why}`
  return new RpcError(CODE.methodNotFound, `the method ${name.slice(0, 100)} does not exist/is not available${reason}`)
}

export type ToRpcError = (error: unknown, method: string) => RpcError

export interface ErrorRules {
  /** Returns the RpcError for an error of a lower layer that the client may read; null for a bug. */
  readonly refusalOf?: (error: unknown) => RpcError | null
  /** receives each error that is a bug */
  readonly onBug: (error: unknown, method: string) => void
  /** what the client reads of a bug: `method handler crashed` */
  readonly bug?: { readonly message: string; readonly data?: unknown }
}

/** Returns the function that turns any error into an RpcError. A bug's own message may contain anything, so the client does not get it. */
export function toRpcErrorBy({ refusalOf, onBug, bug = { message: 'method handler crashed' } }: ErrorRules): ToRpcError {
  return (error, method) => {
    if (error instanceof RpcError) return error
    const refusal = refusalOf?.(error) ?? null
    if (refusal !== null) return refusal
    onBug(error, method)
    return new RpcError(CODE.internal, bug.message, bug.data)
  }
}
