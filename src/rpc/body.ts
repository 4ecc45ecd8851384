import { JsonStream } from './texts.ts'
import type { JsonBytes } from './texts.ts'

/** What answers a request: whole as text, as bytes or in pieces that lie ready; or made while it is sent. */
export type Body = string | Uint8Array | readonly Uint8Array[] | JsonAnswer | JsonStream

/** The answer to one call whose result is bytes. They are sent between the ends of the envelope, not copied into it. */
export class JsonAnswer {
  /** as JSON */
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

export const ENVELOPE_TAIL: Uint8Array = new TextEncoder().encode('}') // also where this file is loaded in a page, which has no Buffer

/** The answer to one call whose result is a stream: what lies ready of it, then the rest. What breaks the rest is thrown as `outward` has it. */
export function envelopeStream(begun: readonly Uint8Array[], result: JsonStream, outward: (error: unknown) => Error): JsonStream {
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
        throw outward(error)
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

/** All of a body as text; a stream is read to its end. */
export function textOf(body: Body): string {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return Buffer.from(body).toString()
  const pieces = body instanceof JsonStream ? body.collect() : body instanceof JsonAnswer ? body.pieces : body
  return Buffer.concat(pieces ?? []).toString()
}
