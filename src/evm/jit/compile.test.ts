import { describe, expect, test } from 'vitest'
import { Address, Hash } from '../../eth/index.ts'
import { CONTRACT } from '../evm.fixture.ts'
import { code, inBothTiers, RETURN_TOP, type Ran, word } from './tiers.fixture.ts'

const OTHER = Address.from('0x0000000000000000000000000000000000000e0e')

/** Runs both tiers and expects equal results. */
function same(...run: Parameters<typeof inBothTiers>): Ran {
  const [interpreted, compiled] = inBothTiers(...run)
  expect(compiled).toEqual(interpreted)
  return compiled
}

function outputOf({ executed }: Ran): bigint {
  expect(executed.outcome).toEqual({ kind: 'success' })
  return BigInt(Hash.from(executed.output))
}

const EDGES = [0n, 1n, 2n, 3n, 31n, 255n, 256n, 2n ** 32n - 1n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 64n, 2n ** 127n + 5n, 2n ** 160n - 1n]
const WORDS = [...EDGES, 2n ** 192n, 2n ** 255n, 2n ** 255n + 1n, 2n ** 256n - 2n, 2n ** 256n - 1n]
const BINARY = [
  0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a, 0x1b, 0x1c, 0x1d,
]

describe('arithmetic', () => {
  // each result is added to one sum, which is returned
  const sum = (pieces: readonly Uint8Array[]) => code('5f', ...pieces.map((piece) => code(piece, '6003028101', '9050')), RETURN_TOP)
  const operands = WORDS.flatMap((a) => WORDS.map((b) => [a, b] as const))

  test.each(BINARY.map((op) => [op.toString(16), op] as const))('0x%s of constants, call data and both', (_, op) => {
    const data = Uint8Array.from(operands.flatMap(([a, b]) => [...word(a).subarray(1), ...word(b).subarray(1)]))
    const load = (index: number) => code(0x61, (32 * index) >> 8, (32 * index) & 0xff, 0x35)
    for (let from = 0; from < operands.length; from += 81) {
      const few = operands.slice(from, from + 81)
      same(sum(few.map(([a, b]) => code(word(b), word(a), op))), { gas: 10_000_000n })
      same(sum(few.map((_pair, i) => code(load(2 * (from + i) + 1), load(2 * (from + i)), op))), { data, gas: 10_000_000n })
      same(sum(few.map(([, b], i) => code(word(b), load(2 * (from + i)), op))), { data, gas: 10_000_000n })
      same(sum(few.map(([a], i) => code(load(2 * (from + i) + 1), word(a), op))), { data, gas: 10_000_000n })
    }
  })

  test.each([0x15, 0x19, 0x1e])('opcode %d', (op) => {
    const data = Uint8Array.from(WORDS.flatMap((a) => [...word(a).subarray(1)]))
    same(sum(WORDS.map((a) => code(word(a), op))))
    same(sum(WORDS.map((_a, i) => code(0x61, (32 * i) >> 8, (32 * i) & 0xff, 0x35, op))), { data })
  })

  test.each([0x08, 0x09])('opcode %d with three operands', (op) => {
    for (const m of WORDS) same(sum(operands.slice(0, 120).map(([a, b]) => code(word(m), word(b), word(a), op))), { gas: 10_000_000n })
  })

  test('a constant mask', () => {
    // (1 << 160) - 1, as Solidity computes it
    const mask = '6001600160a01b03'
    expect(outputOf(same(code(word(2n ** 256n - 1n), mask, '16', RETURN_TOP)))).toBe(2n ** 160n - 1n)
    same(code('33', mask, '16', RETURN_TOP))
  })
})

describe('jumps', () => {
  test('into PUSH data', () => {
    expect(same(code('6004', '56', '605b', '00')).executed.outcome).toEqual({ kind: 'halt', reason: 'invalid jump destination' })
    // the same with a dynamic target
    expect(same(code('5f35', '56', '605b', '00'), { data: word(4n).subarray(1) }).executed.outcome.kind).toBe('halt')
  })

  test.each([0n, 3n, 6n, 7n, 8n, 64n, 2n ** 32n + 6n, 2n ** 64n + 6n, 2n ** 255n + 6n])('to %d, a dynamic target', (to) => {
    const program = code('5f35', '56', '50505b', '600a', RETURN_TOP)
    const { executed } = same(program, { data: word(to).subarray(1) })
    expect(executed.outcome.kind).toBe(to === 5n ? 'success' : 'halt')
    expect(same(program, { data: word(5n).subarray(1) }).executed.outcome).toEqual({ kind: 'success' })
  })

  test('to each of many destinations, across words of the jump bitmap', () => {
    // destination i leaves i on the stack; 5 bytes each
    const first = 4
    const places = Array.from({ length: 60 }, (_, i) => first + 7 * i)
    const all = places.map((_place, i) => code('5b', 0x60, i, 0x61, 0x01, 0xf0, '56'))
    const program = code('5f35', '56', '00', ...all)
    const whole = new Uint8Array(0x1f0 + 7)
    whole.set(program)
    whole.set(code('5b', RETURN_TOP), 0x1f0)
    for (const [i, place] of places.entries()) expect(outputOf(same(whole, { data: word(BigInt(place)).subarray(1) }))).toBe(BigInt(i))
  })

  test('with a constant condition, both ways', () => {
    expect(outputOf(same(code('6001', '6007', '57', '5f5f', '5b', '600b', RETURN_TOP)))).toBe(11n)
    expect(outputOf(same(code('5f', '6007', '57', '600c', '5b', RETURN_TOP)))).toBe(12n)
  })

  test('that are not taken need no valid destination', () => {
    expect(outputOf(same(code('5f35', '80', '61ffff', '57', RETURN_TOP)))).toBe(0n)
    expect(same(code('5f35', '80', '61ffff', '57', RETURN_TOP), { data: word(1n).subarray(1) }).executed.outcome.kind).toBe('halt')
  })

  test('in a loop', () => {
    // counts from 100 to 0 and adds
    const loop = code('5f6064', '5b', '80', '9181', '01', '91', '6001', '9003', '80', '6003', '57', '50', RETURN_TOP)
    expect(same(loop, { gas: 200_000n }).executed.gasUsed).toBeGreaterThan(21_000n)
  })
})

describe('end of the code', () => {
  test.each(['6001', '60', '7f0102', '5b', '6001600255', '61ffff56', '', '5f3556'].map((each) => [each]))(
    'of the code 0x%s without STOP',
    (program) => {
      if (program.length > 0) same(code(program))
    },
  )

  test.each(['fe', '0c', 'ff', '33ff', '60016002fe', '5f5ffd', '60205ffd', '7f', '5f', '00'].map((each) => [each]))(
    'in 0x%s',
    (program) => {
      same(code(program))
    },
  )
})

describe('the stack', () => {
  test('underflows at the start of a block and within it', () => {
    expect(same(code('01')).executed.outcome).toEqual({ kind: 'halt', reason: 'stack underflow (0 <=> 2)' })
    expect(same(code('6001', '6005', '56', '00', '5b', '0101')).executed.outcome.kind).toBe('halt')
    // only on the path that is not taken
    expect(outputOf(same(code('6001', '6001', '600b', '57', '50505050', '5b', RETURN_TOP)))).toBe(1n)
  })

  test('overflows', () => {
    const fill = '5f'.repeat(1_023)
    expect(same(code(fill, '5f', '00')).executed.outcome).toEqual({ kind: 'success' })
    expect(same(code(fill, '5f5f', '00')).executed.outcome.kind).toBe('halt')
    expect(same(code(fill, '5b', '5f80', '00')).executed.outcome.kind).toBe('halt')
    expect(same(code(fill, '5b', '5f50', '00')).executed.outcome).toEqual({ kind: 'success' })
  })

  test('keeps its order through DUP16, SWAP16 and back', () => {
    const push = Array.from({ length: 20 }, (_, i) => code(0x60, i + 1))
    const shuffle = ['8f', '9f', '90', '98', '83', '9a', '50', '9e', '80', '97']
    const fold = '6007020190'.repeat(0) + '01600302'.repeat(18)
    same(code(...push, ...shuffle, fold, RETURN_TOP))
    same(code(...push, '6028', '56', ...shuffle, fold, RETURN_TOP))
  })

  test('moves values between memory positions', () => {
    // a jump flushes the stack; the SWAPs after it exchange reloaded values
    const program = code(
      '6001600260036004',
      '600b',
      '56',
      '5b',
      '90',
      '91',
      '92',
      '6005',
      '91',
      '80',
      '01',
      '90',
      '93',
      '01600702016009020160020201',
      RETURN_TOP,
    )
    same(program)
  })
})

describe('gas', () => {
  const PROGRAMS: readonly (readonly [string, Uint8Array])[] = [
    ['arithmetic and a jump', code('6001600201', '6009', '56', 'fe', '5b', '60030260055f5260205ff3')],
    ['GAS between', code('5a5a6001505a5f525a602052', '60405ff3')],
    ['SSTORE of each kind', code('600160015560025f5560075f555f5f55', '5a5f52', '60205ff3')],
    ['memory expansion in the middle', code('600160405260026104005260035f52', '5a610800525961082052', '60205ff3')],
    [
      'KECCAK256, copies and logs',
      code('60206110002060405f5f3760206010602037', '5a5f52', '60406020a0', '60406020600160025fa2', '60205ff3'),
    ],
    ['cold and warm accesses', code('5f54', '5f54', '30', '31', '61abcd', '31', '61abcd', '3b', '5f5f5f61abcd3c', '5a', RETURN_TOP)],
    ['a call', code('5f5f5f5f5f', '610e0e', '5a', 'f1', '5a5f525f5f5f5f', '610e0e', '611000', 'fa', '5a602052', '60405ff3')],
    ['a creation', code('5f5f5f', 'f0', '5a', '6001', '5f5f5f', 'f5', '01', RETURN_TOP)],
    ['EXP', code('61ffff', '600a', '0a', '63ffffffff', '6003', '0a', '01', '5a', '01', RETURN_TOP)],
    ['TSTORE and MCOPY', code('60056001', '5d', '6001', '5c', '602060405f5e', '5a', '01', RETURN_TOP)],
  ]

  test.each(PROGRAMS)('is exact: %s', (_, program) => {
    const others = { [OTHER]: '0x5a60005260206000f3' }
    const { gasUsed } = same(program, { others, gas: 500_000n }).executed
    expect(gasUsed).toBeLessThan(500_000n)
    const INTRINSIC = 21_000n
    const step = (gasUsed - INTRINSIC) / 150n + 1n
    for (let gas = INTRINSIC; gas <= gasUsed + 3n; gas += gas > gasUsed - 40n ? 1n : step) {
      const [interpreted, compiled] = inBothTiers(program, { others, gas })
      // halt reasons may differ: a segment is charged before it runs
      expect({ ...compiled.executed, outcome: compiled.executed.outcome.kind }).toEqual({
        ...interpreted.executed,
        outcome: interpreted.executed.outcome.kind,
      })
      expect(compiled.writes).toEqual(interpreted.writes)
    }
  })
})

describe('splitting into functions', () => {
  const long = code('5f35', ...Array.from({ length: 300 }, (_, i) => code(0x60, i & 0xff, '01', '80', '602052', '5a50')), RETURN_TOP)

  test.each([1, 2, 3, 12, 256])('of %d operations', (operationsPerFunction) => {
    const data = word(5n).subarray(1)
    same(long, { data, operationsPerFunction, gas: 200_000n })
    same(code('5f35', '6004', '56', '5b', '60015f5560025f54015f55', RETURN_TOP), { data, operationsPerFunction })
  })
})

test('opcodes of the message and the block', () => {
  for (const op of [0x30, 0x32, 0x33, 0x34, 0x36, 0x38, 0x3a, 0x3d, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x4a, 0x58, 0x59]) {
    same(code(op, RETURN_TOP), { data: new Uint8Array(7) })
  }
  for (const op of [0x31, 0x35, 0x3b, 0x3f, 0x40, 0x49, 0x51, 0x54, 0x5c])
    same(code('6103e7', op, RETURN_TOP), { data: new Uint8Array(1_010).fill(9) })
  same(code('30', '31', RETURN_TOP))
  expect(outputOf(same(code('33', RETURN_TOP)))).not.toBe(0n)
  expect(outputOf(same(code('30', RETURN_TOP)))).toBe(BigInt(CONTRACT))
})

test.each([0n, 1n, 31n, 32n, 40n, 64n, 65n, 2n ** 32n, 2n ** 64n - 16n, 2n ** 64n, 2n ** 255n])(
  'CALLDATALOAD, MLOAD and MSTORE at %d',
  (at) => {
    const data = Uint8Array.from({ length: 72 }, (_, i) => i + 1)
    data.set(word(at).subarray(1), 0)
    same(code('5f35', '35', RETURN_TOP), { data })
    same(code(word(at), '35', RETURN_TOP), { data })
    same(code('602435604052', '5f35', '51', RETURN_TOP), { data })
    same(code('602435', '5f35', '52', '5a', '59', '01', RETURN_TOP), { data })
    same(code('602435', '5f35', '53', '59', RETURN_TOP), { data })
    same(code('602435', word(at), '52', '59', RETURN_TOP), { data })
  },
)

test('nested frames, compiled and interpreted', () => {
  // each frame adds one to the output of its callee; some run out of gas
  const nested = code('60205f5f5f5f', '30', '61ffff', '5a', '03', 'f1', '50', '5f51', '600101', RETURN_TOP)
  for (const gas of [100_000n, 400_000n, 3_000_000n, 50_000_000n]) same(nested, { gas })
})
