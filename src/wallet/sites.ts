import { Address } from '../eth/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { CODE, JsonRecords, RpcError } from '../jsonrpc/index.ts'
import type { Chains } from './chains/chains.ts'
import { unauthorized } from './errors.ts'
import { SITES } from './limits.ts'

/** The default origin of callers in the same process. */
export const LOCAL_ORIGIN = 'local'

/** Permissions and selected chain of an origin. Immutable. */
export interface Site {
  /** as the browser named it; `local` in process */
  readonly origin: string
  /** permitted, the selected one first; empty: not connected */
  readonly accounts: readonly Address[]
  readonly chainId: number
  /** Unix time, milliseconds; null: not connected */
  readonly connectedAt: number | null
  /** false: sponsorship is switched off for this site */
  readonly sponsorship: boolean
}

export interface SiteChange {
  readonly site: Site
  readonly before: Site
}

/** The permissions of all origins, which only an approved question grants. */
export class Sites {
  readonly #records: Records
  readonly #chains: Chains
  readonly #onError: (error: unknown) => void
  readonly #sites = new Map<string, Site>()
  readonly #listeners = new Set<(change: SiteChange) => void>()
  #isSponsorshipOn: boolean

  /** `isOurs`: kept permissions for other accounts are inactive until the wallet has the account again. */
  constructor(records: Records, chains: Chains, onError: (error: unknown) => void, isOurs: (address: Address) => boolean = () => true) {
    this.#records = records
    this.#chains = chains
    this.#onError = onError
    this.#isSponsorshipOn = JsonRecords.get(records, SWITCH) !== 'off'
    for (const [key, value] of JsonRecords.entries(records, PREFIX)) {
      const site = readSite(key.slice(PREFIX.length), value)
      if (site === null) onError(new Error(`the record ${key} is no site and is left out`))
      else this.#sites.set(site.origin, { ...site, accounts: site.accounts.filter(isOurs) })
    }
  }

  /** An unknown origin has the default chain and no accounts. A removed chain is replaced by the default one. */
  get(origin: string): Site {
    const site = this.#sites.get(origin)
    if (site === undefined) return { origin, accounts: [], chainId: this.#chains.default.chainId, connectedAt: null, sponsorship: true }
    return this.#chains.get(site.chainId) === null ? { ...site, chainId: this.#chains.default.chainId } : site
  }

  /** The connected sites, the newest last. */
  list(): readonly Site[] {
    return [...this.#sites.keys()].map((origin) => this.get(origin)).filter(({ accounts }) => accounts.length > 0)
  }

  /** Throws RpcError -32005 when one more origin is too many. To be called before the question. */
  assertRoom(origin: string): void {
    if (typeof this.#sites.get(origin)?.connectedAt === 'number') return
    const connected = [...this.#sites.values()].filter(({ connectedAt }) => connectedAt !== null).length
    if (connected < SITES) return
    const message = `${connected} sites are connected, which is all there may be; disconnect one (pocketchain_disconnectSite)`
    throw new RpcError(CODE.limitExceeded, message, { reason: 'too-many-sites', limit: SITES })
  }

  /** Permits these accounts and no others; the first is selected. Throws RangeError without any. */
  connect(origin: string, accounts: readonly Address[]): void {
    if (accounts.length === 0) throw new RangeError(`${origin} cannot be connected to no account; disconnect it`)
    this.assertRoom(origin)
    const before = this.get(origin)
    this.#put({ ...before, accounts: [...new Set(accounts)], connectedAt: before.connectedAt ?? Date.now() })
  }

  /** Takes every permission; the chain stays selected. */
  disconnect(origin: string): void {
    this.#put({ ...this.get(origin), accounts: [], connectedAt: null })
  }

  /** Throws RangeError for a chain that the wallet does not have. */
  selectChain(origin: string, chainId: number): void {
    if (this.#chains.get(chainId) === null) throw new RangeError(`there is no chain ${chainId} to select`)
    this.#put({ ...this.get(origin), chainId })
  }

  /** False if sponsorship is switched off for all sites. */
  get isSponsorshipOn(): boolean {
    return this.#isSponsorshipOn
  }

  /** `origin`: null for the global switch, which leaves those of single sites unchanged. A site's switch survives its disconnection. */
  setSponsorship(isOn: boolean, origin: string | null): void {
    if (origin !== null) return this.#put({ ...this.get(origin), sponsorship: isOn })
    this.#isSponsorshipOn = isOn
    JsonRecords.put(this.#records, SWITCH, isOn ? null : 'off')
  }

  /** Calls `listener` after each change. Returns the function that unsubscribes. */
  subscribe(listener: (change: SiteChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #put(site: Site): void {
    const before = this.get(site.origin)
    this.#keep(site)
    for (const listener of this.#listeners) {
      try {
        listener({ site, before })
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  /** An unconnected origin is kept only if its chain or its sponsorship switch differs from the default, the newest SITES of those with a chain only. */
  #keep(site: Site): void {
    const isKept = site.connectedAt !== null || site.chainId !== this.#chains.default.chainId || !site.sponsorship
    if (site.connectedAt === null) this.#sites.delete(site.origin) // to be inserted as the newest
    if (isKept) this.#sites.set(site.origin, site)
    const { origin, ...kept } = site
    JsonRecords.put(this.#records, PREFIX + origin, isKept ? kept : null)
    const unconnected = [...this.#sites.values()].filter(({ connectedAt, sponsorship }) => connectedAt === null && sponsorship)
    for (const { origin: oldest } of unconnected.slice(0, Math.max(0, unconnected.length - SITES))) {
      this.#sites.delete(oldest)
      JsonRecords.put(this.#records, PREFIX + oldest, null)
    }
  }
}

/**
 * Returns `requested`, by default the selected account. Throws RpcError 4100 if the site is not connected, or not to that account.
 */
export function permittedAccount({ origin, accounts }: Site, requested?: Address): Address {
  const [selected] = accounts
  if (selected === undefined) {
    throw unauthorized({ reason: 'not-connected', origin }, `${origin} is not connected; ask with eth_requestAccounts first`)
  }
  if (requested === undefined) return selected
  if (accounts.includes(requested)) return requested
  throw unauthorized({ reason: 'account-not-permitted', account: requested }, `${origin} is connected, but not to ${requested}`)
}

const PREFIX = 'wallet/site/'
/** `off`, or no record */
const SWITCH = 'wallet/sponsorship'

/** null if the record is invalid */
function readSite(origin: string, value: unknown): Site | null {
  if (typeof value !== 'object' || value === null) return null
  const { accounts, chainId, connectedAt, sponsorship } = value as Readonly<Record<string, unknown>> // any JSON object has this shape
  if (!Array.isArray(accounts) || !accounts.every((each) => Address.isAddress(each))) return null
  if (typeof chainId !== 'number' || !Number.isSafeInteger(chainId)) return null
  if (connectedAt !== null && typeof connectedAt !== 'number') return null
  return { origin, accounts: accounts.map((each) => Address.from(each)), chainId, connectedAt, sponsorship: sponsorship !== false }
}
