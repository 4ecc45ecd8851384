import type { IncomingMessage } from 'node:http'
import { text } from './answer.ts'
import type { Answer } from './answer.ts'
import { DEDICATED_BODY_BYTES, PUBLIC_BODY_BYTES } from '../limits.ts'
import type { Tier } from '../routes.ts'

/** Largest body of a JSON-RPC request. */
export const BODY_BYTES: Readonly<Record<Tier, number>> = { dedicated: DEDICATED_BODY_BYTES, public: PUBLIC_BODY_BYTES }

/** Receives a complete JSON body, or the refusal of its content type (415) or size (413). Not called if the client disconnects. */
interface BodyHandlers {
  readonly onBody: (body: Uint8Array) => void
  readonly onRefused: (refusal: Answer) => void
}

/** Reads a JSON body. Callbacks instead of a promise: most requests are answered in the turn that reads them. */
export function readJsonBody(request: IncomingMessage, limitBytes: number, { onBody, onRefused }: BodyHandlers): void {
  const refusal = contentTypeRefusal(request)
  if (refusal !== null) return onRefused(refusal)
  const tooLarge = () => onRefused(text(413, `request body too large: at most ${limitBytes} bytes`))
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) return tooLarge()
  let first: Buffer | null = null
  let rest: Buffer[] | null = null
  let sizeBytes = 0
  request.on('data', (chunk: Buffer) => {
    const isOverLimit = sizeBytes > limitBytes
    sizeBytes += chunk.length
    if (isOverLimit) return
    if (sizeBytes > limitBytes) return tooLarge()
    // Most bodies are one chunk, which is used without a copy.
    if (first === null) first = chunk
    else (rest ??= [first]).push(chunk)
  })
  request.on('end', () => {
    if (sizeBytes <= limitBytes) onBody(rest === null ? (first ?? EMPTY) : Buffer.concat(rest))
  })
}

const EMPTY = new Uint8Array(0)

/** Returns the 415 for a body that is not plain JSON, or null. */
export function contentTypeRefusal({ headers }: Pick<IncomingMessage, 'headers'>): Answer | null {
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') return text(415, 'invalid content encoding, only identity is supported')
  const type = headers['content-type'] ?? ''
  if (CONTENT_TYPES.has(type) || CONTENT_TYPES.has(mediaType(type))) return null
  return text(415, 'invalid content type, only application/json is supported')
}

/** `Application/JSON; charset=utf-8` is `application/json`. */
function mediaType(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase()
}

const CONTENT_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/json-rpc', 'application/jsonrequest'])
