import { DecodeError, Hex } from './hex.ts'

/** Reads ABI-encoded data. Every function throws DecodeError for a position beyond its end. */

export function wordAt(data: Uint8Array, at: number): bigint {
  return BigInt(Hex.fromBytes(slice(data, at, 32)))
}

/** Reads an offset or a length, which is at most the size of the data. */
export function offsetAt(data: Uint8Array, at: number): number {
  const value = wordAt(data, at)
  if (value > BigInt(data.length)) throw new DecodeError('abi', `points to byte ${value} of ${data.length}`)
  return Number(value)
}

export function slice(data: Uint8Array, from: number, size: number): Uint8Array {
  if (from < 0 || size < 0 || from + size > data.length) throw new DecodeError('abi', `ends before byte ${from + size}`)
  return data.subarray(from, from + size)
}
