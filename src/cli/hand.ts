import type { Question, QuestionKind, Wallet } from '../wallet/index.ts'
import type { Narrator } from './narrator.ts'

/** Who answers what the wallet asks in the demo. */
export interface Hand {
  /** `listener` is told of each new question */
  readonly onAsked: (listener: (question: Question) => void) => void
  readonly end: () => void
}

/** A script: approves whatever is asked, by the method that holders of the control token have. */
export function scriptHand(wallet: Pick<Wallet, 'approvals' | 'control'>, narrator: Narrator): Hand {
  return handOf(wallet, narrator, 'approved by the script', ({ id }) => {
    void wallet.control.request({ method: 'pocketchain_approve', params: [id] }).catch(() => undefined) // nobody waits for it any more
  })
}

/** A person, on the page behind the link. `link` makes one for one use. */
export function personHand(wallet: Pick<Wallet, 'approvals'>, narrator: Narrator, link: () => string): Hand {
  let isInvited = false
  return handOf(wallet, narrator, 'you answered', () => {
    narrator.aside(isInvited ? 'answer on the same page' : `answer here: ${link()}`)
    isInvited = true
  })
}

function handOf({ approvals }: Pick<Wallet, 'approvals'>, narrator: Narrator, answered: string, act: (question: Question) => void): Hand {
  const listeners = new Set<(question: Question) => void>()
  const wait = new Wait(narrator)
  const leave = approvals.subscribe((event) => {
    if (event.type !== 'asked') {
      wait.end()
      if (event.type === 'answered' && event.outcome.type === 'approved') narrator.aside(`${event.question.kind}: ${answered}`)
      return
    }
    const { question } = event
    for (const listener of listeners) listener(question)
    narrator.aside(`the wallet asks: ${wordsOf(question)}`)
    wait.begin()
    // The queue is still telling of the question.
    setImmediate(() => act(question))
  })
  return {
    onAsked: (listener) => void listeners.add(listener),
    end: () => {
      wait.end()
      leave()
    },
  }
}

/** Says how long nobody has answered: after 10 s, then each half minute. */
class Wait {
  readonly #narrator: Narrator
  #timer: NodeJS.Timeout | undefined
  #begunMs = 0

  constructor(narrator: Narrator) {
    this.#narrator = narrator
  }

  begin(): void {
    this.end()
    this.#begunMs = performance.now()
    this.#timer = setTimeout(() => this.#tell(), FIRST_WORD_MS)
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #tell(): void {
    this.#narrator.aside(
      `waiting for your answer, ${Math.round((performance.now() - this.#begunMs) / 1_000)} s by now (Ctrl-C ends the demo)`,
    )
    this.#timer = setTimeout(() => this.#tell(), NEXT_WORD_MS)
  }
}

const FIRST_WORD_MS = 10_000
const NEXT_WORD_MS = 30_000

function wordsOf(question: Question): string {
  const words = WORDS[question.kind] as ((of: Question) => string) | undefined // the table's key is the question's kind
  return words?.(question) ?? question.kind
}

const WORDS: { readonly [K in QuestionKind]?: (question: Extract<Question, { kind: K }>) => string } = {
  connect: ({ origin }) => `may ${origin} see your account?`,
  upgrade: ({ delegateName }) => `may the account become a smart account (EIP-7702, ${delegateName})?`,
  batch: ({ calls, fee }) => `${calls.map(({ summary, to }) => summary ?? `call ${to}`).join(', ')}? ${feeWords(fee.sponsor)}`,
}

function feeWords(sponsor: { readonly name: string | null; readonly host: string } | null): string {
  return sponsor === null ? 'You pay the fee.' : `The fee is paid by ${sponsor.name ?? 'a sponsor'} (${sponsor.host}).`
}
