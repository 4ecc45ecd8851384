import { Address, Hash, Hex } from '../eth/index.ts'
import type { Call } from './batches/call.ts'
import pocketAccount from './delegate.json' with { type: 'json' }

/** The code that accounts are upgraded to, and how to put it on a chain that lacks it: a call of `deployer` with `deployment` as its data. */
export const DELEGATE = {
  name: pocketAccount.name,
  address: Address.from(pocketAccount.address),
  deployer: Address.from(pocketAccount.deployer),
  deployment: Hex.toBytes(`${pocketAccount.salt}${pocketAccount.initCode.slice(2)}`),
} as const

/** True for a delegate that we can make an account do a batch through. */
export function isKnownDelegate(address: Address): boolean {
  return KNOWN.has(address)
}

/** Null: not known. */
export function delegateName(address: Address): string | null {
  return KNOWN.get(address)?.name ?? null
}

/**
 * Call data for an account that sends it to itself, so that its delegate does all calls or none. All calls need a `to`.
 * Throws RangeError for a delegate that is not known or a call that creates.
 */
export function encodeExecute(calls: readonly Call[], delegate: Address = DELEGATE.address): Uint8Array {
  const known = KNOWN.get(delegate)
  if (known === undefined) throw new RangeError(`nobody knows how ${delegate} takes a batch`)
  return known.encode(encodeCalls(calls))
}

const WORD_BYTES = 32

interface KnownDelegate {
  readonly name: string
  /** call data around `abi.encode((address,uint256,bytes)[])` */
  readonly encode: (calls: Uint8Array) => Uint8Array
}

const EXECUTE = selector('execute(bytes32,bytes)')
const EXECUTE_BATCH = selector('executeBatch((address,uint256,bytes)[])')
/** ERC-7821: all or nothing, without extras. */
const ALL_OR_NOTHING = 1n << 248n

/** Delegates that need no initialisation and whose batch sends a call for the zero address there. */
const KNOWN: ReadonlyMap<Address, KnownDelegate> = new Map([
  [
    DELEGATE.address,
    {
      name: DELEGATE.name,
      encode: (calls: Uint8Array) => concat([EXECUTE, word(ALL_OR_NOTHING), word(2n * 32n), word(BigInt(calls.length)), calls]),
    },
  ],
  // Of the authors of ERC-4337, made for EntryPoint 0.8.
  [
    Address.from('0xe6cae83bde06e4c305530e199d7217f42808555b'),
    { name: 'Simple7702Account', encode: (calls: Uint8Array) => concat([EXECUTE_BATCH, calls]) },
  ],
])

/** `abi.encode((address to, uint256 value, bytes data)[])`; its length is a multiple of 32. */
function encodeCalls(calls: readonly Call[]): Uint8Array {
  const bodies = calls.map(encodeCall)
  const offsets: Uint8Array[] = []
  let offset = calls.length * WORD_BYTES
  for (const body of bodies) {
    offsets.push(word(BigInt(offset)))
    offset += body.length
  }
  return concat([word(32n), word(BigInt(calls.length)), ...offsets, ...bodies])
}

function encodeCall({ to, value, data }: Call): Uint8Array {
  if (to === null) throw new RangeError('a batch through the code of an account cannot create a contract')
  const padding = new Uint8Array((WORD_BYTES - (data.length % WORD_BYTES)) % WORD_BYTES)
  return concat([word(Address.toBigint(to)), word(value), word(3n * 32n), word(BigInt(data.length)), data, padding])
}

function word(value: bigint): Uint8Array {
  return Hex.toBytes(Hex.fromBytes32(value))
}

function selector(signature: string): Uint8Array {
  return Hash.toBytes(Hash.ofText(signature)).subarray(0, 4)
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}
