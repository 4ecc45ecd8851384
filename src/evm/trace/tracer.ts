import type { Address, Hash } from '../../eth/index.ts'

/** What a tracer sees of the machine; valid only during the hook. Words are read on demand. */
export interface Machine {
  readonly pc: number
  readonly op: number
  /** before the opcode is paid */
  readonly gas: bigint
  /** 1 = outermost frame */
  readonly depth: number
  readonly refund: bigint
  readonly stackSize: number
  /** 0 = top */
  stack(fromTop: number): bigint
  /** bytes, multiple of 32 */
  readonly memorySize: number
  /** a copy; zero-padded beyond the size */
  memory(from: number, to: number): Uint8Array
  /** a copy */
  returnData(): Uint8Array
  /** storage context */
  readonly address: Address
  readonly codeAddress: Address
}

export type CallKind = 'CALL' | 'CALLCODE' | 'DELEGATECALL' | 'STATICCALL' | 'CREATE' | 'CREATE2' | 'SELFDESTRUCT'

export interface Entered {
  readonly kind: CallKind
  /** 0 = outermost */
  readonly depth: number
  readonly from: Address
  readonly to: Address
  readonly input: Uint8Array
  readonly gas: bigint
  /** null: STATICCALL; DELEGATECALL carries its parent's */
  readonly value: bigint | null
  readonly precompile: boolean
  /** gas the caller has left after paying for the call and handing over `gas` */
  readonly callerGas: bigint
}

export interface Left {
  readonly depth: number
  readonly output: Uint8Array
  readonly gasUsed: bigint
  /** geth's words: 'execution reverted', 'out of gas', 'invalid jump destination', … */
  readonly failure: string | null
  /** false for a failure that left its changes standing: code storage that could not be paid for before Homestead */
  readonly reverted: boolean
}

/** Listens to an execution and changes nothing. A hook that throws ends the execution with what it threw. */
export interface Tracer {
  /** before every opcode, before its checks and charges */
  step?(machine: Machine): void
  /** an opcode halted its frame; cost = what the opcode asked for */
  fault?(machine: Machine, cost: bigint, failure: string): void
  /** also for precompiles, and for calls that fail at once. SELFDESTRUCT enters and leaves with nothing in between */
  enter?(entered: Entered): void
  leave?(left: Left): void
  log?(log: { readonly address: Address; readonly topics: readonly Hash[]; readonly data: Uint8Array }): void
}
