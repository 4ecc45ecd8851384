import { brotliCompress, brotliDecompressSync, constants } from 'node:zlib'
import { Flashblock } from '../eth/index.ts'
import { MAX_FRAME_BYTES } from './limits.ts'

/** One WebSocket message: JSON text, or the same text compressed with brotli as a binary message. */
export interface Frame {
  readonly bytes: Uint8Array
  readonly binary: boolean
}

export type Encoding = 'plain' | 'brotli'

/** Encodes a flashblock in the public wire format (snake_case, `index` and `metadata.block_number` as JSON numbers). */
export function plainFrame(flashblock: Flashblock): Frame {
  return { bytes: Buffer.from(Flashblock.toWire(flashblock)), binary: false }
}

/** Compresses on libuv's thread pool: a flashblock of 1,000 transactions takes 83 ms, 40 % of its slot. */
export function compress(frame: Frame): Promise<Frame> {
  return new Promise((resolve, reject) => {
    const params = { ...BROTLI, [constants.BROTLI_PARAM_SIZE_HINT]: frame.bytes.length }
    brotliCompress(frame.bytes, { params }, (error, bytes) => {
      if (error === null) resolve({ bytes, binary: true })
      else reject(error)
    })
  })
}

/**
 * Decodes a message of any publisher: JSON if it begins with `{` after white space, else brotli. With lgwin 22 no compressed message begins
 * with `{`. Throws BadFrame.
 */
export function decodeFrame(message: string | Uint8Array): Flashblock {
  return decodeMessage(message).flashblock
}

/** As `decodeFrame`, with the publisher's metadata, whose keys differ between publishers. */
export function decodeMessage(message: string | Uint8Array): StreamMessage {
  const text = typeof message === 'string' ? message : new TextDecoder().decode(jsonOf(message))
  try {
    const json: unknown = JSON.parse(text)
    const flashblock = Flashblock.fromJson(json)
    return { flashblock, metadata: (json as { metadata: StreamMessage['metadata'] }).metadata } // a flashblock's metadata is an object
  } catch (error) {
    throw new BadFrame(`not a flashblock: ${reason(error)}`)
  }
}

/** A decoded message of the stream. */
export interface StreamMessage {
  readonly flashblock: Flashblock
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Parameters of the public proxies; a third of the text's size. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 22 }

const OPENING_BRACE = 0x7b
const WHITESPACE = new Set([0x20, 0x09, 0x0a, 0x0d])

function jsonOf(bytes: Uint8Array): Uint8Array {
  if (bytes.length > MAX_FRAME_BYTES) throw new BadFrame(`${bytes.length} bytes are more than the ${MAX_FRAME_BYTES} allowed`)
  const first = bytes.find((byte) => !WHITESPACE.has(byte))
  return first === OPENING_BRACE ? bytes : decompressed(bytes)
}

function decompressed(bytes: Uint8Array): Uint8Array {
  try {
    return brotliDecompressSync(bytes, { maxOutputLength: MAX_FRAME_BYTES })
  } catch (error) {
    throw new BadFrame(`neither JSON nor brotli: ${reason(error)}`)
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A message that is not a flashblock in the public wire format. */
export class BadFrame extends Error {
  override readonly name = 'BadFrame'
}
