import { afterEach, describe, expect, test } from 'vitest'
import { Address, Hash, Hex } from '../../src/eth/index.ts'
import { Deadline, World } from '../../src/evm/index.ts'
import { runFrame, type Frame, type FrameResult } from '../../src/evm/engine.fixture.ts'
import { contextOf } from './fuzz/block.ts'
import { OP } from './fuzz/opcodes.ts'
import { BaseState, type Case } from './fuzz/program.ts'

/** Denial-of-service programs: each must end by gas in reasonable time and leave the engine usable. */
const GAS = 50_000_000n
const CODE_SIZE = 24_576
/** far above the time of any test; a working bomb fails the test instead of hanging it */
const TIME_LIMIT_MS = 60_000
/** memories of 1,024 frames, logs, journals and allocator overhead */
const GROWTH_MAX_BYTES = 600_000_000

const SENDER = Address.fromBigint(0x5e4de7n)
const BOMB = Address.fromBigint(0xb0b0n)
const CONTEXT = contextOf('osaka')

interface Deployed {
  readonly code: Uint8Array
  readonly at?: Address
  readonly balance?: bigint
}

function stateOf(contracts: readonly Deployed[]): BaseState {
  const accounts = contracts.map(({ code, at = BOMB, balance = 0n }) => {
    return { address: at, nonce: 1n, balance, code: Hex.fromBytes(code), storage: [] }
  })
  const sender = { address: SENDER, nonce: 1n, balance: 10n ** 20n, code: '0x' as const, storage: [] }
  return BaseState.of({ fork: 'osaka', codeSizeLimit: CODE_SIZE, accounts: [sender, ...accounts], messages: [] } satisfies Case)
}

function run(contracts: readonly Deployed[], changes: Partial<Frame> = {}): FrameResult {
  const world = new World(stateOf(contracts))
  const frame: Frame = {
    caller: SENDER,
    to: BOMB,
    data: new Uint8Array(),
    value: 0n,
    gas: GAS,
    gasPrice: 1n,
    blobVersionedHashes: [],
    warm: [SENDER, BOMB],
    accessList: [],
    movedPrecompiles: null,
    maskedPrecompiles: null,
    deadline: null,
    tracer: null,
    ...changes,
  }
  world.beginTransaction()
  try {
    return runFrame(frame, CONTEXT, world)
  } finally {
    world.release()
  }
}

function runBomb(code: Uint8Array, changes: Partial<Frame> = {}): FrameResult {
  return run([{ code, balance: 10n ** 18n }], changes)
}

/** Concatenates bytes, numbers and 20-byte addresses. */
function code(...parts: readonly (number | Uint8Array | Address)[]): Uint8Array {
  return Uint8Array.from(
    parts.flatMap((part) => (typeof part === 'number' ? [part] : [...(typeof part === 'string' ? Address.toBytes(part) : part)])),
  )
}

function repeat(pattern: readonly number[], size = CODE_SIZE): Uint8Array {
  return Uint8Array.from({ length: size }, (_, index) => pattern[index % pattern.length] ?? 0)
}

/** An infinite loop: JUMPDEST, body, jump to 0. `body` must restore the stack height. */
function infiniteLoop(...body: readonly (number | Uint8Array | Address)[]): Uint8Array {
  return code(OP.JUMPDEST, ...body, OP.PUSH0, OP.JUMP)
}

function push(value: number | bigint): Uint8Array {
  const digits = value.toString(16)
  const bytes = Hex.toBytes(`0x${digits.padStart(digits.length + (digits.length % 2), '0')}`)
  return Uint8Array.of(OP.PUSH0 + bytes.length, ...bytes)
}

const OUT_OF_GAS = { kind: 'halt', reason: 'out of gas' }

describe('bombs', { timeout: TIME_LIMIT_MS }, () => {
  const rssBefore = process.memoryUsage().rss

  afterEach(() => {
    // PUSH1 2 PUSH1 3 MUL, stored and returned
    const { outcome, output, gasUsed } = run([{ code: code(push(2), push(3), OP.MUL, OP.PUSH0, OP.MSTORE, push(32), OP.PUSH0, OP.RETURN) }])
    expect(outcome).toEqual({ kind: 'success' })
    expect(Hash.from(output)).toBe(Hash.fromBigint(6n))
    expect(gasUsed).toBe(3n + 3n + 5n + 2n + 6n + 3n + 2n)
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(GROWTH_MAX_BYTES)
  })

  describe('24,576 bytes of straight-line code', () => {
    test('JUMPDEST', () => {
      expect(runBomb(repeat([OP.JUMPDEST]))).toMatchObject({ outcome: { kind: 'success' }, gasUsed: BigInt(CODE_SIZE) })
    })

    test('PUSH1 and POP', () => {
      const { outcome, gasUsed } = runBomb(repeat([OP.PUSH1, 0, OP.POP]))
      expect(outcome).toEqual({ kind: 'success' })
      expect(gasUsed).toBe(BigInt(CODE_SIZE / 3) * 5n)
    })

    test('PUSH32 with JUMPDESTs as data, and a jump into them', () => {
      const spam = repeat([OP.PUSH32, ...Array<number>(32).fill(OP.JUMPDEST), OP.POP], CODE_SIZE - 4)
      expect(runBomb(code(push(6), OP.JUMP, OP.STOP, spam)).outcome).toEqual({ kind: 'halt', reason: 'invalid jump destination' })
    })

    test('LOG4', () => {
      // five zeros for each: offset, size and topics are the words below
      const unit = [OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.LOG4]
      const { outcome, logs } = runBomb(repeat(unit))
      expect(outcome).toEqual({ kind: 'success' })
      expect(logs).toHaveLength(Math.floor(CODE_SIZE / unit.length))
    })

    test('JUMPI that is never taken', () => {
      expect(runBomb(repeat([OP.PUSH0, OP.PUSH0, OP.JUMPI]))).toMatchObject({
        outcome: { kind: 'success' },
        gasUsed: BigInt(CODE_SIZE / 3) * 14n,
      })
    })

    test('CALL of an empty account', () => {
      const unit = [...Array<number>(5).fill(OP.PUSH0), OP.PUSH1, 0xee, OP.GAS, OP.CALL, OP.POP]
      expect(runBomb(repeat(unit)).outcome).toEqual({ kind: 'success' })
    })

    test('recursive CALL', () => {
      const unit = [...Array<number>(5).fill(OP.PUSH0), OP.ADDRESS, OP.GAS, OP.CALL, OP.POP]
      const { outcome, gasUsed } = runBomb(repeat(unit))
      expect(outcome).toEqual(OUT_OF_GAS)
      expect(gasUsed).toBe(GAS)
    })

    test('PUSH0 overflows at the 1,025th', () => {
      expect(runBomb(repeat([OP.PUSH0])).outcome).toEqual({ kind: 'halt', reason: 'stack limit reached 1024 (1023)' })
    })

    test('undefined opcodes', () => {
      expect(runBomb(repeat([0x0c])).outcome.kind).toBe('halt')
    })
  })

  test('24,576 jump destinations, visited in order until out of gas', () => {
    // a counter on the stack; each round jumps one byte further into the destinations and runs through the rest
    const first = 16
    const next = [push(1), OP.ADD, OP.DUP1, push(0x3fff), OP.AND, push(first), OP.ADD, OP.JUMP]
    const start = code(OP.PUSH0, OP.JUMPDEST, ...next)
    expect(start.length).toBeLessThanOrEqual(first)
    const { outcome, gasUsed } = runBomb(code(start, repeat([OP.JUMPDEST], CODE_SIZE - start.length - 3), push(1), OP.JUMP))
    expect(outcome).toEqual(OUT_OF_GAS)
    expect(gasUsed).toBe(GAS)
  })

  describe('loops of 50 Mgas', () => {
    const word = push(2n ** 256n - 189n)
    const bodies: readonly (readonly [string, readonly (number | Uint8Array)[]])[] = [
      ['nothing', []],
      ['ADD', [push(1), push(2), OP.ADD, OP.POP]],
      ['EXP of 32 bytes', [word, word, OP.EXP, OP.POP]],
      ['EXP of nothing', [OP.PUSH0, word, OP.EXP, OP.POP]],
      ['MULMOD', [word, push(2n ** 255n + 7n), push(2n ** 254n + 3n), OP.MULMOD, OP.POP]],
      ['SDIV', [push(2n ** 129n + 1n), word, OP.SDIV, OP.POP]],
      ['KECCAK256 of a byte', [push(1), OP.PUSH0, OP.KECCAK256, OP.POP]],
      ['KECCAK256 of 64 KB', [push(65_536), OP.PUSH0, OP.KECCAK256, OP.POP]],
      ['MCOPY of 64 KB over itself', [push(65_536), push(1), OP.PUSH0, OP.MCOPY]],
      ['CODECOPY of 64 KB from beyond', [push(65_536), word, OP.PUSH0, OP.CODECOPY]],
      ['EXTCODECOPY', [push(CODE_SIZE), OP.PUSH0, OP.PUSH0, OP.ADDRESS, OP.EXTCODECOPY]],
      ['EXTCODEHASH of ever new accounts', [OP.GAS, OP.EXTCODEHASH, OP.POP]],
      ['BALANCE of ever new accounts', [OP.GAS, OP.BALANCE, OP.POP]],
      ['SLOAD of ever new slots', [OP.GAS, OP.SLOAD, OP.POP]],
      ['SSTORE to ever new slots', [push(1), OP.GAS, OP.SSTORE]],
      ['SSTORE there and back', [push(1), OP.PUSH0, OP.SSTORE, OP.PUSH0, OP.PUSH0, OP.SSTORE]],
      ['TSTORE to ever new slots', [push(1), OP.GAS, OP.TSTORE]],
      ['TSTORE to one slot', [push(1), OP.PUSH0, OP.TSTORE]],
      ['LOG0 of nothing', [OP.PUSH0, OP.PUSH0, OP.LOG0]],
      ['LOG0 of 4 KB', [push(4_096), OP.PUSH0, OP.LOG0]],
      ['LOG4', [OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.LOG4]],
      ['BLOCKHASH', [push(900), OP.BLOCKHASH, OP.POP]],
      ['CALL of an account without code', [...Array<number>(5).fill(OP.PUSH0), push(0xee), OP.GAS, OP.CALL, OP.POP]],
      ['CALL with value to ever new accounts', [...Array<number>(4).fill(OP.PUSH0), push(1), OP.GAS, OP.PUSH0, OP.CALL, OP.POP]],
      ['CALL that is too deep or lacks the balance', [...Array<number>(4).fill(OP.PUSH0), word, push(0xee), OP.PUSH0, OP.CALL, OP.POP]],
      ['STATICCALL of identity with 64 KB', [OP.PUSH0, OP.PUSH0, push(65_536), OP.PUSH0, push(4), OP.GAS, OP.STATICCALL, OP.POP]],
      ['STATICCALL of SHA-256 with a byte', [OP.PUSH0, OP.PUSH0, push(1), OP.PUSH0, push(2), OP.GAS, OP.STATICCALL, OP.POP]],
      ['STATICCALL of RIPEMD-160 with 64 KB', [OP.PUSH0, OP.PUSH0, push(65_536), OP.PUSH0, push(3), OP.GAS, OP.STATICCALL, OP.POP]],
      ['CREATE of nothing', [OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.CREATE, OP.POP]],
      ['CREATE of 48 KB that stop at once', [push(49_152), OP.PUSH0, OP.PUSH0, OP.CREATE, OP.POP]],
      ['CREATE2 with ever new salts', [OP.GAS, OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.CREATE2, OP.POP]],
      ['memory that grows', [OP.GAS, OP.MSIZE, OP.MSTORE]],
    ]

    test.each(bodies)('%s', (_, body) => {
      // Clock checks must not change the result.
      const { outcome, gasUsed, logs } = runBomb(infiniteLoop(...body), { deadline: new Deadline(TIME_LIMIT_MS) })
      expect(outcome).toEqual(OUT_OF_GAS)
      expect(gasUsed).toBe(GAS)
      expect(logs).toEqual([])
    })

    test.each(bodies)('%s, with unlimited gas and 20 ms', (_, body) => {
      // A table may be full before the deadline, or memory beyond any gas.
      expect(() => {
        const { outcome } = runBomb(infiniteLoop(...body), { gas: 2n ** 61n, deadline: new Deadline(20) })
        throw new Error(outcome.kind)
      }).toThrow(/^execution aborted \(timeout|touches more state|^halt$/)
    })

    test('BLAKE2F with the maximum number of rounds', () => {
      // rounds in the first four bytes: 49,000,000
      const body = [
        push(49_000_000n << 224n),
        OP.PUSH0,
        OP.MSTORE,
        OP.PUSH0,
        OP.PUSH0,
        push(213),
        OP.PUSH0,
        push(9),
        OP.GAS,
        OP.STATICCALL,
        OP.POP,
      ]
      const { outcome, gasUsed } = runBomb(code(...body))
      expect(outcome).toEqual({ kind: 'success' })
      expect(gasUsed).toBeGreaterThan(49_000_000n)
    })

    test('MODEXP with 1 KB operands', () => {
      const lengths = [push(1_024), OP.PUSH0, OP.MSTORE, push(1_024), push(32), OP.MSTORE, push(1_024), push(64), OP.MSTORE]
      const ones = [96, 1_120, 2_144].flatMap((from) => [
        push(2n ** 256n - 1n),
        push(from),
        OP.MSTORE,
        push(1),
        push(from + 1_023),
        OP.MSTORE8,
      ])
      const { outcome } = runBomb(
        code(...lengths, ...ones, OP.PUSH0, OP.PUSH0, push(3_168), OP.PUSH0, push(5), OP.GAS, OP.STATICCALL, OP.POP),
      )
      expect(outcome).toEqual({ kind: 'success' })
    })
  })

  describe('recursion', () => {
    /** enough that 63/64 of it, 1,024 times, is still positive */
    const MUCH = 10n ** 12n

    /** Calls itself and returns the output plus one. */
    const nested = (call: readonly (number | Uint8Array)[]) =>
      code(push(32), OP.PUSH0, ...call, OP.POP, OP.PUSH0, OP.MLOAD, push(1), OP.ADD, OP.PUSH0, OP.MSTORE, push(32), OP.PUSH0, OP.RETURN)

    test.each<[string, readonly number[]]>([
      ['CALL', [OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.ADDRESS, OP.GAS, OP.CALL]],
      ['CALLCODE', [OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.ADDRESS, OP.GAS, OP.CALLCODE]],
      ['DELEGATECALL', [OP.PUSH0, OP.PUSH0, OP.ADDRESS, OP.GAS, OP.DELEGATECALL]],
      ['STATICCALL', [OP.PUSH0, OP.PUSH0, OP.ADDRESS, OP.GAS, OP.STATICCALL]],
    ])('%s stops at depth 1,024', (_, call) => {
      const { outcome, output } = runBomb(nested(call), { gas: MUCH })
      expect(outcome).toEqual({ kind: 'success' })
      expect(Hash.from(output)).toBe(Hash.fromBigint(1_025n))
    })

    test('recursive CREATE stops at depth 1,024', () => {
      // copies itself and creates from it; the innermost creation fails
      const size = 11
      const body = code(push(size), OP.PUSH0, OP.PUSH0, OP.CODECOPY, push(size), OP.PUSH0, OP.PUSH0, OP.CREATE, OP.STOP)
      expect(body).toHaveLength(size)
      const { outcome } = runBomb(body, { to: null, data: body, gas: MUCH })
      expect(outcome).toEqual({ kind: 'success' })
    })

    test('maximum memory per frame', () => {
      // 137 KB of memory, then a call with all gas
      const body = code(push(1), push(137_000), OP.MSTORE, ...Array<number>(5).fill(OP.PUSH0), OP.ADDRESS, OP.GAS, OP.CALL, OP.POP)
      expect(runBomb(body).outcome).toEqual({ kind: 'success' })
    })

    test('a full stack per frame', () => {
      const body = code(repeat([OP.PUSH0], 1_017), ...Array<number>(5).fill(OP.PUSH0), OP.ADDRESS, OP.GAS, OP.CALL)
      expect(runBomb(body, { gas: MUCH }).outcome).toEqual({ kind: 'success' })
    })

    test('one frame with 5 MB of memory', () => {
      expect(runBomb(code(push(1), push(5_000_000), OP.MSTORE))).toMatchObject({ outcome: { kind: 'success' } })
      expect(runBomb(code(push(1), push(2n ** 40n), OP.MSTORE)).outcome).toEqual(OUT_OF_GAS)
      expect(runBomb(code(push(1), push(2n ** 256n - 1n), OP.MSTORE)).outcome.kind).toBe('halt')
    })
  })

  describe('megabytes of return data', () => {
    const CALLEE = Address.fromBigint(0xca11n)

    test('passed up through frames', () => {
      const callee = code(push(4_000_000), OP.PUSH0, OP.RETURN)
      const copy = [OP.RETURNDATASIZE, OP.PUSH0, OP.PUSH0, OP.RETURNDATACOPY, OP.RETURNDATASIZE, OP.PUSH0, OP.RETURN]
      const caller = code(...Array<number>(4).fill(OP.PUSH0), push(0xca11), OP.GAS, OP.STATICCALL, OP.POP, ...copy)
      const { outcome, output } = run([{ code: caller }, { code: callee, at: CALLEE }], { gas: 200_000_000n })
      expect(outcome).toEqual({ kind: 'success' })
      expect(output).toHaveLength(4_000_000)
      expect(output.every((byte) => byte === 0)).toBe(true)
    })

    test('in a loop', () => {
      const callee = code(push(1_000_000), OP.PUSH0, OP.REVERT)
      const caller = infiniteLoop(...Array<number>(4).fill(OP.PUSH0), push(0xca11), OP.GAS, OP.STATICCALL, OP.POP)
      expect(run([{ code: caller }, { code: callee, at: CALLEE }]).outcome).toEqual(OUT_OF_GAS)
    })
  })

  describe('creation and destruction', () => {
    test('init code of 48 KB in a transaction', () => {
      expect(runBomb(code(OP.STOP), { to: null, data: repeat([OP.JUMPDEST], 2 * CODE_SIZE) }).outcome).toEqual({ kind: 'success' })
    })

    test('a contract of 24,576 zeros, and one byte more', () => {
      const deploys = (size: number) => runBomb(code(OP.STOP), { to: null, data: code(push(size), OP.PUSH0, OP.RETURN) }).outcome
      expect(deploys(CODE_SIZE)).toEqual({ kind: 'success' })
      expect(deploys(CODE_SIZE + 1)).toEqual({ kind: 'halt', reason: 'max code size exceeded' })
    })

    test('contracts created, called and destroyed in sequence', () => {
      // init code PUSH0 SELFDESTRUCT: the contract is destroyed during its creation
      const body = [push(0x5fff), OP.PUSH0, OP.MSTORE, push(2), push(30), push(1), OP.CREATE, OP.POP]
      const { outcome, gasUsed } = runBomb(infiniteLoop(...body))
      expect(outcome).toEqual(OUT_OF_GAS)
      expect(gasUsed).toBe(GAS)
    })

    test('a thousand contracts destroyed in one transaction', () => {
      // a counter below the body: created with 1 wei, SELFDESTRUCT to the zero address
      const body = [push(0x5fff), OP.PUSH0, OP.MSTORE, push(2), push(30), push(1), OP.CREATE, OP.POP]
      const head = code(push(1_000), OP.JUMPDEST, ...body)
      const loop = code(head, push(1), OP.SWAP1, OP.SUB, OP.DUP1, push(3), OP.JUMPI)
      const { outcome, destroyed } = runBomb(loop)
      expect(outcome).toEqual({ kind: 'success' })
      expect(new Set(destroyed).size).toBe(1_000)
    })
  })
})
