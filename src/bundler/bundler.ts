import type { Address } from '../eth/index.ts'
import { Router, routesOf, tableOf, toRpcErrorBy } from '../jsonrpc/index.ts'
import type { RpcRequest } from '../jsonrpc/index.ts'
import { bundlerApi } from './api.ts'
import { refuse } from './errors.ts'
import { BUNDLER_DEV_METHODS, BUNDLER_METHODS } from './methods.ts'
import type { BundlerApi } from './methods.ts'
import { BundlerService } from './service.ts'
import type { ServiceOptions } from './service.ts'

export interface BundlerOptions extends ServiceOptions {
  /** enables the debug_bundler_ methods; false by default */
  readonly testMode?: boolean
}

/** An ERC-4337 bundler without a socket. */
export interface Bundler {
  readonly address: Address
  /** the implementation of the methods */
  readonly api: () => Promise<BundlerApi>
  /** Throws RpcError; -32601 for other methods. */
  readonly request: (request: RpcRequest) => Promise<unknown>
  /** Called when a request removes blocks or promises: operations that it removes permanently are not sent again. */
  readonly expectRemoval: (cause: string) => void
  /** Drops the operations that wait, with this reason. */
  readonly dropAll: (reason: string) => void
  /** Ends the subscriptions. The records keep the operations; `forget` removes them. */
  readonly close: (options?: { readonly forget: boolean }) => Promise<void>
}

export function createBundler(options: BundlerOptions): Bundler {
  const { testMode = false, onError = () => undefined } = options
  const service = new BundlerService(options)
  const implementation = bundlerApi(service)
  const api = async () => implementation
  const methods = testMode ? [...BUNDLER_METHODS, ...BUNDLER_DEV_METHODS] : BUNDLER_METHODS
  const find = tableOf(routesOf(methods, { api }))
  const router = new Router<null>({ find, toRpcError: toRpcErrorBy({ onBug: onError }) })
  return {
    address: service.address,
    api,
    request: async ({ method, params }) => router.call(method, params, null, false),
    dropAll: (reason) => service.bundles.dropAll(refuse('server', reason)),
    expectRemoval: (cause) => service.bundles.expectRemoval(cause),
    close: async ({ forget } = { forget: false }) => {
      if (forget) service.clear()
      await service.close()
    },
  }
}
