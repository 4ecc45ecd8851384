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

/** True for a delegate that can pass each call a gas limit of its own. */
export function hasCallLimits(delegate: Address): boolean {
  return KNOWN.get(delegate)?.encodeLimited !== undefined
}

/**
 * Call data for an account that sends it to itself, so that its delegate does all calls or none. All calls need a `to`.
 * Throws RangeError for a delegate that is not known, a call that creates, or a limit that the delegate cannot forward.
 */
export function encodeExecute(calls: readonly Call[], delegate: Address = DELEGATE.address): Uint8Array {
  const known = KNOWN.get(delegate)
  if (known === undefined) throw new RangeError(`the delegate ${delegate} is unknown, so a batch cannot be encoded for it`)
  if (calls.every(({ gasLimitOverride }) => gasLimitOverride === null)) return known.encode(batchOf(calls))
  if (known.encodeLimited === undefined) throw new RangeError(`the delegate ${delegate} cannot limit the gas of a call`)
  return known.encodeLimited(batchOf(calls), { list: calls.map(({ gasLimitOverride }) => gasLimitOverride ?? 0n) })
}

interface KnownDelegate {
  readonly name: string
  readonly encode: (calls: BatchValue) => Uint8Array
  /** `limits`: `uint256[]`, 0 for a call without one. Absent: its calls have no limits */
  readonly encodeLimited?: (calls: BatchValue, limits: BatchValue) => Uint8Array
}

/** A list of `(address to, uint256 value, bytes data)`, or of numbers */
type BatchValue = { readonly list: readonly AbiValue[] }

const EXECUTE = Abi.selector('execute(bytes32,bytes)')
const EXECUTE_BATCH = Abi.selector('executeBatch((address,uint256,bytes)[])')
/** The mode of ERC-7821 for atomic execution without opData. */
const ALL_OR_NOTHING = 1n << 248n

/** The same with limits: `(calls, limits)`; see contracts/src/Batch.sol. */
const LIMITED = ((1n << 72n) | 0x6e270e55n) << 176n

/** Delegates that need no initialisation and whose batch sends a call for the zero address there. */
const KNOWN: ReadonlyMap<Address, KnownDelegate> = new Map([
  [
    DELEGATE.address,
    {
      name: DELEGATE.name,
      encode: executeAll,
      encodeLimited: (calls: BatchValue, limits: BatchValue) => Abi.call(EXECUTE, [LIMITED, Abi.encode([calls, limits])]),
    },
  ],
  // Up to version 0.2.0.
  [Address.from('0xb405a0288c0ad64b48365bd23f6480f55cb68d1f'), { name: DELEGATE.name, encode: executeAll }],
  // By the authors of ERC-4337, for EntryPoint 0.8.
  [
    Address.from('0xe6cae83bde06e4c305530e199d7217f42808555b'),
    { name: 'Simple7702Account', encode: (calls: BatchValue) => Abi.call(EXECUTE_BATCH, [calls]) },
  ],
])

function executeAll(calls: BatchValue): Uint8Array {
  return Abi.call(EXECUTE, [ALL_OR_NOTHING, Abi.encode([calls])])
}

function batchOf(calls: readonly Call[]): BatchValue {
  return { list: calls.map(valueOf) }
}

function valueOf({ to, value, data }: Call): AbiValue {
  if (to === null) throw new RangeError('a batch through the code of an account cannot create a contract')
  return [to, value, data]
}
