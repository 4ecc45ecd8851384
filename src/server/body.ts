import type { IncomingMessage } from 'node:http'

/** Reads the whole body. Answers null when it is longer than `limitBytes`, undefined when the client went away. */
export function readBody(request: IncomingMessage, limitBytes: number): Promise<Uint8Array | null | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) return Promise.resolve(null)
  return new Promise((resolve) => {
    let first: Buffer | null = null
    let rest: Buffer[] | null = null
    let sizeBytes = 0
    request.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length
      if (sizeBytes > limitBytes) return resolve(null)
      // Nearly every body is one chunk and is used as it lies.
      if (first === null) first = chunk
      else (rest ??= [first]).push(chunk)
    })
    request.on('end', () => resolve(rest === null ? (first ?? EMPTY) : Buffer.concat(rest)))
    request.on('close', () => resolve(undefined))
  })
}

const EMPTY = new Uint8Array(0)
