import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Hex } from '../../eth/index.ts'
import { contextOf, l1Config, opConfig } from '../evm.fixture.ts'
import type { L1Fork, OpFork, Rules } from '../forks.ts'
import { recoverInWasm, verifyP256 } from './p256.ts'
import { precompiledContracts } from './table.ts'
import type { Precompile } from './table.ts'

const VECTORS = new URL('../../../../shared/vectors/precompiles/', import.meta.url)
/** Sums of hundreds of points take seconds: `PRECOMPILES=1` runs all vectors. */
const ALL = process.env['PRECOMPILES'] === '1'
const INPUT_BYTES_MAX = 45_000

interface Vector {
  readonly Name: string
  readonly Input: string
  readonly Expected?: string
  readonly Gas?: number
  readonly ExpectedError?: string
}

const FILES: readonly (readonly [file: string, number: number, fork: L1Fork])[] = [
  ['ecRecover', 0x01, 'prague'],
  ['modexp', 0x05, 'byzantium'],
  ['modexp_eip2565', 0x05, 'prague'],
  ['modexp_eip7883', 0x05, 'osaka'],
  ['bn256Add', 0x06, 'prague'],
  ['bn256ScalarMul', 0x07, 'prague'],
  ['bn256Pairing', 0x08, 'prague'],
  ['blake2F', 0x09, 'prague'],
  ['fail-blake2f', 0x09, 'prague'],
  ['pointEvaluation', 0x0a, 'prague'],
  ['blsG1Add', 0x0b, 'prague'],
  ['fail-blsG1Add', 0x0b, 'prague'],
  ['blsG1Mul', 0x0c, 'prague'],
  ['fail-blsG1Mul', 0x0c, 'prague'],
  ['blsG1MultiExp', 0x0c, 'prague'],
  ['fail-blsG1MultiExp', 0x0c, 'prague'],
  ['blsG2Add', 0x0d, 'prague'],
  ['fail-blsG2Add', 0x0d, 'prague'],
  ['blsG2Mul', 0x0e, 'prague'],
  ['fail-blsG2Mul', 0x0e, 'prague'],
  ['blsG2MultiExp', 0x0e, 'prague'],
  ['fail-blsG2MultiExp', 0x0e, 'prague'],
  ['blsPairing', 0x0f, 'prague'],
  ['fail-blsPairing', 0x0f, 'prague'],
  ['blsMapG1', 0x10, 'prague'],
  ['fail-blsMapG1', 0x10, 'prague'],
  ['blsMapG2', 0x11, 'prague'],
  ['fail-blsMapG2', 0x11, 'prague'],
  ['p256Verify', 0x100, 'osaka'],
]

describe.skipIf(!existsSync(VECTORS))('geth’s vectors: output, gas and errors', () => {
  test.each(FILES)('%s', (file, number, fork) => {
    const { gas, run } = at(number, l1(fork))
    for (const { Name, Input, Expected, Gas, ExpectedError } of chosen(file)) {
      const input = Hex.toBytes(`0x${Input}`)
      const before = input.slice()
      expect({ Name, result: result(run(input)) }).toEqual({ Name, result: ExpectedError ?? `0x${Expected}` })
      if (Gas !== undefined) expect({ Name, gas: gas(input) }).toEqual({ Name, gas: Gas })
      expect(Buffer.compare(input, before)).toBe(0)
    }
  })

  test('secp256r1 without OpenSSL, as in a browser', () => {
    for (const { Name, Input, Expected } of vectors('p256Verify').filter((_, index) => index % 5 === 0)) {
      const output = verifyP256(Hex.toBytes(`0x${Input}`), recoverInWasm)
      expect({ Name, result: result(output) }).toEqual({ Name, result: `0x${Expected}` })
    }
  })

  test('an input may be a view into a larger buffer', () => {
    const [vector] = vectors('bn256Add')
    const bytes = Hex.toBytes(`0x${vector?.Input}`)
    const memory = new Uint8Array(1_000).fill(0xff)
    memory.set(bytes, 37)
    const output = at(0x06, l1('prague')).run(memory.subarray(37, 37 + bytes.length))
    expect(result(output)).toBe(`0x${vector?.Expected}`)
  })
})

describe('active precompiles', () => {
  test.each([
    ['frontier', 4, 0x04],
    ['spurious', 4, 0x04],
    ['byzantium', 8, 0x08],
    ['petersburg', 8, 0x08],
    ['istanbul', 9, 0x09],
    ['shanghai', 9, 0x09],
    ['cancun', 10, 0x0a],
    ['prague', 17, 0x11],
    ['osaka', 18, 0x100],
    ['bpo2', 18, 0x100],
  ] as const)('%s has %i, the last is %i', (fork, count, last) => {
    const numbers = [...precompiledContracts(l1(fork)).keys()]
    expect(numbers.length).toBe(count)
    expect(numbers.at(-1)).toBe(last)
  })

  test.each([
    ['bedrock', 9],
    ['ecotone', 10],
    ['fjord', 11],
    ['granite', 11],
    ['isthmus', 18],
    ['azul', 18],
    ['karst', 18],
  ] as const)('OP fork %s has %i', (fork, count) => {
    expect(precompiledContracts(op(fork)).size).toBe(count)
  })

  test('the same map for the same rules', () => {
    expect(precompiledContracts(l1('prague'))).not.toBe(precompiledContracts(l1('prague')))
    const rules = l1('prague')
    expect(precompiledContracts(rules)).toBe(precompiledContracts(rules))
  })
})

describe('prices', () => {
  const modexp = (base: number, exponent: number, modulus: number): Uint8Array => {
    const body = new Uint8Array(base + exponent + modulus).fill(0xff)
    return Uint8Array.of(...word(BigInt(base)), ...word(BigInt(exponent)), ...word(BigInt(modulus)), ...body)
  }

  test.each<[number, L1Fork, Uint8Array, number]>([
    [0x01, 'frontier', new Uint8Array(), 3_000],
    [0x02, 'frontier', new Uint8Array(), 60],
    [0x02, 'frontier', new Uint8Array(33), 84],
    [0x03, 'frontier', new Uint8Array(64), 840],
    [0x04, 'frontier', new Uint8Array(65), 24],
    [0x05, 'byzantium', modexp(64, 32, 64), 52_224],
    [0x05, 'london', modexp(64, 32, 64), 5_440],
    [0x05, 'osaka', modexp(64, 32, 64), 32_640],
    [0x05, 'byzantium', new Uint8Array(), 0],
    [0x05, 'berlin', new Uint8Array(), 200],
    [0x05, 'osaka', new Uint8Array(), 500],
    [0x05, 'byzantium', modexp(65, 1, 1_025), 125_294],
    [0x06, 'byzantium', new Uint8Array(), 500],
    [0x06, 'istanbul', new Uint8Array(), 150],
    [0x07, 'petersburg', new Uint8Array(), 40_000],
    [0x07, 'istanbul', new Uint8Array(), 6_000],
    [0x08, 'petersburg', new Uint8Array(384), 260_000],
    [0x08, 'istanbul', new Uint8Array(384), 113_000],
    [0x09, 'istanbul', new Uint8Array(213).fill(0xff), 2 ** 32 - 1],
    [0x09, 'istanbul', new Uint8Array(212).fill(0xff), 0],
    [0x0a, 'cancun', new Uint8Array(), 50_000],
    [0x0c, 'prague', new Uint8Array(159), 0],
    [0x0c, 'prague', new Uint8Array(160 * 128), 797_184],
    [0x0c, 'prague', new Uint8Array(160 * 129), 803_412],
    [0x0e, 'prague', new Uint8Array(288 * 2), 45_000],
    [0x0f, 'prague', new Uint8Array(384 * 2), 102_900],
    [0x100, 'osaka', new Uint8Array(), 6_900],
  ])('%i under %s', (number, fork, input, gas) => {
    expect(at(number, l1(fork)).gas(input)).toBe(gas)
  })

  test.each([
    ['fjord', 3_450],
    ['jovian', 3_450],
    ['azul', 6_900],
    ['karst', 6_900],
  ] as const)('secp256r1 under %s', (fork, gas) => {
    expect(at(0x100, op(fork)).gas(new Uint8Array(160))).toBe(gas)
  })

  test.each(['byzantium', 'berlin', 'osaka'] as const)('lengths of 2^256 - 1 cost infinite gas and no time under %s', (fork) => {
    const { gas } = at(0x05, l1(fork))
    const huge = 2n ** 256n - 1n
    for (const lengths of [
      [huge, huge, huge],
      [huge, 0n, 0n],
      [0n, 0n, huge],
      [1n, huge, 1n],
      [0n, 2n ** 64n, 32n],
    ] as const) {
      expect(gas(Uint8Array.of(...lengths.flatMap((length) => [...word(length)])))).toBe(Infinity)
    }
  })

  test('before Osaka an endless exponent is free for an empty base and modulus', () => {
    const input = Uint8Array.of(...word(0n), ...word(2n ** 256n - 1n), ...word(0n))
    const { gas, run } = at(0x05, l1('prague'))
    expect(gas(input)).toBe(200)
    expect(result(run(input))).toBe('0x')
  })
})

describe('input', () => {
  const FIRST: readonly (readonly [number: number, result: string])[] = [
    [0x01, '0x'],
    [0x02, '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    [0x03, '0x0000000000000000000000009c1185a5c5e9fc54612808977ee8f548b2258d31'],
    [0x04, '0x'],
    [0x05, '0x'],
    [0x06, `0x${'00'.repeat(64)}`],
    [0x07, `0x${'00'.repeat(64)}`],
    [0x08, `0x${'00'.repeat(31)}01`],
    [0x09, 'invalid input length'],
    [0x0a, 'invalid input length'],
    [0x0b, 'invalid input length'],
    [0x0c, 'invalid input length'],
    [0x0d, 'invalid input length'],
    [0x0e, 'invalid input length'],
    [0x0f, 'invalid input length'],
    [0x10, 'invalid input length'],
    [0x11, 'invalid input length'],
    [0x100, '0x'],
  ]

  test.each(FIRST)('empty: %i', (number, expected) => {
    expect(result(at(number, l1('osaka')).run(new Uint8Array()))).toBe(expected)
  })

  test('missing input is zero, excess input is ignored', () => {
    const generator = Uint8Array.of(...word(1n), ...word(2n))
    const add = at(0x06, l1('prague')).run
    expect(result(add(generator))).toBe(Hex.fromBytes(generator))
    expect(result(add(Uint8Array.of(...generator, ...new Uint8Array(64), 7)))).toBe(Hex.fromBytes(generator))
  })

  test.each<[string, number, Uint8Array, string]>([
    [
      'a coordinate that is the modulus',
      0x06,
      word(0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n),
      'invalid fp.Element encoding',
    ],
    ['a point beside the curve', 0x07, word(1n), 'point is not on curve'],
    ['half a pair', 0x08, new Uint8Array(96), 'bad elliptic curve pairing size'],
  ])('%s', (_name, number, input, reason) => {
    expect(at(number, l1('prague')).run(input)).toBe(reason)
  })

  test('a point of the twist outside the subgroup', () => {
    const y = [
      0x2351dcdda257b62181cbd745dfee16d5fdf4eb185bbcf33c20a0fe6eaa9cb4a3n,
      0x07fb3d558dafafb6bf6dd326a5fefe0beca3f9ac3bd999a390d504fad34b0b8cn,
    ]
    const pair = [1n, 2n, 0n, 1n, ...y].flatMap((value) => [...word(value)])
    const { run } = at(0x08, l1('prague'))
    expect(run(Uint8Array.from(pair))).toBe('point is not in correct subgroup')
    expect(run(Uint8Array.from(pair.with(191, 0x8d)))).toBe('point is not on curve')
  })

  test('EIP-7823: no length above 1,024 bytes', () => {
    const input = Uint8Array.of(...word(0n), ...word(1_025n), ...word(1n))
    expect(at(0x05, l1('osaka')).run(input)).toBe('one or more of base/exponent/modulus length exceeded 1024 bytes')
    expect(result(at(0x05, l1('prague')).run(input))).toBe('0x00')
  })

  test.each([
    ['granite', 0x08, 112_687],
    ['isthmus', 0x08, 112_687],
    ['jovian', 0x08, 81_984],
    ['azul', 0x08, 81_984],
    ['karst', 0x08, 57_600],
    ['isthmus', 0x0c, 513_760],
    ['jovian', 0x0c, 288_960],
    ['karst', 0x0c, 288_960],
    ['isthmus', 0x0e, 488_448],
    ['jovian', 0x0e, 278_784],
    ['karst', 0x0e, 278_784],
    ['isthmus', 0x0f, 235_008],
    ['jovian', 0x0f, 156_672],
    ['azul', 0x0f, 156_672],
    ['karst', 0x0f, 156_672],
  ] as const)('under %s precompile %i accepts at most %i bytes', (fork, number, limit) => {
    const { run } = at(number, op(fork))
    expect(run(new Uint8Array(limit + 1))).toBe('input length exceeds the limit')
    expect(run(new Uint8Array(limit))).not.toBe('input length exceeds the limit')
  })

  test('Fjord and L1 have no limit', () => {
    const long = new Uint8Array(192 * 600)
    for (const rules of [op('fjord'), l1('prague')]) expect(result(at(0x08, rules).run(long))).toBe(`0x${'00'.repeat(31)}01`)
  })
})

describe('a long computation calls checkDeadline and propagates its exception', () => {
  const enough = new Error('enough')
  const power = (exponent: number, modulus: number): Uint8Array => {
    const input = new Uint8Array(97 + exponent + modulus).fill(3)
    for (const [index, length] of [1, exponent, modulus].entries()) input.set(word(BigInt(length)), 32 * index)
    return input
  }

  test.each<[string, number, () => Uint8Array]>([
    ['BLAKE2b of four billion rounds', 0x09, () => new Uint8Array(213).fill(0xff, 0, 212)],
    ['a power with a long exponent', 0x05, () => power(1_250_000, 8)],
    ['a power with a long modulus', 0x05, () => power(10_000, 200)],
    ['a sum of a thousand points', 0x0c, () => new Uint8Array(160 * 1_000)],
    ['a thousand pairings', 0x08, () => new Uint8Array(192 * 1_000)],
    ['a thousand pairings of BLS12-381', 0x0f, () => new Uint8Array(384 * 1_000)],
  ])('%s', (_name, number, input) => {
    let looks = 0
    const checkDeadline = (): void => {
      if (++looks === 3) throw enough
    }
    expect(() => at(number, l1('prague')).run(input(), checkDeadline)).toThrow(enough)
  })
})

function at(number: number, rules: Rules): Precompile {
  const found = precompiledContracts(rules).get(number)
  if (found === undefined) throw new Error(`nothing at ${number} under ${rules.op ?? rules.l1}`)
  return found
}

function result(output: Uint8Array | string): string {
  return typeof output === 'string' ? output : Hex.fromBytes(output)
}

function word(value: bigint): Uint8Array {
  return Hex.toBytes(`0x${value.toString(16).padStart(64, '0')}`)
}

function l1(fork: L1Fork): Rules {
  return contextOf(l1Config(fork)).rules
}

function op(fork: OpFork): Rules {
  return contextOf(opConfig(fork)).rules
}

/** One vector of each size, and every tenth. */
function chosen(file: string): Vector[] {
  const sizes = new Set<number>()
  const all = vectors(file)
  if (ALL || !/^bls(G.Multi|Pairing)/.test(file)) return all
  return all.filter(({ Input }, index) => {
    const isNew = !sizes.has(Input.length)
    sizes.add(Input.length)
    return (isNew || index % 10 === 0) && Input.length / 2 <= INPUT_BYTES_MAX
  })
}

function vectors(file: string): Vector[] {
  return JSON.parse(readFileSync(new URL(`${file}.json`, VECTORS), 'utf8')) as Vector[]
}
