import {
  CODE,
  Outbound,
  OutboundError,
  RpcError,
  checkedUrl,
  failureText,
  invalidRequest,
  openEnvelope,
  parseBody,
  parseError,
  refusedBatch,
} from '../jsonrpc/index.ts'
import type { Id } from '../jsonrpc/index.ts'
import { PUBLIC_METHODS } from '../rpc/index.ts'
import { JSON_TYPE } from './http/answer.ts'
import type { Answer } from './http/answer.ts'
import { EXPLORED_BATCH_ITEMS, EXPLORED_CONNECTIONS, EXPLORED_PROBE_MS, EXPLORED_REPLY_BYTES, EXPLORED_REQUEST_MS } from './limits.ts'

/** Reads that the public tier does not serve. */
const FURTHER_METHODS: ReadonlySet<string> = new Set([
  'eth_getBlockReceipts',
  'eth_supportedEntryPoints',
  'eth_estimateUserOperationGas',
  'eth_getUserOperationByHash',
  'eth_getUserOperationReceipt',
  'pimlico_getUserOperationGasPrice',
  'pimlico_getUserOperationStatus',
  'pocketchain_info',
  'pocketchain_promises',
  'pocketchain_userOperationPool',
  'pocketchain_userOperationWarnings',
])

/** Namespaces that only read, and the traces of `debug_`. */
const READ_PREFIXES = ['web3_', 'net_', 'ots_', 'erigon_', 'txpool_', 'debug_trace'] as const

/** True for reads and eth_sendRawTransaction. The pages cannot reach the accounts and dev methods of the explored node. */
function isExplored(method: string): boolean {
  return PUBLIC_METHODS.has(method) || FURTHER_METHODS.has(method) || READ_PREFIXES.some((prefix) => method.startsWith(prefix))
}

/** A forwarded request. It is parsed and serialized again, so that both nodes read the same method from a message with repeated keys. */
interface Call {
  readonly jsonrpc: '2.0'
  readonly id: Id
  readonly method: string
  readonly params: unknown
}

/** The node behind `--explorer-of`. */
export class ExploredNode {
  /** URL for subscriptions */
  readonly wsUrl: string
  readonly #url: string
  readonly #outbound = new Outbound({
    reach: 'anywhere',
    maxReplyBytes: EXPLORED_REPLY_BYTES,
    timeoutMs: EXPLORED_REQUEST_MS,
    connections: EXPLORED_CONNECTIONS,
  })

  /** `url`: http, https, ws or wss; requests and subscriptions use the same address. Throws OutboundError. */
  constructor(url: string) {
    this.#url = checkedUrl(url.replace(/^ws/i, 'http'), 'anywhere').href
    this.wsUrl = this.#url.replace(/^http/i, 'ws')
  }

  /** Returns why the node does not answer, or null if it does. */
  async problem(): Promise<string | null> {
    try {
      await this.#post({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }, EXPLORED_PROBE_MS)
      return null
    } catch (error) {
      return messageOf(error)
    }
  }

  /** Forwards the requests of a body that the pages need, and refuses others. HTTP 502 if the node does not respond. */
  async answer(body: string | Uint8Array): Promise<Answer> {
    const message = parseBody(body)
    if (message === undefined) return rpcAnswer(failureText(null, parseError()), 400)
    const messages: readonly unknown[] = Array.isArray(message) ? message : [message]
    const refused = refusedBatch(messages, EXPLORED_BATCH_ITEMS)
    if (refused !== null) return rpcAnswer(refused)
    const calls = messages.flatMap((each) => callOf(each) ?? [])
    const refusals = messages.flatMap((each) => refusalText(each) ?? [])
    try {
      if (!Array.isArray(message))
        return rpcAnswer(calls[0] === undefined ? (refusals[0] ?? '') : JSON.stringify(await this.#post(calls[0])))
      const reply = calls.length === 0 ? [] : await this.#post(calls)
      const replies = Array.isArray(reply) ? reply : [reply]
      return rpcAnswer(`[${[...replies.map((each) => JSON.stringify(each)), ...refusals].join(',')}]`)
    } catch (error) {
      const id = Array.isArray(message) ? null : (calls[0]?.id ?? null)
      return rpcAnswer(failureText(id, new RpcError(CODE.server, messageOf(error))), 502)
    }
  }

  /** Returns one response or those of a batch. Throws OutboundError, or NoResponse. */
  async #post(content: Call | readonly Call[], timeoutMs?: number): Promise<unknown> {
    const { status, body } = await this.#outbound.fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(content),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
    const reply = parseBody(body)
    const replies: readonly unknown[] = Array.isArray(reply) ? reply : [reply]
    if (!replies.every(isResponse)) throw new NoResponse(`${new URL(this.#url).origin} answered HTTP ${status} without a JSON-RPC response`)
    return reply
  }
}

/** Returns the request of a message, or null if it is not forwarded. */
function callOf(message: unknown): Call | null {
  const envelope = openEnvelope(message)
  if (envelope.kind !== 'call' || !isExplored(envelope.method)) return null
  const { id, method, params = [] } = envelope
  return { jsonrpc: '2.0', id, method, params }
}

/** Returns the response to a message that is not forwarded; null for forwarded ones, and for notifications, which have no response. */
function refusalText(message: unknown): string | null {
  const envelope = openEnvelope(message)
  if (envelope.kind === 'invalid') return failureText(envelope.id, invalidRequest(envelope))
  return envelope.kind === 'notification' || isExplored(envelope.method) ? null : failureText(envelope.id, notExplored(envelope.method))
}

function notExplored(method: string): RpcError {
  const name = method.slice(0, 100)
  return new RpcError(
    CODE.methodNotFound,
    `${name} is not passed on: --explorer-of reads the node and sends signed transactions only; send ${name} to the node itself`,
  )
}

function isResponse(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('result' in value || 'error' in value)
}

function rpcAnswer(body: string, status = 200): Answer {
  return { status, type: JSON_TYPE, body, headers: ['cache-control', 'no-store'] }
}

/** The node's response is not JSON-RPC. */
class NoResponse extends Error {
  override name = 'NoResponse'
}

/** Messages of OutboundError contain only the origin of the URL: the rest may hold a key. */
function messageOf(error: unknown): string {
  if (error instanceof OutboundError || error instanceof NoResponse) return error.message
  throw error
}
