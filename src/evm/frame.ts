import type { AccessListItem, Address, Hash, Log } from '../eth/index.ts'
import type { Deadline } from './deadline.ts'
import type { BlockContext, Outcome } from './message.ts'
import type { Tracer } from './trace/tracer.ts'
import type { World } from './world.ts'

/** The outermost call or creation of a message: what the bytecode interpreter is asked to run. */
export interface Frame {
  /** CALLER and ORIGIN; its nonce has been increased already */
  readonly caller: Address
  /** null: creation, with `data` as init code */
  readonly to: Address | null
  readonly data: Uint8Array
  readonly value: bigint
  /** what is left after the intrinsic gas */
  readonly gas: bigint
  /** GASPRICE */
  readonly gasPrice: bigint
  readonly blobVersionedHashes: readonly Hash[]
  /** EIP-2929: warm from the first opcode on; precompiles too */
  readonly warm: Iterable<Address>
  readonly accessList: readonly AccessListItem[]
  readonly movedPrecompiles: ReadonlyMap<Address, Address> | null
  readonly maskedPrecompiles: ReadonlySet<Address> | null
  /** the result is to name no logs */
  readonly skipLogs?: boolean
  /** past it the engine throws OutOfTime; null: runs as long as its gas lasts */
  readonly deadline: Deadline | null
  /** listens; the world must be a traced one */
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
  /** to be removed when the transaction ends: what SELFDESTRUCT left, after EIP-6780 only what was created here */
  readonly destroyed: readonly Address[]
}

/** The port that an engine implements. It changes `world` and leaves it as it was when the frame fails. */
export type RunFrame = (frame: Frame, context: BlockContext, world: World) => FrameResult
