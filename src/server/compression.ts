import { Readable, pipeline } from 'node:stream'
import { constants, createBrotliCompress, createGzip } from 'node:zlib'
import type { BrotliCompress, Gzip } from 'node:zlib'
import type { Coding } from './coding.ts'
import { BROTLI_LEVEL, COMPRESSED_CHUNK_BYTES, GZIP_LEVEL } from './limits.ts'

/** Compresses in node:zlib's thread pool. Reads the next chunk when the output of the one before was taken; ends the source if iteration stops early. */
export function compressed(chunks: Iterable<Uint8Array>, coding: Coding): AsyncIterable<Uint8Array> {
  return pipeline(Readable.from(chunks), COMPRESSORS[coding](), ignore) // an error is thrown by the iteration
}

const COMPRESSORS: Readonly<Record<Coding, () => Gzip | BrotliCompress>> = {
  gzip: () => createGzip({ level: GZIP_LEVEL, chunkSize: COMPRESSED_CHUNK_BYTES }),
  br: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_LEVEL }, chunkSize: COMPRESSED_CHUNK_BYTES }),
}

function ignore(): void {}
