import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Question } from '../../src/wallet/question.ts'
import type { Answers } from './approval.tsx'
import { BatchView } from './batch.tsx'
import { site } from './format.ts'
import { Home } from './home.tsx'
import type { Link, LinkState } from './link.ts'
import { Guarded, Mark } from './parts.tsx'
import { QuestionView } from './questions.tsx'
import { NOT_KEPT } from './secret.ts'

/** The site that opened this page as its popup. */
export interface Client {
  /** null until a message proves it; the opener's own claim is not shown */
  readonly origin: string | null
}

/** `client`: null when no site opened this page; otherwise only the questions of that site are shown. */
export function Page({ link, client }: { link: Link; client: Client | null }) {
  const state = useLink(link)
  const batchId = useBatchId()
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set())
  const questions = state.questions.filter(({ id, origin }) => !answered.has(id) && (client === null || origin === client.origin))
  const [question] = questions
  useTitle(questions.length)
  const answers: Answers = {
    approve: (id, choice) => link.request('pocketchain_approve', choice === undefined ? [id] : [id, choice]).then(() => forget(id)),
    reject: (id) => link.request('pocketchain_reject', [id]).then(() => forget(id)),
  }
  const forget = (id: string) => setAnswered((ids) => new Set([...ids, id]))
  return (
    <>
      <header class="brand">
        <a href="#" class="name" aria-label="pocketchain wallet, overview">
          <Mark /> pocketchain
        </a>
        <span class="state" data-testid="connection" data-state={state.connection}>
          {CONNECTIONS[state.connection]}
        </span>
      </header>
      <main>
        <p class="unseen" aria-live="assertive">
          {question === undefined ? '' : announcement(question, questions.length)}
        </p>
        {state.connection === 'open' && !link.secret.isKept && (
          <p class="slip notice" role="status" data-testid="not-kept">
            {NOT_KEPT}
          </p>
        )}
        <Body state={state}>
          {question !== undefined ? (
            <QuestionView question={question} waiting={questions.length} answers={answers} />
          ) : client !== null ? (
            <WaitingForRequest origin={client.origin} />
          ) : batchId !== null ? (
            <Guarded key={batchId} instead={<MalformedBatch />}>
              <BatchView link={link} id={batchId} />
            </Guarded>
          ) : (
            <Home link={link} />
          )}
        </Body>
      </main>
    </>
  )
}

const CONNECTIONS: Readonly<Record<LinkState['connection'], string>> = {
  connecting: 'connecting',
  open: 'connected',
  refused: 'not authorized',
  lost: 'no connection',
}

function Body({ state, children }: { state: LinkState; children: ComponentChildren }) {
  if (state.connection === 'open') return children
  if (state.connection === 'refused') return <Refused />
  return (
    <div class="slip notice" role="status">
      <h1>{state.connection === 'lost' ? 'The node does not answer' : 'Connecting'}</h1>
      <p>
        {state.connection === 'lost'
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
      <p>
        Open a new link in this browser: pocketchain prints one in the terminal when it starts, and <code>pocketchain_walletLink</code> with
        the control token returns another. This page then continues without a reload.
      </p>
      <p class="soft">Without the link, no other page or server can approve a question.</p>
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

/** A foreign node may return a malformed status. */
function MalformedBatch() {
  return (
    <div class="slip notice" role="alert">
      <h1>This batch cannot be shown</h1>
      <p>
        Its chain returned a malformed status. <a href="#">Wallet overview</a>
      </p>
    </div>
  )
}

function announcement({ origin, kind }: Question, waiting: number): string {
  const { name } = site(origin)
  return waiting === 1 ? `${name} asks: ${KINDS[kind]}` : `${name} asks: ${KINDS[kind]}. ${waiting} questions are pending.`
}

const KINDS: Readonly<Record<Question['kind'], string>> = {
  connect: 'see your accounts',
  sign: 'a signature',
  send: 'send a transaction',
  batch: 'send a batch',
  upgrade: 'upgrade your account',
  addChain: 'add a chain',
  switchChain: 'switch the chain',
  watchAsset: 'watch a token',
}

function useLink(link: Link): LinkState {
  const [state, setState] = useState(link.state)
  useEffect(() => {
    setState(link.state)
    return link.subscribe(() => setState(link.state))
  }, [link])
  return state
}

function useTitle(waiting: number): void {
  useEffect(() => {
    document.title = waiting === 0 ? 'pocketchain wallet' : `(${waiting}) pocketchain wallet`
  }, [waiting])
}

/** `#batch=<id>` */
function useBatchId(): string | null {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const read = () => setHash(location.hash)
    window.addEventListener('hashchange', read)
    return () => window.removeEventListener('hashchange', read)
  }, [])
  return new URLSearchParams(hash.slice(1)).get('batch')
}
