import type { Body } from '../../rpc/index.ts'
import { JsonAnswer, JsonStream } from '../../rpc/index.ts'

export const JSON_TYPE = 'application/json'
export const TEXT_TYPE = 'text/plain; charset=utf-8'
export const HTML_TYPE = 'text/html; charset=utf-8'

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: Body
  /** name, value, name, value … */
  readonly headers?: readonly string[]
}

/** A body that is complete in memory. */
export type CompleteBody = string | readonly Uint8Array[]

export function completeBody(body: Exclude<Body, JsonStream>): CompleteBody {
  if (typeof body === 'string') return body
  if (body instanceof JsonAnswer) return body.pieces
  return body instanceof Uint8Array ? [body] : body
}

export function sizeOf(body: CompleteBody): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.reduce((sum, piece) => sum + piece.length, 0)
}

/** Ends the source of a body that is not sent. */
export function discard(body: Body): void {
  if (body instanceof JsonStream) body.end()
}

export function text(status: number, message: string, headers: readonly string[] = []): Answer {
  return { status, type: TEXT_TYPE, body: `${message}\n`, headers }
}

export function json(status: number, value: unknown): Answer {
  return { status, type: JSON_TYPE, body: JSON.stringify(value), headers: NO_STORE }
}

const NO_STORE = ['cache-control', 'no-store']
