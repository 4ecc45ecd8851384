import { MIN_OP_GAS_LIMIT } from '../compat.ts'
import type { Address, Hash } from '../eth/index.ts'
import { invalidParams } from '../jsonrpc/index.ts'
import { address, arrayOf, bigInteger, boolean, hash, integer, mismatch, refused, string } from '../jsonrpc/schema.ts'
import type { Schema } from '../jsonrpc/schema.ts'

// Schemas of option values. A flag or a variable gives text, a configuration file a JSON or JavaScript value; one schema reads both.

/** Items of a list option. */
const LIST_ITEMS = 1_000

/** Text that is not empty. */
export const text: Schema<string> = schemaOf('text that is not empty', string, (value, path) => {
  const read = string.parse(toText(value), path)
  return read === '' ? undefined : read
})

/** Path of a Unix socket or a named pipe; `true` is the path that anvil uses. */
export const ipcPath: Schema<string> = schemaOf('a path of at most 100 bytes', string, (value, path) => {
  if (toBoolean(value) === true) return process.platform === 'win32' ? '\\\\.\\pipe\\anvil.ipc' : '/tmp/anvil.ipc'
  const read = string.parse(value, path)
  return read === '' || Buffer.byteLength(read) > UNIX_PATH_BYTES ? undefined : read
})

/** The addresses of Unix sockets have 108 bytes, on macOS 104. */
const UNIX_PATH_BYTES = 100

/** A decimal or 0x integer within bounds, which may be negative. `unit`: as in "a whole number of seconds since 1970". */
export function wholeNumber(min: number, max: number, unit?: string): Schema<number> {
  return schemaOf(`a whole number ${unit === undefined ? '' : `of ${unit} `}from ${min} to ${max}`, integer, (value, path) => {
    const text = String(value)
    const read = text.startsWith('-') ? -integer.parse(text.slice(1), path) : integer.parse(value, path)
    return read >= min && read <= max ? read : undefined
  })
}

/** Decimal or 0x. */
export const wei: Schema<bigint> = schemaOf('a whole number of wei such as 1000000000, which is 1 gwei', bigInteger, bigInteger.parse)

/** Seed of a random generator, decimal or 0x. */
export const seed64: Schema<bigint> = schemaOf('a whole number below 2^64', bigInteger, (value, path) => {
  const read = bigInteger.parse(value, path)
  return read >> 64n === 0n ? read : undefined
})

/** Gas limit of a block, decimal or 0x. Below the minimum no block could contain its system deposits. */
export const blockGas: Schema<bigint> = schemaOf(
  `a whole number of gas from ${MIN_OP_GAS_LIMIT} to ${Number.MAX_SAFE_INTEGER}`,
  bigInteger,
  (value, path) => {
    const read = bigInteger.parse(value, path)
    return read >= MIN_OP_GAS_LIMIT && read <= BigInt(Number.MAX_SAFE_INTEGER) ? read : undefined
  },
)

/** ETH with up to 18 decimals, parsed to wei. */
export const ether: Schema<bigint> = schemaOf('an amount of ETH such as 10000 or 0.5', string, (value) => {
  const [, whole, fraction = ''] = /^(\d{1,30})(?:\.(\d{1,18}))?$/.exec(String(toText(value))) ?? []
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(18, '0'))
})

/** An account with ether from the start; `balance` in wei, by default that of the dev accounts. */
export interface FundedAccount {
  readonly address: Address
  readonly balance: bigint | null
}

const fundedAccount: Schema<FundedAccount> = schemaOf('an address, or an address and ether such as 0x…:100', string, (value, path) => {
  const [account, amount, ...rest] = String(value).split(':')
  if (rest.length > 0) return undefined
  return { address: address.parse(account, path), balance: amount === undefined ? null : ether.parse(amount, path) }
})

/** Accounts of `--fund-accounts`, as text separated by commas. */
export const fundedAccounts: Schema<readonly FundedAccount[]> = listOf(fundedAccount)

/** Seconds with up to three decimals, parsed to milliseconds. */
export const seconds: Schema<number> = schemaOf('a number of seconds such as 2 or 0.2', string, (value) => {
  const digits = String(toText(value))
  const milliseconds = /^\d{1,6}(\.\d{1,3})?$/.test(digits) ? Math.round(Number(digits) * 1_000) : 0
  return milliseconds > 0 ? milliseconds : undefined
})

/** The keys of `names`, which the compiler checks to be all of `T`, and `synonyms` of them. */
export function nameOf<T extends string>(names: Readonly<Record<T, unknown>>, synonyms: Readonly<Record<string, T>> = {}): Schema<T> {
  const table = new Map<unknown, T>([...(Object.keys(names) as T[]).map((name) => [name, name] as const), ...Object.entries(synonyms)]) // Object.keys returns string[]
  return schemaOf(`one of ${Object.keys(names).join(', ')}`, string, (value) => table.get(toText(value)))
}

/** A boolean, or as text true, 1, yes, on, false, 0, no or off. */
export const toggle: Schema<boolean> = schemaOf('true or false', boolean, toBoolean)

/** A level of output: 0 to 9, or a boolean for 0 and 1. */
export const level: Schema<number> = schemaOf('a level from 0 to 9, true or false', integer, (value) => {
  const digits = String(toText(value))
  if (/^\d$/.test(digits)) return Number(digits)
  const isOn = toBoolean(value)
  return isOn === undefined ? undefined : Number(isOn)
})

/** null for a false `toggle`, else the value of `schema`. */
export function nullIfFalse<T>(schema: Schema<T>): Schema<T | null> {
  return {
    json: schema.json,
    parse: (value, path) => (toBoolean(value) === false ? null : schema.parse(value, path)),
  }
}

function toBoolean(value: unknown): boolean | undefined {
  return TOGGLE_WORDS.get(String(toText(value)).toLowerCase())
}

const TOGGLE_WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off'].map((word) => [word, false] as const),
])

/** A list, or as text its items with separators. */
export function listOf<T>(item: Schema<T>, separator = ','): Schema<readonly T[]> {
  const items = arrayOf(item, LIST_ITEMS)
  return {
    json: items.json,
    parse: (value, path) => items.parse(typeof value === 'string' ? value.split(separator).map((each) => each.trim()) : value, path),
  }
}

/** A name or address to listen on. The port is an option of its own. */
export const listenHost: Schema<string> = {
  json: string.json,
  parse: (value, path) => {
    const read = text.parse(value, path)
    const [, name, port] = /^([^:]+|\[.*\]):(\d+)$/.exec(read) ?? []
    if (name === undefined) return read
    throw refused(path, `${JSON.stringify(read.slice(0, 80))} has a port; name the host alone, and the port with --port ${port}`)
  },
}

/** A host name or address with or without a port. */
export const host: Schema<string> = schemaOf('a host name such as node.example', string, (value) =>
  typeof value === 'string' && /^([^\s:/?#@[\]]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.test(value) ? value : undefined,
)

/** What a browser sends as Origin (RFC 6454): a name without its scheme, or a URL with a path, equals none. */
export const origin: Schema<string> = schemaOf('an origin such as https://app.example, or *', string, (value) =>
  typeof value === 'string' && /^(\*|null|[a-z][a-z\d+.-]*:\/\/[^\s/?#@*]+\/?)$/i.test(value) ? value : undefined,
)

/** Ids of chains under the names that anvil and cast take. */
const CHAIN_IDS: Readonly<Record<string, number>> = {
  mainnet: 1,
  ethereum: 1,
  sepolia: 11_155_111,
  holesky: 17_000,
  hoodi: 560_048,
  optimism: 10,
  'optimism-sepolia': 11_155_420,
  base: 8_453,
  'base-sepolia': 84_532,
  arbitrum: 42_161,
  'arbitrum-sepolia': 421_614,
  polygon: 137,
  gnosis: 100,
  bsc: 56,
  avalanche: 43_114,
  celo: 42_220,
  ink: 57_073,
  mode: 34_443,
  soneium: 1_868,
  unichain: 130,
  world: 480,
  zora: 7_777_777,
  dev: 1_337,
  'anvil-hardhat': 31_337,
}

const chainNumber = wholeNumber(1, Number.MAX_SAFE_INTEGER)

export const chainId: Schema<number> = {
  json: { oneOf: [chainNumber.json, { enum: Object.keys(CHAIN_IDS) }] },
  parse: (value, path) => {
    const known = typeof value === 'string' && Object.hasOwn(CHAIN_IDS, value.toLowerCase()) ? CHAIN_IDS[value.toLowerCase()] : undefined
    if (known !== undefined) return known
    if (typeof value === 'string' && /^[a-z]/i.test(value))
      throw refused(
        path,
        `the chain ${JSON.stringify(value.slice(0, 40))} is unknown; give its id, or one of ${Object.keys(CHAIN_IDS).join(', ')}`,
      )
    return chainNumber.parse(value, path)
  },
}

/** http or https; the block after an `@` may follow. */
export const forkUrl: Schema<string> = schemaOf('a URL such as https://mainnet.base.org or http://127.0.0.1:8545@100', string, (value) =>
  typeof value === 'string' && /^https?:\/\/\S+$/i.test(value) && URL.canParse(value) ? value : undefined,
)

/** The node of `--explorer-of`. */
export const nodeUrl: Schema<string> = schemaOf('a URL such as http://127.0.0.1:8545 or wss://node.example', string, (value) =>
  typeof value === 'string' && /^(http|ws)s?:\/\/\S+$/i.test(value) && URL.canParse(value) ? value : undefined,
)

/** URLs that may contain a password, which the refusal does not repeat; `protocols` without the colon. Several are separated by commas. */
export function secretUrl(expected: string, protocols: readonly string[]): Schema<string> {
  const isUrl = (each: string) => URL.canParse(each) && protocols.includes(new URL(each).protocol.slice(0, -1))
  return {
    json: string.json,
    parse: (value, path) => {
      if (typeof value === 'string' && value.split(',').every((each) => isUrl(each.trim()))) return value
      throw invalidParams(`${path}: expected ${expected}; the value is not repeated here, because it may contain a password`)
    },
  }
}

export const transactionHash: Schema<Hash> = schemaOf('a transaction hash of 32 bytes', hash, (value, path) => hash.parse(value, path))

/** `Name: value`. */
export const httpHeader: Schema<string> = schemaOf('a header such as Authorization: Bearer …', string, (value) =>
  typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+:[^\r\n\0]*$/.test(value) ? value : undefined,
)

/** A schema whose refusal is `expected …, got …`. `parse` may throw or return undefined to refuse a value. */
function schemaOf<T>(expected: string, { json }: Schema<unknown>, parse: (value: unknown, path: string) => T | undefined): Schema<T> {
  return {
    json,
    parse: (value, path) => {
      const given = typeof value === 'bigint' ? String(value) : value // a configuration file may be a module
      const read = attempt(() => parse(given, path))
      if (read === undefined) throw mismatch(path, expected, given)
      return read
    },
  }
}

function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}

/** Numbers and booleans of a configuration file as text. */
function toText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
}

/** Formats wei as ETH: `10000` for 10^22 wei. */
export function formatEther(amount: bigint): string {
  const fraction = (amount % ETHER).toString().padStart(18, '0').replace(/0+$/, '')
  return fraction === '' ? `${amount / ETHER}` : `${amount / ETHER}.${fraction}`
}

const ETHER = 10n ** 18n
