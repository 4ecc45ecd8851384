import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Question } from '../../src/wallet/question.ts'
import { AccountView } from './account.tsx'
import { ActivityDetails, ActivityView, Approved, ApprovedLine, headText } from './activity.tsx'
import type { Answers } from './approval.tsx'
import { useArmed } from './arming.ts'
import { BatchView } from './batch.tsx'
import { LINK_BROWSER } from './browserlink.tsx'
import { site } from './format.ts'
import { Home } from './home.tsx'
import type { WalletConnection, WalletConnectionState } from './connection.ts'
import { ErrorBoundary, Mark } from './parts.tsx'
import { QuestionView } from './questions.tsx'
import { QueueContext, REQUESTS, useQueue } from './queue.tsx'
import { NOT_KEPT } from './secret.ts'
import { WalletDataContext, useWalletData, useWalletReader } from './wallet.ts'

/** The site that opened this page as its popup. */
export interface Client {
  /** null until a message proves it; the opener's own claim is not shown */
  readonly origin: string | null
}

/** `client`: null when no site opened this page; otherwise only the questions of that site are shown. */
export function Page({ connection, client }: { connection: WalletConnection; client: Client | null }) {
  const state = useConnection(connection)
  const route = useRoute()
  const wallet = useWalletReader(connection, state.status === 'open')
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set())
  const [approved, setApproved] = useState<string | null>(null)
  const [rejected, setRejected] = useState<Question | null>(null)
  const questions = state.questions.filter(({ id, origin }) => !answered.has(id) && (client === null || origin === client.origin))
  useTitle(questions.length)
  const forget = (id: string) => setAnswered((ids) => new Set([...ids, id]))
  const answers: Answers = {
    approve: async (id, choice) => {
      await connection.request('pocketchain_approve', choice === undefined ? [id] : [id, choice])
      setApproved(id)
      setRejected(null)
      forget(id)
    },
    reject: async (id) => {
      await connection.request('pocketchain_reject', [id])
      setApproved(null)
      setRejected(questions.find((question) => question.id === id) ?? null)
      forget(id)
    },
  }
  const queue = useQueue(questions, answers.reject)
  const { shown } = queue
  useEffect(() => {
    setApproved(null)
    setRejected(null)
  }, [route.text])
  const live = state.activity
  return (
    <WalletDataContext.Provider value={wallet}>
      <header class="brand">
        <a href="#" class="name" aria-label="pocketchain wallet, overview" onClick={() => setApproved(null)}>
          <Mark /> <span class="word">pocketchain</span>
        </a>
        <span class="status">
          {wallet.head !== null && state.status === 'open' && (
            <span class="head" data-testid="head">
              {headText(wallet.head.block, wallet.head.flashblock)}
            </span>
          )}
          <span class="state" data-testid="connection" data-state={state.status}>
            {CONNECTIONS[state.status]}
          </span>
        </span>
      </header>
      <main>
        <p class="unseen" aria-live="assertive">
          {shown === null ? '' : announcement(shown, questions.length)}
        </p>
        <PolicyBanner connection={connection} />
        {state.status === 'open' && !connection.secret.isKept && (
          <p class="slip notice" role="status" data-testid="not-kept">
            {NOT_KEPT}
          </p>
        )}
        <Body state={state}>
          {rejected !== null && <RejectedLine question={rejected} />}
          {shown !== null ? (
            <QueueContext.Provider value={queue}>
              {approved !== null && <ApprovedLine connection={connection} live={live} id={approved} />}
              <QuestionView question={shown} answers={answers} />
            </QueueContext.Provider>
          ) : approved !== null ? (
            <Approved connection={connection} live={live} id={approved} end={() => setApproved(null)} />
          ) : client !== null ? (
            <WaitingForRequest origin={client.origin} />
          ) : (
            <ErrorBoundary key={route.text} instead={<Malformed />}>
              <Routed route={route} connection={connection} live={live} />
            </ErrorBoundary>
          )}
        </Body>
      </main>
    </WalletDataContext.Provider>
  )
}

function Routed({
  route: { name, value },
  connection,
  live,
}: {
  route: Route
  connection: WalletConnection
  live: WalletConnectionState['activity']
}) {
  if (name === 'batch') return <BatchView connection={connection} live={live} id={value} />
  if (name === 'account') return <AccountView connection={connection} live={live} address={value.toLowerCase()} />
  if (name === 'activity')
    return value === '' ? (
      <ActivityView connection={connection} live={live} />
    ) : (
      <ActivityDetails connection={connection} live={live} id={value} />
    )
  return <Home connection={connection} live={live} />
}

/** Such as `Rejected: send a batch, for localhost:3000`, above what comes next. */
function RejectedLine({ question: { origin, kind } }: { question: Question }) {
  return (
    <p class="before" role="status" data-testid="rejected">
      Rejected: {REQUESTS[kind]}, for <bdi>{site(origin).name}</bdi>
    </p>
  )
}

/** As long as questions are answered without being shown. */
function PolicyBanner({ connection }: { connection: WalletConnection }) {
  const { state, refresh } = useWalletData()
  const isArmed = useArmed('policy-banner')
  if (state === null || state.policy === 'ask') return null
  const ask = () => void connection.request('pocketchain_setApprovalPolicy', ['ask']).then(refresh, () => {})
  return (
    <p class={`policy-banner ${state.policy}`} role="status" data-testid="policy-banner">
      <strong>{state.policy === 'approve' ? 'Every request is approved without being shown.' : 'Every request is rejected.'}</strong>{' '}
      <button type="button" class="small" data-testid="policy-banner-ask" onClick={(event) => event.isTrusted && isArmed && ask()}>
        Ask me again
      </button>
    </p>
  )
}

const CONNECTIONS: Readonly<Record<WalletConnectionState['status'], string>> = {
  connecting: 'connecting',
  open: 'connected',
  refused: 'not authorized',
  lost: 'no connection',
}

function Body({ state, children }: { state: WalletConnectionState; children: ComponentChildren }) {
  if (state.status === 'open') return children
  if (state.status === 'refused') return <Refused />
  return (
    <div class="slip notice" role="status">
      <h1>{state.status === 'lost' ? 'The node does not answer' : 'Connecting'}</h1>
      <p>
        {state.status === 'lost'
          ? 'It was stopped or cannot be reached. This page reconnects when it is back.'
          : 'Opening the connection to the node.'}
      </p>
    </div>
  )
}

function Refused() {
  return (
    <div class="slip notice" data-testid="refused" role="status">
      <h1>This browser may not approve yet</h1>
      <p>Open the wallet link from the terminal of the node in this browser. This page then continues without a reload.</p>
      <p>
        A link works once. If it was used in another browser, open the wallet there and choose “{LINK_BROWSER}” on the overview; if no
        browser has the wallet open, restart the node. A program requests a link with <code>pocketchain_walletLink</code> and the control
        token, which the first line of <code>--json</code> contains.
      </p>
      <p class="soft">Without the link, no other page or server can approve a request.</p>
    </div>
  )
}

function WaitingForRequest({ origin }: { origin: string | null }) {
  return (
    <div class="slip notice" data-testid="empty" role="status">
      <h1>{origin === null ? 'A site opened this window' : site(origin).name}</h1>
      <p>{origin === null ? 'Its address appears here as soon as the browser confirms it.' : 'Waiting for its request.'}</p>
    </div>
  )
}

/** Another implementation of a node may return a malformed status. */
function Malformed() {
  return (
    <div class="slip notice" role="alert">
      <h1>This cannot be shown</h1>
      <p>
        The wallet or its chain returned something malformed. <a href="#">Wallet overview</a>
      </p>
    </div>
  )
}

function announcement({ origin, kind }: Question, waiting: number): string {
  const { name } = site(origin)
  return waiting === 1 ? `${name} asks: ${REQUESTS[kind]}` : `${name} asks: ${REQUESTS[kind]}. ${waiting} requests are pending.`
}

function useConnection(connection: WalletConnection): WalletConnectionState {
  const [state, setState] = useState(connection.state)
  useEffect(() => {
    setState(connection.state)
    return connection.subscribe(() => setState(connection.state))
  }, [connection])
  return state
}

function useTitle(waiting: number): void {
  useEffect(() => {
    document.title = waiting === 0 ? 'pocketchain wallet' : `(${waiting}) pocketchain wallet`
  }, [waiting])
}

interface Route {
  readonly name: 'home' | 'batch' | 'activity' | 'account'
  readonly value: string
  /** the part of the address after its # */
  readonly text: string
}

/** `#batch=<id>`, `#activity`, `#activity=<id>`, `#account=<address>`; anything else is the overview. */
function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const read = () => setHash(location.hash)
    window.addEventListener('hashchange', read)
    return () => window.removeEventListener('hashchange', read)
  }, [])
  const text = hash.slice(1)
  const parameters = new URLSearchParams(text)
  const name = (['batch', 'activity', 'account'] as const).find((each) => parameters.has(each))
  return { name: name ?? 'home', value: name === undefined ? '' : (parameters.get(name) ?? ''), text }
}
