import { AbiParameters, DecodeError, Hash, Hex, isObject } from '../../eth/index.ts'
import { FRAGMENTS_PER_SELECTOR } from './limits.ts'

type Parameters = ReturnType<typeof AbiParameters.parse>

/** A function, error or event of a contract ABI. */
export interface Fragment {
  readonly kind: 'function' | 'error' | 'event'
  readonly name: string
  /** such as `transfer(address,uint256)` */
  readonly signature: string
  readonly inputs: Parameters
  /** outputs of a function; empty for errors and events */
  readonly outputs: Parameters
  /** only of an event: true for each input that is a topic */
  readonly indexed: readonly boolean[]
}

/** A fragment with the values that some data has for its parameters. */
interface Decoded {
  readonly fragment: Fragment
  readonly args: readonly DecodedArgument[]
}

export interface DecodedArgument {
  readonly name: string
  readonly type: string
  readonly value: unknown
}

/** Functions, errors and events by selector. */
export class AbiTable {
  readonly #byKey = new Map<string, Fragment[]>()

  add(fragment: Fragment): void {
    const hash = Hash.ofText(fragment.signature)
    const key = `${fragment.kind} ${fragment.kind === 'event' ? hash : hash.slice(0, 10)}`
    const present = this.#byKey.get(key)
    if (present === undefined) this.#byKey.set(key, [fragment])
    else if (present.length < FRAGMENTS_PER_SELECTOR && !present.some((each) => isSame(each, fragment))) present.push(fragment)
  }

  /** Decodes call data or revert data. Returns null for an unknown selector, and for data that does not fit its parameters. */
  decode(kind: 'function' | 'error', data: Hex): Decoded | null {
    return firstOf(this.#byKey.get(`${kind} ${data.slice(0, 10)}`), (fragment) => argumentsOf(fragment.inputs, `0x${data.slice(10)}`))
  }

  /** Returns null for an unknown event, and for a log that does not fit its parameters. */
  decodeLog(topics: readonly Hex[], data: Hex): Decoded | null {
    const [id = '0x', ...values] = topics
    return firstOf(this.#byKey.get(`event ${id}`), (fragment) => logArguments(fragment, values, data))
  }

  /** Returns null for data that does not fit the outputs of the function. */
  static decodeOutput({ outputs }: Fragment, data: Hex): readonly DecodedArgument[] | null {
    return argumentsOf(outputs, data)
  }
}

function isSame(a: Fragment, b: Fragment): boolean {
  return a.signature === b.signature && String(a.indexed) === String(b.indexed)
}

function firstOf(
  fragments: readonly Fragment[] = [],
  argumentsFor: (fragment: Fragment) => readonly DecodedArgument[] | null,
): Decoded | null {
  for (const fragment of fragments) {
    const args = argumentsFor(fragment)
    if (args !== null) return { fragment, args }
  }
  return null
}

function argumentsOf(parameters: Parameters, data: Hex): readonly DecodedArgument[] | null {
  try {
    const values = AbiParameters.decode(parameters, Hex.toBytes(data))
    return parameters.map(({ name, type }, i) => ({ name, type: type.text, value: values[i] }))
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}

/** An indexed value of a dynamic type is the hash of the value. */
function logArguments({ inputs, indexed }: Fragment, topics: readonly Hex[], data: Hex): readonly DecodedArgument[] | null {
  if (topics.length !== indexed.filter(Boolean).length) return null
  const rest = argumentsOf(
    inputs.filter((_, i) => indexed[i] !== true),
    data,
  )
  if (rest === null) return null
  let [topic, plain] = [0, 0]
  const args = inputs.map((input, i) => {
    if (indexed[i] !== true) return rest[plain++] ?? null
    const value = topics[topic++] ?? '0x'
    return input.type.headBytes === 32 && !input.type.isDynamic
      ? (argumentsOf([input], value)?.[0] ?? null)
      : { name: input.name, type: 'bytes32', value }
  })
  return args.every((each) => each !== null) ? args : null
}

// --- JSON ABIs ------------------------------------------------------------------------------------------------------

/** A part of a JSON ABI that cannot be read. `text` occurs in the source near the fault. */
export class AbiError extends Error {
  readonly text: string

  constructor(message: string, text: string) {
    super(message)
    this.name = 'AbiError'
    this.text = text
  }
}

const KINDS: ReadonlySet<unknown> = new Set(['function', 'error', 'event'])

/**
 * Returns the functions, errors and events of a JSON ABI: a list of fragments, or an object with such a list as `abi`, as compilers write it.
 * Returns null for other JSON. Throws AbiError.
 */
export function fragmentsOf(json: unknown): readonly Fragment[] | null {
  const list = Array.isArray(json) ? json : isObject(json) ? json['abi'] : null
  if (!Array.isArray(list)) return null
  return list.flatMap((item: unknown) => (isObject(item) && KINDS.has(item['type']) ? [fragmentOf(item)] : []))
}

function fragmentOf(item: Readonly<Record<string, unknown>>): Fragment {
  const { name } = item
  if (typeof name !== 'string' || !/^[\w$]+$/.test(name))
    throw new AbiError(`${String(item['type'])} without a name`, String(name ?? item['type']))
  const inputs = listOf(item, 'inputs', name)
  const parameters = parse(inputs, name)
  return {
    kind: item['type'] as Fragment['kind'], // one of KINDS
    name,
    signature: `${name}(${parameters.map(({ type }) => type.text).join(',')})`,
    inputs: parameters,
    outputs: item['type'] === 'function' ? parse(listOf(item, 'outputs', name), name) : [],
    indexed: inputs.map((input) => input['indexed'] === true),
  }
}

function parse(list: readonly Readonly<Record<string, unknown>>[], owner: string): Parameters {
  const texts = list.map((each, i) => parameterText(each, i, owner))
  try {
    return AbiParameters.parse(texts.join(', '))
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const wrong = list.find((each, i) => !isParsable(parameterText(each, i, owner)))
    const type = String(wrong?.['type'])
    throw new AbiError(`${owner} has a parameter of the type ${JSON.stringify(type)}, which does not exist`, type)
  }
}

function isParsable(text: string): boolean {
  try {
    AbiParameters.parse(text)
    return true
  } catch {
    return false
  }
}

/** Such as `(address to, uint256 arg1)[] payments`. */
function parameterText(parameter: Readonly<Record<string, unknown>>, index: number, owner: string): string {
  const { type, name } = parameter
  if (typeof type !== 'string') throw new AbiError(`${owner} has a parameter without a type`, owner)
  const shownName = typeof name === 'string' && /^\w+$/.test(name) ? name : `arg${index}`
  const [, suffix] = /^tuple((?:\[\d*\])*)$/.exec(type) ?? []
  if (suffix === undefined) return `${ATOMS.get(type) ?? type} ${shownName}`
  const components = listOf(parameter, 'components', owner).map((each, i) => parameterText(each, i, owner))
  return `(${components.join(', ')})${suffix} ${shownName}`
}

/** `function`: an address and a selector. */
const ATOMS: ReadonlyMap<string, string> = new Map([
  ['function', 'bytes24'],
  ['uint', 'uint256'],
  ['int', 'int256'],
])

function listOf(record: Readonly<Record<string, unknown>>, key: string, owner: string): readonly Readonly<Record<string, unknown>>[] {
  const list = record[key] ?? []
  if (!Array.isArray(list) || !list.every(isObject)) throw new AbiError(`${owner} has ${key} that are not a list of objects`, owner)
  return list
}
