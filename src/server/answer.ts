import type { ServerResponse } from 'node:http'
import { STALLED_ANSWER_MS } from './limits.ts'

export const JSON_TYPE = 'application/json'
export const TEXT_TYPE = 'text/plain; charset=utf-8'
export const HTML_TYPE = 'text/html; charset=utf-8'

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string | Uint8Array
  /** name, value, name, value … */
  readonly headers?: readonly string[]
}

/** Sends the whole answer in one write, its length known. */
export function send(response: ServerResponse, answer: Answer, cors: readonly string[]): void {
  const { body } = answer
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  const headers = ['content-type', answer.type, 'content-length', String(length)]
  if (answer.headers !== undefined) headers.push(...answer.headers)
  headers.push(...cors)
  response.writeHead(answer.status, headers)
  response.end(body)
  // The kernel took all of it unless the answer is large or the client slow.
  if (response.writableLength > 0) response.setTimeout(STALLED_ANSWER_MS, () => response.destroy())
}

export function text(status: number, message: string, headers: readonly string[] = []): Answer {
  return { status, type: TEXT_TYPE, body: `${message}\n`, headers }
}

export function json(status: number, value: unknown): Answer {
  return { status, type: JSON_TYPE, body: JSON.stringify(value), headers: NOT_STORED }
}

const NOT_STORED = ['cache-control', 'no-store']
