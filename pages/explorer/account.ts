import { askAll } from './node.ts'
import type { Call } from './node.ts'

/** The account at an address. */
export interface Account {
  readonly balance: bigint
  /** balance at `pending`, which includes promises; null if the node does not answer at `pending` */
  readonly pendingBalance: bigint | null
  readonly nonce: bigint
  readonly code: string
  /** the code that runs at the address instead of its own */
  readonly target: Target | null
}

export interface Target {
  readonly address: string
  readonly kind: 'EIP-7702 delegate' | 'EIP-1967 proxy' | 'EIP-1967 beacon proxy' | 'EIP-1167 clone'
  readonly code: string
}

/** keccak256("eip1967.proxy.implementation") - 1 */
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
/** keccak256("eip1967.proxy.beacon") - 1 */
const BEACON_SLOT = '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50'
/** implementation() */
const IMPLEMENTATION = '0x5c60da1b'
const CLONE = /^0x363d3d373d3d3d363d73([0-9a-f]{40})5af43d82803e903d91602b57fd5bf3$/i
const DELEGATION = /^0xef0100([0-9a-f]{40})$/i
/** An address in a word. */
const WORD = /^0x0{24}([0-9a-f]{40})$/i

/** Reads what is at an address, with promises. Throws the error of the node. */
export async function readAccount(address: string, signal: AbortSignal): Promise<Account> {
  const { latest, pending } = await readTwice(
    [
      ['eth_getBalance', address],
      ['eth_getTransactionCount', address],
      ['eth_getCode', address],
      ['eth_getStorageAt', address, IMPLEMENTATION_SLOT],
      ['eth_getStorageAt', address, BEACON_SLOT],
    ],
    signal,
  )
  const [balance, nonce, code, implementation, beacon] = latest.map((answer, i) => newer(answer, pending[i]))
  for (const answer of [balance, nonce, code]) if (answer instanceof Error) throw answer
  const sealed = latest[0] instanceof Error ? balance : latest[0]
  return {
    balance: BigInt(String(sealed)),
    pendingBalance: pending[0] instanceof Error ? null : BigInt(String(pending[0])),
    nonce: BigInt(String(nonce)),
    code: String(code),
    target: await targetOf({ code: String(code), implementation: addressOf(implementation), beacon: addressOf(beacon) }, signal),
  }
}

/** Asks at `latest` and at `pending`, which some nodes refuse. */
async function readTwice(calls: readonly Call[], signal: AbortSignal) {
  const at = (tag: string) => calls.map((call): Call => [...call, tag])
  const answers = await askAll([...at('latest'), ...at('pending')], { signal })
  return { latest: answers.slice(0, calls.length), pending: answers.slice(calls.length) }
}

function newer(latest: unknown, pending: unknown): unknown {
  return pending instanceof Error ? latest : pending
}

interface Pointers {
  readonly code: string
  readonly implementation: string | null
  readonly beacon: string | null
}

async function targetOf({ code, implementation, beacon }: Pointers, signal: AbortSignal): Promise<Target | null> {
  if (code === '0x') return null
  const [, delegate] = DELEGATION.exec(code) ?? []
  if (delegate !== undefined) return withCode(`0x${delegate}`, 'EIP-7702 delegate', signal)
  const [, cloned] = CLONE.exec(code) ?? []
  if (cloned !== undefined) return withCode(`0x${cloned}`, 'EIP-1167 clone', signal)
  if (implementation !== null) return withCode(implementation, 'EIP-1967 proxy', signal)
  if (beacon === null) return null
  const { latest, pending } = await readTwice([['eth_call', { to: beacon, data: IMPLEMENTATION }]], signal)
  const behind = addressOf(newer(latest[0], pending[0]))
  return behind === null ? null : withCode(behind, 'EIP-1967 beacon proxy', signal)
}

async function withCode(address: string, kind: Target['kind'], signal: AbortSignal): Promise<Target> {
  const { latest, pending } = await readTwice([['eth_getCode', address]], signal)
  const code = newer(latest[0], pending[0])
  return { address, kind, code: typeof code === 'string' ? code : '0x' }
}

function addressOf(word: unknown): string | null {
  const [, digits] = WORD.exec(String(word)) ?? []
  return digits === undefined || /^0+$/.test(digits) ? null : `0x${digits}`
}
