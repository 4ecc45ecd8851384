import type { IncomingMessage } from 'node:http'

/** A complete request body; null if it is longer than the limit, undefined if the client has disconnected. */
export type Body = Uint8Array | null | undefined

/** Reads the request body and calls `onBody` once. A callback instead of a promise: most requests are answered in the turn that reads them. */
export function readBody(request: IncomingMessage, limitBytes: number, onBody: (body: Body) => void): void {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) return onBody(null)
  let first: Buffer | null = null
  let rest: Buffer[] | null = null
  let sizeBytes = 0
  let isDone = false
  const end = (body: Body) => {
    if (isDone) return
    isDone = true
    onBody(body)
  }
  request.on('data', (chunk: Buffer) => {
    sizeBytes += chunk.length
    if (sizeBytes > limitBytes) return end(null)
    // Most bodies are one chunk, which is used without a copy.
    if (first === null) first = chunk
    else (rest ??= [first]).push(chunk)
  })
  request.on('end', () => end(rest === null ? (first ?? EMPTY) : Buffer.concat(rest)))
  request.on('close', () => end(undefined))
}

const EMPTY = new Uint8Array(0)
