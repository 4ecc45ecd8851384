import { PAGE_SECRET_HEADER } from '../wallet/secret.ts'
import type { PageSecret } from '../wallet/secret.ts'

// What the node says of its sponsor, in the shapes of its methods: the page and the node are of one version.

export interface SponsorStatus {
  readonly name: string
  /** a data: uri */
  readonly icon: string | null
  readonly owner: string
  readonly signer: string
  readonly validForSeconds: number
  readonly fault: Fault | null
  readonly paymasters: readonly PaymasterState[]
  readonly policies: readonly PolicyState[]
  readonly counts: Readonly<Record<EntryState, number>>
  /** wei */
  readonly totals: { readonly reserved: string; readonly settled: string }
}

export interface Fault {
  readonly kind: FaultKind
  readonly delayMs?: number
  /** requests that it is still for; absent: all */
  readonly times?: number
}

export type FaultKind = 'refuse' | 'http-500' | 'slow' | 'wrong-signature' | 'expired' | 'differ' | 'empty-deposit'

export interface PaymasterState {
  readonly version: string
  readonly entryPoint: string
  readonly address: string
  readonly deployed: boolean
  /** wei */
  readonly deposit: string
  readonly reserved: string
  readonly isLow: boolean
}

export interface PolicyState {
  readonly name: string
  readonly chains?: readonly number[]
  readonly entryPoints?: readonly string[]
  readonly contracts?: readonly { readonly address: string; readonly selectors?: readonly string[] }[]
  readonly senders?: readonly string[]
  /** how many */
  readonly apiKeys?: number
  /** wei */
  readonly perOperation?: string
  readonly perUser?: string
  readonly perDay?: string
  readonly total?: string
  /** Unix time, seconds */
  readonly until?: number
  readonly use: { readonly reserved: string; readonly settled: string; readonly today: string; readonly users: number }
}

export const STATES = ['reserved', 'included', 'settled', 'expired', 'refused'] as const
export type EntryState = (typeof STATES)[number]

export interface Entry {
  readonly id: number
  /** Unix time, milliseconds */
  readonly at: number
  readonly state: EntryState
  readonly stage: 'stub' | 'final'
  readonly version: string
  readonly paymaster: string
  readonly policy: string | null
  readonly sender: string
  readonly nonce: string
  readonly userOpHash: string | null
  /** null: the account's call data cannot be read */
  readonly calls: readonly EntryCall[] | null
  /** of which the first ones are here */
  readonly callCount: number
  /** wei */
  readonly maxCost: string | null
  readonly cost: string | null
  /** Unix time, seconds */
  readonly validUntil: number | null
  readonly transactionHash: string | null
  readonly blockNumber: string | null
  readonly success: boolean | null
  readonly reason: string | null
  readonly message: string | null
  readonly reasons: readonly { readonly policy: string; readonly reason: string; readonly message: string }[]
}

export interface EntryCall {
  readonly to: string
  readonly value: string
  readonly selector: string | null
}

export interface LedgerPage {
  readonly entries: readonly Entry[]
  /** what the next page begins before; null: there is none */
  readonly next: number | null
}

export interface LedgerQuery {
  readonly limit: number
  readonly before?: number
  readonly sender?: string
  readonly state?: EntryState
}

/** Both at once, so that they fit each other. Throws Refusal for an error of the node, Error when nobody answers. */
export async function readSponsor(query: LedgerQuery, signal: AbortSignal): Promise<readonly [SponsorStatus, LedgerPage]> {
  const [status, page] = await post(
    [
      { method: 'pocketchain_sponsorStatus', params: [] },
      { method: 'pocketchain_sponsorLedger', params: [query] },
    ],
    signal,
  )
  return [status as SponsorStatus, page as LedgerPage]
}

/** Throws Refusal without the control credential, as `payDeposit` does. */
export async function setFault(secret: PageSecret, kind: FaultKind | null): Promise<void> {
  await change(secret, { method: 'pocketchain_sponsorFault', params: [kind === null ? null : { kind }] })
}

/** Answers the hash of the transaction that pays. `wei`: a quantity. */
export async function payDeposit(secret: PageSecret, version: string, wei: string): Promise<string> {
  return String(await change(secret, { method: 'pocketchain_sponsorDeposit', params: [version, wei] }))
}

/** What changes something takes the control credential; what only reads does not, and is sent without it. */
async function change(secret: PageSecret, request: Request): Promise<unknown> {
  const [result] = await post([request], null, { [PAGE_SECRET_HEADER]: await secret.value() })
  return result
}

/** An error that the node answered. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly code: number

  constructor({ code, message }: { readonly code: number; readonly message: string }) {
    super(message)
    this.code = code
  }
}

interface Request {
  readonly method: string
  readonly params: readonly unknown[]
}

interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** The results in the order of the requests. */
async function post(
  requests: readonly Request[],
  signal: AbortSignal | null,
  credential: Readonly<Record<string, string>> = {},
): Promise<readonly unknown[]> {
  const body = JSON.stringify(requests.map((request, id) => ({ jsonrpc: '2.0', id, ...request })))
  const headers = { 'content-type': 'application/json', ...credential }
  const response = await fetch('/', { method: 'POST', headers, body, signal, cache: 'no-store' })
  const replies = (await response.json()) as readonly Reply[] // what a node answers to a batch
  return requests.map((_, id) => {
    const { result, error } = replies.find((reply) => reply.id === id) ?? {}
    if (error !== undefined) throw new Refusal(error)
    return result
  })
}
