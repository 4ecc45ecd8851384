import { releaseBuffer } from '../store/index.ts'
import { JsonStream } from './texts.ts'
import type { JsonBytes } from './texts.ts'

/** The body of a response: text, bytes, pieces, or a stream that is produced while it is sent. */
export type Body = string | Uint8Array | readonly Uint8Array[] | JsonAnswer | JsonStream

/** The response to one call whose result is bytes, which are sent without copying them into the envelope. */
export class JsonAnswer {
  /** id of the request, as JSON text */
  readonly id: string
  readonly result: JsonBytes

  constructor(id: string, result: JsonBytes) {
    this.id = id
    this.result = result
  }

  get pieces(): readonly Uint8Array[] {
    return [envelopeHead(this.id), this.result.bytes, ENVELOPE_TAIL]
  }
}

export function envelopeHead(id: string): Uint8Array {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":`)
}

export const ENVELOPE_TAIL: Uint8Array = new TextEncoder().encode('}') // browsers lack Buffer

/** The response to one call whose result is a stream: the pieces in `begun`, then the rest. Errors of the rest are thrown as `toRpcError` returns them. */
export function envelopeStream(begun: readonly Uint8Array[], result: JsonStream, toRpcError: (error: unknown) => Error): JsonStream {
  const ready: (Uint8Array | null)[] = [...begun]
  const next = (): Uint8Array | null => {
    const [piece] = ready.splice(0, 1)
    if (piece !== undefined) return piece
    const chunk = result.next()
    if (chunk !== null) return chunk
    ready.push(null)
    return ENVELOPE_TAIL
  }
  const iterator: Iterator<Uint8Array> = {
    next: () => {
      try {
        const value = next()
        return value === null ? END : { done: false, value }
      } catch (error) {
        throw toRpcError(error)
      }
    },
    return: () => {
      result.end()
      return END
    },
  }
  return new JsonStream({ [Symbol.iterator]: () => iterator })
}

const END: IteratorResult<Uint8Array> = { done: true, value: undefined }

/** Returns a body as text; reads a stream to its end. */
export function textOf(body: Body): string {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.length).toString()
  if (body instanceof JsonStream) return textOfChunks(body.collect() ?? [])
  return Buffer.concat(body instanceof JsonAnswer ? body.pieces : body).toString()
}

/** Returns the chunks of a stream as text, and releases their buffers. */
export function textOfChunks(chunks: readonly Uint8Array[]): string {
  const [only] = chunks
  const text = textOf(only !== undefined && chunks.length === 1 ? only : chunks)
  for (const chunk of chunks) releaseBuffer(chunk)
  return text
}
