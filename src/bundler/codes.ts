import { Delegation, Hash } from '../eth/index.ts'
import type { Address, UserOperation } from '../eth/index.ts'
import type { RpcError } from '../jsonrpc/index.ts'
import { refuse } from './errors.ts'
import type { BundlerNode } from './node.ts'

/** Hashes of the code that ran in a validation, by address. */
export type Codes = ReadonlyMap<Address, Hash>

/** Delegates that the authorizations of a bundle set (EIP-7702), by account. */
export type Delegates = ReadonlyMap<Address, Address>

/** Returns the delegates that these operations set. */
export function delegatesOf(operations: readonly UserOperation[]): Delegates {
  return new Map(
    operations.flatMap(({ sender, authorization }) => (authorization === null ? [] : [[sender, authorization.address] as const])),
  )
}

/** Returns the hashes of the code of these addresses with these delegates. Skips those without code. */
export async function codesOf(node: BundlerNode, addresses: Iterable<Address>, delegates: Delegates): Promise<Codes> {
  const hashes = await Promise.all(
    [...addresses].map(async (address) => {
      const delegate = delegates.get(address)
      return [address, delegate === undefined ? await node.codeHash(address) : delegationHash(delegate)] as const
    }),
  )
  return new Map(hashes.flatMap(([address, hash]) => (hash === null ? [] : [[address, hash] as const])))
}

/** The code of an account that delegates; empty for another one. A signature need not cover the delegate, so it is kept without the rules too. */
export async function delegationOf(node: BundlerNode, { sender, authorization }: UserOperation): Promise<Codes> {
  const delegate = authorization?.address ?? (await node.delegate(sender))
  return delegate === null ? new Map() : new Map([[sender, delegationHash(delegate)]])
}

export function delegationHash(delegate: Address): Hash {
  return Hash.keccak(Delegation.code(delegate))
}

/** COD-010: code that ran in the validation must be the same in the bundle, which sets these delegates. Returns `null` if it is. */
export async function changedCode(node: BundlerNode, codes: Codes, delegates: Delegates): Promise<RpcError | null> {
  const now = await codesOf(node, codes.keys(), delegates)
  const changed = [...codes].find(([address, hash]) => now.get(address) !== hash)
  if (changed === undefined) return null
  return refuse('rule', `the code of ${changed[0]} has changed since the operation was checked (COD-010 of ERC-7562)`, { rule: 'COD-010' })
}
