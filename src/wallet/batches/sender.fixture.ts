import { onTestFinished } from 'vitest'
import type { Address, Hash, Hex } from '../../eth/index.ts'
import type { Pocketchain } from '../../index.ts'
import type { CallsStatus } from './batches.ts'
import type { Provider } from '../provider.ts'
import type { QuestionKind } from '../question.ts'
import { ORIGIN, openWallet } from '../wallet.fixture.ts'
import type { Wallet } from '../wallet.ts'

export interface Sender {
  readonly wallet: Wallet
  readonly provider: Provider
  readonly errors: unknown[]
  readonly alice: Address
  readonly bob: Address
  /** Returns the result, whose type the caller states. */
  readonly ask: <T = unknown>(method: string, ...params: readonly unknown[]) => Promise<T>
  /** Calls wallet_sendCalls with the required fields added. Returns the id. */
  readonly send: (request: Readonly<Record<string, unknown>>) => Promise<string>
  readonly status: (id: string) => Promise<CallsStatus>
  /** Resolves with the first status other than 100. */
  readonly settled: (id: string) => Promise<CallsStatus>
}

/** A wallet that approves everything, and a site that is connected to all accounts of the node. */
export function sender(node: Pocketchain, options: Parameters<typeof openWallet>[1] = {}, origin = ORIGIN): Sender {
  const { wallet, errors } = openWallet(node, { policy: 'approve', ...options })
  const [alice, bob] = node.accounts.map(({ address }) => address) as [Address, Address, ...Address[]] // a node has ten
  if (wallet.sites.get(origin).accounts.length === 0)
    wallet.sites.connect(
      origin,
      node.accounts.map(({ address }) => address),
    )
  const provider = wallet.provider(origin)
  const ask = async <T>(method: string, ...params: readonly unknown[]) => (await provider.request({ method, params })) as T
  const status = (id: string) => ask<CallsStatus>('wallet_getCallsStatus', id)
  return {
    wallet,
    provider,
    errors,
    alice,
    bob,
    ask,
    send: async (request) => (await ask<{ id: string }>('wallet_sendCalls', { ...batchOf(), ...request })).id,
    status,
    settled: async (id) => {
      for (;;) {
        const now = await status(id)
        if (now.status !== 100) return now
      }
    },
  }
}

/** The required fields of a request. */
export function batchOf(): Readonly<Record<string, unknown>> {
  return { version: '2.0.0', chainId: '0x7a69', atomicRequired: false }
}

/** Returns the state that any sent transaction would change. */
export async function visibleState(node: Pocketchain, { wallet, alice }: Sender): Promise<unknown> {
  const ask = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  return {
    nonce: await ask('eth_getTransactionCount', alice, 'pending'),
    pool: await ask('txpool_status'),
    balance: await ask('eth_getBalance', alice, 'pending'),
    batches: wallet.batches.latest(1_000),
  }
}

/** Returns a list that collects the kinds of later questions. */
export function questionKinds({ approvals }: Wallet): QuestionKind[] {
  const kinds: QuestionKind[] = []
  onTestFinished(
    approvals.subscribe((event) => {
      if (event.type === 'asked') kinds.push(event.question.kind)
    }),
  )
  return kinds
}

/** Answers the next question of this kind. */
export async function answerNext({ approvals }: Wallet, kind: QuestionKind, answer: 'approve' | 'reject'): Promise<void> {
  const prompt = await approvals.next({ kind })
  prompt[answer]()
}

/** Creates a contract with an unlocked account. */
export async function deploy(node: Pocketchain, data: Hex): Promise<Address> {
  const [{ address: from }] = node.accounts as [{ address: Address }, ...unknown[]] // a node has ten
  const hash = (await node.request({ method: 'eth_sendTransaction', params: [{ from, data }] })) as Hash // a transaction hash
  const receipt = (await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as { contractAddress: Address } // in a chain of instant blocks
  return receipt.contractAddress
}

/** Returns the init code of a contract with this code. */
export function creating(code: string): Hex {
  const size = (code.length / 2).toString(16).padStart(2, '0')
  return `0x60${size}600c60003960${size}6000f3${code}`
}

/** Reverts every call. */
export const REVERTER = '60006000fd'
/** Logs the first word of its call data, without topics. */
export const LOGGER = '60003560005260206000a000'
/** Burns all gas of the call. */
export const BURNER = '5b600056'
