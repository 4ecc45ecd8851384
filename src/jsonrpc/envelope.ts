import { CODE, RpcError } from './errors.ts'
import { BATCH_RESPONSE_BYTES, ERROR_MESSAGE_CHARS } from './limits.ts'
import { NumberId, withNumberIds } from './numberid.ts'

// The envelope of JSON-RPC 2.0, as geth's rpc/testdata pins it.

/** Written with `idText`. */
export type Id = string | number | boolean | NumberId | null

export type Envelope =
  | { readonly kind: 'call'; readonly id: Id; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'invalid'; readonly id: Id; readonly reason: string }

/** undefined: not JSON (which has no undefined), or not UTF-8. */
export function parseBody(body: string | Uint8Array): unknown {
  try {
    const text = typeof body === 'string' ? body : UTF8.decode(body)
    return withNumberIds(JSON.parse(text), text)
  } catch {
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** The id as JSON. */
export function idText(id: Id): string {
  if (typeof id === 'number') return String(id)
  return id instanceof NumberId ? id.text : JSON.stringify(id)
}

export function openEnvelope(message: unknown): Envelope {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return invalid(null, SHAPE)
  const { jsonrpc, id, method, params } = message as Readonly<Record<string, unknown>> // any JSON object has this shape
  if (id !== undefined && !isId(id)) return invalid(null, 'id must be a string or a number')
  if (jsonrpc !== '2.0') return invalid(id, 'jsonrpc must be "2.0"')
  if (typeof method !== 'string') return invalid(id, 'method must be a string')
  return id === undefined ? { kind: 'notification', method, params } : { kind: 'call', id, method, params }
}

const SHAPE = 'expected an object with jsonrpc, id, method and params, or an array of them'

function invalid(id: Id | undefined, reason: string): Envelope {
  return { kind: 'invalid', id: id ?? null, reason }
}

/** The refusal of a body that is not JSON. */
export function parseError(): RpcError {
  return new RpcError(CODE.parse, 'parse error: the body is not JSON in UTF-8')
}

/** The refusal of a message that is no request. */
export function invalidRequest({ reason }: Extract<Envelope, { kind: 'invalid' }>): RpcError {
  return new RpcError(CODE.invalidRequest, `invalid request: ${reason}`)
}

function isId(id: unknown): id is Id {
  return typeof id !== 'object' || id === null || id instanceof NumberId
}

/** null unless the message is a call. */
export function idOf(message: unknown): Id {
  const envelope = openEnvelope(message)
  return envelope.kind === 'call' ? envelope.id : null
}

/** The response to a batch that is empty or has more than `maxItems`; null if it may be executed. */
export function refusedBatch(messages: readonly unknown[], maxItems: number): string | null {
  if (messages.length === 0) return failureText(null, new RpcError(CODE.invalidRequest, 'empty batch'))
  if (messages.length <= maxItems) return null
  const reason = `batch too large: ${messages.length} items, at most ${maxItems} are accepted`
  return `[${failureText(firstId(messages), new RpcError(CODE.invalidRequest, reason))}]`
}

function firstId(messages: readonly unknown[]): Id {
  for (const message of messages) {
    const envelope = openEnvelope(message)
    if (envelope.kind === 'call') return envelope.id
  }
  return null
}

/** The response to an item of a batch that is not executed; null for a notification. */
export function unansweredText(message: unknown, why: RpcError): string | null {
  const envelope = openEnvelope(message)
  if (envelope.kind === 'notification') return null
  return failureText(envelope.kind === 'call' ? envelope.id : null, why)
}

/** The reason why the rest of a batch is not executed. */
export function tooLarge(): RpcError {
  const reason = `response too large: the batch's answers passed ${BATCH_RESPONSE_BYTES} bytes, the rest was not executed`
  return new RpcError(CODE.responseTooLarge, reason)
}

export function failureText(id: Id, { code, message: whole, data }: RpcError): string {
  const message = whole.length > ERROR_MESSAGE_CHARS ? `${whole.slice(0, ERROR_MESSAGE_CHARS)}…` : whole
  const error = data === undefined ? { code, message } : { code, message, data }
  return `{"jsonrpc":"2.0","id":${idText(id)},"error":${JSON.stringify(error)}}`
}
