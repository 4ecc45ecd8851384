import { Abi, DecodeError, Hex } from '../eth/index.ts'
import type { AbiReader, Address } from '../eth/index.ts'
import { INNER_CALLS } from './limits.ts'

/** A call by an account. */
export interface InnerCall {
  readonly to: Address
  readonly value: bigint
  /** the first four bytes of the data, or all if there are fewer; `null` without data, as in a plain transfer */
  readonly selector: Hex | null
}

/**
 * Decodes the calls that `sender` makes for `callData`, by the interfaces of ERC-7821, SimpleAccount 0.6 and 0.7 and Coinbase Smart Wallet.
 * Returns `null` if they cannot be decoded. Accounts with other semantics under these selectors are not detected.
 */
export function innerCalls(sender: Address, callData: Uint8Array): readonly InnerCall[] | null {
  if (callData.length === 0) return []
  const read = READERS.get(Hex.fromBytes(callData.subarray(0, 4)))
  if (read === undefined) return null
  try {
    const calls = read(callData.subarray(4), sender)
    return calls === null || calls.length > INNER_CALLS ? null : calls
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}

type Read = (data: Uint8Array, sender: Address) => readonly InnerCall[] | null

const READERS: ReadonlyMap<Hex, Read> = new Map<Hex, Read>([
  [Abi.selector('execute(bytes32,bytes)'), inMode],
  [Abi.selector('execute(address,uint256,bytes)'), (data) => [callOf(Abi.Reader(data))]],
  [Abi.selector('executeBatch((address,uint256,bytes)[])'), (data) => Abi.Reader(data).tuples(0).map(callOf)],
  [Abi.selector('executeBatch(address[],bytes[])'), (data) => inColumns(listAt(data, 0), null, listAt(data, 1))],
  [Abi.selector('executeBatch(address[],uint256[],bytes[])'), (data) => inColumns(listAt(data, 0), listAt(data, 1), listAt(data, 2))],
  [Abi.selector('executeWithoutChainIdValidation(bytes[])'), (data, sender) => toItself(listAt(data, 0), sender)],
])

/** ERC-7821: one batch, with or without opData, or with the gas limits of PocketAccount. Batches of batches (0x…78210002) are not decoded. */
function inMode(data: Uint8Array): readonly InnerCall[] | null {
  const reader = Abi.Reader(data)
  const mode = reader.hash(0).slice(0, 22)
  return MODES.has(mode) ? Abi.Reader(reader.bytes(1)).tuples(0).map(callOf) : null
}

const MODES: ReadonlySet<string> = new Set(['0x01000000000000000000', '0x01000000000078210001', '0x0100000000006e270e55'])

function callOf(tuple: AbiReader): InnerCall {
  return { to: tuple.address(0), value: tuple.word(1), selector: selectorOf(tuple.bytes(2)) }
}

interface List {
  readonly count: number
  readonly at: AbiReader
}

/** Returns the array at the offset in word `index`. Throws DecodeError if it is out of range or too long. */
function listAt(data: Uint8Array, index: number): List {
  const start = Abi.Reader(data).word(index)
  if (start > BigInt(data.length)) throw new DecodeError('abi', `points to byte ${start} of ${data.length}`)
  const count = Abi.Reader(data, Number(start)).word(0)
  if (count > INNER_CALLS) throw new DecodeError('abi', `has ${count} items`)
  return { count: Number(count), at: Abi.Reader(data, Number(start) + 32) }
}

/** Without values each is 0: SimpleAccount 0.7 accepts an empty list for this. */
function inColumns(targets: List, values: List | null, datas: List): readonly InnerCall[] | null {
  const isPlain = values === null || values.count === 0
  if (targets.count !== datas.count || (!isPlain && values.count !== targets.count)) return null
  return Array.from({ length: targets.count }, (_, i) => ({
    to: targets.at.address(i),
    value: isPlain ? 0n : values.at.word(i),
    selector: selectorOf(datas.at.bytes(i)),
  }))
}

function toItself(datas: List, sender: Address): readonly InnerCall[] {
  return Array.from({ length: datas.count }, (_, i) => ({ to: sender, value: 0n, selector: selectorOf(datas.at.bytes(i)) }))
}

function selectorOf(data: Uint8Array): Hex | null {
  return data.length === 0 ? null : Hex.fromBytes(data.subarray(0, 4))
}
