import { Address } from '../eth/index.ts'
import type { L1Cost } from '../eth/index.ts'
import { effectiveGasPrice } from './fees.ts'
import { GAS_PER_BLOB } from './gas.ts'
import type { BlockContext, ExecuteOptions, Message } from './message.ts'
import { InvalidTransaction } from './invalidtransaction.ts'
import { BASE_FEE_VAULT, L1_FEE_VAULT, l1Cost, operatorFee, OPERATOR_FEE_VAULT } from './rollup.ts'
import type { World } from './world.ts'

const BALANCE_MAX = 2n ** 256n - 1n

/** Fees of a message. Amounts in wei. */
export interface TransactionCost {
  /** wei per gas */
  readonly gasPrice: bigint
  /** OP chains; null for calls, which have no encoded transaction */
  readonly l1: L1Cost | null
  readonly blobGas: bigint
  /** deducted before execution */
  readonly prepaid: bigint
  /** minimum balance of the sender: the fees at the sender's fee caps, and the value */
  readonly requiredBalance: bigint
  /** part of `prepaid`; the final operator fee depends on the gas used */
  readonly prepaidOperatorFee: bigint
  /** skipFees: no fees are charged or paid */
  readonly isFree: boolean
}

export function transactionCost(message: Message, { env, rules }: BlockContext, world: World, options: ExecuteOptions): TransactionCost {
  const gasPrice = effectiveGasPrice(message, env.baseFeePerGas)
  const blobs = message.blobVersionedHashes.length
  const blobGas = blobs === 0 ? 0n : GAS_PER_BLOB * BigInt(blobs)
  if (options.skipFees === true) {
    return { gasPrice, l1: null, blobGas, prepaid: 0n, requiredBalance: message.value, prepaidOperatorFee: 0n, isFree: true }
  }
  const l1 = rules.op === null || message.raw === null ? null : l1Cost(message.raw, rules, world)
  const prepaidOperatorFee = l1 === null ? 0n : operatorFee(message.gas, l1, rules)
  const rollupFee = (l1?.fee ?? 0n) + prepaidOperatorFee
  return {
    gasPrice,
    l1,
    blobGas,
    prepaid: message.gas * gasPrice + blobGas * (env.blobBaseFee ?? 0n) + rollupFee,
    requiredBalance: message.value + message.gas * message.maxFeePerGas + blobGas * message.maxFeePerBlobGas + rollupFee,
    prepaidOperatorFee,
    isFree: false,
  }
}

/** @throws {InvalidTransaction} the sender's balance is too low */
export function buyGas({ prepaid, requiredBalance, isFree }: TransactionCost, { from }: Message, world: World): void {
  if (requiredBalance === 0n) return
  const have = world.balance(from)
  if (requiredBalance > BALANCE_MAX) throw insufficient(from, 'required balance exceeds 256 bits')
  if (have < requiredBalance) throw insufficient(from, `have ${have} want ${requiredBalance}`)
  if (!isFree) world.subBalance(from, prepaid)
}

function insufficient(from: Address, why: string): InvalidTransaction {
  const message = `insufficient funds for gas * price + value: address ${Address.checksum(from)} ${why}`
  return new InvalidTransaction('insufficient-funds', message)
}

/** Refunds unused gas to the sender and pays the fee recipients. */
export function settleFees(cost: TransactionCost, gasUsed: bigint, message: Message, { env, rules }: BlockContext, world: World): void {
  if (cost.isFree) return
  const baseFee = env.baseFeePerGas ?? 0n
  const operator = cost.l1 === null ? 0n : operatorFee(gasUsed, cost.l1, rules)
  world.addBalance(message.from, (message.gas - gasUsed) * cost.gasPrice + cost.prepaidOperatorFee - operator)
  world.addBalance(env.coinbase, gasUsed * (cost.gasPrice - baseFee))
  // L1 burns the base fee.
  if (rules.op === null) return
  world.addBalance(BASE_FEE_VAULT, gasUsed * baseFee)
  if (cost.l1 !== null) world.addBalance(L1_FEE_VAULT, cost.l1.fee)
  if (rules.hasOp('isthmus')) world.addBalance(OPERATOR_FEE_VAULT, operator)
}
