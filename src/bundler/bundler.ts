import type { Address } from '../eth/index.ts'
import { CODE, RpcError } from '../rpc/index.ts'
import type { RpcRequest } from '../rpc/index.ts'
import { Desk } from './desk.ts'
import type { DeskOptions } from './desk.ts'
import { TABLE } from './methods.ts'

export interface BundlerOptions extends DeskOptions {
  /** the debug_bundler_ methods exist: false */
  readonly testMode?: boolean
}

/** An ERC-4337 bundler without a socket. */
export interface Bundler {
  readonly address: Address
  /** Throws RpcError; -32601 for what is no method of a bundler. */
  readonly request: (request: RpcRequest) => Promise<unknown>
  /** Forgets what waits and listens no more. */
  readonly close: () => Promise<void>
}

export function createBundler(options: BundlerOptions): Bundler {
  const desk = new Desk(options)
  return {
    address: desk.address,
    request: async ({ method, params = [] }) => {
      const row = TABLE.get(method)
      if (row === undefined || (row.test === true && options.testMode !== true))
        throw new RpcError(CODE.methodNotFound, `the method ${method.slice(0, 100)} does not exist/is not available`)
      return row.answer(desk, params)
    },
    close: async () => desk.close(),
  }
}
