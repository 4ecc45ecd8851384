import type { Abi } from 'viem'

/** Constructor, fallback and receive have no selector. */
const NAMED: ReadonlySet<unknown> = new Set(['function', 'event', 'error'])
/** Tuples in tuples: compilers' structs have a few levels. */
const MAX_DEPTH = 16
const TYPE = /^(address|bool|string|function|bytes([1-9]|[12]\d|3[0-2])?|u?int(\d{1,3})?|tuple)(\[\d{0,9}\]){0,8}$/

/** Returns the functions, events and errors of a JSON ABI. Throws Error with a sentence for the user. */
export function abiItems(values: readonly unknown[]): Abi {
  const items = values.flatMap((value, i) => (isRecord(value) && NAMED.has(value['type']) ? [itemOf(value, i)] : []))
  if (items.length === 0) throw new Error('This ABI has no function, event or error.')
  return items as Abi // each was checked
}

function itemOf(item: Readonly<Record<string, unknown>>, index: number): object {
  const { type, name, inputs = [], outputs = [] } = item
  if (typeof name !== 'string' || !areParameters(inputs) || !areParameters(outputs))
    throw new Error(`Item ${index} of this ABI is no ${String(type)} of the ABI specification: its name or a parameter is wrong.`)
  return { ...item, inputs, outputs }
}

function areParameters(values: unknown, depth = 0): boolean {
  if (!Array.isArray(values) || depth > MAX_DEPTH) return false
  return values.every((value: unknown) => {
    if (!isRecord(value)) return false
    const { name = '', type, components } = value
    if (typeof name !== 'string' || typeof type !== 'string' || !TYPE.test(type)) return false
    return !type.startsWith('tuple') || areParameters(components, depth + 1)
  })
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
