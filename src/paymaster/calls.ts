import { Abi, Address, DecodeError, Hex } from '../eth/index.ts'
import type { AbiReader } from '../eth/index.ts'
import { INNER_CALLS } from './limits.ts'

/** A call by an account. */
export interface InnerCall {
  readonly to: Address
  readonly value: bigint
  /** the first four bytes of the data, or all if there are fewer; `null` without data, as in a plain transfer */
  readonly selector: Hex | null
}

/** The calls of an operation, or why they are unknown. */
type DecodedCalls =
  | { readonly calls: readonly InnerCall[]; readonly unreadable: null }
  | { readonly calls: null; readonly unreadable: string }

/**
 * Decodes the calls that `sender` makes for `callData`, by the interfaces of ERC-7579, ERC-7821, SimpleAccount 0.6 to 0.9, Coinbase Smart Wallet,
 * Kernel 2 and Safe's module for ERC-4337. Accounts with other semantics under these selectors are not detected.
 */
export function innerCalls(sender: Address, callData: Uint8Array): DecodedCalls {
  if (callData.length === 0) return { calls: [], unreadable: null }
  const selector = Hex.fromBytes(callData.subarray(0, 4))
  const read = READERS.get(selector)
  if (read === undefined) return { calls: null, unreadable: `the account's function ${selector} is unknown` }
  try {
    const calls = read(callData.subarray(4), sender)
    if (typeof calls === 'string') return { calls: null, unreadable: calls }
    if (calls.length > INNER_CALLS) return { calls: null, unreadable: `there are ${calls.length} calls, at most ${INNER_CALLS} are read` }
    return { calls, unreadable: null }
  } catch (error) {
    if (error instanceof DecodeError) return { calls: null, unreadable: `the call data is malformed: ${error.message}` }
    throw error
  }
}

/** Returns the calls, or why they cannot be read. */
type Read = (data: Uint8Array, sender: Address) => readonly InnerCall[] | string

const READERS: ReadonlyMap<Hex, Read> = new Map<Hex, Read>([
  [Abi.selector('execute(bytes32,bytes)'), inMode],
  [Abi.selector('execute(address,uint256,bytes)'), (data) => [callOf(Abi.Reader(data))]],
  [Abi.selector('executeBatch((address,uint256,bytes)[])'), (data) => Abi.Reader(data).tuples(0).map(callOf)],
  [Abi.selector('executeBatch(address[],bytes[])'), (data) => inColumns(listAt(data, 0), null, listAt(data, 1))],
  [Abi.selector('executeBatch(address[],uint256[],bytes[])'), (data) => inColumns(listAt(data, 0), listAt(data, 1), listAt(data, 2))],
  [Abi.selector('executeWithoutChainIdValidation(bytes[])'), (data, sender) => toItself(listAt(data, 0), sender)],
  [Abi.selector('execute(address,uint256,bytes,uint8)'), (data) => kernelCall(Abi.Reader(data))],
  [Abi.selector('executeUserOp(address,uint256,bytes,uint8)'), (data) => safeCalls(Abi.Reader(data))],
  [Abi.selector('executeUserOpWithErrorString(address,uint256,bytes,uint8)'), (data) => safeCalls(Abi.Reader(data))],
])

/**
 * ERC-7579 and ERC-7821: a single call, or one batch, with or without opData, or with the gas limits of PocketAccount. Batches of batches
 * (0x…78210002) are not decoded.
 */
function inMode(data: Uint8Array): readonly InnerCall[] | string {
  const reader = Abi.Reader(data)
  const mode = reader.hash(0).slice(0, 22)
  if (mode === SINGLE) return [packedCall(reader.bytes(1))]
  if (BATCHES.has(mode)) return Abi.Reader(reader.bytes(1)).tuples(0).map(callOf)
  if (mode.startsWith('0xff')) return `the mode ${mode} of ERC-7579 is a delegatecall, whose effects are unknown`
  if (mode.slice(4, 6) === '01') return `the mode ${mode} of ERC-7579 tries its calls, and a failed one would be paid for`
  return `the mode ${mode} of ERC-7579 is not a single call or a batch`
}

const SINGLE = '0x00000000000000000000'
const BATCHES: ReadonlySet<string> = new Set(['0x01000000000000000000', '0x01000000000078210001', '0x0100000000006e270e55'])

/** ERC-7579's single call: target (20 bytes), value (32), data. */
function packedCall(bytes: Uint8Array): InnerCall {
  if (bytes.length < 52) throw new DecodeError('abi', `has ${bytes.length} bytes instead of at least 52`)
  return {
    to: Address.from(bytes.subarray(0, 20)),
    value: BigInt(Hex.fromBytes(bytes.subarray(20, 52))),
    selector: selectorOf(bytes.subarray(52)),
  }
}

/** Kernel 2: operation 0 is a call. */
function kernelCall(reader: AbiReader): readonly InnerCall[] | string {
  return reader.word(3) === 0n ? [callOf(reader)] : `the operation ${reader.word(3)} of Kernel is a delegatecall, whose effects are unknown`
}

/** Safe: operation 0 is a call, 1 a delegatecall, which is read for MultiSend only. */
function safeCalls(reader: AbiReader): readonly InnerCall[] | string {
  if (reader.word(3) === 0n) return [callOf(reader)]
  const { to, selector } = callOf(reader)
  if (!MULTI_SENDS.has(to) || selector !== MULTI_SEND)
    return `a delegatecall of the Safe to ${to}, whose effects are unknown; batches go to MultiSend or MultiSendCallOnly`
  return multiSendCalls(Abi.Reader(reader.bytes(2).subarray(4)).bytes(0))
}

/** MultiSend: operation (1 byte), target (20), value (32), size (32), data, one call after the other. */
function multiSendCalls(bytes: Uint8Array): readonly InnerCall[] | string {
  const calls: InnerCall[] = []
  for (let at = 0; at < bytes.length;) {
    const size = Number(Abi.Reader(bytes, at + 53).word(0))
    const end = at + 85 + size
    if (end > bytes.length) throw new DecodeError('abi', `points to byte ${end} of ${bytes.length}`)
    if (bytes[at] !== 0) return 'a delegatecall in the batch of the Safe, whose effects are unknown'
    calls.push({
      to: Address.from(bytes.subarray(at + 1, at + 21)),
      value: BigInt(Hex.fromBytes(bytes.subarray(at + 21, at + 53))),
      selector: selectorOf(bytes.subarray(at + 85, end)),
    })
    at = end
  }
  return calls
}

const MULTI_SEND = Abi.selector('multiSend(bytes)')
/** MultiSend and MultiSendCallOnly of Safe 1.3.0, of both its factories, and 1.4.1. */
const MULTI_SENDS: ReadonlySet<Address> = new Set(
  [
    '0xA238CBeb142c10Ef7Ad8442C6D1f9E89e07e7761',
    '0x998739BFdAAdde7C933B942a68053933098f9EDa',
    '0x40A2aCCbd92BCA938b02010E17A1b8929b49130D',
    '0xA1dabEF33b3B82c7814B6D82A79e50F4AC44102B',
    '0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526',
    '0x9641d764fc13c8B624c04430C7356C1C7C8102e2',
  ].map((address) => Address.from(address)),
)

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
function inColumns(targets: List, values: List | null, datas: List): readonly InnerCall[] | string {
  const isPlain = values === null || values.count === 0
  if (targets.count !== datas.count || (!isPlain && values.count !== targets.count))
    return 'the lists of targets, values and data differ in length'
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
