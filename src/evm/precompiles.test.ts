import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Address, Hex } from '../eth/index.ts'
import { runFrame } from './engine.ts'
import { ALICE, contextOf, l1Config, Memory, opConfig } from './evm.fixture.ts'
import type { ChainConfig, L1Fork } from './forks.ts'
import type { FrameResult } from './frame.ts'
import { P256_VERIFY, precompiles } from './precompiles.ts'
import { World } from './world.ts'

const VECTORS = new URL('../../../shared/vectors/precompiles/', import.meta.url)
/** Cases per file: pure-JavaScript pairings and multi-exponentiations take up to a second each. */
const CASES_PER_FILE = 6

interface Vector {
  readonly Name: string
  readonly Input: string
  readonly Expected?: string
  readonly Gas?: number
}

const FILES: readonly (readonly [file: string, address: bigint, fork: L1Fork])[] = [
  ['ecRecover', 0x01n, 'prague'],
  ['modexp', 0x05n, 'byzantium'],
  ['modexp_eip2565', 0x05n, 'prague'],
  ['modexp_eip7883', 0x05n, 'osaka'],
  ['bn256Add', 0x06n, 'prague'],
  ['bn256ScalarMul', 0x07n, 'prague'],
  ['bn256Pairing', 0x08n, 'prague'],
  ['blake2F', 0x09n, 'prague'],
  ['fail-blake2f', 0x09n, 'prague'],
  ['pointEvaluation', 0x0an, 'prague'],
  ['blsG1Add', 0x0bn, 'prague'],
  ['fail-blsG1Add', 0x0bn, 'prague'],
  ['blsG1Mul', 0x0cn, 'prague'],
  ['blsG1MultiExp', 0x0cn, 'prague'],
  ['fail-blsG1MultiExp', 0x0cn, 'prague'],
  ['blsG2Add', 0x0dn, 'prague'],
  ['fail-blsG2Add', 0x0dn, 'prague'],
  ['blsG2Mul', 0x0en, 'prague'],
  ['blsG2MultiExp', 0x0en, 'prague'],
  ['fail-blsG2MultiExp', 0x0en, 'prague'],
  ['blsPairing', 0x0fn, 'prague'],
  ['fail-blsPairing', 0x0fn, 'prague'],
  ['blsMapG1', 0x10n, 'prague'],
  ['fail-blsMapG1', 0x10n, 'prague'],
  ['blsMapG2', 0x11n, 'prague'],
  ['fail-blsMapG2', 0x11n, 'prague'],
  ['p256Verify', 0x100n, 'osaka'],
]

describe.skipIf(!existsSync(VECTORS))('precompiles answer and cost what geth says', () => {
  test.each(FILES)('%s', (file, address, fork) => {
    for (const { Name, Input, Expected, Gas } of sample(file)) {
      const result = call(Address.fromBigint(address), Hex.toBytes(`0x${Input}`), l1Config(fork))
      const answer = result.outcome.kind === 'success' ? Hex.fromBytes(result.output) : null
      expect({ Name, answer }).toEqual({ Name, answer: Expected === undefined ? null : `0x${Expected}` })
      if (Gas !== undefined) expect({ Name, gas: result.gasUsed }).toEqual({ Name, gas: BigInt(Gas) })
    }
  })

  test('secp256r1 costs half on OP chains before Azul', () => {
    const [first] = sample('p256Verify')
    const input = Hex.toBytes(`0x${first?.Input ?? ''}`)
    for (const [fork, gas] of [
      ['fjord', 3_450n],
      ['jovian', 3_450n],
      ['azul', 6_900n],
    ] as const) {
      const result = call(P256_VERIFY, input, opConfig(fork))
      expect(result).toMatchObject({ outcome: { kind: 'success' }, gasUsed: gas })
      expect(result.output.at(-1)).toBe(1)
    }
  })
})

test.each([
  ['granite', 0x08n, 112_687],
  ['jovian', 0x08n, 81_984],
  ['isthmus', 0x0cn, 513_760],
  ['jovian', 0x0cn, 288_960],
  ['jovian', 0x0en, 278_784],
  ['jovian', 0x0fn, 156_672],
] as const)('under %s, input of precompile %s above %i bytes fails', (fork, address, limit) => {
  const result = call(Address.fromBigint(address), new Uint8Array(limit + 1), opConfig(fork))
  expect(result).toMatchObject({ outcome: { kind: 'halt', reason: 'input length exceeds the limit' }, gasUsed: 30_000_000n })
})

test('the input limit is the chain’s: Fjord has none', () => {
  const pairs = call(Address.fromBigint(0x08n), new Uint8Array(192), opConfig('jovian'))
  expect(pairs.output.at(-1)).toBe(1)
  const odd = call(Address.fromBigint(0x08n), new Uint8Array(112_688), opConfig('fjord'))
  expect(odd.outcome).not.toMatchObject({ reason: 'input length exceeds the limit' })
})

test.each([
  ['frontier', 4],
  ['byzantium', 8],
  ['istanbul', 9],
  ['cancun', 10],
  ['prague', 17],
  ['osaka', 18],
] as const)('%s has %i', (fork, count) => {
  expect(precompiles(contextOf(l1Config(fork)).rules).size).toBe(count)
})

test('0x100 is an ordinary address before its fork', () => {
  expect(call(P256_VERIFY, new Uint8Array(160), l1Config('prague'))).toMatchObject({ gasUsed: 0n, output: new Uint8Array() })
})

function call(to: Address, data: Uint8Array, config: ChainConfig): FrameResult {
  const frame = {
    caller: ALICE,
    to,
    data,
    value: 0n,
    gas: 30_000_000n,
    gasPrice: 0n,
    blobVersionedHashes: [],
    warm: [],
    accessList: [],
    collectAccessList: false,
    transferLogs: false,
    movedPrecompiles: null,
    maskedPrecompiles: null,
    deadline: null,
    tracer: null,
  }
  return runFrame(frame, contextOf(config), new World(new Memory({})))
}

function sample(file: string): Vector[] {
  const vectors = JSON.parse(readFileSync(new URL(`${file}.json`, VECTORS), 'utf8')) as Vector[]
  const step = Math.ceil(vectors.length / CASES_PER_FILE)
  return vectors.filter((_, index) => index % step === 0)
}
