import { createRemoteRpc, memoryRecords } from '../jsonrpc/index.ts'
import type { OutboundOptions, Records, RpcError } from '../jsonrpc/index.ts'
import { Activities } from './activity/activities.ts'
import { Approvals } from './approvals/approvals.ts'
import { Batches } from './batches/batches.ts'
import type { WalletChain } from './chains/chain.ts'
import { Chains } from './chains/chains.ts'
import type { Connect } from './chains/chains.ts'
import type { WalletContext } from './context.ts'
import { createControl } from './control.ts'
import type { Control } from './control.ts'
import { rejected, unauthorized } from './errors.ts'
import { createApi } from './api.ts'
import type { WalletApi } from './api.ts'
import type { Keyring } from './keys/keyring.ts'
import { BATCH_CALLS, BATCH_DATA_BYTES, ORIGIN_CHARS } from './limits.ts'
import { SiteProvider } from './provider.ts'
import type { Provider } from './provider.ts'
import { createProviderRequests } from './request.ts'
import { isBoundToChain } from './question.ts'
import type { Question } from './question.ts'
import type { Policy } from './approvals/rules.ts'
import type { WalletSettings } from './settings.ts'
import { LOCAL_ORIGIN, Sites } from './sites.ts'
import type { Site, SiteChange } from './sites.ts'

export interface WalletOptions extends Partial<WalletSettings> {
  /** the first is the default of new sites */
  readonly chains: readonly WalletChain[]
  readonly keyring: Keyring
  /** storage of sites, chains and batches; default: memory */
  readonly records?: Records
  /** policy for questions that no rule answers; default: `ask` */
  readonly policy?: Policy
  /** delay of automatic answers; default: 0 */
  readonly latencyMs?: number
  /** a question without an answer by then is refused; null, the default: no limit */
  readonly answerWithinMs?: number | null
  /** opens the connection to an added chain; default: JSON-RPC over HTTP */
  readonly connect?: Connect
  /** HTTP client for added chains and sponsors */
  readonly fetch?: OutboundOptions['fetch']
  /** receives bugs and errors of background work; default: the console */
  readonly onError?: (error: unknown) => void
}

/** A wallet for apps (`provider`, `api`) and for the answers of users and scripts (`approvals`, `control`). */
export interface Wallet {
  readonly approvals: Approvals
  readonly chains: Chains
  readonly keyring: Keyring
  readonly sites: Sites
  readonly batches: Batches
  /** the permissions, signatures and transactions that the wallet gave or sent */
  readonly activities: Activities
  readonly settings: WalletSettings
  /** Opens an EIP-1193 connection of an origin, by default `local`. Throws RangeError for an invalid origin. */
  readonly provider: (origin?: string) => Provider
  /** the control methods */
  readonly control: Control
  /** the interface for servers */
  readonly api: WalletApi
  /** Refuses pending questions and closes every provider. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** Throws RangeError for invalid settings. */
export function createWallet(options: WalletOptions): Wallet {
  const wallet = contextOf(options)
  const answer = createProviderRequests(wallet)
  const providers = new Set<SiteProvider>()
  let isClosed = false
  const provider = (origin: string = LOCAL_ORIGIN): Provider => {
    if (origin === '' || origin.length > ORIGIN_CHARS)
      throw new RangeError(`an origin has 1 to ${ORIGIN_CHARS} characters, not ${origin.length}`)
    const opened = new SiteProvider(wallet, answer, origin, (closed) => providers.delete(closed))
    if (isClosed) opened.close()
    else providers.add(opened)
    return opened
  }
  wallet.sites.subscribe((change) => withdrawStale(wallet, change))
  const control = createControl(wallet, answer)
  const close = async (): Promise<void> => {
    isClosed = true
    wallet.approvals.close()
    for (const each of providers) each.close()
    await wallet.batches.close()
  }
  const { approvals, chains, keyring, sites, batches, activities, settings } = wallet
  const api = createApi(wallet, answer, { provider, control })
  return { approvals, chains, keyring, sites, batches, activities, settings, provider, control, api, close, [Symbol.asyncDispose]: close }
}

function contextOf(options: WalletOptions): WalletContext {
  const { keyring, records = memoryRecords(), onError = log } = options
  const settings = settingsOf(options)
  const fetch = options.fetch === undefined ? {} : { fetch: options.fetch }
  const connect: Connect = options.connect ?? ((url, _chainId, limits) => createRemoteRpc(url, { ...limits, ...fetch }))
  const chains = new Chains(records, options.chains, connect, onError)
  const sites = new Sites(records, chains, onError, (address) => keyring.has(address))
  const { policy = 'ask', latencyMs = 0, answerWithinMs = null } = options
  const approvals = new Approvals({ policy, latencyMs, answerWithinMs, onError })
  const batches = new Batches({ chains, records, settings, onError })
  const activities = new Activities({ approvals, batches, records, onError })
  return { chains, keyring, sites, approvals, batches, activities, records, settings, onError }
}

function log(error: unknown): void {
  // oxlint-disable-next-line no-console -- exists in Node and in browsers
  console.error(error)
}

function settingsOf(options: WalletOptions): WalletSettings {
  const { maxCalls = BATCH_CALLS, maxCallDataBytes = BATCH_DATA_BYTES, confirmation = 'preconfirmed', disabledMethods = [] } = options
  for (const [name, value] of Object.entries({ maxCalls, maxCallDataBytes })) {
    if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${name} must be a whole number from 1 up, not ${value}`)
  }
  const { approvalUrl = null, admits = null } = options
  return { maxCalls, maxCallDataBytes, confirmation, disabledMethods, approvalUrl, admits, ...sponsoringOf(options) }
}

function sponsoringOf(options: WalletOptions) {
  const { sponsorship = true, unsponsoredChains = [], sponsor = null, allowHttpLoopback = false, fetch } = options
  const wrong = unsponsoredChains.find((chainId) => !Number.isSafeInteger(chainId) || chainId < 1)
  if (wrong !== undefined) throw new RangeError(`unsponsoredChains lists chain ids, whole numbers from 1 up, and ${wrong} is none`)
  return { sponsorship, unsponsoredChains, sponsor, allowHttpLoopback, ...(fetch === undefined ? {} : { fetch }) }
}

// --- obsolete questions --------------------------------------------------------------------------------

/** Withdraws questions about an account that is not permitted any more, or a chain that is not selected any more (EIP-3326). */
function withdrawStale({ approvals, chains }: WalletContext, { site }: SiteChange): void {
  for (const question of approvals.pending) {
    if (question.origin !== site.origin) continue
    const reason = lostAccount(question, site) ?? lostChain(question, site, chains)
    if (reason !== null) approvals.withdraw(question.id, reason)
  }
}

function lostAccount(question: Question, { origin, accounts }: Site): RpcError | null {
  if (!('account' in question) || accounts.includes(question.account)) return null
  return unauthorized({ reason: 'account-not-permitted', account: question.account }, `${origin} may not use ${question.account} any more`)
}

function lostChain(question: Question, { chainId }: Site, chains: Chains): RpcError | null {
  if (!isBoundToChain(question) || !('chain' in question) || Number(question.chain.chainId) === chainId) return null
  const name = chains.get(chainId)?.name ?? String(chainId)
  return rejected(`User rejected the request: the site went from ${question.chain.name} to ${name} before it was answered`, 'chain-changed')
}
