import { MIN_OP_GAS_LIMIT } from '../compat.ts'

/** Readers of option values: text from a flag, a variable or a configuration file becomes a typed value, or BadValue says what is wanted. */

export type Reader<T> = (text: string) => T

export const text: Reader<string> = (value) => {
  if (value === '') throw new BadValue('must not be empty')
  return value
}

export function integer(least: number, most: number): Reader<number> {
  return (value) => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN
    if (number >= least && number <= most) return number
    throw new BadValue(`must be a whole number from ${least} to ${most}, not ${quoted(value)}`)
  }
}

/** Decimal or 0x. */
export const wei: Reader<bigint> = (value) => {
  if (/^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(value)) return BigInt(value)
  throw new BadValue(`must be a whole number of wei, not ${quoted(value)}`)
}

/** Decimal or 0x. */
export const gas: Reader<bigint> = (value) => {
  if (!/^(\d{1,15}|0x[0-9a-f]{1,13})$/i.test(value)) throw new BadValue(`must be a whole number of gas, not ${quoted(value)}`)
  const amount = BigInt(value)
  if (amount < MIN_OP_GAS_LIMIT) throw new BadValue(`must be at least ${MIN_OP_GAS_LIMIT}, or no block could hold its system deposits`)
  return amount
}

/** ETH, up to 18 decimals; answers wei. */
export const ether: Reader<bigint> = (value) => {
  const [, whole, fraction = ''] = /^(\d{1,30})(?:\.(\d{1,18}))?$/.exec(value) ?? []
  if (whole === undefined) throw new BadValue(`must be an amount of ETH such as 10000 or 0.5, not ${quoted(value)}`)
  return BigInt(whole + fraction.padEnd(18, '0'))
}

/** Seconds with up to three decimals; answers milliseconds. */
export const seconds: Reader<number> = (value) => {
  const milliseconds = /^\d{1,6}(\.\d{1,3})?$/.test(value) ? Math.round(Number(value) * 1_000) : 0
  if (milliseconds > 0) return milliseconds
  throw new BadValue(`must be a number of seconds such as 2 or 0.2, not ${quoted(value)}`)
}

/** Unix time in seconds. */
export const timestamp: Reader<number> = integer(1, 0xffff_ffff)

export function oneOf<const T extends string>(words: readonly T[], synonyms: Readonly<Record<string, T>> = {}): Reader<T> {
  return (value) => {
    const word = words.find((each) => each === value) ?? (Object.hasOwn(synonyms, value) ? synonyms[value] : undefined)
    if (word !== undefined) return word
    throw new BadValue(`must be one of ${words.join(', ')}, not ${quoted(value)}`)
  }
}

/** What a variable or a file says for a flag without value. */
export const yes: Reader<boolean> = (value) => {
  const known = WORDS.get(value.toLowerCase())
  if (known !== undefined) return known
  throw new BadValue(`must be true or false, not ${quoted(value)}`)
}

/** What is off unless it is said: a word for no says it is off. */
export function orOff<T>(reader: Reader<T>): Reader<T | null> {
  return (value) => (WORDS.get(value.toLowerCase()) === false ? null : reader(value))
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['yes', true],
  ['on', true],
  ['false', false],
  ['0', false],
  ['no', false],
  ['off', false],
])

/** Separated by commas. */
export const list: Reader<readonly string[]> = (value) => {
  const items = value.split(',').map((item) => item.trim())
  if (items.some((item) => item === '')) throw new BadValue(`must be a list separated by commas, not ${quoted(value)}`)
  return items
}

/** Host names, each with or without a port, which does not count. */
export const hosts: Reader<readonly string[]> = (value) => {
  const names = list(value)
  const wrong = names.find((name) => !/^([^\s:/?#@[\]]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.test(name))
  if (wrong !== undefined) throw new BadValue(`must be a host name such as node.example, not ${quoted(wrong)}`)
  return names
}

function quoted(value: string): string {
  return JSON.stringify(value)
}

/** A value that an option cannot take; the message continues the option's name. */
export class BadValue extends Error {
  override readonly name = 'BadValue'
}
