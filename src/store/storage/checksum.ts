import { crc32 } from 'node:zlib'

/** Prefixes bytes with their checksum. LMDB has none. */
export function withChecksum(bytes: Uint8Array): Uint8Array {
  const all = new Uint8Array(CHECKSUM_BYTES + bytes.length)
  new DataView(all.buffer).setUint32(0, crc32(bytes))
  all.set(bytes, CHECKSUM_BYTES)
  return all
}

/** Returns the bytes without their checksum, `null` if it does not match. */
export function verifyChecksum(all: Uint8Array): Uint8Array | null {
  if (all.length < CHECKSUM_BYTES) return null
  const bytes = all.subarray(CHECKSUM_BYTES)
  const sum = new DataView(all.buffer, all.byteOffset).getUint32(0)
  return sum === crc32(bytes) ? bytes : null
}

const CHECKSUM_BYTES = 4
