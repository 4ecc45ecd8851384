import { NodeBuffer } from './bytes.ts'
import { DecodeError, Hex } from './hex.ts'
import { RLP_DEPTH, RLP_SCRATCH_BYTES } from './limits.ts'

/** A decoded item: bytes, as a view into the input, or a list. */
export type RlpItem = Uint8Array | readonly RlpItem[]

/** Encoded RLP, inserted as it is. */
export interface RlpEncoded {
  readonly encoded: Uint8Array
}

/** Input of the encoder: bytes, 0x strings as bytes, numbers as integers without leading zeros, lists. */
export type RlpInput = Uint8Array | Hex | bigint | number | RlpEncoded | readonly RlpInput[]

export const Rlp = { encode, encodeTyped, size, listSize, encodeView, encodeTypedView, decode, itemEnd, toBigint }

// Encodes from the end to the start: a list's length is known when its header is written, so one pass suffices.
let scratch = new Uint8Array(1 << 16)
let at = scratch.length

function encode(input: RlpInput): Uint8Array {
  at = scratch.length
  put(input)
  return take()
}

/** Prefixes the encoding with one byte: an EIP-2718 envelope. */
function encodeTyped(type: number, input: RlpInput): Uint8Array {
  putTyped(type, input)
  return take()
}

function putTyped(type: number, input: RlpInput): void {
  at = scratch.length
  put(input)
  reserve(1)
  scratch[--at] = type
}

/** Returns the length of the encoding. */
function size(input: RlpInput): number {
  at = scratch.length
  put(input)
  const bytes = scratch.length - at
  shrink()
  return bytes
}

/** Returns the length of a list, given the total length of its items. */
function listSize(contentBytes: number): number {
  at = scratch.length
  putHead(contentBytes, 0xc0)
  return scratch.length - at + contentBytes
}

/** Returns the encoding in a buffer that the next encoding overwrites. */
function encodeView(input: RlpInput): Uint8Array {
  at = scratch.length
  put(input)
  return scratch.subarray(at)
}

/** As `encodeView`, for an EIP-2718 envelope. */
function encodeTypedView(type: number, input: RlpInput): Uint8Array {
  putTyped(type, input)
  return scratch.subarray(at)
}

function take(): Uint8Array {
  const bytes = scratch.slice(at)
  shrink()
  return bytes
}

function shrink(): void {
  if (scratch.length > RLP_SCRATCH_BYTES) scratch = new Uint8Array(1 << 16)
}

function reserve(sizeBytes: number): void {
  if (sizeBytes <= at) return
  const used = scratch.length - at
  const larger = new Uint8Array(Math.max(scratch.length * 2, used + sizeBytes))
  larger.set(scratch.subarray(at), larger.length - used)
  scratch = larger
  at = larger.length - used
}

function put(input: RlpInput): void {
  if (typeof input === 'string') putHex(input)
  else if (typeof input === 'bigint') putInteger(input)
  else if (typeof input === 'number') putNumber(input)
  else if (input instanceof Uint8Array) putBytes(input)
  else if ('encoded' in input) putEncoded(input.encoded)
  else putList(input)
}

function putList(list: readonly RlpInput[]): void {
  reserve(9)
  const tail = scratch.length - at
  for (let i = list.length - 1; i >= 0; i--) put(list[i] as RlpInput) // in range
  putHead(scratch.length - at - tail, 0xc0)
}

function putBytes(bytes: Uint8Array): void {
  putEncoded(bytes)
  putStringHead(bytes.length)
}

function putEncoded(bytes: Uint8Array): void {
  reserve(bytes.length + 9)
  at -= bytes.length
  scratch.set(bytes, at)
}

function putHex(hex: Hex): void {
  if (hex.length <= 130 || NodeBuffer === undefined) return putDigits(hex, 2)
  const size = (hex.length - 2) >>> 1
  reserve(size + 9)
  at -= size
  NodeBuffer.from(scratch.buffer, at, size).write(hex.slice(2), 'hex')
  putStringHead(size)
}

function putDigits(hex: string, from: number): void {
  reserve(hex.length + 9)
  const buffer = scratch
  let to = at
  for (let i = hex.length - 2; i >= from; i -= 2) buffer[--to] = (nibble(hex, i) << 4) | nibble(hex, i + 1)
  const size = at - to
  at = to
  putStringHead(size)
}

/** Identifiers are lower-case hex by construction; upper case decodes to the same. */
function nibble(hex: string, from: number): number {
  const code = hex.charCodeAt(from)
  return (code & 15) + 9 * (code >>> 6) // no branch, which digits would mispredict
}

function putInteger(value: bigint): void {
  if (value <= 0xffff_ffff_ffffn) return putNumber(Number(value))
  if (value <= 0xffff_ffff_ffff_ffffn) return putWord(value)
  const digits = value.toString(16) // three times as fast as shifting 32 bits at a time
  if (digits.length > 64) throw new RangeError(`${value} does not fit 32 bytes`)
  putDigits(digits.length % 2 === 0 ? digits : `0${digits}`, 0)
}

const wordView = new DataView(new ArrayBuffer(8))

/** Most wei amounts fit 8 bytes. */
function putWord(value: bigint): void {
  reserve(17)
  wordView.setBigUint64(0, value)
  const end = at
  for (let rest = wordView.getUint32(4), i = 0; i < 4; i++, rest >>>= 8) scratch[--at] = rest
  for (let rest = wordView.getUint32(0); rest > 0; rest >>>= 8) scratch[--at] = rest
  putStringHead(end - at)
}

function putNumber(value: number): void {
  if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) throw new RangeError(`${value} is not an RLP integer`)
  reserve(17)
  const end = at
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) scratch[--at] = rest % 256
  putStringHead(end - at)
}

function putStringHead(size: number): void {
  if (size === 1 && (scratch[at] as number) < 0x80) return // a byte below 0x80 is its own encoding
  putHead(size, 0x80)
}

function putHead(size: number, offset: 0x80 | 0xc0): void {
  reserve(9)
  if (size < 56) {
    scratch[--at] = offset + size
    return
  }
  const end = at
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) scratch[--at] = rest % 256
  scratch[at - 1] = offset + 55 + (end - at)
  at--
}

/** Decodes `bytes` as one item. Throws DecodeError if it is truncated, not canonical, nested too deeply or followed by more. */
function decode(input: Uint8Array, field = 'rlp'): RlpItem {
  const bytes = plain(input)
  const item = readItem(bytes, 0, bytes.length, field, 0)
  if (itemTail !== bytes.length) throw new DecodeError(field, `is followed by ${bytes.length - itemTail} stray bytes`)
  return item
}

/** Converts a Buffer, whose `slice` and `subarray` differ from those of a Uint8Array. */
function plain(bytes: Uint8Array): Uint8Array {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Returns the end of the item that starts at `start`. Throws DecodeError if it is truncated or its length is not canonical. */
function itemEnd(bytes: Uint8Array, start: number, field = 'rlp'): number {
  readHead(bytes, start, bytes.length, field)
  return bodyEnd
}

// The last header and the end of the last item. Module variables avoid an object per item.
let bodyStart = 0
let bodyEnd = 0
let isList = false
let itemTail = 0

function readItem(bytes: Uint8Array, start: number, limit: number, field: string, depth: number): RlpItem {
  readHead(bytes, start, limit, field)
  const end = bodyEnd
  if (!isList) {
    itemTail = end
    return bytes.subarray(bodyStart, end)
  }
  if (depth >= RLP_DEPTH) throw new DecodeError(field, `nests lists deeper than ${RLP_DEPTH}`)
  const list: RlpItem[] = []
  for (let next = bodyStart; next < end; next = itemTail) list.push(readItem(bytes, next, end, field, depth + 1))
  itemTail = end
  return list
}

function readHead(bytes: Uint8Array, start: number, limit: number, field: string): void {
  const first = start < limit ? (bytes[start] as number) : -1 // in range
  if (first < 0) throw new DecodeError(field, `is cut short at byte ${start}`)
  isList = first >= 0xc0
  if (first < 0x80) {
    bodyStart = start
    bodyEnd = start + 1
    return
  }
  const short = first - (isList ? 0xc0 : 0x80)
  if (short < 56) {
    bodyStart = start + 1
    bodyEnd = bodyStart + short
  } else {
    bodyStart = start + 1 + short - 55
    bodyEnd = bodyStart + readLength(bytes, start + 1, short - 55, limit, field)
  }
  if (bodyEnd > limit) throw new DecodeError(field, `is cut short: the item at byte ${start} ends ${bodyEnd - limit} bytes after its room`)
  if (first === 0x81 && (bytes[bodyStart] as number) < 0x80)
    throw new DecodeError(field, `is not canonical: the byte at ${bodyStart} needs no length`)
}

function readLength(bytes: Uint8Array, start: number, size: number, limit: number, field: string): number {
  if (start + size > limit) throw new DecodeError(field, `is cut short at byte ${limit}`)
  let length = 0
  for (let i = start; i < start + size; i++) length = length * 256 + (bytes[i] as number) // in range
  if (length < 56 || bytes[start] === 0) throw new DecodeError(field, `is not canonical: the length at byte ${start} is longer than needed`)
  return length
}

/** Converts big-endian bytes to an integer. Leading zeros are allowed. */
function toBigint(bytes: Uint8Array): bigint {
  if (bytes.length > 6) return BigInt(Hex.fromBytes(bytes)) // three times as fast as shifting
  let value = 0
  for (let i = 0; i < bytes.length; i++) value = value * 256 + (bytes[i] as number) // in range
  return BigInt(value)
}
