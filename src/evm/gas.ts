import { IntrinsicGas } from '../eth/index.ts'
import type { Message } from './message.ts'
import type { Rules } from './forks.ts'
import { InvalidTransaction } from './refusal.ts'

/** before Istanbul a byte that is not zero cost 68 gas, not 16 (EIP-2028) */
const FRONTIER_BYTE_MORE = 52
/** EIP-7702: what an authority that exists already gets back of its authorization */
export const AUTHORIZATION_REFUND = 12_500n
export const GAS_PER_BLOB = 131_072n

type Priced = Pick<Message, 'to' | 'data' | 'accessList' | 'authorizationList'>

/** Gas that a message costs before its first opcode runs. */
export function intrinsicGas(message: Priced, rules: Rules): bigint {
  return BigInt(intrinsic(message, rules))
}

/** EIP-7623: the least that a message with this data pays; 0n before Prague. */
export function floorGas({ data }: Pick<Message, 'data'>, rules: Rules): bigint {
  return BigInt(floor(data, rules))
}

/** Answers the intrinsic gas. @throws {InvalidTransaction} the limit is below it, or below the floor */
export function requireGas(message: Priced & { readonly gas: bigint | number }, rules: Rules): number {
  const limit = Number(message.gas)
  const before = intrinsic(message, rules)
  if (limit < before) throw new InvalidTransaction('intrinsic-gas', `intrinsic gas too low: have ${message.gas}, want ${before}`)
  const least = floor(message.data, rules)
  if (limit >= least) return before
  throw new InvalidTransaction('floor-gas', `insufficient gas for floor data gas cost: have ${message.gas}, want ${least}`)
}

/** How much of the used gas refunds may return at most (EIP-3529 since London). */
export function refundCap(gasUsed: bigint, rules: Rules): bigint {
  return gasUsed / (rules.has('london') ? 5n : 2n)
}

function intrinsic(message: Priced, rules: Rules): number {
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
  return pricesUnder(rules).hasFloor ? IntrinsicGas.TRANSACTION + IntrinsicGas.FLOOR_TOKEN * tokensIn(data) : 0
}

function dataGas(data: Uint8Array, rules: Rules): number {
  const tokens = tokensIn(data)
  const others = (tokens - data.length) / 3 // bytes that are not zero have three tokens more than they are
  return tokens * IntrinsicGas.TOKEN + others * pricesUnder(rules).byteMore
}

/** What the rules say of data; those that were asked for last, for looking forks up takes as long as counting what is in a small call. */
function pricesUnder(rules: Rules): { readonly rules: Rules; readonly hasFloor: boolean; readonly byteMore: number } {
  if (lastPrices?.rules === rules) return lastPrices
  lastPrices = { rules, hasFloor: rules.has('prague'), byteMore: rules.has('istanbul') ? 0 : FRONTIER_BYTE_MORE }
  return lastPrices
}

let lastPrices: ReturnType<typeof pricesUnder> | null = null

/** Asked up to three times for one message, so the last answer is kept. */
function tokensIn(data: Uint8Array): number {
  if (data === lastData) return lastTokens
  lastTokens = IntrinsicGas.tokens(data)
  lastData = data
  return lastTokens
}

let lastData: Uint8Array = new Uint8Array()
let lastTokens = 0
