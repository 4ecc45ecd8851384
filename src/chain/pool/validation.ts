import { Delegation } from '../../eth/index.ts'
import type { Transaction } from '../../eth/index.ts'
import {
  GAS_PER_BLOB,
  NONCE_MAX,
  blobProblem,
  daFootprint,
  daFootprintGasScalar,
  floorGas,
  intrinsicGas,
  isTypeSupported,
  l1Cost,
  operatorFee,
} from '../../evm/index.ts'
import type { ChainConfig, Rules, StateReader } from '../../evm/index.ts'
import { TRANSACTION_BYTES, TRANSACTION_GAS } from '../limits.ts'
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

/** The code of a refusal, and its reason: geth's message, or null if the transaction passes. */
type Check = readonly [code: PoolErrorCode, reason: (tx: Transaction, context: AdmissionContext) => string | null]

/** Throws PoolError `underpriced`, `insufficient-funds`, `gas-limit` or `invalid` for the first failed check. */
export function assertAdmissible(tx: Transaction, context: AdmissionContext): void {
  for (const [code, reason] of CHECKS) {
    const message = reason(tx, context)
    if (message !== null) throw new PoolError(code, message)
  }
}

const CHECKS: readonly Check[] = [
  ['invalid', (tx, { rules }) => (tx.type !== 0x7e && isTypeSupported(tx.type, rules) ? null : 'transaction type not supported')],
  [
    'invalid',
    (tx) => (tx.raw.length <= TRANSACTION_BYTES ? null : `oversized data: transaction size ${tx.raw.length}, limit ${TRANSACTION_BYTES}`),
  ],
  [
    'invalid',
    (tx, { config }) =>
      tx.chainId === null || tx.chainId === config.chainId
        ? null
        : `invalid chain id for signer: have ${tx.chainId} want ${config.chainId}`,
  ],
  ['invalid', (tx) => (tx.nonce < NONCE_MAX ? null : `nonce has max value: address ${tx.from}, nonce: ${tx.nonce}`)],
  ['gas-limit', (tx, { gasLimit }) => (tx.gas <= gasLimit ? null : 'exceeds block gas limit')],
  [
    'gas-limit',
    (tx, context) => {
      const cap = transactionGasCap(context)
      return tx.gas <= cap ? null : `exceeds maximum per-transaction gas limit: transaction gas limit too high (cap: ${cap}, tx: ${tx.gas})`
    },
  ],
  [
    'invalid',
    (tx, { rules, config }) =>
      tx.to === null && rules.has('shanghai') && config.codeSizeLimit !== null && tx.data.length > 2 * config.codeSizeLimit
        ? `max initcode size exceeded: code size ${tx.data.length} limit ${2 * config.codeSizeLimit}`
        : null,
  ],
  [
    'invalid',
    (tx) =>
      tx.maxPriorityFeePerGas > tx.maxFeePerGas
        ? `max priority fee per gas higher than max fee per gas: address ${tx.from}, maxPriorityFeePerGas: ${tx.maxPriorityFeePerGas}, maxFeePerGas: ${tx.maxFeePerGas}`
        : null,
  ],
  ['underpriced', (tx, { minGasPrice }) => (tx.maxFeePerGas >= minGasPrice ? null : 'transaction underpriced')],
  ['invalid', (tx) => (tx.type === 4 && tx.to === null ? 'EIP-7702 transaction cannot be used to create contract' : null)],
  ['invalid', (tx) => (tx.type === 4 && tx.authorizationList.length === 0 ? 'EIP-7702 transaction with empty auth list' : null)],
  [
    'gas-limit',
    (tx, { rules }) => {
      const needed = intrinsicGas(tx, rules)
      return tx.gas >= needed ? null : `intrinsic gas too low: gas ${tx.gas}, minimum needed ${needed}`
    },
  ],
  [
    'gas-limit',
    (tx, { rules }) => {
      const needed = floorGas(tx, rules)
      return tx.gas >= needed ? null : `insufficient gas for floor data gas cost: gas ${tx.gas}, minimum needed ${needed}`
    },
  ],
  [
    'invalid',
    (tx, { rules, state, blobGasLimit: limit }) => {
      const used = blobGas(tx, rules, state)
      const kind = rules.op === null ? 'blob gas' : 'data availability footprint'
      return used <= limit ? null : `exceeds block ${kind} limit: ${kind} ${used}, limit ${limit}`
    },
  ],
  ['invalid', (tx, { rules }) => (tx.type === 3 ? (blobProblem(tx, rules)?.[1] ?? null) : null)],
  [
    'underpriced',
    (tx) =>
      tx.type === 3 && tx.maxFeePerBlobGas < 1n
        ? `transaction gas price below minimum: blob fee cap ${tx.maxFeePerBlobGas}, minimum needed 1`
        : null,
  ],
  ['invalid', (tx, { state }) => (isEoa(tx, state) ? null : `sender not an eoa: address ${tx.from}`)],
  [
    'insufficient-funds',
    (tx, { rules, state }) => {
      const have = state.account(tx.from)?.balance ?? 0n
      const want = cost(tx, rules, state)
      return have >= want ? null : `insufficient funds for gas * price + value: address ${tx.from} have ${have} want ${want}`
    },
  ],
]

/** Returns the most gas that a transaction may have in any block (EIP-7825). */
export function transactionGasCap({ config, rules }: Pick<AdmissionContext, 'config' | 'rules'>): bigint {
  const cap = rules.has('osaka') ? config.transactionGasCap : null
  return cap !== null && cap < TRANSACTION_GAS ? cap : TRANSACTION_GAS
}

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
