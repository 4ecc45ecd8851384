import { useEffect, useRef, useState } from 'preact/hooks'
import type { Allowance } from '../../src/wallet/question.ts'
import { useArmed } from './arming.ts'
import { Calls } from './calls.tsx'
import type { WalletConnection, WalletConnectionState } from './connection.ts'
import { ago, decimal, readable, shortened, site, units, visible } from './format.ts'
import { newestId, withNewest, withOlder } from './loadedactivities.ts'
import type { LoadedActivities } from './loadedactivities.ts'
import { AllowanceText, Changes } from './outcome.tsx'
import { AccountText, AddressText, ChainText, Coin, Copy, Json, Line, Row, Section } from './parts.tsx'
import { Progress, headline } from './progress.tsx'
import { Typed } from './sign.tsx'
import { readActivity, readAllowances } from './state.ts'
import type { Activity, OpenAllowance } from './state.ts'
import { useExplorerUrl, usePolled, useWalletData } from './wallet.ts'

/** One line about what was done. */
function titleOf(activity: Activity): string {
  const { kind, calls, chain, signature, asset, delegate } = activity
  const [call] = calls
  const count = callCount(activity)
  switch (kind) {
    case 'connect':
      return 'Connected'
    case 'sign':
      return signature?.scheme === 'personal_sign' ? 'Signed a message' : `Signed ${visible(signature?.text ?? 'data')}`
    case 'send':
      return visible(call?.summary ?? (call?.to === null ? 'Created a contract' : 'Sent a transaction'))
    case 'batch':
      return count === 1 ? visible(call?.summary ?? 'Sent a batch of one call') : `Sent ${count} calls`
    case 'upgrade':
      return `Upgrade to ${visible(delegate?.name ?? 'a smart account')}`
    case 'addChain':
      return `Added the chain ${visible(chain?.name ?? '')}`
    case 'switchChain':
      return `Switched to ${visible(chain?.name ?? '')}`
    case 'watchAsset':
      return `Watched ${visible(asset?.symbol ?? 'a token')}${asset?.tokenId === undefined ? '' : ` #${decimal(asset.tokenId)}`}`
    case 'revoke':
    case 'downgrade':
      return visible(call?.summary ?? kind)
    default:
      return kind satisfies never
  }
}

function callCount({ calls, omittedCalls }: Activity): number {
  return calls.length + omittedCalls
}

/** The origin of the request: a site, a program, or the user on this page. */
function askerOf({ kind, origin }: Activity): string {
  return kind === 'revoke' || kind === 'downgrade' ? 'This wallet' : site(origin).name
}

function OutcomeChip({ activity: { outcome } }: { activity: Activity }) {
  if (outcome === null) return null
  const isBad = outcome.status === 500 || outcome.status === 600 || outcome.state === 'not-sent' || outcome.state === 'not-included'
  const mood = isBad ? 'bad' : outcome.state === 'sealed' || outcome.state === 'preconfirmed' ? 'good' : 'waits'
  return (
    <span class={`chip ${mood}`} data-testid="outcome" data-state={outcome.state}>
      {headline(outcome)}
    </span>
  )
}

/** Links to the page of each activity. */
export function ActivityList({ activities }: { activities: readonly Activity[] }) {
  if (activities.length === 0) return <p class="soft">Nothing yet.</p>
  return (
    <ul class="list activities">
      {activities.map((activity) => (
        <li key={activity.id} data-testid="activity" data-kind={activity.kind}>
          <a class="main whole" href={`#activity=${encodeURIComponent(activity.id)}`}>
            <Line text={titleOf(activity)} />
          </a>
          <span class="soft">
            <bdi>{askerOf(activity)}</bdi>, {ago(activity.at, Date.now())}
            {activity.by !== 'manual' && (
              <>
                , <span title="approved by a policy or a script">automatic</span>
              </>
            )}
          </span>
          <span class="end">
            {activity.sponsor !== null && (
              <span class="chip" data-testid="batch-sponsored" title={operationTitle(activity)}>
                sponsored
              </span>
            )}{' '}
            <OutcomeChip activity={activity} />
          </span>
        </li>
      ))}
    </ul>
  )
}

function operationTitle({ outcome, sponsor }: Activity): string {
  const hash = outcome?.userOpHash ?? null
  return hash === null ? `sponsored by ${sponsor}` : `user operation ${hash}`
}

/** The newest activities, on the overview. */
export function LatestActivity({ connection, live }: { connection: WalletConnection; live: WalletConnectionState['activity'] }) {
  const { activities } = useActivities(connection, live, LATEST)
  return (
    <Section title="Activity" note={activities.length > 0 ? <a href="#activity">all</a> : undefined}>
      <ActivityList activities={activities.slice(0, LATEST.limit)} />
    </Section>
  )
}

const LATEST = { limit: 5 } as const

/** The list of all activities, filtered by account and site. */
export function ActivityView({ connection, live }: { connection: WalletConnection; live: WalletConnectionState['activity'] }) {
  const [query, setQuery] = useState<Query>({ limit: PAGE })
  const { state } = useWalletData()
  const { activities, next, more } = useActivities(connection, live, query)
  const origins = useOrigins(activities)
  const change = (key: 'account' | 'origin') => (event: { readonly currentTarget: HTMLSelectElement }) => {
    const { value } = event.currentTarget
    const { [key]: _, ...rest } = query
    setQuery(value === '' ? rest : { ...rest, [key]: value })
  }
  return (
    <article class="slip" data-testid="activities">
      <header class="asker">
        <p class="count">
          <a href="#">Wallet overview</a>
        </p>
        <h1 class="plain">Activity</h1>
      </header>
      <div class="filters">
        <label>
          <span class="soft">Account</span>
          <select data-testid="filter-account" onChange={change('account')}>
            <option value="">all</option>
            {state?.accounts.map(({ address, name }) => (
              <option key={address} value={address}>
                {visible(name)}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="soft">Site</span>
          <select data-testid="filter-site" onChange={change('origin')}>
            <option value="">all</option>
            {origins.map((origin) => (
              <option key={origin} value={origin}>
                {site(origin).name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Section title="Newest first">
        <ActivityList activities={activities} />
        {next !== null && (
          <button type="button" class="small" data-testid="older" onClick={more}>
            Older
          </button>
        )}
      </Section>
    </article>
  )
}

const PAGE = 25

interface Query {
  readonly account?: string
  readonly origin?: string
  readonly limit: number
}

/** All origins seen so far, so that a filter does not empty its own list. */
function useOrigins(activities: readonly Activity[]): readonly string[] {
  const [origins, setOrigins] = useState<readonly string[]>([])
  useEffect(() => {
    setOrigins((known) => {
      const all = [...new Set([...known, ...activities.map(({ origin }) => origin)])]
      return all.length === known.length ? known : all
    })
  }, [activities])
  return origins
}

/** Reads a page, reads it again when an activity is new, and shows changes immediately. `more`: adds a page of older ones. */
export function useActivities(connection: WalletConnection, live: WalletConnectionState['activity'], query: Query) {
  const empty = { activities: [], next: null, rows: query.limit, query }
  const [loaded, setLoaded] = useState<LoadedActivities & { readonly query: Query }>(empty)
  const wanted = useRef(query)
  wanted.current = query
  const change = (changed: (now: LoadedActivities) => LoadedActivities) => {
    if (wanted.current !== query) return // a response to a former query
    setLoaded((now) => ({ ...changed(now.query === query ? now : empty), query }))
  }
  const newest = newestId(live)
  useEffect(() => {
    readActivity(connection, query).then(
      (page) => change((now) => withNewest(now, page)),
      () => {}, // the header shows that there is no connection
    )
  }, [connection, query, newest])
  const more = () => {
    const { next } = loaded
    if (next === null || loaded.query !== query) return
    change((now) => ({ ...now, rows: now.activities.length + query.limit }))
    readActivity(connection, { ...query, before: next }).then(
      (page) => change((now) => withOlder(now, next, page)),
      () => {},
    )
  }
  const activities = loaded.activities.map((each) => live.get(each.id) ?? each)
  return { activities, next: loaded.next, more }
}

/** One activity by its id, live; null: unknown, or not read yet. */
function useActivity(connection: WalletConnection, live: WalletConnectionState['activity'], id: string | null): Activity | null {
  const [read, setRead] = useState<Activity | null>(null)
  useEffect(() => {
    setRead(null)
    if (id !== null)
      readActivity(connection, { id }).then(
        ({ activities }) => setRead(activities[0] ?? null),
        () => {},
      )
  }, [connection, id])
  return id === null ? null : (live.get(id) ?? read)
}

interface ActivityProps {
  readonly connection: WalletConnection
  readonly live: WalletConnectionState['activity']
  readonly id: string
}

/** The page of an activity. */
export function ActivityDetails({ connection, live, id }: ActivityProps) {
  const activity = useActivity(connection, live, id)
  return (
    <article class="slip" data-testid="activity-details" data-id={id}>
      <header class="asker">
        <p class="count">
          <a href="#activity">All activity</a>
        </p>
        <h1 class="plain">{activity === null ? 'Activity' : <Line text={titleOf(activity)} />}</h1>
        {activity !== null && (
          <p class="request">
            <bdi>{askerOf(activity)}</bdi>, <time dateTime={new Date(activity.at).toISOString()}>{ago(activity.at, Date.now())}</time>
          </p>
        )}
      </header>
      {activity === null ? (
        <p class="prose soft">The wallet has no such activity, or not any more.</p>
      ) : (
        <Details connection={connection} activity={activity} />
      )}
    </article>
  )
}

/** Everything about an activity below its title. */
function Details({ connection, activity }: { connection: WalletConnection; activity: Activity }) {
  const { account, accounts, chain, calls, omittedCalls, changes, allowances, outcome, signature, asset, delegate, kind, origin } = activity
  const open = useAllowances(connection, allowances.length === 0 ? null : account, chain?.chainId)
  return (
    <>
      {outcome !== null && chain !== null && (
        <div class="section">
          <Progress outcome={outcome} chainId={chain.chainId} calls={callCount(activity)} />
        </div>
      )}
      <dl class="rows">
        {account !== null && (
          <Row name="Account" id="account">
            <AccountText address={account} />
          </Row>
        )}
        {accounts.map((each) => (
          <Row key={each} name="Account">
            <AccountText address={each} />
          </Row>
        ))}
        {chain !== null && (
          <Row name="Chain" id="chain">
            <ChainText chain={chain} />
          </Row>
        )}
        <Sent activity={activity} />
        {kind === 'batch' && activity.batchId !== null && (
          <Row name="Batch">
            <Copy text={activity.batchId} what="batch id" />
          </Row>
        )}
        {signature !== null && (
          <Row name="Digest">
            <Copy text={signature.digest} what="digest" />
          </Row>
        )}
        {asset !== null && (
          <Row name="Contract">
            <AddressText address={asset.address} />
          </Row>
        )}
        {delegate !== null && (
          <Row name="Code">
            <AddressText address={delegate.address} name={delegate.name} />
          </Row>
        )}
      </dl>
      {(signature?.typedData ?? null) !== null && <Typed data={signature?.typedData} tokens={signature?.tokens} askedAtMs={activity.at} />}
      {signature?.scheme === 'personal_sign' && (
        <Section title="Message">
          <pre class="message" tabIndex={0} role="group" aria-label="Message">
            {visible(signature.text)}
          </pre>
        </Section>
      )}
      {changes.length > 0 && chain !== null && (
        <Section title="What changes" note="as simulated before">
          <Changes changes={changes} chain={chain} />
        </Section>
      )}
      {allowances.length > 0 && (
        <Section title="Permissions given">
          <ul class="changes">
            {allowances.map((allowance, i) => (
              <li key={i} data-testid="allowance" class={isOpen(allowance, open) ? 'open' : 'spent'}>
                <GivenAllowance connection={connection} activity={activity} index={i} open={open} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {calls.length > 0 && chain !== null && (
        <Calls calls={calls} omitted={omittedCalls} chain={chain} failed={outcome?.failedCall ?? null} />
      )}
      {kind === 'connect' && <Disconnect connection={connection} origin={origin} />}
      {kind === 'upgrade' && account !== null && chain !== null && (outcome === null || outcome.status === 200) && (
        <p class="prose">
          <Act
            connection={connection}
            id="remove-code"
            text="Remove the code"
            after="Removal sent"
            method="pocketchain_downgradeAccount"
            params={[account, chain.chainId]}
          />
        </p>
      )}
      <Json value={activity} title="Raw activity" />
    </>
  )
}

/** An allowance of an activity as it is now. `open`: null until it was read. */
function GivenAllowance({ connection, activity, index, open }: GivenProps) {
  const allowance = activity.allowances[index]
  if (allowance === undefined) return null
  const present = open?.find((each) => isSame(each.allowance, allowance)) ?? null
  if (open !== null && present === null && activity.outcome?.status === 200)
    return <AllowanceText allowance={allowance} until="revoked or used up since" />
  return (
    <>
      <AllowanceText allowance={present?.allowance ?? allowance} />
      {present !== null && <Revoke connection={connection} activity={activity.id} index={index} />}
    </>
  )
}

interface GivenProps {
  readonly connection: WalletConnection
  readonly activity: Activity
  readonly index: number
  readonly open: readonly OpenAllowance[] | null
}

function isOpen(allowance: Allowance, open: readonly OpenAllowance[] | null): boolean {
  return open === null ? !allowance.isSpent : open.some((each) => isSame(each.allowance, allowance))
}

function isSame(one: Allowance, other: Allowance): boolean {
  return one.kind === other.kind && one.token === other.token && one.spender === other.spender && one.tokenId === other.tokenId
}

/** Takes an allowance back with a transaction of the account. */
export function Revoke({ connection, activity, index }: { connection: WalletConnection; activity: string; index: number }) {
  const params = [activity, index]
  return (
    <Act
      connection={connection}
      id={`revoke-${index}`}
      text="Revoke"
      after="Revoking…"
      method="pocketchain_revokeAllowance"
      params={params}
    />
  )
}

/** Polls the allowances that an account gave and the chain still has; null: not read yet, or `account` is null. */
export function useAllowances(connection: WalletConnection, account: string | null, chainId?: string): readonly OpenAllowance[] | null {
  const read = () => (account === null ? Promise.resolve(null) : readAllowances(connection, account, chainId))
  return usePolled<readonly OpenAllowance[] | null>(read, null, `${account} ${chainId}`)
}

function Disconnect({ connection, origin }: { connection: WalletConnection; origin: string }) {
  const { state } = useWalletData()
  const isConnected = state?.sites.some((each) => each.origin === origin && each.accounts.length > 0) === true
  if (!isConnected) return <p class="prose soft">This site is no longer connected.</p>
  return (
    <p class="prose">
      <Act
        connection={connection}
        id="disconnect"
        text="Disconnect"
        after="Disconnected"
        method="pocketchain_disconnectSite"
        params={[origin]}
      />
    </p>
  )
}

interface ActProps {
  readonly connection: WalletConnection
  readonly id: string
  readonly text: string
  /** the button's text once it was accepted */
  readonly after: string
  readonly method: string
  readonly params: readonly unknown[]
}

/** A button that revokes or removes something. It is armed as an approval is, and shows the wallet's response. */
export function Act({ connection, id, text, after, method, params }: ActProps) {
  const isArmed = useArmed(id)
  const { refresh } = useWalletData()
  const [state, setState] = useState<'ready' | 'working' | 'done'>('ready')
  const [failure, setFailure] = useState<string | null>(null)
  const act = async () => {
    setState('working')
    setFailure(null)
    try {
      await connection.request(method, params)
      setState('done')
      refresh()
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error))
      setState('ready')
    }
  }
  return (
    <>
      <button
        type="button"
        class="small"
        data-testid={id}
        disabled={!isArmed || state !== 'ready'}
        onClick={(event) => event.isTrusted && isArmed && void act()}
      >
        {state === 'done' ? after : text}
      </button>
      {failure !== null && (
        <span class="failure" role="alert">
          {' '}
          {visible(failure)}
        </span>
      )}
    </>
  )
}

/** Fee, transactions, created contract and operation. */
function Sent({ activity: { outcome, chain, sponsor } }: { activity: Activity }) {
  const explorerUrl = useExplorerUrl(chain?.chainId ?? '0x0')
  if (outcome === null || chain === null) return null
  const { transactions, userOpHash } = outcome
  const paid = transactions.reduce((sum, { fee }) => sum + BigInt(fee ?? 0), 0n)
  const isPaid = transactions.some(({ fee }) => fee !== null)
  const sponsored = sponsor === null ? undefined : transactions.find(({ isSuccess }) => isSuccess !== null)
  const hashes = transactions.flatMap(({ hash }) => (hash === null ? [] : [hash]))
  return (
    <>
      {sponsored !== undefined && sponsor !== null && (
        <Row name="Fee" id="paid">
          {sponsored.sponsorFee !== null && (
            <>
              <Coin wei={sponsored.sponsorFee} chain={chain} />,{' '}
            </>
          )}
          paid by the sponsor <bdi>{visible(sponsor)}</bdi>
        </Row>
      )}
      {isPaid && sponsor === null && (
        <Row name="Fee" id="paid">
          <Coin wei={String(paid)} chain={chain} />
        </Row>
      )}
      {hashes.map((hash, i) => (
        <Row key={hash} name={hashes.length === 1 ? 'Transaction' : `Transaction ${i + 1}`} id="transaction">
          <Linked href={explorerUrl(`tx/${hash}`)} text={hash} what="transaction hash" />
        </Row>
      ))}
      {transactions.map(({ contractAddress }) =>
        contractAddress === null ? null : (
          <Row key={contractAddress} name="Created" id="created">
            <Linked href={explorerUrl(`address/${contractAddress}`)} text={contractAddress} what="address of the contract" />
          </Row>
        ),
      )}
      {userOpHash !== null && (
        <Row name="Operation" id="user-operation">
          <Linked href={explorerUrl(`op/${userOpHash}`)} text={userOpHash} what="hash of the user operation" />
        </Row>
      )}
    </>
  )
}

/** Hex to copy, and a link to the explorer if there is one. */
function Linked({ href, text, what }: { href: string | null; text: string; what: string }) {
  return (
    <>
      <Copy text={text} what={what} />
      {href !== null && (
        <>
          {' '}
          <a href={href}>
            explore<span class="unseen"> {what}</span>
          </a>
        </>
      )}
    </>
  )
}

/** Replaces a question after its approval: shows the outcome and follows it. */
export function Approved({
  connection,
  live,
  id,
  end,
}: {
  connection: WalletConnection
  live: WalletConnectionState['activity']
  id: string
  end: () => void
}) {
  const activity = useActivity(connection, live, id)
  const { outcome = null, origin = null, chain = null } = activity ?? {}
  const heading = useRef<HTMLHeadingElement>(null)
  // The button that had the focus is gone.
  useEffect(() => heading.current?.focus({ preventScroll: true }), [id])
  return (
    <article class="slip" data-testid="approved" data-id={id}>
      <header class="asker">
        <p class="count">
          <a href={`#activity=${encodeURIComponent(id)}`} onClick={end}>
            Open in the activity
          </a>
        </p>
        <h1 ref={heading} tabIndex={-1}>
          <span class="origin">{outcome !== null ? headline(outcome) : activity === null ? 'Approved' : titleOf(activity)}</span>
          {origin !== null && (
            <span class="request">
              {outcome !== null && activity !== null && (
                <>
                  <Line text={titleOf(activity)} />, for{' '}
                </>
              )}
              <bdi>{site(origin).name}</bdi>
            </span>
          )}
        </h1>
      </header>
      {activity !== null && outcome !== null && chain !== null && (
        <div class="section">
          <Progress outcome={outcome} chainId={chain.chainId} calls={callCount(activity)} />
        </div>
      )}
      {activity !== null && (
        <dl class="rows">
          {activity.accounts.map((each) => (
            <Row key={each} name="Account">
              <AccountText address={each} />
            </Row>
          ))}
          <Sent activity={activity} />
        </dl>
      )}
      <footer class="buttons">
        <button type="button" data-testid="done" onClick={end}>
          Done
        </button>
      </footer>
    </article>
  )
}

/** Such as `Pre-confirmed: Send 1 ETH`, above the next question. */
export function ApprovedLine({ connection, live, id }: ActivityProps) {
  const activity = useActivity(connection, live, id)
  if (activity === null) return null
  const { outcome } = activity
  return (
    <p class="before" role="status" data-testid="approved-before">
      {outcome === null ? '' : `${headline(outcome)}: `}
      <a href={`#activity=${encodeURIComponent(id)}`}>
        <Line text={titleOf(activity)} />
      </a>
    </p>
  )
}

/** An amount of a token, exact in the tooltip. */
export function TokenAmount({
  balance,
  decimals,
  symbol,
  token,
}: {
  balance: string
  decimals: number | null
  symbol: string | null
  token: string
}) {
  const exact = units(BigInt(balance), decimals ?? 0)
  return (
    <span class="amount" title={exact}>
      {readable(BigInt(balance), decimals ?? 0)} <bdi>{symbol === null ? shortened(token) : visible(symbol)}</bdi>
    </span>
  )
}

/** `17`, or `17.3` with the flashblock of the open block after it. */
export function headText(block: number, flashblock: number | null): string {
  return flashblock === null ? `block ${decimal(block)}` : `block ${decimal(block)}, flashblock ${decimal(block + 1)}.${flashblock}`
}
