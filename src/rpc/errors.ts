/** An error that leaves the building: JSON-RPC `code`, a message for people, `data` for programs. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }
}

/** JSON-RPC and EIP-1474 codes, by what went wrong. */
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
  /** of EIP-1193: the request lacks the control credential */
  unauthorized: 4100,
  /** history that is no longer kept */
  pruned: 4444,
  /** eth_sendRawTransactionSync: accepted, but no receipt in time */
  unconfirmed: 4,
} as const

export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(CODE.invalidParams, message, data)
}
