import { Address, Delegation } from '../eth/index.ts'
import type { TransactionType } from '../eth/index.ts'
import type { L1Fork, Rules } from './forks.ts'
import type { InvalidTransactionCode } from './invalidtransaction.ts'
import type { BlockContext, ExecuteOptions, Message } from './message.ts'
import { InvalidTransaction } from './invalidtransaction.ts'
import { NONCE_MAX } from './state.ts'
import type { World } from './world.ts'

/** EIP-7594: maximum per transaction since Osaka */
const BLOBS_MAX_OSAKA = 6
const VERSIONED_HASH_KZG = '0x01'

const INTRODUCED: Readonly<Record<Exclude<TransactionType, 0x7e>, L1Fork>> = {
  0: 'frontier',
  1: 'berlin',
  2: 'london',
  3: 'cancun',
  4: 'prague',
}

/**
 * The checks of geth's preCheck before gas is bought, in its order. Deposits are not validated.
 * @throws {InvalidTransaction}
 */
export function validate(message: Message, context: BlockContext, world: World, options: ExecuteOptions): void {
  checkType(message.type, context)
  if (options.skipNonce !== true) checkNonce(message, world)
  if (options.skipGasCap !== true) checkGasCap(message, context)
  if (options.skipNonce !== true && options.skipSenderCheck !== true) checkSender(message, world)
  if (options.skipFees !== true) checkFees(message, context)
  checkBlobs(message, context, options)
  checkAuthorizations(message)
}

/** @throws {InvalidTransaction} */
export function checkType(type: TransactionType, { rules }: BlockContext): void {
  if (isTypeSupported(type, rules)) return
  throw new InvalidTransaction('type-not-supported', `transaction type not supported: ${type}`)
}

/** Returns true if blocks under these rules may contain this type: deposits only on OP chains, blobs never on them. */
export function isTypeSupported(type: TransactionType, rules: Rules): boolean {
  if (type === 0x7e) return rules.op !== null
  return rules.has(INTRODUCED[type]) && (type !== 3 || rules.op === null)
}

function checkNonce({ from, nonce }: Message, world: World): void {
  const state = world.nonce(from)
  if (state === nonce && state < NONCE_MAX) return
  const who = `address ${Address.checksum(from)}`
  if (state < nonce) throw new InvalidTransaction('nonce-too-high', `nonce too high: ${who}, tx: ${nonce} state: ${state}`)
  if (state > nonce) throw new InvalidTransaction('nonce-too-low', `nonce too low: ${who}, tx: ${nonce} state: ${state}`)
  throw new InvalidTransaction('nonce-max', `nonce has max value: ${who}, nonce: ${state}`)
}

/** EIP-7825. */
function checkGasCap({ gas }: Message, { config, rules }: BlockContext): void {
  const cap = config.transactionGasCap
  if (cap === null || !rules.has('osaka') || gas <= cap) return
  throw new InvalidTransaction('gas-limit-cap', `transaction gas limit too high (cap: ${cap}, tx: ${gas})`)
}

/** EIP-3607; an EIP-7702 delegation is not a contract. */
function checkSender({ from }: Message, world: World): void {
  if (world.codeSizeAt(from) === 0) return
  const code = world.codeAt(from)
  if (Delegation.of(code) !== null) return
  const detail = `address ${Address.checksum(from)}, len(code): ${code.length}`
  throw new InvalidTransaction('sender-not-eoa', `sender not an eoa: ${detail}`)
}

function checkFees({ from, maxFeePerGas, maxPriorityFeePerGas }: Message, { env }: BlockContext): void {
  if (env.baseFeePerGas === null) return
  if (maxFeePerGas >= maxPriorityFeePerGas && maxFeePerGas >= env.baseFeePerGas) return
  const detail = `address ${Address.checksum(from)}, `
  if (maxFeePerGas < maxPriorityFeePerGas) {
    throw new InvalidTransaction(
      'tip-above-fee-cap',
      `max priority fee per gas higher than max fee per gas: ${detail}maxPriorityFeePerGas: ${maxPriorityFeePerGas}, maxFeePerGas: ${maxFeePerGas}`,
    )
  }
  throw new InvalidTransaction(
    'fee-cap-below-base-fee',
    `max fee per gas less than block base fee: ${detail}maxFeePerGas: ${maxFeePerGas}, baseFee: ${env.baseFeePerGas}`,
  )
}

function checkBlobs(message: Message, { env, rules }: BlockContext, { skipFees }: ExecuteOptions): void {
  if (message.type !== 3 && message.blobVersionedHashes.length === 0) return
  const problem = blobProblem(message, rules)
  if (problem !== null) throw new InvalidTransaction(...problem)
  const price = env.blobBaseFee ?? 0n
  // As in geth, a free call with a cap of its own is checked against it.
  if (message.maxFeePerBlobGas >= price || (skipFees === true && message.maxFeePerBlobGas === 0n)) return
  throw new InvalidTransaction(
    'blob-fee-cap-below-base-fee',
    `max fee per blob gas less than block blob gas fee: address ${Address.checksum(message.from)} blobGasFeeCap: ${message.maxFeePerBlobGas}, blobBaseFee: ${price}`,
  )
}

/** Why no block under these rules can contain a blob transaction: a code and geth's message; `null` if one can. Its fees are not checked. */
export function blobProblem(
  { to, blobVersionedHashes: hashes }: Pick<Message, 'to' | 'blobVersionedHashes'>,
  rules: Rules,
): readonly [code: InvalidTransactionCode, message: string] | null {
  if (to === null) return ['blob-creation', 'blob transaction of type create']
  if (hashes.length === 0) return ['blob-hashes-missing', 'blob transaction missing blob hashes']
  const maxBlobs = Math.min(rules.blob?.max ?? 0, rules.has('osaka') ? BLOBS_MAX_OSAKA : Infinity)
  if (hashes.length > maxBlobs) return ['blob-count', `blob transaction has too many blobs: have ${hashes.length}, permitted ${maxBlobs}`]
  const wrong = hashes.findIndex((hash) => !hash.startsWith(VERSIONED_HASH_KZG))
  return wrong < 0 ? null : ['blob-hash-version', `blob ${wrong} has invalid hash version`]
}

function checkAuthorizations({ type, to, from, authorizationList }: Message): void {
  if (type !== 4) return
  const sender = `(sender ${Address.checksum(from)})`
  if (to === null) {
    throw new InvalidTransaction('authorization-creation', `EIP-7702 transaction cannot be used to create contract ${sender}`)
  }
  if (authorizationList.length > 0) return
  throw new InvalidTransaction('empty-authorization-list', `EIP-7702 transaction with empty auth list ${sender}`)
}
