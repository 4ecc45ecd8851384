import { PAGE_SECRET_HEADER } from '../wallet/secret.ts'
import type { PageSecret } from '../wallet/secret.ts'
import type { EntryState, FaultKind, LedgerPage, SponsorStatus } from '../../src/paymaster/results.ts'

// Requests of the sponsor's page to its node, which is of the same version.

export interface LedgerQuery {
  readonly limit: number
  readonly before?: number
  readonly sender?: string
  readonly state?: EntryState
}

/** Reads both in one batch, so that they are consistent. Throws Refusal for an error of the node, Error without a response. */
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

/** Returns the hash of the deposit's transaction. `wei`: a quantity. */
export async function payDeposit(secret: PageSecret, version: string, wei: string): Promise<string> {
  return String(await change(secret, { method: 'pocketchain_sponsorDeposit', params: [version, wei] }))
}

/** Only changes require the control credential; reads are sent without it. */
async function change(secret: PageSecret, request: Request): Promise<unknown> {
  const [result] = await post([request], null, { [PAGE_SECRET_HEADER]: await secret.value() })
  return result
}

/** An error response of the node. */
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

/** Returns the results in the order of the requests. */
async function post(
  requests: readonly Request[],
  signal: AbortSignal | null,
  credential: Readonly<Record<string, string>> = {},
): Promise<readonly unknown[]> {
  const body = JSON.stringify(requests.map((request, id) => ({ jsonrpc: '2.0', id, ...request })))
  const headers = { 'content-type': 'application/json', ...credential }
  const response = await fetch('/', { method: 'POST', headers, body, signal, cache: 'no-store' })
  const replies = (await response.json()) as readonly Reply[] // the response to a batch
  return requests.map((_, id) => {
    const { result, error } = replies.find((reply) => reply.id === id) ?? {}
    if (error !== undefined) throw new Refusal(error)
    return result
  })
}
