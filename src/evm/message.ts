import type { AccessListItem, Address, Authorization, DepositFields, Hash, L1Cost, Log, TransactionType } from '../eth/index.ts'
import type { Tracer } from './trace/tracer.ts'
import type { Deadline } from './deadline.ts'
import type { ChainConfig, Rules } from './forks.ts'

/** What the EVM sees of the block it runs in. */
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
  /** BLOCKHASH: called only for the 256 numbers below `number`; null when unknown */
  readonly blockHash: (number: number) => Hash | null
}

/** Everything one block fixes for the transactions in it. */
export interface BlockContext {
  readonly config: ChainConfig
  readonly rules: Rules
  readonly env: BlockEnv
}

/** What can be executed. Every Transaction is one; a call request is turned into one. */
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
  /** the envelope, from which the L1 data fee is computed; null: no L1 fee (calls) */
  readonly raw: Uint8Array | null
}

/** Which of a transaction's rules hold. A real transaction has none of them set. */
export interface ExecuteOptions {
  /** eth_call, eth_estimateGas, simulateV1 without validation: nonce and sender-has-code are not looked at */
  readonly skipNonce?: boolean
  /** fees are neither checked against the base fee nor bought nor paid; BASEFEE and BLOBBASEFEE read 0 unless `env` says otherwise */
  readonly skipFees?: boolean
  /** impersonated senders: they may be contracts (EIP-3607 does not hold) */
  readonly anySender?: boolean
  /** calls: the EIP-7825 cap of a transaction's gas does not hold */
  readonly skipGasCap?: boolean
  /** collect the EIP-2930 list of what was touched */
  readonly accessList?: boolean
  /** calls: nobody asks which logs there were, and none are answered */
  readonly skipLogs?: boolean
  /** add an ERC-20-shaped Transfer log at 0xeee…eee for every movement of ether (eth_simulateV1 traceTransfers) */
  readonly transferLogs?: boolean
  /** hears of every step. Like the two above it needs a world that is made with `{ traced: true }`, and only one of the three can be had at a time */
  readonly tracer?: Tracer
  /** precompiles found elsewhere: from new address to the precompile's own; the old addresses are plain accounts */
  readonly movedPrecompiles?: ReadonlyMap<Address, Address>
  /** precompiles that were overridden with code and so are ordinary accounts */
  readonly maskedPrecompiles?: ReadonlySet<Address>
  /** calls: nobody is served meanwhile, so there is an end */
  readonly deadline?: Deadline
}

/** How the outermost frame ended. `reason` of a halt is in geth's words: `out of gas`, `invalid opcode: INVALID`, … */
export type Outcome = { readonly kind: 'success' } | { readonly kind: 'revert' } | { readonly kind: 'halt'; readonly reason: string }

export interface Executed {
  readonly outcome: Outcome
  /** return data, or revert data, or the deployed code */
  readonly output: Uint8Array
  readonly logs: readonly Log[]
  /** after refunds and the calldata floor: what the receipt says */
  readonly gasUsed: bigint
  /** before refunds: the least gas limit that this execution needed, floor included, is at most this (plus the 1/64 rule) */
  readonly gasUsedBeforeRefund: bigint
  readonly effectiveGasPrice: bigint
  readonly contractAddress: Address | null
  /** OP chains, else null */
  readonly l1: L1Cost | null
  /** type 3: blob gas; OP Jovian: data-availability footprint; else null */
  readonly blobGasUsed: bigint | null
  readonly blobGasPrice: bigint | null
  /** deposits, else null: the sender's nonce before */
  readonly depositNonce: bigint | null
  /** with `accessList`, else null; without sender, target and precompiles, as eth_createAccessList answers */
  readonly accessList: readonly AccessListItem[] | null
}

/** A call that pays nothing, sends nothing and changes nothing, of which only the answer is wanted. */
export interface Question {
  readonly from: Address
  readonly to: Address
  readonly data: Uint8Array
  /** at most 2^53 - 1 */
  readonly gas: number
}

/** Takes what a call answers: `size` bytes of return data, or of revert data, from `at` on. They stand there until this returns. */
export type Listener<T> = (outcome: Outcome, bytes: Uint8Array, at: number, size: number) => T
