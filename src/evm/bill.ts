import { Address } from '../eth/index.ts'
import type { L1Cost } from '../eth/index.ts'
import { effectiveGasPrice } from './fees.ts'
import { GAS_PER_BLOB } from './gas.ts'
import type { BlockContext, ExecuteOptions, Message } from './message.ts'
import { InvalidTransaction } from './refusal.ts'
import { BASE_FEE_VAULT, L1_FEE_VAULT, l1Cost, operatorFee, OPERATOR_FEE_VAULT } from './rollup.ts'
import type { World } from './world.ts'

const BALANCE_MAX = 2n ** 256n - 1n

/** What a message pays and at which prices. Amounts in wei. */
export interface Bill {
  /** per gas */
  readonly gasPrice: bigint
  /** OP chains; null for calls, which have no envelope */
  readonly l1: L1Cost | null
  readonly blobGas: bigint
  /** taken before the message runs */
  readonly prepaid: bigint
  /** what the sender must hold: the prepaid sum at the sender's own price caps, and the value */
  readonly required: bigint
  /** of the prepaid sum: the operator's, which depends on the gas that will have been used */
  readonly operatorPrepaid: bigint
  /** skipFees: nobody pays and nobody is paid */
  readonly free: boolean
}

export function billFor(message: Message, { env, rules }: BlockContext, world: World, options: ExecuteOptions): Bill {
  const gasPrice = effectiveGasPrice(message, env.baseFeePerGas)
  const blobs = message.blobVersionedHashes.length
  const blobGas = blobs === 0 ? 0n : GAS_PER_BLOB * BigInt(blobs)
  if (options.skipFees === true) {
    return { gasPrice, l1: null, blobGas, prepaid: 0n, required: message.value, operatorPrepaid: 0n, free: true }
  }
  const l1 = rules.op === null || message.raw === null ? null : l1Cost(message.raw, rules, world)
  const operatorPrepaid = l1 === null ? 0n : operatorFee(message.gas, l1, rules)
  const rollup = (l1?.fee ?? 0n) + operatorPrepaid
  return {
    gasPrice,
    l1,
    blobGas,
    prepaid: message.gas * gasPrice + blobGas * (env.blobBaseFee ?? 0n) + rollup,
    required: message.value + message.gas * message.maxFeePerGas + blobGas * message.maxFeePerBlobGas + rollup,
    operatorPrepaid,
    free: false,
  }
}

/** @throws {InvalidTransaction} the sender does not hold enough */
export function buyGas({ prepaid, required, free }: Bill, { from }: Message, world: World): void {
  if (required === 0n) return
  const have = world.balance(from)
  if (required > BALANCE_MAX) throw insufficient(from, 'required balance exceeds 256 bits')
  if (have < required) throw insufficient(from, `have ${have} want ${required}`)
  if (!free) world.subBalance(from, prepaid)
}

function insufficient(from: Address, why: string): InvalidTransaction {
  const message = `insufficient funds for gas * price + value: address ${Address.checksum(from)} ${why}`
  return new InvalidTransaction('insufficient-funds', message)
}

/** Returns what was prepaid for gas that was not used, and pays whom the rest belongs to. */
export function settle(bill: Bill, gasUsed: bigint, message: Message, { env, rules }: BlockContext, world: World): void {
  if (bill.free) return
  const baseFee = env.baseFeePerGas ?? 0n
  const operator = bill.l1 === null ? 0n : operatorFee(gasUsed, bill.l1, rules)
  world.addBalance(message.from, (message.gas - gasUsed) * bill.gasPrice + bill.operatorPrepaid - operator)
  world.addBalance(env.coinbase, gasUsed * (bill.gasPrice - baseFee))
  // On L1 the base fee is burnt.
  if (rules.op === null) return
  world.addBalance(BASE_FEE_VAULT, gasUsed * baseFee)
  if (bill.l1 !== null) world.addBalance(L1_FEE_VAULT, bill.l1.fee)
  if (rules.hasOp('isthmus')) world.addBalance(OPERATOR_FEE_VAULT, operator)
}
