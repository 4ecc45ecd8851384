import { Delegation } from '../../eth/index.ts'
import type { Transaction } from '../../eth/index.ts'
import {
  GAS_PER_BLOB,
  NONCE_MAX,
  daFootprint,
  daFootprintGasScalar,
  floorGas,
  intrinsicGas,
  isTypeSupported,
  l1Cost,
  operatorFee,
} from '../../evm/index.ts'
import type { ChainConfig, Rules, StateReader } from '../../evm/index.ts'
import { TRANSACTION_BYTES } from '../limits.ts'
import { PoolError } from './mempool.ts'
import type { PoolErrorCode } from './mempool.ts'

/** State and limits that admission checks use. */
export interface AdmissionContext {
  readonly config: ChainConfig
  /** Rules of the next block. */
  readonly rules: Rules
  /** State after all pre-confirmed transactions. */
  readonly state: StateReader
  /** Block gas limit minus the system deposits. */
  readonly gasLimit: bigint
  /** As `blobGasLimit` returns it. */
  readonly blobGasLimit: bigint
  /** Wei; the minimum maxFeePerGas. */
  readonly minGasPrice: bigint
}

type Check = (tx: Transaction, context: AdmissionContext) => string | null

/** Throws PoolError `underpriced`, `insufficient-funds`, `gas-limit` or `invalid` for the first failed check, with geth's message. */
export function assertAdmissible(tx: Transaction, context: AdmissionContext): void {
  for (const check of CHECKS) {
    const message = check(tx, context)
    if (message !== null) throw new PoolError(codeOf(message), message)
  }
}

const UNDERPRICED = 'transaction underpriced'
const INSUFFICIENT_FUNDS = 'insufficient funds for gas * price + value'
const BLOCK_GAS = 'exceeds block gas limit'
const GAS_CAP = 'exceeds maximum per-transaction gas limit'
const INTRINSIC_GAS = 'intrinsic gas too low'
const FLOOR_GAS = 'insufficient gas for floor data gas cost'

function codeOf(message: string): PoolErrorCode {
  if (message === UNDERPRICED) return 'underpriced'
  if (message.startsWith(INSUFFICIENT_FUNDS)) return 'insufficient-funds'
  return [BLOCK_GAS, GAS_CAP, INTRINSIC_GAS, FLOOR_GAS].some((start) => message.startsWith(start)) ? 'gas-limit' : 'invalid'
}

const CHECKS: readonly Check[] = [
  (tx, { rules }) => (tx.type !== 0x7e && isTypeSupported(tx.type, rules) ? null : 'transaction type not supported'),
  (tx) => (tx.raw.length <= TRANSACTION_BYTES ? null : `oversized data: transaction size ${tx.raw.length}, limit ${TRANSACTION_BYTES}`),
  (tx, { config }) =>
    tx.chainId === null || tx.chainId === config.chainId ? null : `invalid chain id for signer: have ${tx.chainId} want ${config.chainId}`,
  (tx) => (tx.nonce < NONCE_MAX ? null : `nonce has max value: address ${tx.from}, nonce: ${tx.nonce}`),
  (tx, { gasLimit }) => (tx.gas <= gasLimit ? null : BLOCK_GAS),
  (tx, { config, rules }) => {
    const cap = rules.has('osaka') ? config.transactionGasCap : null
    return cap === null || tx.gas <= cap ? null : `${GAS_CAP}: transaction gas limit too high (cap: ${cap}, tx: ${tx.gas})`
  },
  (tx, { rules, config }) =>
    tx.to === null && rules.has('shanghai') && config.codeSizeLimit !== null && tx.data.length > 2 * config.codeSizeLimit
      ? `max initcode size exceeded: code size ${tx.data.length} limit ${2 * config.codeSizeLimit}`
      : null,
  (tx) =>
    tx.maxPriorityFeePerGas > tx.maxFeePerGas
      ? `max priority fee per gas higher than max fee per gas: address ${tx.from}, maxPriorityFeePerGas: ${tx.maxPriorityFeePerGas}, maxFeePerGas: ${tx.maxFeePerGas}`
      : null,
  (tx, { minGasPrice }) => (tx.maxFeePerGas >= minGasPrice ? null : UNDERPRICED),
  (tx) => (tx.type === 4 && tx.to === null ? 'EIP-7702 transaction cannot be used to create contract' : null),
  (tx) => (tx.type === 4 && tx.authorizationList.length === 0 ? 'EIP-7702 transaction with empty auth list' : null),
  (tx, { rules }) => {
    const needed = intrinsicGas(tx, rules)
    return tx.gas >= needed ? null : `${INTRINSIC_GAS}: gas ${tx.gas}, minimum needed ${needed}`
  },
  (tx, { rules }) => {
    const needed = floorGas(tx, rules)
    return tx.gas >= needed ? null : `${FLOOR_GAS}: gas ${tx.gas}, minimum needed ${needed}`
  },
  (tx, { rules, state, blobGasLimit: limit }) => {
    const used = blobGas(tx, rules, state)
    const kind = rules.op === null ? 'blob gas' : 'data availability footprint'
    return used <= limit ? null : `exceeds block ${kind} limit: ${kind} ${used}, limit ${limit}`
  },
  (tx, { state }) => (isEoa(tx, state) ? null : `sender not an eoa: address ${tx.from}`),
  (tx, { rules, state }) => {
    const have = state.account(tx.from)?.balance ?? 0n
    const want = cost(tx, rules, state)
    return have >= want ? null : `${INSUFFICIENT_FUNDS}: address ${tx.from} have ${have} want ${want}`
  },
]

/** EIP-3607 with EIP-7702's exception. Impersonated senders may be contracts. */
function isEoa(tx: Transaction, state: StateReader): boolean {
  if (isImpersonated(tx)) return true
  const account = state.account(tx.from)
  if (account === null) return true
  const code = state.code(account.codeHash)
  return code.length === 0 || Delegation.of(code) !== null
}

/** Blob gas that a transaction adds to the header: its blobs', or its data-availability footprint on OP chains since Jovian. */
export function blobGas(tx: Transaction, rules: Rules, state: StateReader): bigint {
  if (rules.op === null) return GAS_PER_BLOB * BigInt(tx.blobVersionedHashes.length)
  if (!rules.hasOp('jovian') || tx.type === 0x7e) return 0n
  return daFootprint(tx.raw, daFootprintGasScalar(state))
}

/** The most blob gas that a block with this gas limit may have. */
export function blobGasLimit({ blob }: Rules, gasLimit: bigint): bigint {
  return blob === null ? gasLimit : BigInt(blob.max) * GAS_PER_BLOB
}

/** True for a transaction made by `Transaction.unsigned`, which stores the sender in r. */
export function isImpersonated(tx: Transaction): boolean {
  return tx.s === 1n && tx.r === BigInt(tx.from)
}

/** Returns the maximum that the sender may have to pay, in wei. */
export function cost(tx: Transaction, rules: Rules, state: StateReader): bigint {
  const blobs = tx.maxFeePerBlobGas * GAS_PER_BLOB * BigInt(tx.blobVersionedHashes.length)
  const base = tx.gas * tx.maxFeePerGas + tx.value + blobs
  if (rules.op === null) return base
  const l1 = l1Cost(tx.raw, rules, state)
  return base + l1.fee + operatorFee(tx.gas, l1, rules)
}
