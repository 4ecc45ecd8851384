import { CODE, RpcError } from './errors.ts'
import { BATCH_RESPONSE_BYTES, ERROR_MESSAGE_CHARS } from './limits.ts'

// The envelope of JSON-RPC 2.0, as geth's rpc/testdata pins it. The node's dispatch opens and closes it on its own synchronous path;
// whoever has only methods that wait takes `answerBody`.

export type Id = string | number | boolean | null

export type Envelope =
  | { readonly kind: 'call'; readonly id: Id; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'invalid'; readonly id: Id }

/** What stands behind the envelope. Answers JSON-ready values; throws or rejects with RpcError, whatever else it throws is reported to `onBug`. */
export interface Answering {
  readonly call: (method: string, params: unknown) => unknown
  readonly onBug: (error: unknown, method: string) => void
  /** of one batch; more are refused as a whole */
  readonly maxItems: number
}

/** Answers one body: a call, a batch of calls one after the other, or notifications, to which there is no answer: null. Never rejects. */
export async function answerBody(body: string | Uint8Array, answering: Answering): Promise<string | null> {
  const message = parseBody(body)
  if (message === undefined) return failureText(null, new RpcError(CODE.parse, 'parse error'))
  return Array.isArray(message) ? answerBatch(message, answering) : answerMessage(message, answering)
}

async function answerBatch(messages: readonly unknown[], answering: Answering): Promise<string | null> {
  const refused = refusedBatch(messages, answering.maxItems)
  if (refused !== null) return refused
  const answers: string[] = []
  let size = 0
  for (const message of messages) {
    const answer = size > BATCH_RESPONSE_BYTES ? unansweredText(message, tooLarge()) : await answerMessage(message, answering)
    if (answer === null) continue
    answers.push(answer)
    size += answer.length
  }
  return answers.length === 0 ? null : `[${answers.join(',')}]`
}

async function answerMessage(message: unknown, { call, onBug }: Answering): Promise<string | null> {
  const envelope = openEnvelope(message)
  if (envelope.kind === 'invalid') return failureText(envelope.id, new RpcError(CODE.invalidRequest, 'invalid request'))
  const { kind, method, params } = envelope
  try {
    const result = await call(method, params)
    return kind === 'call' ? `{"jsonrpc":"2.0","id":${JSON.stringify(envelope.id)},"result":${JSON.stringify(result ?? null)}}` : null
  } catch (error) {
    if (!(error instanceof RpcError)) onBug(error, method)
    const refusal = error instanceof RpcError ? error : new RpcError(CODE.internal, 'method handler crashed')
    return kind === 'call' ? failureText(envelope.id, refusal) : null
  }
}

/** undefined: not JSON (which has no undefined), or not UTF-8. */
export function parseBody(body: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : UTF8.decode(body))
  } catch {
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

export function openEnvelope(message: unknown): Envelope {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return { kind: 'invalid', id: null }
  const { jsonrpc, id, method, params } = message as Readonly<Record<string, unknown>> // any JSON object has this shape
  if (id !== undefined && !isId(id)) return { kind: 'invalid', id: null }
  if (jsonrpc !== '2.0' || typeof method !== 'string') return { kind: 'invalid', id: id ?? null }
  return id === undefined ? { kind: 'notification', method, params } : { kind: 'call', id, method, params }
}

function isId(id: unknown): id is Id {
  return typeof id !== 'object' || id === null
}

/** null: of what is no call. */
export function idOf(message: unknown): Id {
  const envelope = openEnvelope(message)
  return envelope.kind === 'call' ? envelope.id : null
}

/** The answer to a batch that is empty or has more than `maxItems`; null: it may be executed. */
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

/** What answers an item of a batch that is not executed; null: a notification. */
export function unansweredText(message: unknown, why: RpcError): string | null {
  const envelope = openEnvelope(message)
  if (envelope.kind === 'notification') return null
  return failureText(envelope.kind === 'call' ? envelope.id : null, why)
}

/** Why the rest of a batch is not executed. */
export function tooLarge(): RpcError {
  const reason = `response too large: the batch's answers passed ${BATCH_RESPONSE_BYTES} bytes, the rest was not executed`
  return new RpcError(CODE.responseTooLarge, reason)
}

export function failureText(id: Id, { code, message: whole, data }: RpcError): string {
  const message = whole.length > ERROR_MESSAGE_CHARS ? `${whole.slice(0, ERROR_MESSAGE_CHARS)}…` : whole
  const error = data === undefined ? { code, message } : { code, message, data }
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}
