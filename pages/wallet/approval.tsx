import type { ComponentChildren } from 'preact'
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Choice, Question, Warning } from '../../src/wallet/question.ts'
import { useArmed } from './arming.ts'
import { reasonText, site, visible } from './format.ts'
import { Json, Line } from './parts.tsx'
import { QUESTION_ID, QueueBar, QueueContext, isInQuestion, isShortcut } from './queue.tsx'

/** Answers a question; rejects with the reason if the answer was not accepted. */
export interface Answers {
  readonly approve: (id: string, choice?: Choice) => Promise<unknown>
  readonly reject: (id: string) => Promise<unknown>
}

/** Props of the view of each kind. */
export interface QuestionProps<Q extends Question> {
  readonly question: Q
  readonly answers: Answers
}

interface ApprovalProps {
  readonly question: Question
  /** `wants to send a transaction` */
  readonly request: string
  readonly answers: Answers
  /** label of the approve button */
  readonly verb?: string
  readonly choice?: Choice
  /** why it cannot be approved yet; null if it can */
  readonly missing?: string | null
  /** text after a warning, by its code */
  readonly remarks?: Readonly<Record<string, string>>
  /** null: the question cannot be shown, not even as JSON */
  readonly children: ComponentChildren
}

/** The frame of every question: origin, warnings, contents and the two buttons. */
export function Approval(props: ApprovalProps) {
  const { question, request, answers, verb = 'Approve', choice, missing = null, remarks = {}, children } = props
  const isDangerous = question.warnings.some(({ level }) => level === 'danger')
  const { scheme, name } = site(question.origin)
  return (
    <article
      id={QUESTION_ID}
      tabIndex={-1} // a click on its text leaves the focus in it, where its keys work
      class={isDangerous ? 'slip dangerous' : 'slip'}
      data-testid="approval"
      data-id={question.id}
      data-kind={question.kind}
      aria-labelledby="request"
    >
      <header class="asker">
        <QueueBar />
        <h1 id="request">
          <span class="origin" data-testid="origin" title={question.origin}>
            {scheme !== null && <span class="scheme">{scheme}://</span>}
            <bdi>{name}</bdi>
          </span>{' '}
          <span class="request">{request}</span>
        </h1>
      </header>
      {question.replaces !== null && (
        <p class="changed" role="note">
          This replaces a request whose contents changed while it was pending. Read it again.
        </p>
      )}
      <Warnings warnings={question.warnings} remarks={remarks} />
      {children}
      {children !== null && <Json value={question} />}
      <Buttons
        id={question.id}
        answers={answers}
        verb={verb}
        {...(choice === undefined ? {} : { choice })}
        isDangerous={isDangerous}
        missing={missing}
      />
    </article>
  )
}

interface ButtonsProps {
  readonly id: string
  readonly answers: Answers
  readonly verb: string
  readonly choice?: Choice
  /** requires the box above the buttons */
  readonly isDangerous: boolean
  readonly missing: string | null
}

function Buttons({ id, answers, verb, choice, isDangerous, missing }: ButtonsProps) {
  const isArmed = useArmed(id)
  const { isKeyOn } = useContext(QueueContext)
  const [isAccepted, accept] = useState(!isDangerous)
  const [answer, setAnswer] = useState<'approve' | 'reject' | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const reject = useRef<HTMLButtonElement>(null)
  // Reject has the focus first, so that a stray Enter approves nothing. A control outside of the question keeps its focus.
  useEffect(() => {
    const { activeElement, body } = document
    const isFree = activeElement === null || activeElement === body || isInQuestion(activeElement)
    if (isFree) reject.current?.focus({ preventScroll: true })
  }, [id, failure])
  const give = (event: Event, which: 'approve' | 'reject') => {
    if (!event.isTrusted || answer !== null) return
    setAnswer(which)
    setFailure(null)
    const given = which === 'approve' ? answers.approve(id, choice) : answers.reject(id)
    given.catch((error: Error) => {
      setFailure(error.message)
      setAnswer(null)
    })
  }
  const canApprove = isArmed && isAccepted && missing === null
  // The keys A and R wait for half a second as the button does: a key meant for something else, or for the question before, answers nothing.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isArmed || !isShortcut(event)) return
      if (event.key === 'a' && isKeyOn && canApprove) give(event, 'approve')
      if (event.key === 'r') give(event, 'reject')
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  })
  return (
    <footer
      class="buttons"
      onKeyDown={(event) => event.repeat && event.preventDefault() /* a key held down answers one question, not the next */}
    >
      {failure !== null && (
        <p class="failure" role="alert">
          Not answered: {visible(failure)}
        </p>
      )}
      {isDangerous && (
        <label class="accept">
          <input
            type="checkbox"
            data-testid="accept-danger"
            checked={isAccepted}
            onChange={(event) => event.isTrusted && accept(event.currentTarget.checked)}
          />
          <span>I have read the danger warnings and want to continue.</span>
        </label>
      )}
      {missing !== null && (
        <p class="missing" id="missing">
          {missing}
        </p>
      )}
      <button
        ref={reject}
        type="button"
        class="reject"
        data-testid="reject"
        data-key="R"
        aria-keyshortcuts="r"
        disabled={answer !== null}
        onClick={(e) => give(e, 'reject')}
      >
        {answer === 'reject' ? 'Rejecting…' : 'Reject'}
      </button>
      <button
        type="button"
        class={isArmed ? 'approve armed' : 'approve'}
        data-testid="approve"
        data-key={isKeyOn ? 'A' : undefined}
        aria-keyshortcuts={isKeyOn ? 'a' : undefined}
        disabled={!canApprove || answer !== null}
        aria-describedby={missing === null ? undefined : 'missing'}
        onClick={(e) => isArmed && isAccepted && give(e, 'approve')}
      >
        {answer === 'approve' ? 'Approving…' : verb}
      </button>
    </footer>
  )
}

const LEVELS = { danger: 'Danger', caution: 'Caution', info: 'Note' } as const

function Warnings({ warnings, remarks }: { warnings: readonly Warning[]; remarks: Readonly<Record<string, string>> }) {
  if (warnings.length === 0) return null
  const worstFirst = Object.keys(LEVELS).flatMap((wanted) => warnings.filter(({ level }) => level === wanted))
  return (
    <ul class="warnings" aria-label="Warnings">
      {worstFirst.map(({ code, level, text }) => (
        <li key={`${code} ${text}`} class={level} data-testid="warning" data-code={code}>
          <strong>{LEVELS[level]}</strong>{' '}
          <span>
            <Line text={reasonText(text)} /> {remarks[code]}
          </span>
        </li>
      ))}
    </ul>
  )
}
