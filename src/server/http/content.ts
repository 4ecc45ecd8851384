import type { IncomingMessage } from 'node:http'
import { text } from './answer.ts'
import type { Answer } from './answer.ts'

/** Why a body is not read; null: it is JSON as it lies. */
export function unsuitableContent({ headers }: Pick<IncomingMessage, 'headers'>): Answer | null {
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
