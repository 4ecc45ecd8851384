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

/** The previous opcode, across frames, with the top of its stack. */
interface PreviousOp {
  readonly op: number
  readonly top: bigint
}

const ENTRY_BYTES = 150
/** geth's limit for reads beyond the end of memory. */
const PADDING_BYTES = 1024 * 1024
const EXT_CODE: ReadonlySet<number> = new Set([OP.EXTCODESIZE, OP.EXTCODECOPY, OP.EXTCODEHASH])
const CALLS: ReadonlySet<number> = new Set([OP.CALL, OP.CALLCODE, OP.DELEGATECALL, OP.STATICCALL])

/** POP ADD SUB MUL DIV EQ LT GT SLT SGT SHL SHR AND OR NOT ISZERO; PUSH, DUP and SWAP are added below. */
const IGNORED_OPCODES = [0x50, 0x01, 0x03, 0x02, 0x04, 0x14, 0x10, 0x11, 0x12, 0x13, 0x1b, 0x1c, 0x16, 0x17, 0x19, 0x15]

class Erc7562Tracer implements Tracer {
  readonly #start: TraceContext
  readonly #frames: Frames<Erc7562Frame>
  readonly #ignored: ReadonlySet<number>
  readonly #preimages = new Set<Hex>()
  #previous: PreviousOp | null = null

  readonly enter: NonNullable<Tracer['enter']>
  readonly exit: NonNullable<Tracer['exit']>
  readonly log: NonNullable<Tracer['log']>

  constructor(start: TraceContext, { withLog, ignoredOpcodes }: Erc7562Options) {
    this.#start = start
    this.#ignored = ignoredOpcodes === null ? defaultIgnoredOpcodes() : new Set(ignoredOpcodes)
    const frames = new Frames<Erc7562Frame>(start, { onlyTopCall: false, withLog }, extendFrame)
    this.#frames = frames
    this.enter = (entered) => frames.enter(entered)
    this.exit = (exit) => frames.exit(exit)
    this.log = (log) => frames.log(log)
  }

  step(machine: OpContext): void {
    const frame = this.#frames.current
    if (frame === undefined) return
    const { op, stackSize } = machine
    if (op === OP.RETURN || op === OP.REVERT) this.#previous = null
    const previous = this.#previous
    if (previous !== null) this.#codeAccess(frame, previous, op)
    this.#contractSize(frame, machine)
    // [OP-012] GAS must be followed by a call.
    if (previous?.op === OP.GAS && !CALLS.has(op)) count(frame.opcodes, OP.GAS)
    if (op !== OP.GAS && !this.#ignored.has(op)) count(frame.opcodes, op)
    this.#storage(frame, machine)
    if (op === OP.KECCAK256) this.#preimage(machine)
    this.#previous = { op, top: stackSize > 0 ? machine.stack(0) : 0n }
  }

  json(executed: Executed): object {
    const root = this.#frames.finish(executed)
    const keccak = this.#preimages.size === 0 ? undefined : { keccak: [...this.#preimages].sort() }
    return { ...frameJson(root, 0), ...keccak, ...tailJson(root, 0) }
  }

  #codeAccess(frame: Erc7562Frame, previous: PreviousOp, op: number): void {
    if (!EXT_CODE.has(previous.op) || (previous.op === OP.EXTCODESIZE && op === OP.ISZERO)) return
    this.#start.budget.take(ENTRY_BYTES)
    frame.codeAccesses.push(Address.fromBigint(previous.top))
  }

  #contractSize(frame: Erc7562Frame, machine: OpContext): void {
    const { op, stackSize } = machine
    const isExtCode = EXT_CODE.has(op)
    const at = isExtCode ? 0 : 1
    if ((!isExtCode && !CALLS.has(op)) || stackSize <= at) return
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

function defaultIgnoredOpcodes(): ReadonlySet<number> {
  const all = new Set(IGNORED_OPCODES)
  for (let op: number = OP.PUSH0; op <= OP.SWAP16; op++) all.add(op)
  return all
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
