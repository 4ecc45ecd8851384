import { describe, expect, test } from 'vitest'
import { superblocks } from './superblocks.ts'
import { OpcodeRules } from './opcodes.ts'
import { basicBlocks } from './basicblocks.ts'
import { code, inBothTiers, RETURN_TOP } from './tiers.fixture.ts'

const RULES = new OpcodeRules(new Uint8Array(2_048))

function superblocksOf(program: Uint8Array, operationsMax?: number) {
  const blocks = basicBlocks(program, RULES, 256)
  // The growth limit is relative to the code size, so the code is padded.
  return superblocks([...blocks, ...blocks.map((block) => ({ ...block, pc: -1, isDestination: false }))], program, operationsMax).slice(
    0,
    blocks.length,
  )
}

// calls the function at 0x0f, which adds 5, and returns to 0x07
const CALLS = code('6001', '6007', '600f', '56', '5b', RETURN_TOP, '00', '5b', '90', '6005', '01', '90', '56')

describe('a superblock contains', () => {
  test('a call of an internal function and its continuation', () => {
    const [entry] = superblocksOf(CALLS)
    expect(entry?.ops.map(({ pc }) => pc)).toEqual([0, 2, 4, 6, 15, 16, 17, 19, 20, 21, 7, 8, 9, 10, 12, 13])
    expect(entry?.ops.filter(({ to }) => to !== undefined).map(({ to }) => to)).toEqual([15, 7])
    expect(entry).toMatchObject({ stackRequired: 0, stackGrowth: 3, fallsThrough: false })
  })

  test('a loop body once', () => {
    const [entry, loop] = superblocksOf(code('6005', '5b', '6001', '90', '03', '80', '6002', '57', '6002', '56'))
    expect(entry?.ops.filter(({ code: op }) => op === 0x5b)).toHaveLength(1)
    expect(loop?.ops.filter(({ code: op }) => op === 0x5b)).toHaveLength(1)
  })

  test('at most the maximum number of operations', () => {
    for (const superblock of superblocksOf(CALLS, 8)) expect(superblock.ops.length).toBeLessThanOrEqual(8)
  })
})

describe('random control flow', () => {
  const OPS = [
    '01',
    '03',
    '02',
    '16',
    '18',
    '80',
    '81',
    '90',
    '91',
    '50',
    '6007',
    '5b',
    '5a',
    '3d',
    '15',
    '33',
    '5f51',
    '5f52',
    '54',
    '59',
    '34',
    '10',
    '92',
    '82',
  ]

  /** Blocks connected by jumps, conditional jumps, internal calls and invalid jumps. */
  function program(random: () => number): Uint8Array {
    const pick = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)] as T // one of them
    const count = 3 + Math.floor(random() * 8)
    // blocks have equal size, so their positions are known
    const room = 48
    const place = (index: number) => (index * room).toString(16).padStart(4, '0')
    const anyPlace = () => place(Math.floor(random() * (count + 0.2)))
    const blocks = Array.from({ length: count }, (_, index) => {
      const body = [
        '5b',
        ...(index === 0 ? ['6001', '6002', '6003', '6004'] : []),
        ...Array.from({ length: Math.floor(random() * 9) }, () => pick(OPS)),
      ]
      const ends = [
        () => ['61', anyPlace(), '56'],
        () => [pick(['80', '5f', '6001', '81', '58']), '61', anyPlace(), '57', '61', anyPlace(), '56'],
        () => ['61', anyPlace(), '61', anyPlace(), '56'],
        () => ['56'],
        () => ['61', anyPlace(), '90', '56'],
        () => [RETURN_TOP],
        () => [],
      ]
      const bytes = code(...body, ...pick(ends)())
      return code(bytes, '5b'.repeat(room - bytes.length))
    })
    return code(...blocks, '5b', RETURN_TOP)
  }

  test.each([256, 7])('has equal results in both tiers, with functions of %d operations', (operationsPerFunction) => {
    const random = numbers(operationsPerFunction)
    const kinds = new Map<string, number>()
    for (let i = 0; i < 250; i++) {
      const each = program(random)
      const gas = 21_000n + BigInt(Math.floor(random() ** 3 * 40_000))
      const [interpreted, compiled] = inBothTiers(each, { gas, operationsPerFunction })
      const { kind } = interpreted.executed.outcome
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      expect({ ...compiled.executed, outcome: compiled.executed.outcome.kind }, each.toString()).toEqual({
        ...interpreted.executed,
        outcome: kind,
      })
      expect(compiled.writes).toEqual(interpreted.writes)
    }
    expect(kinds.get('success')).toBeGreaterThan(20)
    expect(kinds.get('halt')).toBeGreaterThan(20)
  })
})

/** A seeded generator of numbers from 0 to 1 (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
