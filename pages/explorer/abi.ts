import type { Abi, AbiEvent, AbiFunction, AbiParameter, Hex } from 'viem'
import { decodeAbiParameters, formatAbiItem, keccak256, stringToBytes } from 'viem/utils'
import { abiOf, abiOfAll } from './abis.ts'
import { KNOWN_ABI, PANICS } from './known.ts'
import type { LogJson } from './wire.ts'

/** A decoded call, log or error. */
export interface Decoded {
  readonly name: string
  /** such as `transfer(address,uint256)` */
  readonly signature: string
  readonly inputs: readonly DecodedInput[]
  /** `known`: the names come from a well-known contract with this selector */
  readonly source: 'registered' | 'known'
}

export interface DecodedInput {
  readonly name: string
  readonly type: string
  /** as viem decodes it: bigint, number, boolean, string, array, or an object for a tuple with names */
  readonly value: unknown
}

interface Source {
  readonly abi: Abi
  readonly source: Decoded['source']
}

const hashes = new WeakMap<Item, string>()

type Item = AbiFunction | AbiEvent | Extract<Abi[number], { readonly type: 'error' }>

/** Trees of thousands of calls decode each, so an item is hashed once. The signature has types only: a registered name may be any text. */
function hashOf(item: Item): string {
  const known = hashes.get(item) ?? keccak256(stringToBytes(formatAbiItem(item)))
  hashes.set(item, known)
  return known
}

function sourcesOf(addresses: readonly (string | null)[]): readonly Source[] {
  const own = addresses.flatMap((address) => (address === null ? [] : (abiOf(address) ?? []))) as Abi // concatenated items
  const everywhere = abiOfAll()
  return [
    { abi: own, source: 'registered' },
    ...(everywhere === null ? [] : [{ abi: everywhere, source: 'registered' } as const]),
    { abi: KNOWN_ABI, source: 'known' },
  ]
}

/** `address`: the called contract; null for a call whose target is unknown. `target`: the code behind a proxy. */
export function decodeCall(address: string | null, input: string, target: string | null = null): Decoded | null {
  if (input.length < 10) return null
  const selector = input.slice(0, 10).toLowerCase()
  for (const { abi, source } of sourcesOf([address, target])) {
    for (const item of functionsOf(abi)) {
      if (!hashOf(item).startsWith(selector)) continue
      const inputs = decodeInputs(item.inputs, `0x${input.slice(10)}`)
      if (inputs !== null) return { name: item.name, signature: formatAbiItem(item), inputs, source }
    }
  }
  return null
}

function decodeInputs(parameters: readonly AbiParameter[], data: Hex): readonly DecodedInput[] | null {
  try {
    const values = parameters.length === 0 ? [] : decodeAbiParameters(parameters, data)
    return parameters.map(({ name, type }, i) => ({ name: name ?? '', type, value: values[i] }))
  } catch {
    return null
  }
}

export function selectorOf(item: AbiFunction): string {
  return hashOf(item).slice(0, 10)
}

/** Returns the well-known functions whose selectors the code pushes, as compilers dispatch calls. */
export function functionsIn(code: string): readonly AbiFunction[] {
  const lower = code.toLowerCase()
  return functionsOf(KNOWN_ABI as Abi).filter((item) => lower.includes(`63${selectorOf(item).slice(2)}`))
}

export function functionsOf(abi: Abi): readonly AbiFunction[] {
  return abi.filter((item) => item.type === 'function')
}

export function decodeLog(
  { address, topics, data }: Pick<LogJson, 'address' | 'topics' | 'data'>,
  target: string | null = null,
): Decoded | null {
  const [topic] = topics
  if (topic === undefined) return null
  for (const { abi, source } of sourcesOf([address, target])) {
    for (const item of abi) {
      if (item.type !== 'event' || hashOf(item) !== topic) continue
      if (item.inputs.filter(({ indexed }) => indexed === true).length !== topics.length - 1) continue
      const inputs = decodeEvent(item, topics, data as Hex) // the wire has hex strings
      if (inputs !== null) return { name: item.name, signature: formatAbiItem(item), inputs, source }
    }
  }
  return null
}

function decodeEvent({ inputs }: AbiEvent, topics: readonly string[], data: Hex): readonly DecodedInput[] | null {
  const unindexed = decodeInputs(
    inputs.filter(({ indexed }) => indexed !== true),
    data,
  )
  if (unindexed === null) return null
  let [topic, place] = [1, 0]
  return inputs.map((input) =>
    input.indexed === true ? indexedValue(input, topics[topic++] ?? '0x') : (unindexed[place++] as DecodedInput),
  ) // one for each
}

/** Strings, bytes, arrays and tuples are hashed in a topic. */
function indexedValue({ name = '', type, ...rest }: AbiEvent['inputs'][number], topic: string): DecodedInput {
  const isHashed = /^(string|bytes|tuple)$|\]$/.test(type)
  const decoded = isHashed ? null : decodeInputs([{ name, type, ...rest }], topic as Hex) // the wire has hex strings
  return decoded?.[0] ?? { name, type: 'bytes32', value: topic }
}

/** Decodes revert data: Error(string), Panic(uint256), or an error of an ABI. */
export function decodeError(address: string | null, data: string): Decoded | null {
  if (data.length < 10) return null
  const selector = data.slice(0, 10).toLowerCase()
  for (const { abi, source } of sourcesOf([address])) {
    for (const item of abi) {
      if (item.type !== 'error' || !hashOf(item).startsWith(selector)) continue
      const inputs = decodeInputs(item.inputs, `0x${data.slice(10)}`)
      if (inputs !== null) return { name: item.name, signature: formatAbiItem(item), inputs, source }
    }
  }
  return null
}

/** Returns a sentence for Error(string) and Panic(uint256), else null. */
export function errorSentence({ name, inputs }: Decoded): string | null {
  const value = inputs[0]?.value
  if (name === 'Error') return String(value)
  return name === 'Panic' ? `panic 0x${Number(value).toString(16)}: ${PANICS[Number(value)] ?? 'of an unknown kind'}` : null
}
