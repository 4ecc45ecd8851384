import { IntrinsicGas } from '../eth/index.ts'
import type { Message } from './message.ts'
import type { Rules } from './forks.ts'
import { InvalidTransaction } from './invalidtransaction.ts'

/** before Istanbul a non-zero byte cost 68 gas instead of 16 (EIP-2028) */
const FRONTIER_BYTE_SURCHARGE = 52
/** EIP-7702: refund for an authority whose account exists */
export const AUTHORIZATION_REFUND = 12_500n
export const GAS_PER_BLOB = 131_072n

type PricedMessage = Pick<Message, 'to' | 'data' | 'accessList' | 'authorizationList'>

/** Returns the gas that a message costs before its first opcode. */
export function intrinsicGas(message: PricedMessage, rules: Rules): bigint {
  return BigInt(intrinsic(message, rules))
}

/** EIP-7623: minimum gas for a message with this data; 0n before Prague. */
export function floorGas({ data }: Pick<Message, 'data'>, rules: Rules): bigint {
  return BigInt(floor(data, rules))
}

/** Returns the intrinsic gas. @throws {InvalidTransaction} the gas limit is below it, or below the floor */
export function checkIntrinsicGas(message: PricedMessage & { readonly gas: bigint | number }, rules: Rules): number {
  const limit = Number(message.gas)
  const required = intrinsic(message, rules)
  if (limit < required) throw new InvalidTransaction('intrinsic-gas', `intrinsic gas too low: have ${message.gas}, want ${required}`)
  const minimum = floor(message.data, rules)
  if (limit >= minimum) return required
  throw new InvalidTransaction('floor-gas', `insufficient gas for floor data gas cost: have ${message.gas}, want ${minimum}`)
}

/** Returns the maximum refund (EIP-3529 since London). */
export function refundCap(gasUsed: bigint, rules: Rules): bigint {
  return gasUsed / (rules.has('london') ? 5n : 2n)
}

function intrinsic(message: PricedMessage, rules: Rules): number {
  const creation = message.to === null
  let gas = IntrinsicGas.TRANSACTION + dataGas(message.data, rules)
  if (creation && rules.has('homestead')) gas += IntrinsicGas.CREATION
  if (creation && rules.has('shanghai')) gas += IntrinsicGas.INIT_CODE_WORD * Math.ceil(message.data.length / 32)
  for (const item of message.accessList) {
    gas += IntrinsicGas.ACCESS_LIST_ADDRESS + IntrinsicGas.ACCESS_LIST_KEY * item.storageKeys.length
  }
  return gas + IntrinsicGas.AUTHORIZATION * message.authorizationList.length
}

function floor(data: Uint8Array, rules: Rules): number {
  return dataPrices(rules).hasFloor ? IntrinsicGas.TRANSACTION + IntrinsicGas.FLOOR_TOKEN * tokensIn(data) : 0
}

function dataGas(data: Uint8Array, rules: Rules): number {
  const tokens = tokensIn(data)
  const nonZeroBytes = (tokens - data.length) / 3 // a non-zero byte counts as four tokens
  return tokens * IntrinsicGas.TOKEN + nonZeroBytes * dataPrices(rules).byteSurcharge
}

/** Cached for the last rules: looking up forks takes as much time as counting the tokens of a small call. */
function dataPrices(rules: Rules): { readonly rules: Rules; readonly hasFloor: boolean; readonly byteSurcharge: number } {
  if (lastPrices?.rules === rules) return lastPrices
  lastPrices = { rules, hasFloor: rules.has('prague'), byteSurcharge: rules.has('istanbul') ? 0 : FRONTIER_BYTE_SURCHARGE }
  return lastPrices
}

let lastPrices: ReturnType<typeof dataPrices> | null = null

/** Cached for the last data: one message needs it up to three times. */
function tokensIn(data: Uint8Array): number {
  if (data === lastData) return lastTokens
  lastTokens = IntrinsicGas.tokens(data)
  lastData = data
  return lastTokens
}

let lastData: Uint8Array = new Uint8Array()
let lastTokens = 0
