import { decodeAbiParameters } from 'viem/utils'
import { symbolText } from '../../src/eth/visibletext.ts'
import type { Call } from './node.ts'

/** Symbol and decimals as the token's contract returns them, the symbol as it is shown; null for those that it lacks. */
export interface TokenLabel {
  readonly symbol: string | null
  readonly decimals: number | null
}

export const NO_LABEL: TokenLabel = { symbol: null, decimals: null }

/** Characters of a symbol that are shown, as many as in the wallet. */
const SYMBOL_CHARACTERS = 24

/** The requests for symbol and decimals, in the order of `labelOf`. */
export function labelCalls(token: string): readonly [Call, Call] {
  const call = (data: string): Call => ['eth_call', { to: token, data }, 'latest']
  return [call('0x95d89b41'), call('0x313ce567')]
}

/** `symbol` and `decimals` are the answers, or the errors, of the calls. Tokens of units (ERC-721) have no decimals. */
export function decodeTokenLabel(symbol: unknown, decimals: unknown): TokenLabel {
  const text = textOf(symbol)
  const value = typeof decimals === 'string' && decimals.length >= 66 ? BigInt(decimals.slice(0, 66)) : null
  return {
    symbol: text === null ? null : symbolText(text, SYMBOL_CHARACTERS),
    decimals: value === null || value > MAX_DECIMALS ? null : Number(value),
  }
}

/** 2^256 has 78 digits. */
const MAX_DECIMALS = 77n

/** Old tokens return 32 bytes in place of a string. */
function textOf(answer: unknown): string | null {
  if (typeof answer !== 'string' || answer.length < 66) return null
  if (answer.length === 66) {
    const codes = (answer.slice(2).match(/../g) ?? []).map((digits) => Number.parseInt(digits, 16))
    return String.fromCharCode(...codes.filter((code) => code !== 0))
  }
  try {
    return decodeAbiParameters([{ type: 'string' }], answer as `0x${string}`)[0] // a result of eth_call
  } catch {
    return null
  }
}
