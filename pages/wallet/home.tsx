import { useEffect, useState } from 'preact/hooks'
import { useArmed } from './arming.ts'
import { LatestActivity } from './activity.tsx'
import { BrowserLink } from './browserlink.tsx'
import type { WalletConnection, WalletConnectionState } from './connection.ts'
import { checksummed, decimal, shortened, site, visible } from './format.ts'
import { Balance, Copy, Section, Swatch } from './parts.tsx'
import { readUpgraded } from './state.ts'
import type { ChainState, Policy, SiteState, WalletState } from './state.ts'
import { useWalletData } from './wallet.ts'

/** The overview, shown while no question is pending. */
export function Home({ connection, live }: { connection: WalletConnection; live: WalletConnectionState['activity'] }) {
  const { state, balances, failure, refresh } = useWalletData()
  const upgraded = useUpgraded(connection, state)
  const [refusal, setRefusal] = useState<string | null>(null)
  const problem = failure ?? refusal
  const act = async (method: string, ...params: readonly unknown[]) => {
    setRefusal(null)
    await connection.request(method, params).catch((error: Error) => setRefusal(error.message))
    refresh()
  }
  return (
    <div class="home">
      <header class="quiet" data-testid="empty">
        <h1>{state?.policy === 'approve' || state?.policy === 'reject' ? ANSWERED[state.policy] : 'No pending requests'}</h1>
        <p class="soft">
          {state?.policy === 'ask' || state === null ? 'Requests of sites appear here.' : 'Requests of sites are answered automatically.'}
        </p>
        <nav class="places" aria-label="Other pages">
          <a href="/">Explorer</a>
        </nav>
      </header>
      {problem !== null && (
        <p class="failure" role="alert">
          {visible(problem)}
        </p>
      )}
      {state !== null && (
        <>
          <Accounts
            state={state}
            balances={balances}
            upgraded={upgraded}
            downgrade={(address) => act('pocketchain_downgradeAccount', address)}
          />
          <Sites
            sites={state.sites}
            chains={state.chains}
            disconnect={(origin) => act('pocketchain_disconnectSite', origin)}
            isSponsored={state.sponsorship}
            sponsor={(isOn, origin) => act('pocketchain_setSponsorship', isOn, origin)}
          />
          <Sponsorship isOn={state.sponsorship} change={(isOn) => act('pocketchain_setSponsorship', isOn)} />
          <LatestActivity connection={connection} live={live} />
          <PolicyChoice policy={state.policy} choose={(policy) => act('pocketchain_setApprovalPolicy', policy)} />
          <ChainList chains={state.chains} />
          <BrowserLink connection={connection} />
        </>
      )}
    </div>
  )
}

interface AccountsProps {
  readonly state: WalletState
  readonly balances: ReadonlyMap<string, string>
  readonly upgraded: ReadonlySet<string>
  readonly downgrade: (address: string) => Promise<void>
}

function Accounts({ state, balances, upgraded, downgrade }: AccountsProps) {
  const isArmed = useArmed('accounts')
  const coin = state.chains[0]?.nativeCurrency ?? { symbol: '', decimals: 18 }
  const isAllDev = state.accounts.every(({ source }) => source === 'dev')
  return (
    <Section title="Accounts" note={isAllDev ? `${state.accounts.length}, with dev keys` : state.accounts.length}>
      <ul class="list">
        {state.accounts.map(({ address, name, source }, i) => {
          const balance = balances.get(address)
          return (
            <li key={address} data-testid={`account-${i}`}>
              <a class="main account" href={`#account=${address}`}>
                <Swatch address={address} /> {visible(name)}
              </a>
              {source === 'dev' && !isAllDev && <span class="chip">dev key</span>}
              <Copy text={checksummed(address)} what="address" />
              <span class="end">{balance === undefined ? '…' : <Balance wei={balance} chain={coin} />}</span>
              {upgraded.has(address) && (
                <span class="whole under">
                  <span class="soft">Smart account</span>
                  <button
                    type="button"
                    class="small end"
                    data-testid={`downgrade-${i}`}
                    disabled={!isArmed}
                    aria-label={`Remove the code of ${visible(name)}`}
                    title="Sends a transaction that removes the code from the account"
                    onClick={(event) => event.isTrusted && isArmed && void downgrade(address)}
                  >
                    Remove the code
                  </button>
                </span>
              )}
            </li>
          )
        })}
      </ul>
    </Section>
  )
}

const PROVIDER_LINE = `<script src="${location.origin}/wallet/provider.js"></script>`

interface SitesProps {
  readonly sites: readonly SiteState[]
  readonly chains: readonly ChainState[]
  readonly disconnect: (origin: string) => Promise<void>
  /** false: sponsorship is off for all sites */
  readonly isSponsored: boolean
  readonly sponsor: (isOn: boolean, origin: string) => Promise<void>
}

function Sites({ sites, chains, disconnect, isSponsored, sponsor }: SitesProps) {
  const isArmed = useArmed('sites')
  const connected = sites.filter(({ accounts }) => accounts.length > 0)
  const nameOf = (chainId: number | string) => chains.find((chain) => decimal(chain.chainId) === decimal(chainId))?.name ?? decimal(chainId)
  return (
    <Section title="Connected sites" note={connected.length}>
      {connected.length === 0 && (
        <>
          <p class="soft">
            None. With this line in its page an app finds the wallet (EIP-6963); it is connected when you approve its request.
          </p>
          <p>
            <Copy text={PROVIDER_LINE} what="line for the page of an app" shown={PROVIDER_LINE} />
          </p>
        </>
      )}
      <ul class="list">
        {connected.map(({ origin, accounts, chainId, sponsorship }) => (
          <li key={origin} data-testid="site" data-origin={origin}>
            <span class="main">
              <bdi>{site(origin).name}</bdi>
            </span>
            <span class="soft">
              {accounts.length === 1 ? shortened(checksummed(accounts[0] ?? '0x')) : `${accounts.length} accounts`} on{' '}
              {visible(nameOf(chainId))}
            </span>
            <button
              type="button"
              class="small end"
              disabled={!isArmed}
              aria-label={`Disconnect ${site(origin).name}`}
              onClick={(event) => event.isTrusted && isArmed && void disconnect(origin)}
            >
              Disconnect
            </button>
            {isSponsored && (
              <label class="switch whole">
                <input
                  type="checkbox"
                  role="switch"
                  data-testid="site-sponsorship"
                  aria-label={`Sponsors may pay for ${site(origin).name}`}
                  checked={sponsorship}
                  onClick={(event) => isArmed || event.preventDefault()}
                  onChange={(event) => event.isTrusted && void sponsor(event.currentTarget.checked, origin)}
                />
                <span class="soft">sponsors may pay its fees</span>
              </label>
            )}
          </li>
        ))}
      </ul>
    </Section>
  )
}

/** Sponsorship of all sites. While it is off, a batch with a sponsor is refused with 4100, or the account pays if the sponsor is optional. */
function Sponsorship({ isOn, change }: { isOn: boolean; change: (isOn: boolean) => Promise<void> }) {
  const isArmed = useArmed('sponsorship')
  return (
    <Section title="Sponsors">
      <label class="switch">
        <input
          type="checkbox"
          role="switch"
          data-testid="sponsorship"
          checked={isOn}
          onClick={(event) => isArmed || event.preventDefault()}
          onChange={(event) => event.isTrusted && void change(event.currentTarget.checked)}
        />
        <span>Sponsors that sites name may pay the fees</span>
      </label>
    </Section>
  )
}

const ANSWERED = { approve: 'Everything is approved', reject: 'Everything is rejected' } as const

const POLICIES: readonly (readonly [Policy, string, string])[] = [
  ['ask', 'Ask', 'you or a script answer each request'],
  ['approve', 'Approve', 'every request is approved without being shown'],
  ['reject', 'Reject', 'every request is rejected'],
]

/** Armed like a question: the overview appears where one was just answered, or in a window that a page opens under a double click. */
function PolicyChoice({ policy, choose }: { policy: Policy; choose: (policy: Policy) => Promise<void> }) {
  const isArmed = useArmed('policy')
  return (
    <Section title="Policy">
      <fieldset class="policy">
        <legend class="unseen">Answers to requests</legend>
        {POLICIES.map(([value, name, effect]) => (
          <label key={value}>
            <input
              type="radio"
              name="policy"
              data-testid={`policy-${value}`}
              checked={policy === value}
              onClick={(event) => isArmed || event.preventDefault()}
              onChange={(event) => event.isTrusted && void choose(value)}
            />
            <span class="main">{name}</span> <span class="soft">{effect}</span>
          </label>
        ))}
      </fieldset>
    </Section>
  )
}

function ChainList({ chains }: { chains: readonly ChainState[] }) {
  return (
    <Section title="Chains" note={chains.length}>
      <ul class="list">
        {chains.map(({ chainId, name, nativeCurrency }) => (
          <li key={decimal(chainId)}>
            <span class="main">
              <bdi>{visible(name)}</bdi>
            </span>
            <span class="soft">id {decimal(chainId)}</span>
            <span class="soft end">{visible(nativeCurrency.symbol)}</span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

const NO_ACCOUNTS: ReadonlySet<string> = new Set()

/** Reads which accounts run code whenever the state was read again. */
function useUpgraded(connection: WalletConnection, state: WalletState | null): ReadonlySet<string> {
  const [upgraded, setUpgraded] = useState(NO_ACCOUNTS)
  useEffect(() => {
    if (state !== null) void readUpgraded(connection, state).then(setUpgraded)
  }, [connection, state])
  return upgraded
}
