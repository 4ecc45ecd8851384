import type { IncomingMessage } from 'node:http'

/** The whole body; null when it is longer than allowed, undefined when the client went away. */
export type Body = Uint8Array | null | undefined

/** Reads the whole body and hands it on, once. Without a promise: most requests are answered in the turn that read them. */
export function readBody(request: IncomingMessage, limitBytes: number, then: (body: Body) => void): void {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) return then(null)
  let first: Buffer | null = null
  let rest: Buffer[] | null = null
  let sizeBytes = 0
  let isOver = false
  const end = (body: Body) => {
    if (isOver) return
    isOver = true
    then(body)
  }
  request.on('data', (chunk: Buffer) => {
    sizeBytes += chunk.length
    if (sizeBytes > limitBytes) return end(null)
    // Nearly every body is one chunk and is used as it lies.
    if (first === null) first = chunk
    else (rest ??= [first]).push(chunk)
  })
  request.on('end', () => end(rest === null ? (first ?? EMPTY) : Buffer.concat(rest)))
  request.on('close', () => end(undefined))
}

const EMPTY = new Uint8Array(0)
