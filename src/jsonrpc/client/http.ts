import { CODE, RpcError } from '../errors.ts'
import { REMOTE_NODE_CONNECTIONS, REMOTE_NODE_MS, REMOTE_NODE_REPLY_BYTES } from '../limits.ts'
import { Outbound } from './outbound.ts'
import type { OutboundOptions } from './outbound.ts'
import { replyObject } from './outboundreply.ts'
import type { OutboundReply } from './outboundreply.ts'
import { OutboundError, checkedUrl } from './outboundtarget.ts'
import type { Rpc, RpcRequest } from './rpc.ts'

/**
 * Connects to another node over HTTP. Errors of the node are thrown as RpcError with its code, message and data; a missing or malformed reply is
 * RpcError -32000 with `data.reason` (`unreachable`, `forbidden`, `malformed` …), whose `cause` is the OutboundError if there was no reply.
 * `subscribe` rejects with RpcError -32601, because HTTP has no subscriptions.
 *
 * `reach` is `loopback` by default. Throws OutboundError for a url that is never fetched.
 */
export function createRemoteRpc(url: string, options: OutboundOptions = {}): Rpc {
  const reach = options.reach ?? 'loopback'
  const { origin } = checkedUrl(url, reach)
  const limits = { timeoutMs: REMOTE_NODE_MS, maxReplyBytes: REMOTE_NODE_REPLY_BYTES, connections: REMOTE_NODE_CONNECTIONS }
  const outbound = new Outbound({ ...limits, ...options, reach })
  let requests = 0
  const request = async ({ method, params = [] }: RpcRequest): Promise<unknown> => {
    const id = (requests += 1)
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    const reply = await outbound.fetch(url, { method: 'POST', headers: JSON_HEADERS, body }).catch((error: unknown) => {
      throw error instanceof OutboundError ? noReply(error) : error
    })
    return resultOf(reply, id, origin)
  }
  return { request, subscribe: () => Promise.reject(noSubscriptions(origin)) }
}

function noReply(cause: OutboundError): RpcError {
  return Object.assign(new RpcError(CODE.server, cause.message, { reason: cause.reason }), { cause })
}

const JSON_HEADERS = { 'content-type': 'application/json' }

/** An error object has priority over the HTTP status, because nodes send both. Throws RpcError. */
function resultOf({ status, body }: OutboundReply, id: number, origin: string): unknown {
  const answer = replyObject(body)
  if (answer === null) throw malformed(origin, status, 'which is not a JSON-RPC response')
  const { error, id: answered } = answer
  if (error !== undefined && error !== null) throw refusal(error, origin, status)
  if (status < 200 || status > 299) throw malformed(origin, status, 'without a JSON-RPC error')
  if (!('result' in answer)) throw malformed(origin, status, 'with neither a result nor an error')
  if (answered !== id) throw malformed(origin, status, 'with the id of another request')
  return answer['result']
}

function refusal(error: unknown, origin: string, status: number): RpcError {
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown } // anything; looked at here
  if (typeof code !== 'number' || !Number.isSafeInteger(code)) return malformed(origin, status, 'and an error without a code')
  return new RpcError(code, typeof message === 'string' ? message : `error ${code}`, data)
}

function malformed(origin: string, status: number, what: string): RpcError {
  return new RpcError(CODE.server, `the node at ${origin} answered HTTP ${status} ${what}`, { reason: 'malformed', status })
}

function noSubscriptions(origin: string): RpcError {
  return new RpcError(CODE.methodNotFound, `the node at ${origin} is reached by HTTP, which has no subscriptions; poll instead`)
}
