import { Hex, isObject } from '../eth/index.ts'
import type { Param, Route } from '../jsonrpc/index.ts'
import { blockNumber, blockRef, quantityNumber } from '../jsonrpc/schema.ts'
import type { Schema } from '../jsonrpc/schema.ts'
import type { Caller } from './context.ts'
import { callRequest } from './execution/request.ts'
import { slotOrNumber } from './methods/edits.ts'
import { slotOrDigits } from './methods/state.ts'

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
  [callRequest, quantitiesInHex],
])

const ACCEPTING_NUMBERS: ReadonlyMap<Schema<unknown>, Schema<unknown>> = new Map(
  Array.from(READERS, ([schema, read]) => [schema, { json: schema.json, parse: (value, path) => schema.parse(read(value), path) }]),
)

/** The quantities of a transaction object; `type` has them in any profile. */
const QUANTITIES = ['gas', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'value', 'nonce', 'chainId'] as const

function numberInHex(value: unknown): unknown {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? Hex.fromQuantity(value) : value
}

/** Also of decimal text. */
function inHex(value: unknown): unknown {
  return typeof value === 'string' && DECIMAL.test(value) ? Hex.fromQuantity(BigInt(value)) : numberInHex(value)
}

/** The digits of 2^256 - 1. */
const DECIMAL = /^[0-9]{1,78}$/

function quantitiesInHex(request: unknown): unknown {
  if (!isObject(request)) return request
  let read: Record<string, unknown> | null = null
  for (const name of QUANTITIES) {
    const given = request[name]
    if (given === undefined || (typeof given === 'string' && given.startsWith('0x'))) continue
    read ??= { ...request }
    read[name] = inHex(given)
  }
  return read ?? request
}
