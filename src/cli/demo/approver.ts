import type { Question, QuestionKind, Wallet } from '../../wallet/index.ts'
import type { StepLog } from './steplog.ts'

/** Answers the wallet's questions in the demo. */
export interface Approver {
  /** Adds a listener of new questions. */
  readonly onAsked: (listener: (question: Question) => void) => void
  readonly close: () => void
}

/** Approves every question by `pocketchain_approve`, as holders of the control token do. */
export function scriptApprover(wallet: Pick<Wallet, 'approvals' | 'control'>, log: StepLog): Approver {
  return createApprover(wallet, log, 'approved by the script', ({ id }) => {
    void wallet.control.request({ method: 'pocketchain_approve', params: [id] }).catch(() => undefined) // withdrawn since
  })
}

/** Prints a link to the approval page for the first question. `link` returns a one-time link. */
export function userApprover(wallet: Pick<Wallet, 'approvals'>, log: StepLog, link: () => string): Approver {
  let isLinkPrinted = false
  return createApprover(wallet, log, 'you approved', () => {
    log.detail(isLinkPrinted ? 'answer on the same page' : `answer here: ${link()}`)
    isLinkPrinted = true
  })
}

function createApprover(
  { approvals }: Pick<Wallet, 'approvals'>,
  log: StepLog,
  approvedText: string,
  handle: (question: Question) => void,
): Approver {
  const listeners = new Set<(question: Question) => void>()
  const reminder = new Reminder(log)
  const unsubscribe = approvals.subscribe((event) => {
    if (event.type === 'joined') return
    if (event.type !== 'asked') {
      reminder.stop()
      if (event.type === 'answered' && event.outcome.type === 'approved') log.detail(`${event.question.kind}: ${approvedText}`)
      return
    }
    const { question } = event
    for (const listener of listeners) listener(question)
    log.detail(`the wallet asks: ${describe(question)}`)
    reminder.start()
    // Runs after the other listeners of this event.
    setImmediate(() => handle(question))
  })
  return {
    onAsked: (listener) => void listeners.add(listener),
    close: () => {
      reminder.stop()
      unsubscribe()
    },
  }
}

/** Prints how long a question has been pending: after 10 s, then every 30 s. */
class Reminder {
  readonly #log: StepLog
  #timer: NodeJS.Timeout | undefined
  #startMs = 0

  constructor(log: StepLog) {
    this.#log = log
  }

  start(): void {
    this.stop()
    this.#startMs = performance.now()
    this.#timer = setTimeout(() => this.#print(), FIRST_REMINDER_MS)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #print(): void {
    const waitedSeconds = Math.round((performance.now() - this.#startMs) / 1_000)
    this.#log.detail(`waiting for your answer for ${waitedSeconds} s (Ctrl-C ends the demo)`)
    this.#timer = setTimeout(() => this.#print(), NEXT_REMINDER_MS)
  }
}

const FIRST_REMINDER_MS = 10_000
const NEXT_REMINDER_MS = 30_000

function describe(question: Question): string {
  const text = DESCRIPTIONS[question.kind] as ((of: Question) => string) | undefined // the table's key is the question's kind
  return text?.(question) ?? question.kind
}

const DESCRIPTIONS: { readonly [K in QuestionKind]?: (question: Extract<Question, { kind: K }>) => string } = {
  connect: ({ origin }) => `may ${origin} see your account?`,
  upgrade: ({ delegateName }) => `may the account become a smart account (EIP-7702, ${delegateName})?`,
  batch: ({ calls, fee }) => `${calls.map(({ summary, to }) => summary ?? `call ${to}`).join(', ')}? ${feeText(fee.sponsor)}`,
}

function feeText(sponsor: { readonly name: string | null; readonly host: string } | null): string {
  return sponsor === null ? 'You pay the fee.' : `The fee is paid by ${sponsor.name ?? 'a sponsor'} (${sponsor.host}).`
}
