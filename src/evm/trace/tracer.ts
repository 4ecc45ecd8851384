import type { Address, Hash } from '../../eth/index.ts'

/** The current opcode and machine state, valid only during the hook. Values are read on access. */
export interface OpContext {
  readonly pc: number
  readonly op: number
  /** before the opcode is charged */
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

export interface FrameEntry {
  readonly kind: CallKind
  /** 0 = outermost */
  readonly depth: number
  readonly from: Address
  readonly to: Address
  readonly input: Uint8Array
  readonly gas: bigint
  /** null: STATICCALL; DELEGATECALL has its parent's */
  readonly value: bigint | null
  readonly precompile: boolean
  /** gas of the caller after paying for the call and its `gas` */
  readonly callerGas: bigint
}

export interface FrameExit {
  readonly depth: number
  readonly output: Uint8Array
  readonly gasUsed: bigint
  /** geth's message: 'execution reverted', 'out of gas', 'invalid jump destination', … */
  readonly failure: string | null
  /** false for a failure whose changes stay: unpaid code storage before Homestead */
  readonly reverted: boolean
}

/** Observes an execution. An exception in a hook aborts the execution with that exception. */
export interface Tracer {
  /** before every opcode, before it is validated and charged */
  step?(machine: OpContext): void
  /** an opcode halted its frame; `cost`: gas that it required */
  fault?(machine: OpContext, cost: bigint, failure: string): void
  /** also for precompiles and for calls that fail immediately; SELFDESTRUCT enters and exits without events in between */
  enter?(entered: FrameEntry): void
  exit?(frame: FrameExit): void
  log?(log: { readonly address: Address; readonly topics: readonly Hash[]; readonly data: Uint8Array }): void
}
