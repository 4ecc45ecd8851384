import type { AbiParameter } from 'viem'

/** Returns the value of an input. Throws Error with a sentence for the user. Arrays and tuples are written as JSON. */
export function parseArgument(parameter: AbiParameter, text: string): unknown {
  const { type, name } = parameter
  const label = name === undefined || name === '' ? type : name
  const trimmed = text.trim()
  if (type.endsWith(']') || type === 'tuple') return structureOf(parameter, parsed(trimmed, label), label)
  return valueOf(type, type === 'string' ? text : trimmed, label)
}

function parsed(text: string, label: string): unknown {
  try {
    // Numbers beyond 2^53 would lose digits, so every whole number outside of a string is read as text.
    return JSON.parse(
      text.replaceAll(/"(?:[^"\\]|\\.)*"|(?<![\w.+-])-?\d+(?![\w.+-])/g, (part) => (part.startsWith('"') ? part : `"${part}"`)),
    )
  } catch {
    throw new Error(`${label}: expected JSON, such as ["0x…", 1].`)
  }
}

type Components = AbiParameter & { readonly components?: readonly AbiParameter[] }

function structureOf(parameter: AbiParameter, value: unknown, label: string): unknown {
  const { type } = parameter
  const array = /^(.*)\[(\d*)\]$/.exec(type)
  if (array !== null) {
    const [, inner = '', length = ''] = array
    if (!Array.isArray(value)) throw new Error(`${label}: expected a JSON array for ${type}.`)
    if (length !== '' && value.length !== Number(length)) throw new Error(`${label}: expected ${length} items, not ${value.length}.`)
    return value.map((each: unknown, i) => structureOf({ ...parameter, type: inner }, each, `${label}[${i}]`))
  }
  if (type !== 'tuple') return valueOf(type, typeof value === 'boolean' ? String(value) : value, label)
  const { components = [] } = parameter as Components // of a tuple
  if (typeof value !== 'object' || value === null) throw new Error(`${label}: expected a JSON object or array for the tuple.`)
  const members = components.map((each, i) => {
    const key = Array.isArray(value) ? String(i) : (each.name ?? String(i))
    return [each.name ?? String(i), structureOf(each, (value as Readonly<Record<string, unknown>>)[key], `${label}.${key}`)] as const // checked above
  })
  return components.every(({ name = '' }) => name !== '') ? Object.fromEntries(members) : members.map(([, member]) => member)
}

function valueOf(type: string, text: unknown, label: string): unknown {
  if (typeof text === 'number') throw new Error(`${label}: ${text} is not a whole number; write all of its digits.`)
  if (typeof text !== 'string') throw new Error(`${label}: expected a value of ${type}.`)
  if (type === 'string') return text
  if (type === 'bool') {
    if (text !== 'true' && text !== 'false') throw new Error(`${label}: expected true or false.`)
    return text === 'true'
  }
  if (type === 'address') {
    if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new Error(`${label}: expected an address, 0x and 40 hexadecimal digits.`)
    return text.toLowerCase()
  }
  if (type.startsWith('bytes')) return bytesOf(type, text, label)
  if (type === 'function') return bytesOf('bytes24', text, label) // an address and a selector
  return numberOf(type, text, label)
}

function bytesOf(type: string, text: string, label: string): string {
  if (!/^0x([0-9a-fA-F]{2})*$/.test(text)) throw new Error(`${label}: expected bytes, 0x and an even number of hexadecimal digits.`)
  const size = type === 'bytes' ? null : Number(type.slice(5))
  if (size !== null && text.length !== 2 + 2 * size) throw new Error(`${label}: expected ${size} bytes, not ${(text.length - 2) / 2}.`)
  return text
}

function numberOf(type: string, text: string, label: string): bigint {
  const bits = BigInt(/\d+$/.exec(type)?.[0] ?? '256')
  if (!/^-?\d+$|^0x[0-9a-fA-F]+$/.test(text)) throw new Error(`${label}: expected a whole number.`)
  const value = BigInt(text)
  const [least, most] = type.startsWith('u') ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]
  if (value < least || value > most) throw new Error(`${label}: ${text} is out of the range of ${type}.`)
  return value
}

/** Returns the wei of an amount in ether; 0 for an empty input. Throws Error with a sentence for the user. */
export function parseEther(text: string): bigint {
  const [, whole, fraction = ''] = /^(\d{1,30})(?:\.(\d{1,18}))?$/.exec(text.trim() === '' ? '0' : text.trim()) ?? []
  if (whole === undefined) throw new Error('value: expected an amount of ETH such as 0.5.')
  return BigInt(whole + fraction.padEnd(18, '0'))
}
