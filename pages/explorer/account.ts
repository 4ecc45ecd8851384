import { askAll } from './node.ts'

/** What is at an address. */
export interface Account {
  readonly balance: bigint
  /** with promises; null if the node does not answer at `pending` */
  readonly pendingBalance: bigint | null
  readonly nonce: bigint
  readonly code: string
  /** the code that runs at the address instead of its own */
  readonly target: { readonly address: string; readonly kind: 'EIP-7702 delegate' | 'EIP-1967 proxy' | 'EIP-1167 clone' } | null
}

/** keccak256("eip1967.proxy.implementation") - 1 */
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
const CLONE = /^0x363d3d373d3d3d363d73([0-9a-f]{40})5af43d82803e903d91602b57fd5bf3$/i
const DELEGATION = /^0xef0100([0-9a-f]{40})$/i

/** Throws the error of the node. */
export async function readAccount(address: string, signal: AbortSignal): Promise<Account> {
  const [balance, pendingBalance, nonce, code, slot] = await askAll(
    [
      ['eth_getBalance', address, 'latest'],
      ['eth_getBalance', address, 'pending'],
      ['eth_getTransactionCount', address, 'pending'],
      ['eth_getCode', address, 'latest'],
      ['eth_getStorageAt', address, IMPLEMENTATION_SLOT, 'latest'],
    ],
    { signal },
  )
  for (const answer of [balance, nonce, code]) if (answer instanceof Error) throw answer
  return {
    balance: BigInt(String(balance)),
    pendingBalance: pendingBalance instanceof Error ? null : BigInt(String(pendingBalance)),
    nonce: BigInt(String(nonce)),
    code: String(code),
    target: targetOf(String(code), slot instanceof Error ? '0x0' : String(slot)),
  }
}

function targetOf(code: string, slot: string): Account['target'] {
  const [, delegate] = DELEGATION.exec(code) ?? []
  if (delegate !== undefined) return { address: `0x${delegate}`, kind: 'EIP-7702 delegate' }
  const [, cloned] = CLONE.exec(code) ?? []
  if (cloned !== undefined) return { address: `0x${cloned}`, kind: 'EIP-1167 clone' }
  return code !== '0x' && BigInt(slot) !== 0n ? { address: `0x${slot.slice(-40)}`, kind: 'EIP-1967 proxy' } : null
}
