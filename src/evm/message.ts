import type { AccessListItem, Address, Authorization, DepositFields, Hash, L1Cost, Log, TransactionType } from '../eth/index.ts'
import type { ConsoleCalls } from './console.ts'
import type { Tracer } from './trace/tracer.ts'
import type { Deadline } from './deadline.ts'
import type { ChainConfig, Rules } from './forks.ts'

/** Block parameters visible to the EVM. */
export interface BlockEnv {
  readonly number: number
  /** seconds */
  readonly timestamp: number
  readonly gasLimit: bigint
  readonly coinbase: Address
  readonly prevRandao: Hash
  readonly difficulty: bigint
  /** wei; null before London */
  readonly baseFeePerGas: bigint | null
  /** wei; null before Cancun. 1n on OP chains */
  readonly blobBaseFee: bigint | null
  readonly parentBeaconBlockRoot: Hash | null
  /** BLOCKHASH: called only for the 256 numbers below `number`; null if unknown */
  readonly blockHash: (number: number) => Hash | null
}

/** Everything that is constant for the transactions of a block. */
export interface BlockContext {
  readonly config: ChainConfig
  readonly rules: Rules
  readonly env: BlockEnv
}

/** A transaction or a call in the form that the engine executes. */
export interface Message {
  readonly type: TransactionType
  readonly from: Address
  readonly to: Address | null
  readonly nonce: bigint
  readonly gas: bigint
  readonly value: bigint
  readonly data: Uint8Array
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly accessList: readonly AccessListItem[]
  readonly maxFeePerBlobGas: bigint
  readonly blobVersionedHashes: readonly Hash[]
  readonly authorizationList: readonly Authorization[]
  readonly deposit: DepositFields | null
  /** the encoded transaction, input of the L1 data fee; null: no L1 fee (calls) */
  readonly raw: Uint8Array | null
}

/** Checks and effects to change. None is set for an ordinary transaction. */
export interface ExecuteOptions {
  /** skips the nonce and sender-has-code checks: eth_call, eth_estimateGas, and eth_simulateV1, which checks nonces itself if `validation` is set */
  readonly skipNonce?: boolean
  /** fees are neither checked nor charged; BASEFEE and BLOBBASEFEE return the values of `env` */
  readonly skipFees?: boolean
  /** skips the sender-has-code check (EIP-3607): impersonated senders may be contracts */
  readonly skipSenderCheck?: boolean
  /** skips the transaction gas cap (EIP-7825): calls */
  readonly skipGasCap?: boolean
  /** collects the EIP-2930 access list; requires a traced world */
  readonly accessList?: boolean
  /** the result contains no logs: calls */
  readonly skipLogs?: boolean
  /** adds an ERC-20 Transfer log at 0xeee…eee for each movement of ether (eth_simulateV1 traceTransfers); requires a traced world */
  readonly transferLogs?: boolean
  /** receives every step; requires a traced world (`{ traced: true }`), and excludes the two options above */
  readonly tracer?: Tracer
  /** new address of a precompile to its standard address; the standard addresses become ordinary accounts */
  readonly movedPrecompiles?: ReadonlyMap<Address, Address>
  /** precompiles replaced by code overrides, which become ordinary accounts */
  readonly maskedPrecompiles?: ReadonlySet<Address>
  /** time limit of calls, which block the thread */
  readonly deadline?: Deadline
}

/** The result of the outermost frame. `reason` is geth's message: `out of gas`, `invalid opcode: INVALID`, … */
export type Outcome = { readonly kind: 'success' } | { readonly kind: 'revert' } | { readonly kind: 'halt'; readonly reason: string }

export interface Executed {
  readonly outcome: Outcome
  /** return data, or revert data, or the deployed code */
  readonly output: Uint8Array
  readonly logs: readonly Log[]
  /** after refunds and the calldata floor, as in the receipt */
  readonly gasUsed: bigint
  /** before refunds, floor included: an upper bound of the gas limit needed, except for the 63/64 rule */
  readonly gasUsedBeforeRefund: bigint
  readonly effectiveGasPrice: bigint
  readonly contractAddress: Address | null
  /** null: L1 chain */
  readonly l1: L1Cost | null
  /** type 3: blob gas; OP Jovian: data-availability footprint; otherwise null */
  readonly blobGasUsed: bigint | null
  readonly blobGasPrice: bigint | null
  /** deposits: the sender's nonce before; otherwise null */
  readonly depositNonce: bigint | null
  /** with `accessList`, otherwise null; without sender, target and precompiles, as eth_createAccessList returns */
  readonly accessList: readonly AccessListItem[] | null
  /** calls to the console address; null: none */
  readonly console: ConsoleCalls | null
}

/** A call without value, fees and side effects (geth: CallMsg). */
export interface CallMessage {
  readonly from: Address
  readonly to: Address
  readonly data: Uint8Array
  /** at most 2^53 - 1 */
  readonly gas: number
}

/** Receives the result of a call: `size` bytes of return or revert data at `at`, valid until it returns, and its calls to the console address. */
export type OnCallResult<T> = (outcome: Outcome, bytes: Uint8Array, at: number, size: number, console: ConsoleCalls | null) => T
