import { Address, EMPTY_CODE_HASH, Hash, Hex } from '../../eth/index.ts'
import type { Executed } from '../message.ts'
import { frameHead, Frames, logJson } from './frames.ts'
import type { CallFrame } from './frames.ts'
import { OP } from '../opcodes.ts'
import type { Trace, TraceContext } from './trace.ts'
import type { OpContext, Tracer } from './tracer.ts'

interface Erc7562Options {
  readonly withLog: boolean
  /** opcodes that are not counted; null: geth's default, those without a rule */
  readonly ignoredOpcodes: readonly number[] | null
}

/** geth's erc7562Tracer: the call tree with the data for the ERC-7562 validation rules. */
export function erc7562Trace(start: TraceContext, options: Erc7562Options): Trace {
  const tracer = new Erc7562Tracer(start, options)
  return { tracer, json: (executed) => JSON.stringify(tracer.json(executed)) }
}

interface Erc7562Frame extends CallFrame {
  /** slots with the value of the first read, unless the frame wrote them before */
  readonly reads: Map<Hash, Hash>
  readonly writes: Map<Hash, number>
  readonly transientReads: Map<Hash, number>
  readonly transientWrites: Map<Hash, number>
  /** [OP-051] EXTCODE* of these addresses, except EXTCODESIZE ISZERO */
  readonly codeAccesses: Address[]
  readonly opcodes: Map<number, number>
  /** [OP-041] addresses accessed, with the size of their code and the first opcode */
  readonly contracts: Map<Address, { readonly contractSize: number; readonly opcode: number }>
}

const ENTRY_BYTES = 150
/** geth's limit for reads beyond the end of memory. */
const PADDING_BYTES = 1024 * 1024
const EXT_CODE: ReadonlySet<number> = new Set([OP.EXTCODESIZE, OP.EXTCODECOPY, OP.EXTCODEHASH])
const CALLS: ReadonlySet<number> = new Set([OP.CALL, OP.CALLCODE, OP.DELEGATECALL, OP.STATICCALL])

/** geth's default: POP ADD SUB MUL DIV EQ LT GT SLT SGT SHL SHR AND OR NOT ISZERO, PUSH, DUP and SWAP. */
const DEFAULT_IGNORED_OPCODES: readonly number[] = [
  ...[0x50, 0x01, 0x03, 0x02, 0x04, 0x14, 0x10, 0x11, 0x12, 0x13, 0x1b, 0x1c, 0x16, 0x17, 0x19, 0x15],
  ...Array.from({ length: OP.SWAP16 - OP.PUSH0 + 1 }, (_, index) => OP.PUSH0 + index),
]

class Erc7562Tracer implements Tracer {
  readonly #start: TraceContext
  readonly #frames: Frames<Erc7562Frame>
  readonly #isIgnored: Uint8Array
  readonly #preimages = new Set<Hex>()
  /** across frames */
  #previousOp: number = OP.STOP
  /** the address whose code the previous opcode reads */
  #codeOf = 0n

  readonly enter: NonNullable<Tracer['enter']>
  readonly exit: NonNullable<Tracer['exit']>
  readonly log: NonNullable<Tracer['log']>

  constructor(start: TraceContext, { withLog, ignoredOpcodes }: Erc7562Options) {
    this.#start = start
    this.#isIgnored = flagged([OP.GAS, ...(ignoredOpcodes ?? DEFAULT_IGNORED_OPCODES)])
    const frames = new Frames<Erc7562Frame>(start, { onlyTopCall: false, withLog }, extendFrame)
    this.#frames = frames
    this.enter = (entered) => frames.enter(entered)
    this.exit = (exit) => frames.exit(exit)
    this.log = (log) => frames.log(log)
  }

  step(machine: OpContext): void {
    const frame = this.#frames.current
    if (frame === undefined) return
    const { op } = machine
    const previous = op === OP.RETURN || op === OP.REVERT ? OP.STOP : this.#previousOp
    this.#previousOp = op
    if (EXT_CODE.has(previous)) this.#codeAccess(frame, previous, op)
    // [OP-012] GAS must be followed by a call.
    if (previous === OP.GAS && !CALLS.has(op)) count(frame.opcodes, OP.GAS)
    if (this.#isIgnored[op] === 0) count(frame.opcodes, op)
    if (IS_RECORDED[op] !== 0) this.#record(frame, machine)
  }

  #record(frame: Erc7562Frame, machine: OpContext): void {
    const { op } = machine
    if (op === OP.KECCAK256) this.#preimage(machine)
    else if (STORAGE.has(op)) this.#storage(frame, machine)
    else this.#contractSize(frame, machine)
    if (EXT_CODE.has(op)) this.#codeOf = machine.stackSize > 0 ? machine.stack(0) : 0n
  }

  json(executed: Executed): object {
    const root = this.#frames.finish(executed)
    const keccak = this.#preimages.size === 0 ? undefined : { keccak: [...this.#preimages].sort() }
    return { ...frameJson(root, 0), ...keccak, ...tailJson(root, 0) }
  }

  #codeAccess(frame: Erc7562Frame, previous: number, op: number): void {
    if (previous === OP.EXTCODESIZE && op === OP.ISZERO) return
    this.#start.budget.take(ENTRY_BYTES)
    frame.codeAccesses.push(Address.fromBigint(this.#codeOf))
  }

  #contractSize(frame: Erc7562Frame, machine: OpContext): void {
    const { op, stackSize } = machine
    const at = EXT_CODE.has(op) ? 0 : 1
    if (stackSize <= at) return
    const address = Address.fromBigint(machine.stack(at))
    if (frame.contracts.has(address)) return
    this.#start.budget.take(ENTRY_BYTES)
    const { state } = this.#start
    const codeHash = state.account(address)?.codeHash ?? EMPTY_CODE_HASH
    frame.contracts.set(address, { contractSize: codeHash === EMPTY_CODE_HASH ? 0 : state.code(codeHash).length, opcode: op })
  }

  #storage(frame: Erc7562Frame, machine: OpContext): void {
    const counter = STORAGE.get(machine.op)
    if (counter === undefined || machine.stackSize === 0) return
    const slot = Hash.fromBigint(machine.stack(0))
    if (!frame.reads.has(slot) && !frame.writes.has(slot)) this.#start.budget.take(ENTRY_BYTES)
    if (counter !== 'reads') count(frame[counter], slot)
    else if (!frame.reads.has(slot) && !frame.writes.has(slot)) {
      frame.reads.set(slot, Hash.fromBigint(this.#start.state.storage(machine.address, slot)))
    }
  }

  #preimage(machine: OpContext): void {
    if (machine.stackSize < 2) return
    const [from, size] = [machine.stack(0), machine.stack(1)]
    // Beyond this the opcode runs out of gas.
    if (from + size > BigInt(machine.memorySize + PADDING_BYTES)) return
    const preimage = Hex.fromBytes(machine.memory(Number(from), Number(from + size)))
    if (this.#preimages.has(preimage)) return
    this.#start.budget.take(preimage.length)
    this.#preimages.add(preimage)
  }
}

const STORAGE: ReadonlyMap<number, 'reads' | 'writes' | 'transientReads' | 'transientWrites'> = new Map([
  [OP.SLOAD, 'reads'],
  [OP.SSTORE, 'writes'],
  [OP.TLOAD, 'transientReads'],
  [OP.TSTORE, 'transientWrites'],
])
const IS_RECORDED = flagged([OP.KECCAK256, ...STORAGE.keys(), ...EXT_CODE, ...CALLS])

function extendFrame(frame: CallFrame): Erc7562Frame {
  return {
    ...frame,
    logs: frame.logs,
    calls: [],
    reads: new Map(),
    writes: new Map(),
    transientReads: new Map(),
    transientWrites: new Map(),
    codeAccesses: [],
    opcodes: new Map(),
    contracts: new Map(),
  }
}

/** 1 for each of the opcodes. */
function flagged(opcodes: Iterable<number>): Uint8Array {
  const flags = new Uint8Array(256)
  for (const op of opcodes) flags[op] = 1
  return flags
}

/** geth sets it for inner frames only. */
function isOutOfGas({ error }: Erc7562Frame, depth: number): boolean {
  return depth > 0 && error !== null && (error.startsWith('out of gas') || error === 'contract creation code storage out of gas')
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function frameJson(frame: Erc7562Frame, depth: number): Record<string, unknown> {
  const { reads, writes, transientReads, transientWrites } = frame
  return {
    ...frameHead(frame),
    ...(frame.logs.length === 0 ? undefined : { logs: frame.logs.map(logJson) }),
    ...(frame.value === null ? undefined : { value: Hex.fromQuantity(frame.value) }),
    accessedSlots: {
      reads: Object.fromEntries([...reads].map(([slot, value]) => [slot, [value]])),
      writes: Object.fromEntries(writes),
      transientReads: Object.fromEntries(transientReads),
      transientWrites: Object.fromEntries(transientWrites),
    },
    extCodeAccessInfo: frame.codeAccesses,
    usedOpcodes: Object.fromEntries([...frame.opcodes].map(([op, times]) => [Hex.fromQuantity(op), times])),
    contractSize: Object.fromEntries(frame.contracts),
    outOfGas: isOutOfGas(frame, depth),
  }
}

function tailJson(frame: Erc7562Frame, depth: number): Record<string, unknown> {
  const calls = frame.calls.map((call) => ({ ...frameJson(call, depth + 1), ...tailJson(call, depth + 1) }))
  return { ...(calls.length === 0 ? undefined : { calls }), type: frame.kind }
}
