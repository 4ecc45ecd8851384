import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileRuntime } from '../../scripts/runtime.mjs'
import { keccak256 } from '../eth/index.ts'

// The arithmetic of the runtime (runtime/word.ts, keccak.ts, keccakcache.ts) in a separate module, against BigInt.

type Pointers = (...pointers: number[]) => number
/** The part of WebAssembly in use; TypeScript declares it only in the DOM library. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: { readonly memory: { readonly buffer: ArrayBuffer } } }
}

const { exports } = new WebAssembly.Instance(new WebAssembly.Module(await compileRuntime('testexports.ts', { pages: 64 })))
const memory = new Uint8Array(exports.memory.buffer)
const call = (name: string): Pointers => {
  const found: unknown = Reflect.get(exports, name)
  if (typeof found !== 'function') throw new Error(`runtime/testexports.ts exports no function ${name}`)
  return found as Pointers // all functions there have i32 parameters and results
}

const BITS = 256n
const SIZE = 1n << BITS
const MAX = SIZE - 1n
/** Above the module's data: four words, then a byte buffer. */
const PLACES = [0x10000, 0x10040, 0x10080, 0x100c0] as const
const BYTES = 0x20000

function put(place: number, value: bigint): void {
  for (let i = 0; i < 32; i++) memory[place + i] = Number((value >> BigInt(8 * i)) & 0xffn)
}

function get(place: number): bigint {
  let value = 0n
  for (let i = 31; i >= 0; i--) value = (value << 8n) | BigInt(memory[place + i] ?? 0)
  return value
}

/** Runs `name(out, ...inputs)` with a separate output (`alias` -1) or with an input as output. */
function run(name: string, inputs: readonly bigint[], alias = -1): bigint {
  const places = inputs.map((value, i) => {
    const place = PLACES[i + 1] ?? 0
    put(place, value)
    return place
  })
  const out = places[alias] ?? PLACES[0]
  call(name)(out, ...places)
  return get(out)
}

const signed = (value: bigint): bigint => BigInt.asIntN(256, value)
const word = (value: bigint): bigint => BigInt.asUintN(256, value)
const bitLength = (value: bigint): number => (value === 0n ? 0 : value.toString(2).length)

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let rest = exponent, square = base; rest > 0n; rest >>= 1n, square = word(square * square)) {
    if (rest & 1n) result = word(result * square)
  }
  return result
}

/** EVM semantics, Yellow Paper appendix H; clz is EIP-7939. */
const OPERATIONS: Record<string, (...words: [bigint, bigint, bigint]) => bigint> = {
  add: (a, b) => word(a + b),
  sub: (a, b) => word(a - b),
  mul: (a, b) => word(a * b),
  div: (a, b) => (b === 0n ? 0n : a / b),
  sdiv: (a, b) => (b === 0n ? 0n : word(signed(a) / signed(b))),
  mod: (a, b) => (b === 0n ? 0n : a % b),
  smod: (a, b) => (b === 0n ? 0n : word(signed(a) % signed(b))),
  addmod: (a, b, m) => (m === 0n ? 0n : (a + b) % m),
  mulmod: (a, b, m) => (m === 0n ? 0n : (a * b) % m),
  exp: (a, b) => power(a, b),
  signextend: (k, x) => (k < 31n ? word(BigInt.asIntN(8 * (Number(k) + 1), x)) : x),
  byteAt: (i, x) => (i < 32n ? (x >> (8n * (31n - i))) & 0xffn : 0n),
  shl: (shift, x) => (shift < BITS ? word(x << shift) : 0n),
  shr: (shift, x) => (shift < BITS ? x >> shift : 0n),
  sar: (shift, x) => word(signed(x) >> (shift < BITS ? shift : 255n)),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  not: (a) => MAX - a,
  clz: (a) => BigInt(256 - bitLength(a)),
  copy: (a) => a,
  clear: () => 0n,
}

const QUESTIONS: Record<string, (...words: [bigint, bigint]) => boolean | number> = {
  lt: (a, b) => a < b,
  gt: (a, b) => a > b,
  slt: (a, b) => signed(a) < signed(b),
  sgt: (a, b) => signed(a) > signed(b),
  eq: (a, b) => a === b,
  isZero: (a) => a === 0n,
  isNegative: (a) => signed(a) < 0n,
  fitsU64: (a) => a < 1n << 64n,
  fitsU32: (a) => a < 1n << 32n,
  bitLength: (a) => bitLength(a),
  byteLength: (a) => Math.ceil(bitLength(a) / 8),
}

const EDGES = [32n, 63n, 64n, 65n, 96n, 127n, 128n, 160n, 191n, 192n, 193n, 224n, 255n, 256n]
  .flatMap((bits) => [(1n << bits) - 1n, 1n << bits, (1n << bits) + 1n, MAX - (1n << bits) + 2n])
  .concat([0n, 1n, 2n, 3n, 5n, 10n, 31n, 32n, 256n, 10n ** 18n])
  .map(word)

/** Limbs with wrong digit estimates: all ones, only the top bit, one off, zero. */
const limb = fc.oneof(
  fc.constantFrom(0n, 1n, 2n, (1n << 63n) - 1n, 1n << 63n, (1n << 63n) + 1n, (1n << 64n) - 2n, (1n << 64n) - 1n),
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
)
const ofLimbs = (count: number): fc.Arbitrary<bigint> =>
  fc.array(limb, { minLength: count, maxLength: count }).map((limbs) => limbs.reduce((value, next) => (value << 64n) | next, 0n))
const anyWord = fc.oneof(
  fc.constantFrom(...EDGES),
  fc.integer({ min: 1, max: 4 }).chain(ofLimbs),
  fc.bigInt({ min: 0n, max: 300n }),
  fc.bigInt({ min: 0n, max: MAX }),
  fc.tuple(fc.bigInt({ min: 0n, max: MAX }), fc.nat(255)).map(([value, bits]) => value >> BigInt(bits)),
)

const arity = (operation: (...words: never) => unknown): number => operation.length

test.each(Object.entries(OPERATIONS))('%s agrees with BigInt for every aliasing of output and inputs', (name, operation) => {
  const count = arity(operation)
  const inputs = fc.tuple(anyWord, anyWord, anyWord)
  const alias = fc.integer({ min: -1, max: count - 1 })
  fc.assert(
    fc.property(inputs, alias, (words, place) => {
      expect(run(name, words.slice(0, count), place)).toBe(operation(...words))
    }),
    { numRuns: 3000 },
  )
})

test.each(Object.entries(OPERATIONS).filter(([, operation]) => arity(operation) === 2))(
  '%s of every pair of edge cases',
  (name, operation) => {
    for (const a of EDGES) {
      for (const b of EDGES)
        if (run(name, [a, b]) !== operation(a, b, 0n)) expect([a, b, run(name, [a, b])]).toEqual([a, b, operation(a, b, 0n)])
    }
  },
)

test.each(Object.entries(QUESTIONS))('%s agrees with BigInt', (name, question) => {
  fc.assert(
    fc.property(anyWord, anyWord, fc.boolean(), (a, other, same) => {
      const b = same ? a : other
      put(PLACES[0], a)
      put(PLACES[1], b)
      const result = call(name)(PLACES[0], ...(arity(question) === 2 ? [PLACES[1]] : []))
      expect(result).toBe(Number(question(a, b)))
    }),
    { numRuns: 2000 },
  )
})

test('division around exact multiples: estimated digits one too high, and digits of all ones', () => {
  const near = fc.bigInt({ min: -3n, max: 3n })
  fc.assert(
    fc.property(anyWord, anyWord, near, (divisor, quotient, off) => {
      fc.pre(divisor !== 0n)
      const dividend = word(divisor * (quotient % (MAX / divisor + 1n)) + off)
      expect([run('div', [dividend, divisor]), run('mod', [dividend, divisor])]).toEqual([dividend / divisor, dividend % divisor])
    }),
    { numRuns: 5000 },
  )
})

test('divisors with a nearly exact reciprocal', () => {
  const B = 1n << 64n
  fc.assert(
    fc.property(limb, limb, limb, fc.bigInt({ min: 0n, max: 2n }), (q, quotient, rest, off) => {
      const divisor = (B ** 3n - 1n) / (B + q) + off // two limbs, the top bit set
      const dividend = word(divisor * quotient + (rest < divisor ? rest : 0n))
      expect([run('div', [dividend, divisor]), run('mod', [dividend, divisor])]).toEqual([dividend / divisor, dividend % divisor])
    }),
    { numRuns: 3000 },
  )
})

test('products modulo 2^256 - 1, with sums of halves that overflow or equal the modulus, and modulo powers of two', () => {
  const modulus = fc.oneof(
    fc.constant(MAX),
    fc.nat(255).map((bits) => 1n << BigInt(bits)),
  )
  fc.assert(
    fc.property(anyWord, fc.oneof(anyWord, fc.constant(MAX)), modulus, (a, b, m) => {
      expect(run('mulmod', [a, b, m])).toBe((a * b) % m)
    }),
    { numRuns: 2000 },
  )
})

test('the product and the reciprocals that are kept from the last call are not used for operands that differ in one limb', () => {
  const changed = (value: bigint, place: number, to: bigint): bigint => {
    const bits = BigInt(64 * place)
    return (value & ~(((1n << 64n) - 1n) << bits)) | (to << bits)
  }
  const change = fc.tuple(fc.nat(2), fc.nat(3), limb)
  fc.assert(
    fc.property(anyWord, anyWord, anyWord, fc.array(change, { maxLength: 12 }), (a, b, m, changes) => {
      let words = [a, b, m] as const
      for (const [which, place, to] of changes) {
        words = [0, 1, 2].map((at) => (at === which ? changed(words[at] as bigint, place, to) : words[at])) as unknown as typeof words // three words
        for (const name of ['mulmod', 'div', 'mod', 'addmod']) {
          const operation = OPERATIONS[name] as (typeof OPERATIONS)[string] // in the table
          expect(run(name, words.slice(0, arity(operation)))).toBe(operation(...words))
        }
        expect(run('mulmod', [words[0], words[1], MAX])).toBe((words[0] * words[1]) % MAX)
      }
    }),
    { numRuns: 1000 },
  )
})

test('division with the top limbs of the remainder equal to those of the divisor', () => {
  // The case outside the reciprocal's range: r - d has only its two lower limbs.
  fc.assert(
    fc.property(ofLimbs(4), ofLimbs(2), limb, (divisor, low, next) => {
      const m = divisor | (1n << 255n)
      const rest = ((m >> 128n) << 128n) | low
      fc.pre(rest < m)
      const product = (rest << 64n) | next // (rest * 2^64 + next) mod m in two steps, with mulmod and addmod
      const shifted = run('mulmod', [rest, 1n << 64n, m])
      expect(run('addmod', [shifted, next, m])).toBe(product % m)
    }),
    { numRuns: 3000 },
  )
})

test("the add-back cases of Hacker's Delight and of TAOCP, in digits of 64 bits", () => {
  const B = 1n << 64n
  const cases: [bigint, bigint][] = [
    [(B / 2n) * B ** 3n, (B / 2n) * B ** 2n + 1n],
    [(B / 2n) * B ** 3n + 3n, (B / 2n) * B + (B - 1n)],
    [(B - 2n) * B ** 3n + (B - 1n) * B ** 2n, (B - 2n) * B ** 2n + (B - 1n) * B + (B - 1n)],
    [3n * B ** 3n, (B / 8n) * B ** 2n + 1n],
    [(B / 2n - 1n) * B ** 3n + (B - 1n) * B ** 2n, (B / 2n) * B ** 2n + 1n],
    [MAX, (B - 1n) * B ** 2n + 1n],
    [MAX - 1n, (B / 2n) * B ** 3n + (B - 1n)],
  ]
  for (const [a, b] of cases) expect([run('div', [a, b]), run('mod', [a, b])]).toEqual([a / b, a % b])
})

test('conversion between words and big-endian bytes', () => {
  fc.assert(
    fc.property(anyWord, (value) => {
      put(PLACES[0], value)
      call('toBytes')(BYTES, PLACES[0])
      expect(Buffer.from(memory.subarray(BYTES, BYTES + 32)).toString('hex')).toBe(value.toString(16).padStart(64, '0'))
      call('fromBytes')(PLACES[1], BYTES)
      expect(get(PLACES[1])).toBe(value)
    }),
  )
})

test('keccak256 agrees with eth/ at every length up to two blocks and more, and for a long input', () => {
  const bytes = Uint8Array.from({ length: 10_000 }, (_, i) => (i * 167 + 13) & 0xff)
  memory.set(bytes, BYTES)
  for (const length of [...Array.from({ length: 301 }, (_, i) => i), 407, 408, 409, 10_000]) {
    call('keccak256')(BYTES, length, PLACES[0])
    expect(memory.slice(PLACES[0], PLACES[0] + 32)).toEqual(keccak256(bytes.subarray(0, length)))
  }
})

/** The hash of 64 bytes and its bucket. */
function cachedKeccak64(pair: Uint8Array): { readonly hash: Uint8Array; readonly place: number } {
  memory.set(pair, BYTES)
  const place = call('cachedKeccak64')(BYTES)
  return { hash: memory.slice(place, place + 32), place }
}

test('cachedKeccak64 is correct for repeated inputs, evictions and inputs that differ in one bit', () => {
  // The cache initially holds zeros.
  expect(cachedKeccak64(new Uint8Array(64)).hash).toEqual(keccak256(new Uint8Array(64)))
  // More inputs than buckets, a quarter of them repeated, each with one bit flipped per byte.
  for (let i = 0; i < 12_000; i++) {
    const pair = new Uint8Array(64)
    pair.set(keccak256(Uint8Array.of(i % 4 === 0 ? i % 52 : i & 255, i % 4 === 0 ? 0 : i >> 8)))
    expect(Buffer.compare(cachedKeccak64(pair).hash, keccak256(pair))).toBe(0)
    pair[i % 64]! ^= 1 << ((i >> 3) % 8)
    expect(Buffer.compare(cachedKeccak64(pair).hash, keccak256(pair))).toBe(0)
  }
})

test('cachedKeccak64 distinguishes inputs in the same bucket that differ in one limb', () => {
  const chosen = (seed: number, other: number): Uint8Array => keccak256(Uint8Array.of(seed, other & 255, other >> 8))
  for (let seed = 0; seed < 10; seed++) {
    const pair = Uint8Array.of(...chosen(seed, 0), ...chosen(seed, 1))
    for (let limb = 0; limb < 64; limb += 8) {
      const { place } = cachedKeccak64(pair)
      // Any other limb if the bucket does not depend on it, else one of a thousand.
      const other = Uint8Array.from(pair)
      let hash: Uint8Array | null = null
      for (let i = 2; hash === null && i < 2 ** 16; i++) {
        other.set(chosen(seed, i).subarray(0, 8), limb)
        const found = cachedKeccak64(other)
        if (found.place === place) hash = found.hash
      }
      expect(hash).toEqual(keccak256(other))
    }
  }
})

test('copyBytes is correct for overlapping ranges', () => {
  const before = Uint8Array.from({ length: 160 }, (_, i) => i + 1)
  for (const size of [0, 31, 32, 33]) {
    for (let distance = -40; distance <= 40; distance++) {
      memory.set(before, BYTES)
      call('copyBytes')(BYTES + 60 + distance, BYTES + 60, size)
      const expected = before.slice().copyWithin(60 + distance, 60, 60 + size)
      expect({ size, distance, bytes: memory.slice(BYTES, BYTES + 160) }).toEqual({ size, distance, bytes: expected })
    }
  }
})

test.each([0, 32, 512, 544])('clearWords clears %i bytes and no neighbours', (size) => {
  const expected = new Uint8Array(800).fill(0xff).fill(0, 64, 64 + size)
  memory.fill(0xff, BYTES, BYTES + 800)
  call('clearWords')(BYTES + 64, size)
  expect(memory.slice(BYTES, BYTES + 800)).toEqual(expected)
})
