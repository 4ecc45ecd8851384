import { Address } from '../../eth/index.ts'

/** A struct of typed data. An app may put anything in it, as long as it fits types of its own. Values are read as `TypedData.hash` reads them. */
export class Fields {
  readonly #values: Readonly<Record<string, unknown>>

  constructor(value: unknown) {
    this.#values = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {} // any object has this shape
  }

  value(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined
  }

  has(name: string): boolean {
    return (this.value(name) ?? null) !== null
  }

  address(name: string): Address | null {
    return addressOf(this.value(name))
  }

  number(name: string): bigint | null {
    const value = this.value(name)
    if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : null
    return typeof value === 'string' && NUMBER.test(value) ? BigInt(value) : null
  }

  /** Null if it is neither. */
  boolean(name: string): boolean | null {
    const value = this.value(name)
    if (value === true || value === 'true') return true
    return value === false || value === 'false' ? false : null
  }

  /** Returns a list of structs; a single struct is a list of one. */
  list(name: string): readonly Fields[] {
    const value = this.value(name)
    if (value === undefined) return []
    const items: readonly unknown[] = Array.isArray(value) ? value : [value]
    return items.map((item) => new Fields(item))
  }
}

const NUMBER = /^(-?\d{1,78}|0x[0-9a-f]{1,64})$/i

export function addressOf(value: unknown): Address | null {
  return Address.isAddress(value) ? Address.from(value) : null
}
