/** Encodes the ASN.1 values of a certificate in DER (X.690). */

export function sequence(...items: readonly Uint8Array[]): Uint8Array {
  return value(0x30, ...items)
}

/** A SET of one element; DER requires several to be sorted. */
export function setOf(item: Uint8Array): Uint8Array {
  return value(0x31, item)
}

export function booleanTrue(): Uint8Array {
  return value(0x01, Uint8Array.of(0xff))
}

/** A non-negative integer below 128. */
export function smallInteger(number: number): Uint8Array {
  return value(0x02, Uint8Array.of(number))
}

/** A non-negative integer, big endian. */
export function integer(magnitude: Uint8Array): Uint8Array {
  const start = magnitude.findIndex((byte) => byte !== 0)
  const digits = start < 0 ? Uint8Array.of(0) : magnitude.subarray(start)
  // A leading one bit would make it negative.
  return (digits[0] ?? 0) < 0x80 ? value(0x02, digits) : value(0x02, Uint8Array.of(0), digits)
}

/** `1.2.840.10045.4.3.2` */
export function objectId(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return value(0x06, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)))
}

export function octets(bytes: Uint8Array): Uint8Array {
  return value(0x04, bytes)
}

/** `unusedBits`: number of unused bits in the last byte. */
export function bits(bytes: Uint8Array, unusedBits = 0): Uint8Array {
  return value(0x03, Uint8Array.of(unusedBits), bytes)
}

export function utf8(text: string): Uint8Array {
  return value(0x0c, Buffer.from(text))
}

/** In seconds. Years up to 2049 have two digits (RFC 5280, 4.1.2.5). */
export function time(unixMs: number): Uint8Array {
  const digits = `${new Date(unixMs).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`
  return digits < '2050' ? value(0x17, Buffer.from(digits.slice(2))) : value(0x18, Buffer.from(digits))
}

/** A constructed value with a context-specific tag. */
export function tagged(number: number, ...items: readonly Uint8Array[]): Uint8Array {
  return value(0xa0 | number, ...items)
}

/** A primitive value with a context-specific tag. */
export function taggedBytes(number: number, bytes: Uint8Array): Uint8Array {
  return value(0x80 | number, bytes)
}

function value(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const lengthBytes = contents.reduce((sum, { length }) => sum + length, 0)
  return Buffer.concat([Uint8Array.of(tag, ...lengthOf(lengthBytes)), ...contents])
}

function lengthOf(lengthBytes: number): readonly number[] {
  if (lengthBytes < 0x80) return [lengthBytes]
  const digits: number[] = []
  for (let rest = lengthBytes; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256)
  return [0x80 | digits.length, ...digits]
}

/** Seven bits per byte, with the first bit set in all but the last. */
function base128(number: number): readonly number[] {
  const digits = [number % 128]
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift(0x80 | (rest % 128))
  return digits
}
