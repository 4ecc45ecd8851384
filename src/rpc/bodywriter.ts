import { ENVELOPE_TAIL, JsonAnswer, envelopeHead, envelopeStream, textOf, textOfChunks } from './body.ts'
import type { Body } from './body.ts'
import { copyJson, idText } from '../jsonrpc/index.ts'
import type { BatchItem, Id, ResponseWriter, ToRpcError } from '../jsonrpc/index.ts'
import { detachBuffer } from '../store/index.ts'
import { SMALL_RESULT_BYTES, WHOLE_RESULT_BYTES } from './limits.ts'
import { JsonBytes, JsonStream, JsonText } from './texts.ts'

/**
 * Writes the results of the node's methods: JSON-ready values, or JSON already as text, bytes or a stream of bytes. `hexMethods` return hex only, in which
 * needs no escaping: a check of the text would take 0.1 us.
 */
export function bodyWriter(toRpcError: ToRpcError, hexMethods: ReadonlySet<string>): ResponseWriter<Body> {
  return {
    success: (id, method, result) => {
      if (typeof result === 'string' && hexMethods.has(method)) return `{"jsonrpc":"2.0","id":${idText(id)},"result":"${result}"}`
      if (result instanceof JsonBytes) return ofBytes(id, result)
      if (result instanceof JsonStream) return ofStream(id, result, (error) => toRpcError(error, method))
      return `{"jsonrpc":"2.0","id":${idText(id)},"result":${result instanceof JsonText ? result.text : textOfValue(result ?? null)}}`
    },
    discard: (result) => {
      if (result instanceof JsonStream) result.end()
    },
    item,
    join,
  }
}

/** The result as a value that belongs to a caller in process: editing it changes neither the chain nor what others receive. */
export function jsonOf(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result
  if (result instanceof JsonText) return JSON.parse(result.text)
  if (result instanceof JsonBytes) return JSON.parse(textOf(result.bytes))
  return result instanceof JsonStream ? JSON.parse(textOf(result)) : copyJson(result)
}

function ofBytes(id: Id, result: JsonBytes): Body {
  if (result.bytes.length > SMALL_RESULT_BYTES) return new JsonAnswer(idText(id), result)
  return `{"jsonrpc":"2.0","id":${idText(id)},"result":${textOf(result.bytes)}}`
}

/** One body if the stream ends soon. An error until then is answered like any other refusal. */
function ofStream(id: Id, result: JsonStream, toRpcError: (error: unknown) => Error): Body {
  const chunks: Uint8Array[] = []
  for (let sizeBytes = 0; sizeBytes < WHOLE_RESULT_BYTES;) {
    const chunk = result.next()
    if (chunk === null) return ofChunks(id, chunks, sizeBytes)
    chunks.push(chunk)
    sizeBytes += chunk.length
  }
  return envelopeStream([envelopeHead(idText(id)), ...chunks], result, toRpcError)
}

function ofChunks(id: Id, chunks: readonly Uint8Array[], sizeBytes: number): Body {
  if (sizeBytes > SMALL_RESULT_BYTES) return [envelopeHead(idText(id)), ...chunks.map(inOwnBuffer), ENVELOPE_TAIL]
  return `{"jsonrpc":"2.0","id":${idText(id)},"result":${textOfChunks(chunks)}}`
}

/** A slow reader of a short chunk would hold the large buffer that it is in. */
function inOwnBuffer(chunk: Uint8Array): Uint8Array {
  return chunk.length < chunk.buffer.byteLength / 2 ? detachBuffer(chunk) : chunk
}

/** An item of a batch is not streamed: a stream is collected up to the limit. */
function item(body: Body, limitBytes: number): BatchItem | null {
  if (typeof body === 'string') return body
  if (body instanceof JsonAnswer) return body.pieces
  if (body instanceof Uint8Array) return [body]
  return body instanceof JsonStream ? body.collect(limitBytes) : body
}

function join(items: readonly BatchItem[]): Body {
  const pieces: Uint8Array[] = []
  let text = '['
  for (const [i, each] of items.entries()) {
    if (i > 0) text += ','
    if (typeof each === 'string') {
      text += each
      continue
    }
    pieces.push(Buffer.from(text), ...each)
    text = ''
  }
  pieces.push(Buffer.from(`${text}]`))
  return pieces
}

/** As JSON.stringify, but 0.2 us faster for a quantity or a word. */
function textOfValue(value: unknown): string {
  if (typeof value === 'string' && value.length <= PLAIN_CHARS && PLAIN.test(value)) return `"${value}"`
  return Number.isSafeInteger(value) ? String(value) : JSON.stringify(value)
}

const PLAIN = /^[0-9A-Za-z]*$/
const PLAIN_CHARS = 256
