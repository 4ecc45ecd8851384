import { Hash, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import { visibleText } from './display.ts'
import { READ_BYTES, SYMBOL_CHARS } from '../limits.ts'
import { readAll } from './simulation.ts'
import type { Read } from './simulation.ts'

/** What a contract says of itself as a token. All of it is its own claim. */
export interface Token {
  readonly address: Address
  /** printable; null: it has none */
  readonly symbol: string | null
  /** null: it has none, or none that makes sense */
  readonly decimals: number | null
  /** it says that it is a collection (ERC-721) */
  readonly isCollection: boolean
}

/** Tokens are told from other contracts by having decimals, a symbol or the mark of a collection. In one request where the node can; never throws. */
export async function readTokens(rpc: Rpc, addresses: readonly Address[]): Promise<ReadonlyMap<Address, Token>> {
  const asked = [...new Set(addresses)]
  const answers = await readAll(rpc, asked.flatMap(tokenReads))
  const tokens = asked.map((address, i) => tokenOf(address, answers.slice(i * TOKEN_READS, (i + 1) * TOKEN_READS)))
  return new Map(tokens.flatMap((token) => (token === null ? [] : [[token.address, token]])))
}

/** What `tokenOf` reads, in its order. */
export function tokenReads(to: Address): readonly Read[] {
  return [
    { to, input: SYMBOL },
    { to, input: DECIMALS },
    { to, input: IS_COLLECTION },
  ]
}

const TOKEN_READS = 3

/** Null: whatever it is, it is no token. */
export function tokenOf(address: Address, [symbol = null, decimals = null, collection = null]: readonly (Hex | null)[]): Token | null {
  const token = {
    address,
    symbol: symbolOf(symbol),
    decimals: decimalsOf(decimals),
    isCollection: wordOf(collection) === 1n,
  }
  return token.symbol === null && token.decimals === null && !token.isCollection ? null : token
}

/** A call of a view: its selector, and words behind it. */
export function viewOf(signature: string, ...args: readonly (Address | bigint)[]): Hex {
  const words = args.map((arg) => Hex.fromBytes32(BigInt(arg)).slice(2))
  return `${Hash.ofText(signature).slice(0, 10)}${words.join('')}` as Hex // begins with 0x
}

/** The number in the first 32 bytes; null: there are none. */
export function wordOf(answer: Hex | null): bigint | null {
  return answer === null || answer.length < 66 ? null : BigInt(answer.slice(0, 66))
}

const SYMBOL = viewOf('symbol()')
const DECIMALS = viewOf('decimals()')
/** ERC-165, of ERC-721. */
const IS_COLLECTION = `${viewOf('supportsInterface(bytes4)')}80ac58cd${'0'.repeat(56)}` as Hex // begins with 0x
/** 10^36 is more than any token has; a number of decimals beyond it would only make amounts unreadable. */
const MOST_DECIMALS = 36n

function decimalsOf(answer: Hex | null): number | null {
  const decimals = wordOf(answer)
  return decimals === null || decimals > MOST_DECIMALS ? null : Number(decimals)
}

/** A string, or 32 bytes with zeros at the end as the first tokens have. */
function symbolOf(answer: Hex | null): string | null {
  if (answer === null) return null
  const bytes = Hex.toBytes(answer.slice(0, 2 + 2 * READ_BYTES))
  const text = UTF8.decode(bytes.length === 32 ? untilZero(bytes) : stringIn(bytes)).trim()
  if (text === '') return null
  // With spaces in it a symbol could go on with the sentence that it stands in.
  return /\p{Zs}/u.test(text) ? `“${visibleText(text, SYMBOL_CHARS)}”` : visibleText(text, SYMBOL_CHARS)
}

function untilZero(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}

/** `abi.encode(string)`; nothing for anything else. */
function stringIn(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 64 || BigInt(Hex.fromBytes(bytes.subarray(0, 32))) !== 32n) return new Uint8Array()
  const length = BigInt(Hex.fromBytes(bytes.subarray(32, 64)))
  return bytes.subarray(64, 64 + Number(length < BigInt(READ_BYTES) ? length : READ_BYTES))
}

const UTF8 = new TextDecoder()
