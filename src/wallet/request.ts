import { CODE, RpcError } from '../rpc/index.ts'
import { selectedChain } from './connecting.ts'
import type { WalletContext } from './context.ts'
import { WALLET_CODE, readable, unauthorized, unreadable } from './errors.ts'
import type { Asker, WalletMethod } from './method.ts'

/** EIP-1193: what an app hands to `request`. */
export interface ProviderRequest {
  readonly method: string
  readonly params?: unknown
}

/** Answers one request of an app: by the wallet's own method, or the node of the site's chain. Throws RpcError only. */
export async function answerRequest(wallet: WalletContext, request: ProviderRequest, asker: Asker): Promise<unknown> {
  const name = nameOf(request)
  try {
    const method = (await methods()).get(name)
    if (method === undefined) return await forward(wallet, request, asker)
    assertEnabled(wallet, name)
    return await method.handler(wallet, parseParams(method, request.params), asker)
  } catch (error) {
    throw outward(wallet, error)
  }
}

/**
 * The methods, with the half of the room that only they need: a node that starts would read 40 files (30 ms) for questions that nobody has asked yet.
 * One promise, so that the requests of an origin go on in their order, the first ones too.
 */
function methods(): Promise<Methods> {
  return (table ??= import('./table.ts').then(({ METHODS }) => METHODS))
}

type Methods = ReadonlyMap<string, WalletMethod>

let table: Promise<Methods> | null = null

function nameOf(request: ProviderRequest): string {
  const isObject = typeof request === 'object' && request !== null && !Array.isArray(request)
  if (!isObject) throw unreadable('a request is one object: { method, params }')
  const { method } = request
  if (typeof method !== 'string' || method === '') throw unreadable('"method" of a request is a text that is not empty')
  return method
}

/** Switched off by the wallet's owner. Throws RpcError 4100. */
function assertEnabled({ settings }: WalletContext, name: string): void {
  if (!settings.disabledMethods.includes(name)) return
  const data = { reason: 'method-disabled', method: name }
  // Interface 7.2 has words of its own for this method's row.
  if (name === 'wallet_addEthereumChain') throw new RpcError(WALLET_CODE.unauthorized, 'Requested method not supported', data)
  throw unauthorized(data, `${name} is switched off in this wallet`)
}

/** Absent and undefined are one thing, as an object of the same process has both. Methods without parameters look at none: some libraries send some. */
export function parseParams(method: WalletMethod, params: unknown): readonly unknown[] {
  if (method.params.length === 0) return []
  const given = withoutTail(listOf(method, params))
  if (given.length > method.params.length) throw unreadable(`${given.length} parameters, ${method.name} takes ${method.params.length}`)
  return method.params.map(({ name, schema, required }, i) => {
    const value: unknown = given[i]
    if (value === undefined && required) throw unreadable(`missing value for required argument ${i} (${name}) of ${method.name}`)
    if (!required && (value === undefined || value === null)) return undefined
    return readable(() => schema.parse(value, `argument ${i} (${name})`))
  })
}

function listOf({ name, isBare }: WalletMethod, params: unknown): readonly unknown[] {
  const given = params ?? []
  if (Array.isArray(given)) return given
  if (isBare === true && typeof given === 'object') return [given]
  throw unreadable(`the parameters of ${name} are a list`)
}

function withoutTail(list: readonly unknown[]): readonly unknown[] {
  return list.slice(0, list.findLastIndex((each) => each !== undefined) + 1)
}

// --- what the wallet does not answer itself -----------------------------------------------------------------------------

/** Reading needs nobody's leave: the node's own url would answer the same. */
async function forward(wallet: WalletContext, { method, params }: ProviderRequest, { origin }: Asker): Promise<unknown> {
  if (!FORWARDED.test(method) || NOT_FORWARDED.has(method)) throw unsupported(method)
  assertEnabled(wallet, method)
  const given = params ?? []
  if (!Array.isArray(given)) throw unreadable(`the parameters of ${method} are a list`)
  const { rpc } = selectedChain(wallet, origin)
  try {
    return await rpc.request({ method, params: withoutTail(given) })
  } catch (error) {
    if (error instanceof RpcError && error.code === CODE.methodNotFound) throw unsupported(method, error.message)
    throw error
  }
}

const FORWARDED = /^(eth|net|web3)_\w+$/

/** What a node may sign with keys of its own, past every question. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'eth_sign',
  'eth_signTransaction',
  'eth_signTypedData',
  'eth_signTypedData_v1',
  'eth_signTypedData_v3',
  'eth_sendUnsignedTransaction',
  'eth_sendTransactionSync',
  'eth_resend',
])

function unsupported(method: string, detail?: string): RpcError {
  const name = method.slice(0, 100)
  const where = NODE_ONLY.test(name) ? 'it is a method of the node, not of the wallet: send it to the url of the node' : null
  const message = `this provider does not support ${name}: ${where ?? detail ?? INSTEAD.get(name) ?? 'no method of the wallet has that name'}`
  return new RpcError(WALLET_CODE.unsupportedMethod, message, { reason: 'unsupported-method', method: name })
}

const NODE_ONLY = /^(anvil|hardhat|ganache|evm|debug|trace|txpool|engine|admin|miner|pocketchain|base|ots|erigon|tenderly|testing|rpc)_/

const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['eth_sign', 'it signs whatever it is given; personal_sign signs a message that says that it is one'],
  ['eth_signTransaction', 'what is signed is sent; use eth_sendTransaction'],
  ['eth_signTypedData', 'use eth_signTypedData_v4'],
  ['eth_signTypedData_v1', 'use eth_signTypedData_v4'],
  ['eth_signTypedData_v3', 'use eth_signTypedData_v4'],
  ['eth_sendUnsignedTransaction', 'use eth_sendTransaction'],
  ['eth_sendTransactionSync', 'use eth_sendTransaction'],
  ['eth_resend', 'use eth_sendTransaction'],
])

// --- errors -------------------------------------------------------------------------------------------------------------

/** What is no refusal is a bug, and its words may hold anything. */
function outward(wallet: WalletContext, error: unknown): RpcError {
  if (error instanceof RpcError) return error
  wallet.onError(error)
  return new RpcError(CODE.internal, 'the wallet broke down over this request; its log says why', { reason: 'internal' })
}
