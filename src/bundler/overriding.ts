import { Delegation, Hash, Hex } from '../eth/index.ts'
import type { Address, EntryPoint, UserOperation } from '../eth/index.ts'
import { mappingSlot, merged } from './node.ts'
import type { BundlerNode, Overrides } from './node.ts'

// Where StakeManager and NonceManager keep what, in all three versions.
const DEPOSITS = Hash.fromBigint(0n)
const SEQUENCES = Hash.fromBigint(1n)

/** In 0.6 the deposit shares its slot, and has 112 bits in all of them. */
const DEPOSIT_BITS = 112
const RICH = 1n << 100n

/** What its authorization will make of the sender. */
export function delegating({ sender, authorization }: UserOperation): Overrides {
  return authorization === null ? {} : { [sender]: { code: Delegation.text(authorization.address) } }
}

/** The account as if all that comes before this nonce had happened. */
export function atNonce({ address }: EntryPoint, { sender, nonce }: UserOperation): Overrides {
  const [key, sequence] = [nonce >> 64n, BigInt.asUintN(64, nonce)]
  const slot = mappingSlot(key, mappingSlot(BigInt(sender), SEQUENCES))
  return { [address]: { stateDiff: { [slot]: Hex.fromBytes32(sequence) } } }
}

/** Whoever pays has plenty: limits are searched whatever they would cost. */
export async function funded(node: BundlerNode, entryPoint: EntryPoint, operation: UserOperation): Promise<Overrides> {
  const { sender, paymaster } = operation
  if (paymaster === null) return { [sender]: { balance: Hex.fromQuantity(RICH) } }
  return depositing(node, entryPoint.address, paymaster)
}

async function depositing(node: BundlerNode, entryPoint: Address, holder: Address): Promise<Overrides> {
  const slot = mappingSlot(BigInt(holder), DEPOSITS)
  const word = await node.quantity('eth_getStorageAt', entryPoint, slot, 'pending')
  const rest = (word >> BigInt(DEPOSIT_BITS)) << BigInt(DEPOSIT_BITS)
  return { [entryPoint]: { stateDiff: { [slot]: Hex.fromBytes32(rest | RICH) } } }
}

export function together(...all: readonly Overrides[]): Overrides {
  return all.reduce(merged, {})
}
