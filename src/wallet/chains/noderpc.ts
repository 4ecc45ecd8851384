import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import { WALLET_CODE } from '../errors.ts'

/** The connection to a node that an app proposed. Its errors with a wallet code become -32000, so that they do not look like a rejection by the user. */
export function nodeRpc(rpc: Rpc): Rpc {
  return {
    request: (request) => rpc.request(request).catch(rethrow),
    subscribe: (params, listener) => rpc.subscribe(params, listener).catch(rethrow),
  }
}

function rethrow(error: unknown): never {
  if (error instanceof RpcError && WALLET_CODES.has(error.code)) throw new RpcError(CODE.server, error.message, error.data)
  throw error
}

const WALLET_CODES: ReadonlySet<number> = new Set(Object.values(WALLET_CODE))
