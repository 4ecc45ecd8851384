import { constants, crc32, createBrotliCompress, createGzip, deflateRaw, brotliCompress } from 'node:zlib'
import type { BrotliOptions, Gzip, BrotliCompress, ZlibOptions } from 'node:zlib'
import type { Coding, JsonAnswer, Packed } from '../rpc/index.ts'
import { releaseBuffer } from '../store/index.ts'
import { BROTLI_LEVEL, GZIP_LEVEL, PACKED_CHUNK_BYTES } from './limits.ts'

const GZIP: ZlibOptions = { level: GZIP_LEVEL, chunkSize: PACKED_CHUNK_BYTES }
const BROTLI: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_LEVEL }, chunkSize: PACKED_CHUNK_BYTES }

const PACKERS: Readonly<Record<Coding, () => Gzip | BrotliCompress>> = {
  gzip: () => createGzip(GZIP),
  br: () => createBrotliCompress(BROTLI),
}

/** Compresses in a thread. The next chunk is taken, and the one before given back, when that is packed and what came of it was taken. */
export async function* packed(chunks: Iterable<Uint8Array>, coding: Coding): AsyncGenerator<Uint8Array, void, undefined> {
  const packer = PACKERS[coding]()
  const signal = new Signal()
  packer.on('readable', signal.give)
  packer.on('end', signal.give)
  packer.on('error', signal.give)
  try {
    for (const chunk of chunks) {
      packer.write(chunk, signal.give)
      while (packer.writableLength > 0) {
        const piece = take(packer)
        if (piece === null) await signal.given()
        else yield piece
      }
      releaseBuffer(chunk)
    }
    packer.end()
    for (;;) {
      const piece = take(packer)
      if (piece !== null) yield piece
      else if (packer.readableEnded) return
      else await signal.given()
    }
  } finally {
    packer.destroy()
  }
}

function take(packer: Gzip | BrotliCompress): Uint8Array | null {
  if (packer.errored !== null) throw packer.errored
  return packer.read() as Buffer | null // no encoding is set
}

/** Something happened since it was last waited for. */
class Signal {
  #isGiven = false
  #resolve: (() => void) | null = null

  readonly give = (): void => {
    this.#isGiven = true
    this.#resolve?.()
  }

  async given(): Promise<void> {
    if (!this.#isGiven) await new Promise<void>((resolve) => (this.#resolve = resolve))
    this.#isGiven = false
    this.#resolve = null
  }
}

// --- kept texts -----------------------------------------------------------------------------------------------------

/**
 * An answer whose result is kept, compressed: all but its id once and for all, and the id behind that as it is. So the id stands last here; in
 * JSON that is the same object. Null: the result is not kept, or the id too long for one piece.
 */
export async function packedAnswer({ id, result }: JsonAnswer, coding: Coding): Promise<readonly Uint8Array[] | null> {
  const tail = Buffer.from(`,"id":${id}}`)
  if (result.packs === null || tail.length > MOST_UNPACKED_BYTES) return null
  const form = await result.packs.get(coding, () => pack(Buffer.concat([BEFORE_RESULT, result.bytes]), coding))
  return ENDS[coding](form, tail)
}

const BEFORE_RESULT = Buffer.from('{"jsonrpc":"2.0","result":')

/** What a stored block of deflate can hold; a piece of brotli holds one byte more. */
const MOST_UNPACKED_BYTES = 0xffff

function pack(bytes: Uint8Array, coding: Coding): Promise<Packed> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, packed: Uint8Array) => {
      if (error === null) resolve({ bytes: packed, crc32: crc32(bytes), unpackedBytes: bytes.length })
      else reject(error)
    }
    if (coding === 'gzip') deflateRaw(bytes, { ...GZIP, finishFlush: constants.Z_SYNC_FLUSH }, done)
    else brotliCompress(bytes, { ...BROTLI, finishFlush: constants.BROTLI_OPERATION_FLUSH }, done)
  })
}

type End = (packed: Packed, tail: Uint8Array) => readonly Uint8Array[]

/** Head and trailer of RFC 1952 around it, the tail in a stored block, the last one (RFC 1951, 3.2.4). */
const endGzip: End = ({ bytes, crc32: before, unpackedBytes }, tail) => {
  const stored = Buffer.alloc(5)
  stored[0] = 1
  stored.writeUInt16LE(tail.length, 1)
  stored.writeUInt16LE(~tail.length & 0xffff, 3)
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc32(tail, before), 0)
  trailer.writeUInt32LE((unpackedBytes + tail.length) >>> 0, 4)
  return [GZIP_HEAD, bytes, Buffer.concat([stored, tail, trailer])]
}

/** Deflate, no name, no time, any system. */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])

/** The tail in an uncompressed meta-block (RFC 7932, 9.2): not the last, length in 4 nibbles, uncompressed. Then an empty one, the last. */
const endBrotli: End = ({ bytes }, tail) => {
  const head = Buffer.alloc(3)
  head.writeUIntLE(((tail.length - 1) << 3) | (1 << 19), 0, 3)
  return [bytes, Buffer.concat([head, tail, BROTLI_LAST])]
}

const BROTLI_LAST = Buffer.from([3])

const ENDS: Readonly<Record<Coding, End>> = { gzip: endGzip, br: endBrotli }
