import { isObject } from '../eth/index.ts'
import { CODE, Router, RpcError, parseParams, routesOf, tableOf } from '../jsonrpc/index.ts'
import type { Route } from '../jsonrpc/index.ts'
import { selectedChain } from './connecting.ts'
import type { WalletContext } from './context.ts'
import { WALLET_CODE, convertSchemaErrors, unauthorized, unparsableRequest, walletErrors } from './errors.ts'
import type { ProviderCaller } from './method.ts'

/** The argument of EIP-1193 `request`. */
export interface ProviderRequest {
  readonly method: string
  readonly params?: unknown
}

/** Answers one request of an app: by the wallet's own method, or by the node of the site's chain. Rejects with RpcError only. */
export type AnswerRequest = (request: ProviderRequest, caller: ProviderCaller) => Promise<unknown>

/**
 * The provider's dispatcher. The methods are loaded at the first request: at a start they would cost the reading of 40 files (30 ms). All requests wait for
 * one promise, so that the requests of an origin keep their order, the first ones too.
 */
export function createProviderRequests(wallet: WalletContext): AnswerRequest {
  const toRpcError = walletErrors(wallet.onError)
  let loading: Promise<Methods> | null = null
  return async (request, caller) => {
    const name = nameOf(request)
    try {
      const { names, router } = await (loading ??= loadMethods(wallet))
      return await (names.has(name) ? router.call(name, request.params, caller, false) : forward(wallet, request, caller))
    } catch (error) {
      throw toRpcError(error, name)
    }
  }
}

interface Methods {
  readonly names: ReadonlySet<string>
  readonly router: Router<ProviderCaller>
}

async function loadMethods(wallet: WalletContext): Promise<Methods> {
  const { METHODS } = await import('./table.ts')
  const find = tableOf(routesOf(METHODS.values(), wallet))
  const router = new Router<ProviderCaller>({
    find: (name) => {
      assertEnabled(wallet, name)
      return find(name)
    },
    readParams,
    toRpcError: walletErrors(wallet.onError),
  })
  return { names: new Set(METHODS.keys()), router }
}

/** Some libraries send params to methods that have none; they are ignored. Throws RpcError -32602 in the words of interface 7.3. */
export function readParams(route: Route<ProviderCaller>, params: unknown): readonly unknown[] {
  return route.params.length === 0 ? [] : convertSchemaErrors(() => parseParams(route, params))
}

function nameOf(request: ProviderRequest): string {
  if (!isObject(request)) throw unparsableRequest('a request is one object: { method, params }')
  const { method } = request
  if (typeof method !== 'string' || method === '') throw unparsableRequest('"method" of a request is a text that is not empty')
  return method
}

/** Throws RpcError 4100 for a method that the wallet's owner has switched off. */
function assertEnabled({ settings }: WalletContext, name: string): void {
  if (!settings.disabledMethods.includes(name)) return
  const data = { reason: 'method-disabled', method: name }
  // Interface 7.2 has words of its own for this method's row.
  if (name === 'wallet_addEthereumChain') throw new RpcError(WALLET_CODE.unauthorized, 'Requested method not supported', data)
  throw unauthorized(data, `${name} is switched off in this wallet`)
}

function withoutTail(list: readonly unknown[]): readonly unknown[] {
  return list.slice(0, list.findLastIndex((each) => each !== undefined) + 1)
}

// --- requests for the node -----------------------------------------------------------------------------

/** Needs no permission: the node's own url answers the same. */
async function forward(wallet: WalletContext, { method, params }: ProviderRequest, { origin }: ProviderCaller): Promise<unknown> {
  if (!FORWARDED.test(method) || NOT_FORWARDED.has(method)) throw unsupported(method)
  assertEnabled(wallet, method)
  const given = params ?? []
  if (!Array.isArray(given)) throw unparsableRequest(`the parameters of ${method} are a list`)
  const { rpc } = selectedChain(wallet, origin)
  try {
    return await rpc.request({ method, params: withoutTail(given) })
  } catch (error) {
    if (error instanceof RpcError && error.code === CODE.methodNotFound) throw unsupported(method, error.message)
    throw error
  }
}

const FORWARDED = /^(eth|net|web3)_\w+$/

/** Methods with which a node could sign with its own keys, without a question. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'eth_sign',
  'eth_signTransaction',
  'eth_signTypedData',
  'eth_signTypedData_v1',
  'eth_sendUnsignedTransaction',
  'eth_sendTransactionSync',
  'eth_resend',
])

function unsupported(method: string, detail?: string): RpcError {
  const name = method.slice(0, 100)
  const where = NODE_ONLY.test(name) ? 'it is a method of the node, not of the wallet: send it to the url of the node' : null
  const message = `this provider does not support ${name}: ${where ?? detail ?? INSTEAD.get(name) ?? 'no method of the wallet has that name'}`
  const code = name === VIEM_FALLBACK ? CODE.methodNotFound : WALLET_CODE.unsupportedMethod
  return new RpcError(code, message, { reason: 'unsupported-method', method: name })
}

/** viem sends a refused eth_sendTransaction again under this name, and shows the first error only if the answer is -32601 or -32004. */
const VIEM_FALLBACK = 'wallet_sendTransaction'

const NODE_ONLY = /^(anvil|hardhat|ganache|evm|debug|trace|txpool|engine|admin|miner|pocketchain|base|ots|erigon|tenderly|testing|rpc)_/

const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['eth_sign', 'it signs any hash; use personal_sign, which signs a prefixed message'],
  ['eth_signTransaction', 'the wallet sends what it signs; use eth_sendTransaction'],
  ['eth_signTypedData', 'use eth_signTypedData_v4'],
  ['eth_signTypedData_v1', 'use eth_signTypedData_v4'],
  ['eth_sendUnsignedTransaction', 'use eth_sendTransaction'],
  ['eth_sendTransactionSync', 'use eth_sendTransaction'],
  ['eth_resend', 'use eth_sendTransaction'],
  [VIEM_FALLBACK, 'use eth_sendTransaction'],
])
