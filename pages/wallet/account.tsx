import { useEffect, useState } from 'preact/hooks'
import { Act, ActivityList, Revoke, TokenAmount, headText, useActivities, useAllowances } from './activity.tsx'
import type { WalletConnection, WalletConnectionState } from './connection.ts'
import { checksummed, decimal, site, units, visible } from './format.ts'
import { AllowanceText } from './outcome.tsx'
import { AddressText, Balance, Copy, Row, Section, Swatch } from './parts.tsx'
import { readDelegate, readTokens } from './state.ts'
import type { TokenState } from './state.ts'
import { useAccount, usePolled, useWalletData } from './wallet.ts'

/** The page of an account: tokens, code, permitted sites and allowances, and activities. */
export function AccountView({
  connection,
  live,
  address,
}: {
  connection: WalletConnection
  live: WalletConnectionState['activity']
  address: string
}) {
  const { state, head } = useWalletData()
  const account = useAccount(address)
  const tokens = useTokens(connection, address)
  const delegate = useDelegate(connection, address)
  const allowances = useAllowances(connection, address) ?? []
  const { activities } = useAccountActivities(connection, live, address)
  const [chain] = state?.chains ?? []
  if (account === null || chain === undefined) {
    return (
      <article class="slip notice" data-testid="account-view">
        <p class="count">
          <a href="#">Wallet overview</a>
        </p>
        <h1>{state === null ? 'Reading the account' : 'The wallet has no such account'}</h1>
      </article>
    )
  }
  const { symbol, decimals } = chain.nativeCurrency
  const label = { chainId: `0x${BigInt(chain.chainId).toString(16)}`, name: chain.name, symbol, decimals, explorerUrl: null } as const
  const sites = state?.sites.filter(({ accounts }) => accounts.includes(address)) ?? []
  return (
    <article class="slip" data-testid="account-view" data-address={address}>
      <header class="asker">
        <p class="count">
          <a href="#">Wallet overview</a>
        </p>
        <h1 class="plain">
          <Swatch address={address} size={26} /> {visible(account.name)}
        </h1>
        <p class="request">
          <Copy text={checksummed(address)} what="address" shown={checksummed(address)} />
        </p>
      </header>
      <Section title="Balances" note={`on ${visible(chain.name)}`}>
        <ul class="list">
          <li>
            <span class="main">{visible(symbol)}</span>
            <span class="end">{account.balance === null ? '…' : <Balance wei={account.balance} chain={label} />}</span>
          </li>
          {tokens.map((token) => (
            <TokenRow key={token.token} token={token} />
          ))}
        </ul>
      </Section>
      <Section title="Permissions given" note={allowances.length}>
        {allowances.length === 0 && <p class="soft">This wallet’s activity left no allowance.</p>}
        <ul class="changes">
          {allowances.map(({ activity, index, allowance }) => (
            <li key={`${activity} ${index}`} data-testid="allowance" class="open">
              <AllowanceText allowance={allowance} />
              <Revoke connection={connection} activity={activity} index={index} />
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Smart account">
        {delegate === null ? (
          <p class="soft">No code: a plain account. It is upgraded when a batch needs it, if you approve.</p>
        ) : (
          <dl class="rows">
            <Row name="Code" id="delegate">
              <AddressText address={delegate} />
            </Row>
            <Row name="">
              <Act
                connection={connection}
                id="remove-code"
                text="Remove the code"
                after="Removal sent"
                method="pocketchain_downgradeAccount"
                params={[address]}
              />
            </Row>
          </dl>
        )}
      </Section>
      <Section title="Network">
        <dl class="rows">
          <Row name="Chain" id="chain">
            {visible(chain.name)} <span class="soft">id {decimal(chain.chainId)}</span>
          </Row>
          {head !== null && <Row name="Newest">{headText(head.block, head.flashblock)}</Row>}
        </dl>
      </Section>
      <Section title="Connected sites" note={sites.length}>
        {sites.length === 0 && <p class="soft">No site may use this account.</p>}
        <ul class="list">
          {sites.map(({ origin }) => (
            <li key={origin}>
              <span class="main">
                <bdi>{site(origin).name}</bdi>
              </span>
              <span class="end">
                <Act
                  connection={connection}
                  id={`disconnect ${origin}`}
                  text="Disconnect"
                  after="Disconnected"
                  method="pocketchain_disconnectSite"
                  params={[origin]}
                />
              </span>
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Activity" note={<a href="#activity">all</a>}>
        <ActivityList activities={activities} />
      </Section>
    </article>
  )
}

function TokenRow({ token: { token, type, symbol, decimals, balance, isWatched } }: { token: TokenState }) {
  return (
    <li data-testid="token" data-token={token}>
      <span class="main">
        <bdi>{visible(symbol ?? type)}</bdi> {isWatched && <span class="chip">watched</span>}{' '}
        {type !== 'ERC20' && <span class="chip">{type}</span>}
      </span>
      <AddressText address={token} />
      <span class="end" title={balance === null ? undefined : units(BigInt(balance), decimals ?? 0)}>
        {balance === null ? '…' : <TokenAmount balance={balance} decimals={decimals} symbol={symbol} token={token} />}
      </span>
    </li>
  )
}

const NO_TOKENS: readonly TokenState[] = []

function useTokens(connection: WalletConnection, address: string): readonly TokenState[] {
  return usePolled(() => readTokens(connection, address), NO_TOKENS, address)
}

/** Address of the code that the account runs (EIP-7702); null: none. */
function useDelegate(connection: WalletConnection, address: string): string | null {
  return usePolled<string | null>(() => readDelegate(connection, address), null, address)
}

function useAccountActivities(connection: WalletConnection, live: WalletConnectionState['activity'], address: string) {
  const [query, setQuery] = useState({ account: address, limit: 10 })
  useEffect(() => setQuery({ account: address, limit: 10 }), [address])
  return useActivities(connection, live, query)
}
