import { Hex } from './hex.ts'
import { keccak256 } from './keccak.ts'
import { BLOOM_CACHE } from './limits.ts'
import type { Log } from './log.ts'

const SIZE_BYTES = 256

/** The 2048-bit filter of addresses and topics (yellow paper, 4.3.1). `empty` is shared and must not be written to. */
export const Bloom = { empty: new Uint8Array(SIZE_BYTES), ofLogs, or, add, has }

/** Returns `empty` itself for no logs. */
function ofLogs(logs: readonly Log[]): Uint8Array {
  if (logs.length === 0) return Bloom.empty
  const bloom = new Uint8Array(SIZE_BYTES)
  for (const log of logs) {
    add(bloom, log.address)
    for (const topic of log.topics) add(bloom, topic)
  }
  return bloom
}

/** Returns the union: a new filter, or one argument if the other is `empty` itself. */
function or(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (right === Bloom.empty) return left
  if (left === Bloom.empty) return right
  const both = left.slice()
  for (let i = 0; i < SIZE_BYTES; i++) both[i] = (left[i] as number) | (right[i] as number) // both are 256 bytes
  return both
}

/** Adds an address or a topic to `bloom`. */
function add(bloom: Uint8Array, value: Hex | Uint8Array): void {
  const bits = bitsOf(value)
  set(bloom, bits & 2047)
  set(bloom, (bits >>> 11) & 2047)
  set(bloom, Math.floor(bits / 2 ** 22) & 2047)
}

function set(bloom: Uint8Array, bit: number): void {
  const at = SIZE_BYTES - 1 - (bit >>> 3)
  bloom[at] = (bloom[at] as number) | (1 << (bit & 7))
}

/** Returns false if the value is certainly not in the bloom. */
function has(bloom: Uint8Array, value: Hex | Uint8Array): boolean {
  const bits = bitsOf(value)
  return isSet(bloom, bits & 2047) && isSet(bloom, (bits >>> 11) & 2047) && isSet(bloom, Math.floor(bits / 2 ** 22) & 2047)
}

function isSet(bloom: Uint8Array, bit: number): boolean {
  return ((bloom[SIZE_BYTES - 1 - (bit >>> 3)] as number) & (1 << (bit & 7))) !== 0
}

// Addresses and topics repeat: a cache lookup is 10 times cheaper than hex decoding and keccak.
const known = new Map<Hex, number>()

/** Returns three bit numbers of 11 bits each, packed into 33 bits. */
function bitsOf(value: Hex | Uint8Array): number {
  if (typeof value !== 'string') return hashedBits(value)
  const cached = known.get(value)
  if (cached !== undefined) return cached
  const bits = hashedBits(Hex.toBytes(value))
  if (known.size >= BLOOM_CACHE) known.clear()
  known.set(value, bits)
  return bits
}

function hashedBits(bytes: Uint8Array): number {
  const hash = keccak256(bytes)
  const pair = (i: number): number => (((hash[i] as number) << 8) | (hash[i + 1] as number)) & 2047 // a hash has 32 bytes
  return pair(0) + pair(2) * 2 ** 11 + pair(4) * 2 ** 22
}
