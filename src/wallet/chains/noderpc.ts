import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import { WALLET_CODE } from '../errors.ts'

/** A node that an app brought along: what it refuses must not look like a refusal of the person or of the wallet, whatever code it gives. */
export function nodeRpc(rpc: Rpc): Rpc {
  return {
    request: (asked) => rpc.request(asked).catch(rethrow),
    subscribe: (params, listener) => rpc.subscribe(params, listener).catch(rethrow),
  }
}

function rethrow(error: unknown): never {
  if (error instanceof RpcError && OURS.has(error.code)) throw new RpcError(CODE.server, error.message, error.data)
  throw error
}

const OURS: ReadonlySet<number> = new Set(Object.values(WALLET_CODE))
