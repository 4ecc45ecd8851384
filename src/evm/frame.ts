import type { AccessListItem, Address, Hash, Log } from '../eth/index.ts'
import type { ConsoleCalls } from './console.ts'
import type { Deadline } from './deadline.ts'
import type { Outcome } from './message.ts'
import type { Tracer } from './trace/tracer.ts'

/** The outermost call or creation of a message, input of the interpreter. */
export interface Frame {
  /** CALLER and ORIGIN; its nonce has been increased already */
  readonly caller: Address
  /** null: creation, with `data` as init code */
  readonly to: Address | null
  readonly data: Uint8Array
  readonly value: bigint
  /** gas left after the intrinsic gas */
  readonly gas: bigint
  /** GASPRICE */
  readonly gasPrice: bigint
  readonly blobVersionedHashes: readonly Hash[]
  /** EIP-2929: warm from the start, in addition to the precompiles */
  readonly warm: Iterable<Address>
  readonly accessList: readonly AccessListItem[]
  readonly movedPrecompiles: ReadonlyMap<Address, Address> | null
  readonly maskedPrecompiles: ReadonlySet<Address> | null
  /** the result contains no logs */
  readonly skipLogs?: boolean
  /** null: no time limit */
  readonly deadline: Deadline | null
  /** requires a traced world */
  readonly tracer: Tracer | null
}

export interface FrameResult {
  readonly outcome: Outcome
  /** return data, revert data or the deployed code */
  readonly output: Uint8Array
  readonly gasUsed: bigint
  /** the refund counter, uncapped */
  readonly refund: bigint
  readonly logs: readonly Log[]
  /** accounts to remove at the end of the transaction: those SELFDESTRUCT marked (after EIP-6780 only if created in it) */
  readonly destroyed: readonly Address[]
  /** null: none */
  readonly console: ConsoleCalls | null
}
