import { Hash, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Executed } from '../message.ts'
import type { StateReader } from '../state.ts'
import { isPreExecutionError } from './exceptions.ts'
import { OP, opcodeName } from '../opcodes.ts'
import { TextBuffer } from './textbuffer.ts'
import type { Trace, TraceContext } from './trace.ts'
import type { FrameEntry, FrameExit, OpContext, Tracer } from './tracer.ts'

interface StructLogOptions {
  readonly disableStorage: boolean
  readonly disableStack: boolean
  readonly enableMemory: boolean
  readonly enableReturnData: boolean
  /** logging stops once the logs have this many bytes; 0: no limit */
  readonly limit: number
}

/** geth's default logger: one entry per opcode. */
export function structLogTrace(start: TraceContext, options: StructLogOptions): Trace {
  const logger = new StructLogger(start, options)
  return { tracer: logger, json: (executed) => logger.json(executed) }
}

/** An opcode whose cost is not known yet; the next hook determines it. */
interface Pending {
  readonly op: number
  readonly gas: bigint
  readonly depth: number
  /** JSON of the entry before the cost, and from the stack on */
  readonly head: string
  readonly tail: string
  readonly refund: bigint
  /** STOP, RETURN and REVERT: the memory expansion, since no hook follows in the frame; otherwise null */
  readonly cost: bigint | null
}

interface OpenFrame {
  readonly gas: bigint
  readonly isSelfDestruct: boolean
}

class StructLogger implements Tracer {
  readonly #budget: TraceContext['budget']
  readonly #options: StructLogOptions
  readonly #state: StateReader
  readonly #logs = new TextBuffer()
  readonly #storage = new Map<Address, Map<Hash, bigint>>()
  readonly #frames: OpenFrame[] = []
  #pending: Pending | null = null
  /** size of the logs without separators */
  #sizeBytes = 0

  constructor(start: TraceContext, options: StructLogOptions) {
    this.#budget = start.budget
    this.#state = start.state
    this.#options = options
  }

  step(machine: OpContext): void {
    const pending = this.#pending
    if (pending !== null) this.#finishPending(pending, pending.gas - machine.gas, refundOf(pending, machine.refund))
    const { limit } = this.#options
    this.#pending = limit !== 0 && this.#sizeBytes > limit ? null : this.#describe(machine)
  }

  fault(machine: OpContext, cost: bigint, failure: string): void {
    const pending = this.#pending
    // geth shows an error only for opcodes that could not start; others are logged before they fail.
    if (pending === null) return
    const refund = refundOf(pending, machine.refund)
    if (isPreExecutionError(failure)) this.#finishPending(pending, cost, refund, failure)
    else this.#finishPending(pending, pending.cost ?? cost, refund)
  }

  enter({ kind, gas, callerGas }: FrameEntry): void {
    const pending = this.#pending
    const isSelfDestruct = kind === 'SELFDESTRUCT'
    this.#frames.push({ gas, isSelfDestruct })
    if (pending === null || isSelfDestruct) return
    // geth includes the gas passed to a call in its cost, but not the gas passed to a creation.
    const handedOver = kind === 'CREATE' || kind === 'CREATE2' ? gas : 0n
    this.#finishPending(pending, pending.gas - callerGas - handedOver)
  }

  exit({ gasUsed }: FrameExit): void {
    const frame = this.#frames.pop()
    const pending = this.#pending
    if (pending === null || frame === undefined || frame.isSelfDestruct) return
    this.#finishPending(pending, pending.cost ?? pending.gas - (frame.gas - gasUsed))
  }

  json({ outcome, output, gasUsed }: Executed): string {
    const value = outcome.kind === 'halt' ? '0x' : Hex.fromBytes(output)
    const failed = outcome.kind !== 'success'
    return `{"gas":${gasUsed},"failed":${failed},"returnValue":"${value}","structLogs":[${this.#logs.toString()}]}`
  }

  #describe(machine: OpContext): Pending {
    const { pc, op, gas, depth, refund } = machine
    const { disableStack, enableReturnData, enableMemory, disableStorage } = this.#options
    let tail = disableStack ? '' : `,"stack":[${stackText(machine)}]`
    if (enableReturnData) tail += returnDataText(machine)
    if (enableMemory && machine.memorySize > 0) tail += `,"memory":[${memoryText(machine)}]`
    if (!disableStorage && (op === OP.SLOAD || op === OP.SSTORE)) tail += this.#storageText(machine)
    const head = `{"pc":${pc},"op":"${opcodeName(op)}","gas":${gas},"gasCost":`
    return { op, gas, depth, head, tail, refund, cost: haltingOpCost(machine) }
  }

  #finishPending(pending: Pending, cost: bigint, refund = pending.refund, error: string | null = null): void {
    const { head, depth, tail } = pending
    const failure = error === null ? '' : `,"error":${JSON.stringify(error)}`
    const log = `${head}${cost},"depth":${depth}${failure}${tail}${refund === 0n ? '' : `,"refund":${refund}`}}`
    this.#pending = null
    this.#budget.take(log.length)
    this.#sizeBytes += log.length
    this.#logs.write(this.#logs.length === 0 ? log : `,${log}`)
  }

  /** Slots of this contract that were read or written so far, including this one. */
  #storageText(machine: OpContext): string {
    const { op, address, stackSize } = machine
    if (stackSize < (op === OP.SLOAD ? 1 : 2)) return ''
    const slot = Hash.fromBigint(machine.stack(0))
    const slots = this.#storage.get(address) ?? new Map<Hash, bigint>()
    slots.set(slot, op === OP.SLOAD ? this.#state.storage(address, slot) : machine.stack(1))
    this.#storage.set(address, slots)
    return `,"storage":{${[...slots].map(([key, value]) => `"${key}":"${Hash.fromBigint(value)}"`).join(',')}}`
  }
}

/** geth reads the refund after computing the gas, where SSTORE changes it. */
function refundOf({ op, refund }: Pending, later: bigint): bigint {
  return op === OP.SSTORE ? later : refund
}

/** After RETURN a creation pays for its code, so the remaining gas does not give the cost. */
function haltingOpCost(machine: OpContext): bigint | null {
  const { op, stackSize, memorySize } = machine
  if (op === OP.STOP) return 0n
  if ((op !== OP.RETURN && op !== OP.REVERT) || stackSize < 2) return null
  const size = machine.stack(1)
  if (size === 0n) return 0n
  const words = (machine.stack(0) + size + 31n) / 32n
  const before = BigInt(memorySize / 32)
  return words <= before ? 0n : memoryCost(words) - memoryCost(before)
}

function memoryCost(words: bigint): bigint {
  return 3n * words + (words * words) / 512n
}

function stackText(machine: OpContext): string {
  let text = ''
  for (let i = machine.stackSize - 1; i >= 0; i--) text += `"0x${machine.stack(i).toString(16)}"${i === 0 ? '' : ','}`
  return text
}

function memoryText(machine: OpContext): string {
  const digits = Hex.fromBytes(machine.memory(0, machine.memorySize)).slice(2)
  const words: string[] = []
  for (let at = 0; at < digits.length; at += 64) words.push(`"0x${digits.slice(at, at + 64)}"`)
  return words.join(',')
}

function returnDataText(machine: OpContext): string {
  const data = machine.returnData()
  return data.length === 0 ? '' : `,"returnData":"${Hex.fromBytes(data)}"`
}
