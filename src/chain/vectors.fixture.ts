import { existsSync, readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'

/** Published test vectors in a folder beside the repository; tests that need them are skipped without it. */
const SHARED = new URL('../../../shared/vectors/', import.meta.url)

export const hasVectors = existsSync(SHARED)

export function text(file: string): string {
  const bytes = readFileSync(new URL(file, SHARED))
  return (file.endsWith('.br') ? brotliDecompressSync(bytes) : bytes).toString('utf8')
}

export function bytes(file: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(file, SHARED)))
}
