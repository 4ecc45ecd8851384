import { Hash, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Executed } from '../message.ts'
import type { StateReader } from '../state.ts'
import { isUnstarted } from './failures.ts'
import { OP, opcodeName } from './opcodes.ts'
import { TextBuffer } from './textbuffer.ts'
import type { Trace, TraceStart } from './trace.ts'
import type { Entered, Left, Machine, Tracer } from './tracer.ts'

export interface StructLogOptions {
  readonly disableStorage: boolean
  readonly disableStack: boolean
  readonly enableMemory: boolean
  readonly enableReturnData: boolean
  /** no more is logged once the logs are this many bytes long; 0: all */
  readonly limit: number
}

/** geth's default logger: every opcode with what it found. */
export function structLogTrace(start: TraceStart, options: StructLogOptions): Trace {
  const logger = new StructLogger(start, options)
  return { tracer: logger, json: (executed) => logger.json(executed) }
}

/** An opcode that was seen and has not been paid yet. What it costs shows with the next hook. */
interface Pending {
  readonly op: number
  readonly gas: bigint
  readonly depth: number
  /** the finished parts of its log: up to the gas, and from the stack on */
  readonly head: string
  readonly tail: string
  readonly refund: bigint
  /** RETURN and REVERT cost what the memory grows by, and nothing follows them in their frame; else null */
  readonly cost: bigint | null
}

interface OpenFrame {
  readonly gas: bigint
  readonly isSelfDestruct: boolean
}

class StructLogger implements Tracer {
  readonly #budget: TraceStart['budget']
  readonly #options: StructLogOptions
  readonly #now: StateReader
  readonly #logs = new TextBuffer()
  readonly #storage = new Map<Address, Map<Hash, bigint>>()
  readonly #frames: OpenFrame[] = []
  #pending: Pending | null = null
  /** of the logs, without what stands between them */
  #sizeBytes = 0

  constructor(start: TraceStart, options: StructLogOptions) {
    this.#budget = start.budget
    this.#now = start.now
    this.#options = options
  }

  step(machine: Machine): void {
    const pending = this.#pending
    if (pending !== null) this.#settle(pending, pending.gas - machine.gas, refundOf(pending, machine.refund))
    const { limit } = this.#options
    this.#pending = limit !== 0 && this.#sizeBytes > limit ? null : this.#look(machine)
  }

  fault(machine: Machine, cost: bigint, failure: string): void {
    const pending = this.#pending
    // What the opcode itself refused was logged before it ran, in geth; only what could not even start shows its error.
    if (pending === null) return
    const refund = refundOf(pending, machine.refund)
    if (isUnstarted(failure)) this.#settle(pending, cost, refund, failure)
    else this.#settle(pending, pending.cost ?? cost, refund)
  }

  enter({ kind, gas, callerGas }: Entered): void {
    const pending = this.#pending
    const isSelfDestruct = kind === 'SELFDESTRUCT'
    this.#frames.push({ gas, isSelfDestruct })
    if (pending === null || isSelfDestruct) return
    // geth counts the gas that a call hands over, but not what a creation does.
    const handedOver = kind === 'CREATE' || kind === 'CREATE2' ? gas : 0n
    this.#settle(pending, pending.gas - callerGas - handedOver)
  }

  leave({ gasUsed }: Left): void {
    const frame = this.#frames.pop()
    const pending = this.#pending
    if (pending === null || frame === undefined || frame.isSelfDestruct) return
    this.#settle(pending, pending.cost ?? pending.gas - (frame.gas - gasUsed))
  }

  json({ outcome, output, gasUsed }: Executed): string {
    const value = outcome.kind === 'halt' ? '0x' : Hex.fromBytes(output)
    const failed = outcome.kind !== 'success'
    return `{"gas":${gasUsed},"failed":${failed},"returnValue":"${value}","structLogs":[${this.#logs.toString()}]}`
  }

  #look(machine: Machine): Pending {
    const { pc, op, gas, depth, refund } = machine
    const { disableStack, enableReturnData, enableMemory, disableStorage } = this.#options
    let tail = disableStack ? '' : `,"stack":[${stackText(machine)}]`
    if (enableReturnData) tail += returnDataText(machine)
    if (enableMemory && machine.memorySize > 0) tail += `,"memory":[${memoryText(machine)}]`
    if (!disableStorage && (op === OP.SLOAD || op === OP.SSTORE)) tail += this.#storageText(machine)
    const head = `{"pc":${pc},"op":"${opcodeName(op)}","gas":${gas},"gasCost":`
    return { op, gas, depth, head, tail, refund, cost: lastCost(machine) }
  }

  #settle(pending: Pending, cost: bigint, refund = pending.refund, error: string | null = null): void {
    const { head, depth, tail } = pending
    const failure = error === null ? '' : `,"error":${JSON.stringify(error)}`
    const log = `${head}${cost},"depth":${depth}${failure}${tail}${refund === 0n ? '' : `,"refund":${refund}`}}`
    this.#pending = null
    this.#budget.take(log.length)
    this.#sizeBytes += log.length
    this.#logs.write(this.#logs.length === 0 ? log : `,${log}`)
  }

  /** The slots of this contract that were read or written so far, this one included. */
  #storageText(machine: Machine): string {
    const { op, address, stackSize } = machine
    if (stackSize < (op === OP.SLOAD ? 1 : 2)) return ''
    const slot = Hash.fromBigint(machine.stack(0))
    const slots = this.#storage.get(address) ?? new Map<Hash, bigint>()
    slots.set(slot, op === OP.SLOAD ? this.#now.storage(address, slot) : machine.stack(1))
    this.#storage.set(address, slots)
    return `,"storage":{${[...slots].map(([key, value]) => `"${key}":"${Hash.fromBigint(value)}"`).join(',')}}`
  }
}

/** geth looks at the refund once the gas is computed, and for SSTORE that is when it changes. */
function refundOf({ op, refund }: Pending, later: bigint): bigint {
  return op === OP.SSTORE ? later : refund
}

/** A creation's frame pays for its code after its RETURN, so the gas that is left says nothing about that. */
function lastCost(machine: Machine): bigint | null {
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

function stackText(machine: Machine): string {
  let text = ''
  for (let i = machine.stackSize - 1; i >= 0; i--) text += `"0x${machine.stack(i).toString(16)}"${i === 0 ? '' : ','}`
  return text
}

function memoryText(machine: Machine): string {
  const digits = Hex.fromBytes(machine.memory(0, machine.memorySize)).slice(2)
  const words: string[] = []
  for (let at = 0; at < digits.length; at += 64) words.push(`"0x${digits.slice(at, at + 64)}"`)
  return words.join(',')
}

function returnDataText(machine: Machine): string {
  const data = machine.returnData()
  return data.length === 0 ? '' : `,"returnData":"${Hex.fromBytes(data)}"`
}
