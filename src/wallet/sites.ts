import { Address } from '../eth/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { CODE, JsonRecords, RpcError } from '../jsonrpc/index.ts'
import type { Chains } from './chains/chains.ts'
import { unauthorized } from './errors.ts'
import { SITES } from './limits.ts'

/** What a caller in the same process is called unless it names an origin. */
export const LOCAL_ORIGIN = 'local'

/** What an origin was allowed, and what it has selected. A value: a change makes a new one. */
export interface Site {
  /** as the browser named it; `local` in process */
  readonly origin: string
  /** permitted, the selected one first; empty: not connected */
  readonly accounts: readonly Address[]
  readonly chainId: number
  /** Unix time, milliseconds; null: not connected */
  readonly connectedAt: number | null
  /** false: a person has switched off that others pay for what it asks */
  readonly sponsorship: boolean
}

export interface SiteChange {
  readonly site: Site
  readonly before: Site
}

/** The permissions of all origins. Nobody but the one who answers questions may give one. */
export class Sites {
  readonly #records: Records
  readonly #chains: Chains
  readonly #onError: (error: unknown) => void
  readonly #sites = new Map<string, Site>()
  readonly #listeners = new Set<(change: SiteChange) => void>()
  #isSponsorshipOn: boolean

  /** `isOurs`: kept permissions for other accounts sleep until the wallet has them again. */
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

  /** An origin that nobody knows is on the default chain and may see nothing; so is one whose chain the wallet has no more. */
  get(origin: string): Site {
    const site = this.#sites.get(origin)
    if (site === undefined) return { origin, accounts: [], chainId: this.#chains.default.chainId, connectedAt: null, sponsorship: true }
    return this.#chains.get(site.chainId) === null ? { ...site, chainId: this.#chains.default.chainId } : site
  }

  /** Connected ones, the newest last. */
  list(): readonly Site[] {
    return [...this.#sites.keys()].map((origin) => this.get(origin)).filter(({ accounts }) => accounts.length > 0)
  }

  /** Throws RpcError -32005 when one more origin is too many. To be asked before a person is. */
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

  /** False: a person has switched off that others pay, for every site. */
  get isSponsorshipOn(): boolean {
    return this.#isSponsorshipOn
  }

  /** Null: for every site, whatever is said of one of them stays. What is switched off for one stays so when it is disconnected. */
  setSponsorship(isOn: boolean, origin: string | null): void {
    if (origin !== null) return this.#put({ ...this.get(origin), sponsorship: isOn })
    this.#isSponsorshipOn = isOn
    JsonRecords.put(this.#records, SWITCH, isOn ? null : 'off')
  }

  /** Told after the change. Answers what ends it. */
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

  /** Of an origin that was allowed nothing only another chain than the default is worth a record, and only so many of them; and what a person has set. */
  #keep(site: Site): void {
    const isWorth = site.connectedAt !== null || site.chainId !== this.#chains.default.chainId || !site.sponsorship
    if (site.connectedAt === null) this.#sites.delete(site.origin) // to be the newest of those
    if (isWorth) this.#sites.set(site.origin, site)
    const { origin, ...kept } = site
    JsonRecords.put(this.#records, PREFIX + origin, isWorth ? kept : null)
    const strangers = [...this.#sites.values()].filter(({ connectedAt, sponsorship }) => connectedAt === null && sponsorship)
    for (const { origin: oldest } of strangers.slice(0, Math.max(0, strangers.length - SITES))) {
      this.#sites.delete(oldest)
      JsonRecords.put(this.#records, PREFIX + oldest, null)
    }
  }
}

/**
 * The account that is meant: `wanted` when the site may use it, the selected one unless named. Throws RpcError 4100 for a site that is not
 * connected, or not to that account.
 */
export function permittedAccount({ origin, accounts }: Site, wanted?: Address): Address {
  const [selected] = accounts
  if (selected === undefined) {
    throw unauthorized({ reason: 'not-connected', origin }, `${origin} is not connected; ask with eth_requestAccounts first`)
  }
  if (wanted === undefined) return selected
  if (accounts.includes(wanted)) return wanted
  throw unauthorized({ reason: 'account-not-permitted', account: wanted }, `${origin} is connected, but not to ${wanted}`)
}

const PREFIX = 'wallet/site/'
/** `off`, or no record */
const SWITCH = 'wallet/sponsorship'

/** null: it is none. */
function readSite(origin: string, value: unknown): Site | null {
  if (typeof value !== 'object' || value === null) return null
  const { accounts, chainId, connectedAt, sponsorship } = value as Readonly<Record<string, unknown>> // any JSON object has this shape
  if (!Array.isArray(accounts) || !accounts.every((each) => Address.isAddress(each))) return null
  if (typeof chainId !== 'number' || !Number.isSafeInteger(chainId)) return null
  if (connectedAt !== null && typeof connectedAt !== 'number') return null
  return { origin, accounts: accounts.map((each) => Address.from(each)), chainId, connectedAt, sponsorship: sponsorship !== false }
}
