import { AbiParameters, DecodeError, Hash, Hex } from '../../eth/index.ts'
import type { ConsoleCalls } from '../../evm/index.ts'

/** A decoded call of console.log. */
interface ConsoleMessage {
  readonly args: readonly ConsoleArgument[]
}

interface ConsoleArgument {
  readonly type: string
  /** string, boolean, bigint, or 0x text */
  readonly value: unknown
}

/** Returns the messages of console.log calls. Call data of other functions, and data that does not fit, gives none (as in Hardhat and Foundry). */
export function messagesOf({ inputs }: ConsoleCalls): readonly string[] {
  return inputs.flatMap((input) => {
    const message = decodeConsoleCall(input)
    return message === null ? [] : [consoleText(message)]
  })
}

/** Returns null for data that is not a call of console.log. */
export function decodeConsoleCall(input: Uint8Array): ConsoleMessage | null {
  const list = signatures().get(Hex.fromRange(input, 0, Math.min(4, input.length)))
  if (list === undefined) return null
  try {
    const parameters = AbiParameters.parse(list.map((type, i) => `${type} a${i}`).join(', '))
    const values = AbiParameters.decode(parameters, input.subarray(4))
    return { args: list.map((type, i) => ({ type, value: type.includes('int') ? BigInt(values[i] as number | bigint) : values[i] })) } // an integer type
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}

// --- signatures -----------------------------------------------------------------------------------------------------

/** Every combination of one to four of these is an overload. */
const COMBINED = ['uint256', 'string', 'bool', 'address'] as const
/** Further overloads: forge-std logs a string followed by an int256. */
const SINGLE = ['', 'int256', 'bytes', ...Array.from({ length: 32 }, (_, i) => `bytes${i + 1}`), 'string,int256']
const MAX_ARGUMENTS = 4

let bySelector: ReadonlyMap<Hex, readonly string[]> | null = null

/** Parameter types by selector. Made at the first console.log, in 3 ms. */
function signatures(): ReadonlyMap<Hex, readonly string[]> {
  return (bySelector ??= makeSignatures())
}

function makeSignatures(): ReadonlyMap<Hex, readonly string[]> {
  const made = new Map<Hex, readonly string[]>()
  let lists: readonly (readonly string[])[] = [[]]
  for (let count = 1; count <= MAX_ARGUMENTS; count++) {
    lists = lists.flatMap((list) => COMBINED.map((type) => [...list, type]))
    for (const list of lists) add(made, list)
  }
  for (const list of SINGLE) add(made, list === '' ? [] : list.split(','))
  return made
}

/** Hardhat's console.sol before 2.16 hashed the names `int` and `uint`, which are not canonical types. */
function add(made: Map<Hex, readonly string[]>, types: readonly string[]): void {
  const text = types.join(',')
  for (const list of new Set([text, text.replaceAll('int256', 'int')])) {
    made.set(Hash.ofText(`log(${list})`).slice(0, 10) as Hex, types) // a prefix of a hash
  }
}

// --- formatting -----------------------------------------------------------------------------------------------------

/** `%s`, `%d`, `%i`, `%o`, `%x`, `%e` and `%18e` of the first argument consume the next one each; `%%` is a percent sign. */
const SPECIFIER = /%(?:%|[sdiox]|(\d*)e)/g
/** Foundry's limit of the precision of `%<n>e`. */
const MAX_PRECISION = 1_024

/** Formats a message as Foundry does; Hardhat differs for `%d` and `%i` of values that are not numbers. */
function consoleText({ args }: ConsoleMessage): string {
  const [first, ...rest] = args
  if (first === undefined) return ''
  const pieces: string[] = []
  if (first.type !== 'string') pieces.push(plainText(first))
  else if (first.value !== '') pieces.push(formatted(String(first.value), rest)) // consumes arguments
  return [...pieces, ...rest.map(plainText)].join(' ')
}

/** Removes the arguments that it formats from `left`. */
function formatted(text: string, left: ConsoleArgument[]): string {
  return text.replaceAll(SPECIFIER, (specifier: string, precision: string | undefined) => {
    if (specifier === '%%') return '%'
    if (Number(precision ?? 0) > MAX_PRECISION) return specifier
    const arg = left.shift()
    return arg === undefined
      ? specifier
      : FORMATS[specifier.slice(-1)]!(arg, precision === undefined || precision === '' ? null : Number(precision))
  })
}

type Format = (arg: ConsoleArgument, precision: number | null) => string

/** By the letter of the specifier; all that SPECIFIER matches. */
const FORMATS: Readonly<Record<string, Format>> = {
  s: plainText,
  o: (arg) => (isInteger(arg) ? plainText(arg) : `'${plainText(arg)}'`),
  d: (arg) => (arg.type === 'bool' ? String(Number(arg.value)) : numberText(arg)),
  i: numberText,
  x: (arg) => (isInteger(arg) ? hexText(arg.value) : arg.type === 'string' || arg.type === 'bool' ? 'NaN' : plainText(arg)),
  e: (arg, precision) => (isInteger(arg) ? (precision === null ? exponentText(arg.value) : fixedText(arg.value, precision)) : 'NaN'),
}

function plainText({ value }: ConsoleArgument): string {
  return String(value)
}

function numberText(arg: ConsoleArgument): string {
  return isInteger(arg) ? plainText(arg) : 'NaN'
}

function isInteger(arg: ConsoleArgument): arg is ConsoleArgument & { readonly value: bigint } {
  return typeof arg.value === 'bigint'
}

/** A negative number in two's complement; Foundry prints zero as `0x`. */
function hexText(value: bigint): string {
  return value === 0n ? '0x' : `0x${BigInt.asUintN(256, value).toString(16)}`
}

/** `1.5e3` for 1500. */
function exponentText(value: bigint): string {
  const digits = absolute(value).toString()
  const fraction = digits.slice(1).replace(/0+$/, '')
  return `${sign(value)}${digits.slice(0, 1)}${fraction === '' ? '' : `.${fraction}`}e${digits.length - 1}`
}

/** `1.5` for 1500 with a precision of 3. */
function fixedText(value: bigint, precision: number): string {
  const digits = absolute(value)
    .toString()
    .padStart(precision + 1, '0')
  const at = digits.length - precision
  const fraction = digits.slice(at).replace(/0+$/, '')
  return `${sign(value)}${digits.slice(0, at)}${fraction === '' ? '' : `.${fraction}`}`
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value
}

function sign(value: bigint): string {
  return value < 0n ? '-' : ''
}
