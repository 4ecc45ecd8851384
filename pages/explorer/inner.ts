import type { Hex } from 'viem'
import { decodeAbiParameters, parseAbiParameters } from 'viem/utils'
import type { Decoded } from './abi.ts'

/** A call among the arguments of another one. */
export interface InnerCall {
  readonly to: string
  /** wei */
  readonly value: bigint
  readonly input: string
}

type Arguments = readonly unknown[]

const CALLS = parseAbiParameters('(address to, uint256 value, bytes data)[]')

/** Functions of accounts, batches and EntryPoints that pass calls on, by signature. The types of the arguments follow from it. */
const SHAPES: Readonly<Record<string, (values: Arguments, self: string) => readonly InnerCall[]>> = {
  'execute(address,uint256,bytes)': ([to, value, data]) => [callOf(to, value, data)],
  'execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)': ([to, value, data]) => [
    callOf(to, value, data),
  ],
  'execute(bytes32,bytes)': ([mode, data]) => callsOfMode(String(mode), String(data)),
  'executeBatch((address,uint256,bytes)[])': ([calls]) => rows(calls).map(([to, value, data]) => callOf(to, value, data)),
  'executeBatch(address[],bytes[])': ([targets, data]) => list(targets).map((to, i) => callOf(to, 0n, list(data)[i])),
  'executeBatch(address[],uint256[],bytes[])': ([targets, values, data]) =>
    list(targets).map((to, i) => callOf(to, list(values)[i] ?? 0n, list(data)[i])),
  'aggregate((address,bytes)[])': ([calls]) => rows(calls).map(([to, data]) => callOf(to, 0n, data)),
  'aggregate3((address,bool,bytes)[])': ([calls]) => rows(calls).map(([to, , data]) => callOf(to, 0n, data)),
  'aggregate3Value((address,bool,uint256,bytes)[])': ([calls]) => rows(calls).map(([to, , value, data]) => callOf(to, value, data)),
  'multicall(bytes[])': ([data], self) => list(data).map((each) => callOf(self, 0n, each)),
  'handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)': ([operations]) => callsOfOperations(operations),
  'handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)': ([operations]) =>
    callsOfOperations(operations),
}

/** Returns the calls among the arguments of a call of `self`; empty for a function that is not known to pass calls on. */
export function innerCalls({ signature, inputs }: Decoded, self: string): readonly InnerCall[] {
  const values = inputs.map(({ value }) => value)
  try {
    return SHAPES[signature]?.(values, self) ?? []
  } catch {
    return [] // members of a registered ABI that have the same name are lost
  }
}

function callOf(to: unknown, value: unknown, data: unknown): InnerCall {
  return { to: String(to), value: BigInt(String(value)), input: typeof data === 'string' ? data : '0x' }
}

function callsOfOperations(operations: unknown): readonly InnerCall[] {
  return rows(operations).map(([sender, , , callData]) => callOf(sender, 0n, callData))
}

/** ERC-7579 and ERC-7821: the first byte of the mode is 0 for one call, packed, and 1 for an array of calls. */
function callsOfMode(mode: string, data: string): readonly InnerCall[] {
  if (mode.startsWith('0x00') && data.length >= 2 + 104)
    return [callOf(data.slice(0, 42), BigInt(`0x${data.slice(42, 106)}`), `0x${data.slice(106)}`)]
  if (!mode.startsWith('0x01')) return []
  try {
    const [calls] = decodeAbiParameters(CALLS, data as Hex) // decoded from the wire
    return calls.map(({ to, value, data: input }) => ({ to, value, input }))
  } catch {
    return []
  }
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** viem decodes a tuple as an object if its members have names, in their order, else as an array. */
function rows(value: unknown): readonly (readonly unknown[])[] {
  return list(value).map((row) => (Array.isArray(row) ? row : Object.values(row as object)) as readonly unknown[]) // the signature has an array of tuples
}
