import { CODE, OutboundError, RpcError } from '../../jsonrpc/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import { WALLET_CODE } from '../errors.ts'

/**
 * The connection to a node that an app proposed. Errors of the node with a wallet code become -32000, so that they do not look like a rejection by
 * the user. A node that cannot be reached is 4901, and a connection without subscriptions 4200.
 */
export function nodeRpc(rpc: Rpc): Rpc {
  return {
    request: (request) => rpc.request(request).catch(rethrow),
    subscribe: (params, listener) => rpc.subscribe(params, listener).catch(rethrowOfSubscribe),
  }
}

function rethrow(error: unknown): never {
  if (!(error instanceof RpcError)) throw error
  const { code, message, data, cause } = error
  if (cause instanceof OutboundError && NO_ANSWER.has(cause.reason)) throw new RpcError(WALLET_CODE.chainDisconnected, message, data)
  throw WALLET_CODES.has(code) ? new RpcError(CODE.server, message, data) : error
}

function rethrowOfSubscribe(error: unknown): never {
  if (!(error instanceof RpcError) || error.code !== CODE.methodNotFound) return rethrow(error)
  throw new RpcError(WALLET_CODE.unsupportedMethod, error.message, { reason: 'no-notifications' })
}

const WALLET_CODES: ReadonlySet<number> = new Set(Object.values(WALLET_CODE))
const NO_ANSWER: ReadonlySet<string> = new Set(['unreachable', 'timeout'])
