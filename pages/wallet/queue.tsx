import { createContext } from 'preact'
import { useContext, useLayoutEffect, useState } from 'preact/hooks'
import type { Question } from '../../src/wallet/question.ts'
import { useClicked } from './arming.ts'
import { site } from './format.ts'

/** The pending questions and the one that is shown. */
interface Queue {
  readonly questions: readonly Question[]
  readonly shown: Question | null
  readonly show: (id: string) => void
  /** Rejects all questions of the site of the shown one. */
  readonly rejectSite: () => void
  /** true if the key A approves */
  readonly isKeyOn: boolean
}

export const QueueContext = createContext<Queue>({
  questions: [],
  shown: null,
  show: () => {},
  rejectSite: () => {},
  isKeyOn: false,
})

/** `questions`: in the order of the wallet. The first is shown until another is chosen. */
export function useQueue(questions: readonly Question[], reject: (id: string) => Promise<unknown>): Queue {
  const [chosen, choose] = useState<string | null>(null)
  const isKeyOn = useClicked()
  const shown = questions.find(({ id }) => id === chosen) ?? questions[0] ?? null
  // Before the next event: a key acts on what is on the screen.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const step = STEPS.get(event.key)
      if (step === undefined || shown === null || !isShortcut(event)) return
      const next = questions[(questions.indexOf(shown) + step + questions.length) % questions.length]
      if (next !== undefined) choose(next.id)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [questions, shown])
  const rejectSite = () => {
    for (const { id, origin } of questions) if (origin === shown?.origin) void reject(id).catch(() => {}) // it may have been withdrawn meanwhile
  }
  return { questions, shown, show: choose, rejectSite, isKeyOn }
}

const STEPS: ReadonlyMap<string, number> = new Map([
  ['ArrowRight', 1],
  ['ArrowLeft', -1],
])

/** The id of the article of the question, whose keys act only while the focus is in it (WCAG 2.1.4). */
export const QUESTION_ID = 'question'

export function isInQuestion(element: Element): boolean {
  return element.closest(`#${QUESTION_ID}`) !== null
}

/** True for a key of a person, pressed in the question, that no control in it uses itself. */
export function isShortcut(event: KeyboardEvent): boolean {
  if (!event.isTrusted || event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return false
  const { target } = event
  return target instanceof Element && isInQuestion(target) && target.closest('input:not([type=checkbox]), select, textarea, pre') === null
}

/** Position in the queue with the ways through it; only the count if there is one question. */
export function QueueBar() {
  const { questions, shown, show, rejectSite } = useContext(QueueContext)
  const [isListed, list] = useState(false)
  if (shown === null || questions.length < 2) {
    return (
      <p class="count" data-testid="queue-count">
        One request
      </p>
    )
  }
  const at = questions.indexOf(shown)
  const ofSite = questions.filter(({ origin }) => origin === shown.origin).length
  const goto = (step: number) => show(questions[(at + step + questions.length) % questions.length]?.id ?? shown.id)
  return (
    <nav class="queue" aria-label="Pending requests">
      <p>
        <button type="button" class="arrow" data-testid="queue-previous" aria-label="Previous request" onClick={() => goto(-1)}>
          ‹
        </button>
        <span class="count" data-testid="queue-count">
          {at + 1} of {questions.length} requests
        </span>
        <button type="button" class="arrow" data-testid="queue-next" aria-label="Next request" onClick={() => goto(1)}>
          ›
        </button>
        <button type="button" class="small" data-testid="queue-list" aria-expanded={isListed} onClick={() => list(!isListed)}>
          List
        </button>
        {ofSite > 1 && (
          <button type="button" class="small end" data-testid="reject-site" onClick={(event) => event.isTrusted && rejectSite()}>
            Reject all {ofSite} of {site(shown.origin).name}
          </button>
        )}
      </p>
      {isListed && (
        <ol class="list">
          {questions.map(({ id, origin, kind }) => (
            <li key={id}>
              <button type="button" class="link" data-testid="queue-item" aria-current={id === shown.id} onClick={() => show(id)}>
                <bdi>{site(origin).name}</bdi>
              </button>
              <span class="soft">{REQUESTS[kind]}</span>
            </li>
          ))}
        </ol>
      )}
    </nav>
  )
}

/** The purpose of a question, shown after the name of its site and a colon. */
export const REQUESTS: Readonly<Record<Question['kind'], string>> = {
  connect: 'see your accounts',
  sign: 'a signature',
  send: 'send a transaction',
  batch: 'send a batch',
  upgrade: 'upgrade your account',
  addChain: 'add a chain',
  switchChain: 'switch the chain',
  watchAsset: 'watch a token',
}
