import { Abi, Address, Hex } from '../eth/index.ts'
import type { AbiValue } from '../eth/index.ts'
import type { Call } from './batches/call.ts'
import pocketAccount from './delegate.json' with { type: 'json' }

/** The delegate of upgraded accounts. A call of `deployer` with the data `deployment` deploys it. */
export const DELEGATE = {
  name: pocketAccount.name,
  address: Address.from(pocketAccount.address),
  deployer: Address.from(pocketAccount.deployer),
  deployment: Hex.toBytes(`${pocketAccount.salt}${pocketAccount.initCode.slice(2)}`),
} as const

/** True for a delegate whose batch call the wallet can encode. */
export function isKnownDelegate(address: Address): boolean {
  return KNOWN.has(address)
}

/** null if it is unknown */
export function delegateName(address: Address): string | null {
  return KNOWN.get(address)?.name ?? null
}

/**
 * Call data for an account that sends it to itself, so that its delegate does all calls or none. All calls need a `to`.
 * Throws RangeError for a delegate that is not known or a call that creates.
 */
export function encodeExecute(calls: readonly Call[], delegate: Address = DELEGATE.address): Uint8Array {
  const known = KNOWN.get(delegate)
  if (known === undefined) throw new RangeError(`the delegate ${delegate} is unknown, so a batch cannot be encoded for it`)
  return known.encode(batchOf(calls))
}

interface KnownDelegate {
  readonly name: string
  readonly encode: (calls: BatchValue) => Uint8Array
}

/** `(address to, uint256 value, bytes data)[]` */
type BatchValue = { readonly list: readonly AbiValue[] }

const EXECUTE = Abi.selector('execute(bytes32,bytes)')
const EXECUTE_BATCH = Abi.selector('executeBatch((address,uint256,bytes)[])')
/** The mode of ERC-7821 for atomic execution without opData. */
const ALL_OR_NOTHING = 1n << 248n

/** Delegates that need no initialisation and whose batch sends a call for the zero address there. */
const KNOWN: ReadonlyMap<Address, KnownDelegate> = new Map([
  [DELEGATE.address, { name: DELEGATE.name, encode: (calls: BatchValue) => Abi.call(EXECUTE, [ALL_OR_NOTHING, Abi.encode([calls])]) }],
  // Of the authors of ERC-4337, made for EntryPoint 0.8.
  [
    Address.from('0xe6cae83bde06e4c305530e199d7217f42808555b'),
    { name: 'Simple7702Account', encode: (calls: BatchValue) => Abi.call(EXECUTE_BATCH, [calls]) },
  ],
])

function batchOf(calls: readonly Call[]): BatchValue {
  return { list: calls.map(valueOf) }
}

function valueOf({ to, value, data }: Call): AbiValue {
  if (to === null) throw new RangeError('a batch through the code of an account cannot create a contract')
  return [to, value, data]
}
