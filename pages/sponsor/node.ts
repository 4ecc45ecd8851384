import type { RuleWarningJson, UnincludedOperationJson, UnincludedPage } from '../../src/bundler/results.ts'
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

/** Reads both in one batch, so that they are consistent. Throws RpcError for an error of the node, Error without a response. */
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

/** The bundler's state of operations, by hash. */
export interface BundlerView {
  readonly unincluded: ReadonlyMap<string, UnincludedOperationJson>
  readonly warnings: ReadonlyMap<string, readonly RuleWarningJson[]>
}

export const NO_BUNDLER: BundlerView = { unincluded: new Map(), warnings: new Map() }

/** Reads what the bundler has of the operations of a page; nothing if the node runs without one. Throws Error without a response. */
export async function readBundler({ entries }: LedgerPage, signal: AbortSignal): Promise<BundlerView> {
  const hashes = [...new Set(entries.flatMap(({ userOpHash }) => userOpHash ?? []))]
  if (hashes.length === 0) return NO_BUNDLER
  const [page, ...warnings] = await outcomes(
    [
      { method: 'pocketchain_userOperationPool', params: [{ userOpHashes: hashes }] },
      ...hashes.map((hash) => ({ method: 'pocketchain_userOperationWarnings', params: [hash] })),
    ],
    signal,
  )
  const { operations } = page instanceof RpcError ? { operations: [] } : (page as UnincludedPage)
  return {
    unincluded: new Map(operations.map((each) => [each.userOpHash, each])),
    warnings: new Map(
      hashes.flatMap((hash, i) => (warnings[i] instanceof RpcError ? [] : [[hash, warnings[i] as readonly RuleWarningJson[]] as const])),
    ),
  } // the results of the methods
}

/** Throws RpcError without the control credential, as `payDeposit` does. */
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
export class RpcError extends Error {
  override name = 'RpcError'
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

/** Returns the results in the order of the requests. Throws RpcError for the first error. */
async function post(
  requests: readonly Request[],
  signal: AbortSignal | null,
  credential: Readonly<Record<string, string>> = {},
): Promise<readonly unknown[]> {
  const results = await outcomes(requests, signal, credential)
  for (const each of results) if (each instanceof RpcError) throw each
  return results
}

/** Returns the result of each request, or its RpcError. */
async function outcomes(
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
    return error === undefined ? result : new RpcError(error)
  })
}
