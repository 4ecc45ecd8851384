import { Delegation, Hash, Hex } from '../eth/index.ts'
import type { EntryPoint, UserOperation } from '../eth/index.ts'

/** The override of one account in geth's state override set. */
export interface AccountOverride {
  readonly balance?: Hex
  readonly nonce?: Hex
  readonly code?: Hex
  readonly state?: Readonly<Record<string, Hex>> | null
  readonly stateDiff?: Readonly<Record<string, Hex>>
}
export type Overrides = Readonly<Record<string, AccountOverride>>

/** Merges override sets account by account and slot by slot; the last one wins. */
export function mergeOverrides(...all: readonly Overrides[]): Overrides {
  const result: Record<string, AccountOverride> = {}
  for (const [name, account] of all.flatMap((overrides) => Object.entries(overrides))) {
    const key = name.toLowerCase()
    const before = result[key]
    const stateDiff = before?.state === undefined ? { ...before?.stateDiff, ...account.stateDiff } : {}
    // Clients may send null for an absent field.
    const state = before?.state === undefined ? (account.state ?? undefined) : { ...before.state, ...account.stateDiff, ...account.state }
    const rest = { ...before, ...account }
    delete rest.state
    delete rest.stateDiff
    result[key] = {
      ...rest,
      ...(state === undefined ? undefined : { state }),
      ...(Object.keys(stateDiff).length === 0 || state !== undefined ? undefined : { stateDiff }),
    }
  }
  return result
}

/** Sets the sender's code to the delegation of the operation's authorization, if it has one. */
export function delegationOverride({ sender, authorization }: UserOperation): Overrides {
  return authorization === null ? {} : { [sender]: { code: Delegation.text(authorization.address) } }
}

// Storage layout of StakeManager and NonceManager, the same in all EntryPoint versions.
const DEPOSITS = Hash.fromBigint(0n)
const SEQUENCES = Hash.fromBigint(1n)

/** Sets the sender's nonce in the EntryPoint to the operation's nonce. */
export function nonceOverride({ address }: EntryPoint, { sender, nonce }: UserOperation): Overrides {
  const [key, sequence] = [nonce >> 64n, BigInt.asUintN(64, nonce)]
  const slot = mappingSlot(key, mappingSlot(BigInt(sender), SEQUENCES))
  return { [address]: { stateDiff: { [slot]: Hex.fromBytes32(sequence) } } }
}

/** Returns the storage slot of an entity's deposit in the EntryPoint. */
export function depositSlot(entity: bigint): Hash {
  return mappingSlot(entity, DEPOSITS)
}

/** Returns the slot of `key` in the mapping at `slot`. */
function mappingSlot(key: bigint, slot: Hash): Hash {
  return Hash.keccak(Hex.toBytes(`0x${Hex.fromBytes32(key).slice(2)}${slot.slice(2)}`))
}
