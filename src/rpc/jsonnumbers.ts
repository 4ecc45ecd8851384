import { Hex, isObject } from '../eth/index.ts'
import type { Param, Route } from '../jsonrpc/index.ts'
import { blockNumber, blockRef, quantityNumber } from '../jsonrpc/schema.ts'
import type { Schema } from '../jsonrpc/schema.ts'
import type { Caller } from './context.ts'
import { blockOverrides, stateOverrides } from './execution/overrides.ts'
import { callRequest } from './execution/request.ts'
import { bundles } from './methods/callmany.ts'
import { slotOrNumber } from './methods/edits.ts'
import { simulation } from './methods/simulate.ts'
import { slotOrDigits } from './methods/state.ts'
import { traceCallOptions, traceManyCallsOptions } from './methods/trace.ts'

/** The route of a profile with `jsonNumbers`. Numbers above 2^53 - 1 are refused, because JSON parsers round them. */
export function withJsonNumbers(route: Route<Caller>): Route<Caller> {
  const params = route.params.map((param) => ({ ...param, schema: ACCEPTING_NUMBERS.get(param.schema) ?? param.schema }))
  return { ...route, params }
}

/** Returns the params in the form that other nodes accept; `rows`: the params of the method's row. */
export function numbersInHex(rows: readonly Param<unknown>[], given: readonly unknown[]): readonly unknown[] {
  return given.map((value, i) => {
    const schema = rows[i]?.schema
    return schema === undefined ? value : (READERS.get(schema)?.(value) ?? value)
  })
}

/** Functions that return a value in the form that the schema parses. */
const READERS: ReadonlyMap<Schema<unknown>, (value: unknown) => unknown> = new Map<Schema<unknown>, (value: unknown) => unknown>([
  [blockRef, numberInHex],
  [blockNumber, numberInHex],
  [quantityNumber, inHex],
  [slotOrDigits, inHex],
  [slotOrNumber, inHex],
  [callRequest, requestInHex],
  [stateOverrides, accountsInHex],
  [blockOverrides, blockInHex],
  [traceCallOptions, overridesInHex],
  [traceManyCallsOptions, overridesInHex],
  [simulation, simulationInHex],
  [
    bundles,
    (value) => each(value, (bundle) => reading(bundle, { transactions: (calls) => each(calls, requestInHex), blockOverride: blockInHex })),
  ],
])

const ACCEPTING_NUMBERS: ReadonlyMap<Schema<unknown>, Schema<unknown>> = new Map(
  Array.from(READERS, ([schema, read]) => [schema, { json: schema.json, parse: (value, path) => schema.parse(read(value), path) }]),
)

function numberInHex(value: unknown): unknown {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? Hex.fromQuantity(value) : value
}

/** Also of decimal text. */
function inHex(value: unknown): unknown {
  return typeof value === 'string' && DECIMAL.test(value) ? Hex.fromQuantity(BigInt(value)) : numberInHex(value)
}

/** The digits of 2^256 - 1. */
const DECIMAL = /^[0-9]{1,78}$/

type Readers = Readonly<Record<string, (value: unknown) => unknown>>

/** Returns the object with the values of these keys read. */
function reading(value: unknown, readers: Readers): unknown {
  if (!isObject(value)) return value
  let read: Record<string, unknown> | null = null
  for (const key in readers) {
    const given = value[key]
    if (given === undefined || (typeof given === 'string' && given.startsWith('0x'))) continue
    read ??= { ...value }
    read[key] = readers[key]?.(given)
  }
  return read ?? value
}

function each(value: unknown, read: (item: unknown) => unknown): unknown {
  return Array.isArray(value) ? Array.from(value as readonly unknown[], read) : value
}

function quantities(...keys: readonly string[]): Readers {
  return Object.fromEntries(keys.map((key) => [key, inHex]))
}

/** The quantities of a transaction object; `type` has them in any profile. */
const REQUEST = quantities('gas', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'value', 'nonce', 'chainId')
const ACCOUNT = quantities('balance', 'nonce')
const BLOCK = quantities(
  ...['number', 'difficulty', 'time', 'gasLimit', 'baseFeePerGas', 'blobBaseFee', 'baseFee', 'blockNumber', 'timestamp'],
)
const OVERRIDES: Readers = { stateOverrides: accountsInHex, blockOverrides: blockInHex }
const SIMULATED_BLOCK: Readers = { ...OVERRIDES, calls: (calls) => each(calls, requestInHex) }

function requestInHex(request: unknown): unknown {
  return reading(request, REQUEST)
}

function accountsInHex(accounts: unknown): unknown {
  if (!isObject(accounts)) return accounts
  return Object.fromEntries(Object.entries(accounts).map(([address, account]) => [address, reading(account, ACCOUNT)]))
}

function blockInHex(block: unknown): unknown {
  return reading(block, BLOCK)
}

function overridesInHex(options: unknown): unknown {
  return reading(options, OVERRIDES)
}

function simulationInHex(simulation: unknown): unknown {
  return reading(simulation, { blockStateCalls: (blocks) => each(blocks, (block) => reading(block, SIMULATED_BLOCK)) })
}
