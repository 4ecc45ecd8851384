import { Address, DecodeError, Hash, Hex } from '../../eth/index.ts'

/** A value in a state file. The read methods throw StateFileError, with the value's path, for a value of another kind. */
export class JsonField {
  readonly value: unknown
  readonly path: string

  constructor(value: unknown, path: string) {
    this.value = value
    this.path = path
  }

  /** absent or null */
  get isMissing(): boolean {
    return this.value === undefined || this.value === null
  }

  /** Returns a property of this object. */
  key(name: string): JsonField {
    return new JsonField(this.#object()[name], this.path === '' ? name : `${this.path}.${name}`)
  }

  /** Returns `null` if the property is missing. */
  maybe(name: string): JsonField | null {
    const field = this.key(name)
    return field.isMissing ? null : field
  }

  /** Throws if the object has another key. */
  only(names: ReadonlySet<string>): this {
    const stranger = Object.keys(this.#object()).find((name) => !names.has(name))
    if (stranger !== undefined) throw this.key(stranger).wrong('is not known here')
    return this
  }

  entries(): readonly (readonly [string, JsonField])[] {
    return Object.keys(this.#object()).map((name) => [name, this.key(name)] as const)
  }

  items(): readonly JsonField[] {
    if (!Array.isArray(this.value)) throw this.wrong(`must be a list, not ${this.#shown()}`)
    return this.value.map((item: unknown, index) => new JsonField(item, `${this.path}[${index}]`))
  }

  text(): string {
    if (typeof this.value !== 'string') throw this.wrong(`must be text, not ${this.#shown()}`)
    return this.value
  }

  /** Reads a JSON number, 0x hex or decimal text. */
  quantity(bits = 256): bigint {
    const read = integerOf(this.value)
    if (read === null) throw this.wrong(`must be a quantity such as "0x1" or 1, not ${this.#shown()}`)
    if (read >> BigInt(bits) !== 0n) throw this.wrong(`has more than ${bits} bits`)
    return read
  }

  number(): number {
    const read = Number(this.quantity())
    if (!Number.isSafeInteger(read)) throw this.wrong('is too large')
    return read
  }

  boolean(): boolean {
    if (typeof this.value !== 'boolean') throw this.wrong(`must be true or false, not ${this.#shown()}`)
    return this.value
  }

  bytes(length: number | null = null): Uint8Array {
    const read = typeof this.value === 'string' ? bytesOf(this.value) : null
    if (read === null) throw this.wrong(`must be 0x-prefixed bytes, not ${this.#shown()}`)
    if (length !== null && read.length !== length) throw this.wrong(`must have ${length} bytes, not ${read.length}`)
    return read
  }

  hash(): Hash {
    return Hash.from(this.bytes(32))
  }

  address(): Address {
    return Address.from(this.bytes(20))
  }

  addressOrNull(): Address | null {
    return this.isMissing ? null : this.address()
  }

  wrong(reason: string): StateFileError {
    return new StateFileError(this.path === '' ? 'file' : this.path, reason)
  }

  #object(): Readonly<Record<string, unknown>> {
    if (typeof this.value !== 'object' || this.value === null || Array.isArray(this.value)) {
      throw this.wrong(`must be an object, not ${this.#shown()}`)
    }
    return this.value as Readonly<Record<string, unknown>> // any JSON object has this shape
  }

  #shown(): string {
    if (this.value === undefined) return 'missing'
    if (Array.isArray(this.value)) return 'a list'
    if (typeof this.value === 'object' && this.value !== null) return 'an object'
    const text = JSON.stringify(this.value)
    return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text
  }
}

/** Returns `null` if `value` is not an integer. */
export function integerOf(value: unknown): bigint | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : null
  return typeof value === 'string' && (HEX.test(value) || DECIMAL.test(value)) ? BigInt(value) : null
}

/** Returns `null` if `hex` is invalid. */
export function bytesOf(hex: string): Uint8Array | null {
  try {
    return Hex.toBytes(hex)
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}

const HEX = /^0x[0-9a-fA-F]{1,64}$/
const DECIMAL = /^[0-9]{1,78}$/
const SHOWN_CHARS = 60

/** A state file is invalid; `field` is the path of the value. */
export class StateFileError extends Error {
  override readonly name = 'StateFileError'
  readonly field: string

  constructor(field: string, reason: string) {
    super(`${field} ${reason}`)
    this.field = field
  }
}
