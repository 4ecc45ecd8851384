import { Hex } from '../../eth/index.ts'
import { decodeError } from './abis.ts'
import { valueText, visibleText } from './display.ts'
import { REASON_CHARS } from '../limits.ts'
import type { SimulatedCall } from './simulation.ts'

/** Returns why a call failed, as a sentence for a user. */
export function reasonOf({ message, data }: NonNullable<SimulatedCall['failure']>): string {
  if (data === null || data === '0x') return withoutData(message)
  return errorText(data)
}

/** Returns the text of `require`, a panic, a known error with its values, or the error's selector. */
function errorText(data: Hex): string {
  const error = decodeError(data)
  if (error === null) return data.length < 10 ? `it reverts with ${data}` : `it reverts with an unknown error, ${data.slice(0, 10)}`
  const [first, second] = error.args.map(({ value }) => value)
  if (error.name === 'Error') return visibleText(String(first), REASON_CHARS)
  if (error.name === 'Panic') return PANICS.get(first as bigint) ?? `panic ${String(first)}` // a uint256
  const inner = INNER.has(error.name) && Hex.isHex(second) ? errorText(second) : null
  if (inner !== null) return visibleText(inner, REASON_CHARS)
  const args = error.args.map(({ name, value }) => `${name}: ${valueText(value, REASON_CHARS)}`)
  return visibleText(`${error.name}(${args.join(', ')})`, REASON_CHARS)
}

function withoutData(message: string): string {
  const reason = message.replace(/^execution reverted:? ?/, '')
  return reason === '' ? 'it reverts without a reason' : visibleText(reason, REASON_CHARS)
}

/** Errors around the error of what they called. */
const INNER: ReadonlySet<string> = new Set(['ExecuteError', 'ExecutionFailed'])

/** Of the Solidity compiler. */
const PANICS: ReadonlyMap<bigint, string> = new Map([
  [0x01n, 'an assertion does not hold (panic 0x01)'],
  [0x11n, 'a number overflows (panic 0x11)'],
  [0x12n, 'a division by zero (panic 0x12)'],
  [0x21n, 'a value that its enum does not have (panic 0x21)'],
  [0x22n, 'storage bytes that are wrongly encoded (panic 0x22)'],
  [0x31n, 'a pop from an empty list (panic 0x31)'],
  [0x32n, 'an index beyond the end of a list (panic 0x32)'],
  [0x41n, 'more memory than there is (panic 0x41)'],
  [0x51n, 'a call of a function that was never set (panic 0x51)'],
])
