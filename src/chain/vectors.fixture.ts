import { existsSync, readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'

/** Published vectors lie beside the repository; tests that need them are skipped where they are not. */
const SHARED = new URL('../../../shared/vectors/', import.meta.url)

export const hasVectors = existsSync(SHARED)

export function text(file: string): string {
  const bytes = readFileSync(new URL(file, SHARED))
  return (file.endsWith('.br') ? brotliDecompressSync(bytes) : bytes).toString('utf8')
}

export function bytes(file: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(file, SHARED)))
}
