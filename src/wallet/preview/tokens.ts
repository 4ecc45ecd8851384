import { Hash, Hex, symbolText } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import { READ_BYTES, SYMBOL_CHARS } from '../limits.ts'
import type { TokenLabel } from '../question.ts'
import { readAll } from './simulation.ts'
import type { Read } from './simulation.ts'

/** Token metadata as the contract reports it, unverified. */
export interface Token extends TokenLabel {
  /** it reports the interface of ERC-721 */
  readonly isCollection: boolean
}

/** Returns the addresses that are tokens: with decimals, a symbol or the ERC-721 interface. One request if the node has eth_simulateV1. Never throws. */
export async function readTokens(rpc: Rpc, addresses: readonly Address[]): Promise<ReadonlyMap<Address, Token>> {
  const queried = [...new Set(addresses)]
  const answers = await readAll(rpc, queried.flatMap(tokenReads))
  const tokens = queried.map((address, i) => tokenOf(address, answers.slice(i * TOKEN_READS, (i + 1) * TOKEN_READS)))
  return new Map(tokens.flatMap((token) => (token === null ? [] : [[token.address, token]])))
}

/** The reads for `tokenOf`, in its order. */
export function tokenReads(to: Address): readonly Read[] {
  return [
    { to, input: SYMBOL },
    { to, input: DECIMALS },
    { to, input: IS_COLLECTION },
  ]
}

export function supplyRead(to: Address): Read {
  return { to, input: TOTAL_SUPPLY }
}

const TOKEN_READS = 3

/** null if it is not a token. */
export function tokenOf(address: Address, [symbol = null, decimals = null, collection = null]: readonly (Hex | null)[]): Token | null {
  const token = {
    address,
    symbol: symbolOf(symbol),
    decimals: decimalsOf(decimals),
    isCollection: wordOf(collection) === 1n,
  }
  return token.symbol === null && token.decimals === null && !token.isCollection ? null : token
}

/** Encodes a call of a view with static arguments. */
export function viewOf(signature: string, ...args: readonly (Address | bigint)[]): Hex {
  const words = args.map((arg) => Hex.fromBytes32(BigInt(arg)).slice(2))
  return `${Hash.ofText(signature).slice(0, 10)}${words.join('')}` as Hex // begins with 0x
}

/** The number in the first 32 bytes; null if there are fewer. */
export function wordOf(answer: Hex | null): bigint | null {
  return answer === null || answer.length < 66 ? null : BigInt(answer.slice(0, 66))
}

const SYMBOL = viewOf('symbol()')
const DECIMALS = viewOf('decimals()')
const TOTAL_SUPPLY = viewOf('totalSupply()')
/** ERC-165: supportsInterface with the id of ERC-721. */
const IS_COLLECTION = `${viewOf('supportsInterface(bytes4)')}80ac58cd${'0'.repeat(56)}` as Hex // begins with 0x
/** More than any known token has; larger values would make amounts unreadable. */
const MAX_DECIMALS = 36n

function decimalsOf(answer: Hex | null): number | null {
  const decimals = wordOf(answer)
  return decimals === null || decimals > MAX_DECIMALS ? null : Number(decimals)
}

/** A string, or bytes32 padded with zeros as in early tokens such as MKR. */
function symbolOf(answer: Hex | null): string | null {
  if (answer === null) return null
  const bytes = Hex.toBytes(answer.slice(0, 2 + 2 * READ_BYTES))
  return symbolText(UTF8.decode(bytes.length === 32 ? untilZero(bytes) : stringIn(bytes)), SYMBOL_CHARS)
}

function untilZero(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}

/** The bytes of `abi.encode(string)`; empty for other data. */
function stringIn(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 64 || BigInt(Hex.fromBytes(bytes.subarray(0, 32))) !== 32n) return new Uint8Array()
  const length = BigInt(Hex.fromBytes(bytes.subarray(32, 64)))
  return bytes.subarray(64, 64 + Number(length < BigInt(READ_BYTES) ? length : READ_BYTES))
}

const UTF8 = new TextDecoder()
