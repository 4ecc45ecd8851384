import { Address } from '../../../src/eth/index.ts'
import { OP } from './opcodes.ts'
import type { L1Fork } from '../../../src/evm/index.ts'
import type { Item } from './program.ts'
import type { Random } from './random.ts'
import { PRECOMPILE_INPUTS, QUICK_INPUTS } from './samples.ts'

/** Context of a generated program. */
export interface ProgramContext {
  /** with code, without, delegating, absent */
  readonly addresses: readonly Address[]
  /** the contracts among them that may be called */
  readonly contracts: readonly Address[]
  /** true if the fork includes this one */
  readonly has: (fork: L1Fork) => boolean
  /** remaining nesting depth of programs */
  readonly depth: number
  readonly statements: number
}

/** Meaning of an operand, so that most values are plausible. */
type Kind =
  | 'word'
  | 'shift'
  | 'index'
  | 'exponent'
  | 'offset'
  | 'length'
  | 'source'
  | 'returnedFrom'
  | 'returnedLength'
  | 'slot'
  | 'value'
  | 'address'
  | 'callee'
  | 'gas'
  | 'wei'
  | 'block'
  | 'topic'

type Plain = Exclude<Kind, 'address' | 'callee'>

interface Operation {
  readonly code: number
  /** top of the stack first */
  readonly takes: readonly Kind[]
  readonly gives: 0 | 1
}

const EDGES = [
  1n,
  2n,
  3n,
  0xffn,
  0x100n,
  2n ** 31n,
  2n ** 32n,
  2n ** 63n,
  2n ** 64n,
  2n ** 127n,
  2n ** 128n,
  2n ** 160n,
  2n ** 192n,
  2n ** 255n,
]
const LARGEST = 2n ** 256n - 1n
const HUGE = [
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 32n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 32n + 1n,
  2n ** 63n,
  2n ** 64n - 1n,
  2n ** 64n,
  2n ** 255n,
  LARGEST,
]

const GAS = [0n, 100n, 700n, 2_300n, 2_301n, 5_000n, 10_000n, 20_000n, 40_000n, 60_000n, 80_000n, 100_000n]

const operation = (code: number, takes: readonly Kind[], gives: 0 | 1 = 1): Operation => ({ code, takes, gives })
const each = (codes: readonly number[], takes: readonly Kind[], gives: 0 | 1 = 1) => codes.map((code) => operation(code, takes, gives))

const ARITHMETIC = [
  ...each([OP.ADD, OP.MUL, OP.SUB, OP.DIV, OP.SDIV, OP.MOD, OP.SMOD, OP.DIV, OP.SDIV, OP.MOD, OP.SMOD], ['word', 'word']),
  ...each([OP.LT, OP.GT, OP.SLT, OP.SGT, OP.EQ, OP.AND, OP.OR, OP.XOR], ['word', 'word']),
  ...each([OP.ADDMOD, OP.MULMOD, OP.ADDMOD, OP.MULMOD], ['word', 'word', 'word']),
  ...each([OP.SIGNEXTEND, OP.BYTE], ['index', 'word']),
  ...each([OP.SHL, OP.SHR, OP.SAR], ['shift', 'word']),
  ...each([OP.ISZERO, OP.NOT, OP.CLZ], ['word']),
  operation(OP.EXP, ['word', 'exponent']),
]

const MEMORY = [
  operation(OP.MLOAD, ['offset']),
  operation(OP.MSTORE, ['offset', 'word'], 0),
  operation(OP.MSTORE, ['offset', 'word'], 0),
  operation(OP.MSTORE8, ['offset', 'word'], 0),
  operation(OP.KECCAK256, ['offset', 'length']),
  operation(OP.MCOPY, ['offset', 'offset', 'length'], 0),
  ...each([OP.CALLDATACOPY, OP.CODECOPY], ['offset', 'source', 'length'], 0),
  operation(OP.RETURNDATACOPY, ['offset', 'returnedFrom', 'returnedLength'], 0),
  operation(OP.EXTCODECOPY, ['address', 'offset', 'source', 'length'], 0),
]

const STORAGE = [
  operation(OP.SLOAD, ['slot']),
  ...each([OP.SSTORE, OP.SSTORE], ['slot', 'value'], 0),
  operation(OP.TLOAD, ['slot']),
  operation(OP.TSTORE, ['slot', 'value'], 0),
]

const SURROUNDINGS = [
  ...each([OP.ADDRESS, OP.ORIGIN, OP.CALLER, OP.CALLVALUE, OP.CALLDATASIZE, OP.CODESIZE, OP.GASPRICE, OP.RETURNDATASIZE], []),
  ...each([OP.COINBASE, OP.TIMESTAMP, OP.NUMBER, OP.PREVRANDAO, OP.GASLIMIT, OP.CHAINID, OP.SELFBALANCE, OP.BASEFEE, OP.BLOBBASEFEE], []),
  ...each([OP.PC, OP.MSIZE, OP.GAS, OP.GAS, OP.GAS, OP.MSIZE], []),
  operation(OP.CALLDATALOAD, ['source']),
  ...each([OP.BALANCE, OP.EXTCODESIZE, OP.EXTCODEHASH], ['address']),
  ...each([OP.BALANCE, OP.EXTCODESIZE, OP.EXTCODEHASH], ['address']),
  operation(OP.BLOCKHASH, ['block']),
  operation(OP.BLOBHASH, ['index']),
]

const LOGS = [0, 1, 2, 3, 4].map((topics) => operation(OP.LOG0 + topics, ['offset', 'length', ...Array<Kind>(topics).fill('topic')], 0))

const CALLS = [
  ...each([OP.CALL, OP.CALL, OP.CALL, OP.CALLCODE], ['gas', 'callee', 'wei', 'offset', 'length', 'offset', 'length']),
  ...each([OP.DELEGATECALL, OP.STATICCALL], ['gas', 'callee', 'offset', 'length', 'offset', 'length']),
]

/** Forks that introduced opcodes after Frontier. */
const SINCE: ReadonlyMap<number, L1Fork> = new Map([
  ...since('homestead', [OP.DELEGATECALL]),
  ...since('byzantium', [OP.RETURNDATASIZE, OP.RETURNDATACOPY, OP.STATICCALL, OP.REVERT]),
  ...since('constantinople', [OP.SHL, OP.SHR, OP.SAR, OP.EXTCODEHASH, OP.CREATE2]),
  ...since('istanbul', [OP.CHAINID, OP.SELFBALANCE]),
  ...since('london', [OP.BASEFEE]),
  ...since('shanghai', [OP.PUSH0]),
  ...since('cancun', [OP.TLOAD, OP.TSTORE, OP.MCOPY, OP.BLOBHASH, OP.BLOBBASEFEE]),
  ...since('osaka', [OP.CLZ]),
])

function since(fork: L1Fork, opcodes: readonly number[]): [number, L1Fork][] {
  return opcodes.map((opcode) => [opcode, fork])
}

/** Above this stack height values are consumed. */
const COMFORTABLE_HEIGHT = 10

/** Generates the code of one contract, statement by statement, tracking the stack height. */
export class CodeGenerator {
  readonly #random: Random
  readonly #around: ProgramContext
  readonly #items: Item[] = []
  readonly #data: Item[] = []
  #height = 0
  #floor = 0
  #labels = 0
  #nesting = 0

  constructor(random: Random, around: ProgramContext) {
    this.#random = random
    this.#around = around
  }

  /** Code with some ending. */
  program(): Item[] {
    if (this.#random.chance(0.25)) this.#inner()
    this.#block(this.#around.statements)
    this.#end()
    return this.#closed()
  }

  /** Init code, mostly valid. */
  initCode(deployed: Item[]): Item[] {
    if (this.#random.chance(0.5)) this.#block(this.#random.below(4))
    if (this.#random.chance(0.15)) return this.program()
    const id = this.#embed(deployed)
    const length = this.#random.chance(0.9) ? BigInt(sizeOf(deployed)) : this.#word('length')
    this.#push(length)
    this.#items.push({ kind: 'push', id })
    this.#push(0n)
    this.#byte(OP.CODECOPY)
    this.#push(length)
    this.#push(0n)
    this.#byte(this.#random.chance(0.95) || !this.#has(OP.REVERT) ? OP.RETURN : OP.REVERT)
    return this.#closed()
  }

  #closed(): Item[] {
    if (this.#data.length > 0) this.#byte(OP.STOP)
    else if (this.#random.chance(0.02)) this.#raw(OP.PUSH1 + this.#random.below(32), ...this.#random.bytes(this.#random.below(4)))
    return [...this.#items, ...this.#data]
  }

  // --- statements ----------------------------------------------------------------------------------------------------------------------

  #block(statements: number): void {
    for (let left = statements; left > 0; left--) {
      this.#random.weighted(this.#statements)()
      while (this.#free() > COMFORTABLE_HEIGHT) this.#consume()
    }
  }

  readonly #statements: readonly (readonly [number, () => void])[] = [
    [26, () => this.#operate(this.#known(ARITHMETIC))],
    [16, () => this.#operate(this.#known(MEMORY))],
    [12, () => this.#operate(this.#known(STORAGE))],
    [12, () => this.#operate(this.#known(SURROUNDINGS))],
    [3, () => this.#operate(this.#known(LOGS))],
    [9, () => this.#call()],
    [3, () => this.#precompile()],
    [1, () => this.#callSelf()],
    [4, () => this.#create()],
    [7, () => this.#shuffle()],
    [3, () => this.#consume()],
    [4, () => this.#condition()],
    [2, () => this.#loop()],
    [1, () => this.#jump()],
    [1, () => this.#endPerhaps()],
    [0.7, () => this.#unusual()],
  ]

  /** Mostly one that the fork has. */
  #known(operations: readonly Operation[]): Operation {
    for (;;) {
      const found = this.#random.pick(operations)
      if (this.#has(found.code)) return found
    }
  }

  #has(opcode: number): boolean {
    const fork = SINCE.get(opcode)
    return fork === undefined || this.#around.has(fork) || this.#random.chance(0.01)
  }

  #operate({ code, takes, gives }: Operation): void {
    const kinds = takes.toReversed()
    const [deepest] = kinds
    const present = deepest === 'word' && this.#free() > 0 && this.#random.chance(0.4)
    const nowhere = kinds.includes('length') && this.#random.chance(0.02)
    for (const kind of present ? kinds.slice(1) : kinds) {
      if (nowhere && (kind === 'length' || kind === 'offset')) this.#emptyRange(kind)
      else this.#operand(kind)
    }
    if (present && takes.length === 2 && this.#random.chance(0.3)) this.#byte(OP.SWAP1)
    this.#byte(code)
    this.#height += gives - takes.length
  }

  #call(): void {
    this.#operate(this.#known(CALLS))
    this.#lookAtReturnData()
  }

  #lookAtReturnData(): void {
    if (!this.#has(OP.RETURNDATASIZE)) return
    if (this.#random.chance(0.4)) this.#operate(operation(OP.RETURNDATASIZE, []))
    if (!this.#random.chance(0.4)) return
    this.#byte(OP.RETURNDATASIZE)
    this.#push(this.#random.chance(0.9) ? 0n : this.#word('source'))
    this.#push(this.#word('offset'))
    this.#byte(OP.RETURNDATACOPY)
  }

  /** A precompile with valid input, copied from data after the code. */
  #precompile(): void {
    const [address, input] = this.#random.pick(this.#random.chance(0.9) ? QUICK_INPUTS : PRECOMPILE_INPUTS)
    const id = this.#embed([{ kind: 'bytes', bytes: this.#spoilt(input) }])
    const length = BigInt(input.length)
    const at = this.#random.chance(0.5) ? 0n : BigInt(this.#random.below(100))
    this.#push(length)
    this.#items.push({ kind: 'push', id })
    this.#push(at)
    this.#byte(OP.CODECOPY)
    const kind = this.#known(CALLS)
    this.#push(BigInt(this.#random.pick([0, 32, 64, 96, 128, 256])))
    this.#push(BigInt(this.#random.below(256)))
    this.#push(this.#random.chance(0.9) ? length : length + 7n)
    this.#push(at)
    if (kind.takes.length === 7) this.#push(this.#random.chance(0.8) ? 0n : 1n)
    this.#push(address)
    if (this.#random.chance(0.7)) this.#byte(OP.GAS)
    else this.#push(BigInt(this.#random.below(8_000)))
    this.#byte(kind.code)
    this.#height++
    this.#lookAtReturnData()
    this.#operate(operation(OP.MLOAD, ['offset']))
  }

  #spoilt(input: Uint8Array): Uint8Array {
    if (input.length === 0 || this.#random.chance(0.8)) return input
    const spoilt = Uint8Array.from(input)
    spoilt[this.#random.below(input.length)] = this.#random.below(256)
    return spoilt
  }

  #create(): void {
    const { depth, statements } = this.#around
    if (depth === 0) return this.#operate(operation(OP.CREATE, ['wei', 'offset', 'length']))
    const inner = { ...this.#around, depth: depth - 1, statements: 1 + this.#random.below(Math.min(8, statements)) }
    const deployed = this.#random.chance(0.06)
      ? [{ kind: 'bytes' as const, bytes: Uint8Array.of(0xef, ...this.#random.bytes(2)) }]
      : new CodeGenerator(this.#random, inner).program()
    const initCode = new CodeGenerator(this.#random, inner).initCode(deployed)
    const id = this.#embed(initCode)
    const length = BigInt(sizeOf(initCode))
    this.#push(length)
    this.#items.push({ kind: 'push', id })
    this.#push(0n)
    this.#byte(OP.CODECOPY)
    for (let times = this.#random.chance(0.15) ? 2 : 1; times > 0; times--) {
      const again = this.#random.chance(0.5) && this.#has(OP.CREATE2)
      if (again) this.#push(this.#random.chance(0.8) ? BigInt(this.#random.below(2)) : this.#word('word'))
      this.#push(length)
      this.#push(0n)
      this.#push(this.#word('wei'))
      this.#byte(again ? OP.CREATE2 : OP.CREATE)
      this.#height++
      if (this.#random.chance(0.7)) this.#callCreated()
    }
  }

  /** Calls the stack value as an address. */
  #callCreated(): void {
    const { code, takes } = this.#known(CALLS)
    const beneath = takes.slice(2).toReversed()
    for (const kind of beneath) this.#operand(kind)
    this.#byte(OP.DUP1 + beneath.length)
    this.#push(this.#word('gas'))
    this.#byte(code)
    this.#height += 1 - beneath.length
    this.#lookAtReturnData()
  }

  /** The branch for a call of the contract by itself (with calldata): changes that are often reverted. */
  #inner(): void {
    const over = this.#labels++
    this.#raw(OP.CALLDATASIZE, OP.ISZERO)
    this.#items.push({ kind: 'push', id: over })
    this.#byte(OP.JUMPI)
    for (let left = this.#random.between(1, 5); left > 0; left--) this.#operate(this.#known(STORAGE))
    if (this.#random.chance(0.5)) this.#block(2)
    if (this.#random.chance(0.5)) this.#raw(this.#random.chance(0.3) ? OP.INVALID : OP.POP)
    this.#push(0n)
    this.#push(0n)
    this.#byte(this.#random.chance(0.5) && this.#has(OP.REVERT) ? OP.REVERT : OP.RETURN)
    this.#height = 0
    this.#items.push({ kind: 'label', id: over })
    this.#callSelf()
  }

  #callSelf(): void {
    const { code, takes } = this.#known(CALLS)
    const beneath = takes.slice(2).length
    for (let left = beneath; left > 0; left--) this.#push(left === beneath - 2 ? 1n : 0n)
    this.#raw(OP.ADDRESS, OP.GAS, code)
    this.#height++
    for (let left = this.#random.between(1, 3); left > 0; left--) this.#operate(this.#known(STORAGE))
  }

  #shuffle(): void {
    const free = this.#free()
    if (free > 0 && this.#random.chance(0.5)) {
      this.#byte(OP.DUP1 + this.#random.below(Math.min(free, 16)))
      this.#height++
    } else if (free > 1) {
      this.#byte(OP.SWAP1 + this.#random.below(Math.min(free - 1, 16)))
    } else {
      this.#operand('word')
    }
  }

  /** An empty range at a large offset, which costs gas and has no effect. */
  #emptyRange(kind: 'length' | 'offset'): void {
    this.#push(kind === 'length' ? 0n : this.#random.pick(HUGE))
    this.#height++
  }

  /** Consumes a value with an observable effect. */
  #consume(): void {
    if (this.#free() === 0) return
    const [code, kind] = this.#random.weighted<readonly [number, 'offset' | 'slot' | null]>([
      [5, [OP.MSTORE, 'offset']],
      [2, [OP.SSTORE, 'slot']],
      [this.#has(OP.TSTORE) ? 1 : 0, [OP.TSTORE, 'slot']],
      [2, [OP.POP, null]],
    ])
    if (kind !== null) this.#push(this.#word(kind))
    this.#byte(code)
    this.#height--
  }

  #condition(): void {
    if (this.#nesting > 2) return
    const end = this.#labels++
    this.#operand('word')
    if (this.#random.chance(0.5)) this.#byte(OP.ISZERO)
    this.#items.push({ kind: 'push', id: end })
    this.#byte(OP.JUMPI)
    this.#height--
    this.#balancedBlock(1 + this.#random.below(4))
    this.#items.push({ kind: 'label', id: end })
  }

  #loop(): void {
    if (this.#nesting > 1) return
    const start = this.#labels++
    this.#push(BigInt(1 + this.#random.below(this.#random.chance(0.1) ? 200 : 5)))
    this.#height++
    this.#items.push({ kind: 'label', id: start })
    this.#balancedBlock(1 + this.#random.below(4))
    this.#raw(OP.PUSH1, 1, OP.SWAP1, OP.SUB, OP.DUP1)
    this.#items.push({ kind: 'push', id: start })
    this.#byte(OP.JUMPI)
    this.#byte(OP.POP)
    this.#height--
  }

  /** Statements that restore the stack height and do not access words below. */
  #balancedBlock(statements: number): void {
    const outerFloor = this.#floor
    this.#floor = this.#height
    this.#nesting++
    this.#block(statements)
    while (this.#free() > 0) this.#consume()
    this.#nesting--
    this.#floor = outerFloor
  }

  /** Jumps forward, or to a random target. */
  #jump(): void {
    const over = this.#labels++
    if (this.#random.chance(0.75)) {
      this.#items.push({ kind: 'push', id: over })
      this.#byte(OP.JUMP)
      this.#raw(...this.#random.bytes(this.#random.below(6)), ...(this.#random.chance(0.3) ? [OP.PUSH2, OP.JUMPDEST] : [OP.STOP]))
      // The preceding bytes may be a PUSH whose data includes the label; a valid case too.
      this.#items.push({ kind: 'label', id: over })
    } else {
      this.#operand('word')
      this.#push(this.#random.chance(0.8) ? BigInt(this.#random.below(300)) : this.#word('offset'))
      this.#byte(OP.JUMPI)
      this.#height--
    }
  }

  #endPerhaps(): void {
    const over = this.#labels++
    this.#operand('word')
    this.#items.push({ kind: 'push', id: over })
    this.#byte(OP.JUMPI)
    this.#height--
    const height = this.#height
    this.#end()
    this.#height = height
    this.#items.push({ kind: 'label', id: over })
  }

  #end(): void {
    const ending = this.#random.weighted<readonly number[] | 'return'>([
      [60, 'return'],
      [10, [OP.STOP]],
      [8, []],
      [3, [OP.INVALID]],
      [16, [OP.SELFDESTRUCT]],
    ])
    if (ending !== 'return') {
      if (ending[0] === OP.SELFDESTRUCT) this.#pushAddress('address')
      return this.#raw(...ending)
    }
    for (let left = Math.min(this.#height - this.#floor, 4); left > 0; left--) {
      this.#push(BigInt(left * 32))
      this.#byte(OP.MSTORE)
    }
    this.#push(this.#random.chance(0.9) ? BigInt(this.#random.below(260)) : this.#word('length'))
    this.#push(this.#random.chance(0.9) ? 0n : this.#word('offset'))
    this.#byte(this.#random.chance(0.8) || !this.#has(OP.REVERT) ? OP.RETURN : OP.REVERT)
  }

  /** Sequences that compilers do not generate. */
  #unusual(): void {
    const random = this.#random
    random.weighted<() => void>([
      [3, () => this.#raw(random.below(256))],
      [2, () => this.#raw(...random.bytes(1 + random.below(4)))],
      [2, () => this.#raw(OP.DUP1 + random.below(16))],
      [2, () => this.#raw(OP.SWAP1 + random.below(16))],
      [2, () => this.#raw(OP.POP)],
      [1, () => this.#raw(...Array<number>(1_030).fill(random.pick([OP.PUSH0, OP.GAS, OP.PC])))],
      [1, () => this.#raw(OP.PUSH2, 4, 4, OP.JUMPDEST, OP.GAS, OP.DUP1, OP.SWAP1 - 1, OP.JUMP)],
    ])()
  }

  // --- operands ------------------------------------------------------------------------------------------------------------------------

  #operand(kind: Kind): void {
    const mayReuse = kind === 'word' || kind === 'value' || kind === 'topic' ? 0.4 : kind === 'slot' || kind === 'callee' ? 0.05 : 0.03
    const free = this.#free()
    if (free > 0 && this.#random.chance(mayReuse)) this.#byte(OP.DUP1 + this.#random.below(Math.min(free, 16)))
    else if (kind === 'address' || kind === 'callee') this.#pushAddress(kind)
    else if (kind === 'gas' && this.#random.chance(0.3)) this.#byte(OP.GAS)
    else this.#push(this.#word(kind))
    this.#height++
  }

  #pushAddress(kind: 'address' | 'callee'): void {
    const random = this.#random
    const own = random.weighted<number | 'any' | 'contract' | 'precompile' | 'dirty'>([
      [3, OP.ADDRESS],
      [1, OP.CALLER],
      [1, OP.ORIGIN],
      [1, OP.COINBASE],
      [10, 'any'],
      [kind === 'callee' ? 25 : 3, 'contract'],
      [2, 'precompile'],
      [1, 'dirty'],
    ])
    if (typeof own === 'number') return this.#byte(own)
    if (own === 'precompile') return this.#push(BigInt(random.pick([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 0x100])))
    const address = Address.toBigint(random.pick(own === 'contract' ? this.#around.contracts : this.#around.addresses))
    this.#push(own === 'dirty' ? address | (random.bits(96) << 160n) : address)
  }

  #word(kind: Plain): bigint {
    return WORDS[kind](this.#random)
  }

  // --- bytes ---------------------------------------------------------------------------------------------------------------------------

  #free(): number {
    return this.#height - this.#floor
  }

  #embed(items: readonly Item[]): number {
    const id = this.#labels++
    this.#data.push({ kind: 'data', id, items })
    return id
  }

  /** Mostly the shortest PUSH. PUSH0 is newer than most forks. */
  #push(value: bigint): void {
    const shortest = (value.toString(16).length + 1) >> 1
    const size = this.#random.chance(0.95) ? shortest : this.#random.between(shortest, 32)
    if (value === 0n && this.#has(OP.PUSH0) && this.#random.chance(0.3)) return this.#byte(OP.PUSH0)
    this.#raw(OP.PUSH0 + size, ...Buffer.from(value.toString(16).padStart(size * 2, '0'), 'hex'))
  }

  #byte(opcode: number): void {
    this.#raw(opcode)
  }

  #raw(...bytes: number[]): void {
    if (bytes.length > 0) this.#items.push({ kind: 'bytes', bytes: Uint8Array.from(bytes) })
  }
}

/** Plausible values per kind of operand. */
const WORDS: Readonly<Record<Plain, (random: Random) => bigint>> = {
  word: anyWord,
  topic: anyWord,
  shift: (random) =>
    random.chance(0.85)
      ? BigInt(random.pick([0, 1, 7, 8, 31, 32, 63, 64, 65, 127, 128, 200, 255, 256, 257, random.below(260)]))
      : anyWord(random),
  index: (random) => (random.chance(0.85) ? BigInt(random.below(34)) : anyWord(random)),
  exponent: (random) => (random.chance(0.6) ? BigInt(random.below(300)) : anyWord(random)),
  offset: (random) => (random.chance(0.996) ? smallOffset(random) : random.pick(HUGE)),
  length: (random) => (random.chance(0.997) ? smallLength(random) : random.pick(HUGE)),
  source: (random) => (random.chance(0.9) ? BigInt(random.below(120)) : random.pick(HUGE)),
  returnedFrom: (random) => (random.chance(0.9) ? BigInt(random.below(2)) : random.pick([...HUGE, 32n, 64n])),
  returnedLength: (random) => BigInt(random.pick([0, 0, 0, 0, 1, 31, 32, 64])),
  slot: (random) => (random.chance(0.93) ? BigInt(random.below(4)) : anyWord(random)),
  value: (random) => (random.chance(0.85) ? BigInt(random.pick([0, 0, 1, 2])) : anyWord(random)),
  gas: (random) => (random.chance(0.9) ? random.pick(GAS) : random.pick([2n ** 32n, 2n ** 63n, 2n ** 64n - 1n, LARGEST])),
  wei: (random) =>
    random.weighted([
      [12, 0n],
      [4, 1n],
      [2, BigInt(random.below(1_000))],
      [0.4, anyWord(random)],
    ]),
  block: (random) => (random.chance(0.8) ? BigInt(random.between(740, 1_003)) : anyWord(random)),
}

function anyWord(random: Random): bigint {
  return random.weighted<() => bigint>([
    [4, () => BigInt(random.below(5))],
    [2, () => BigInt(random.below(300))],
    [4, () => BigInt.asUintN(256, random.pick(EDGES) + BigInt(random.between(-2, 1)))],
    [2, () => LARGEST - BigInt(random.below(4))],
    [2, () => BigInt.asUintN(256, -random.pick(EDGES))],
    [4, () => random.bits(random.between(1, 256))],
    [3, () => limbs(random)],
    [1, () => BigInt.asUintN(256, -random.bits(random.between(1, 256)))],
  ])()
}

/** Four 64-bit limbs that are zero, all ones or random: edge cases of carries and quotient estimates. */
function limbs(random: Random): bigint {
  let value = 0n
  for (let limb = 0; limb < 4; limb++) {
    value = (value << 64n) | random.pick([0n, 0n, 1n, 2n ** 63n, 2n ** 64n - 2n, 2n ** 64n - 1n, 2n ** 64n - 1n, random.bits(64)])
  }
  return value
}

function smallOffset(random: Random): bigint {
  return BigInt(
    random.weighted([
      [6, random.below(5) * 32],
      [6, random.below(160)],
      [2, random.below(1_100)],
      [0.3, random.below(40_000)],
    ]),
  )
}

function smallLength(random: Random): bigint {
  return BigInt(
    random.weighted([
      [4, 0],
      [4, random.below(5) * 32],
      [6, random.below(100)],
      [1, random.below(700)],
      [0.2, random.below(30_000)],
    ]),
  )
}

function sizeOf(items: readonly Item[]): number {
  return items.reduce(
    (sum, item) =>
      sum + (item.kind === 'bytes' ? item.bytes.length : item.kind === 'push' ? 3 : item.kind === 'label' ? 1 : sizeOf(item.items)),
    0,
  )
}
