import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import type { RpcError } from '../../jsonrpc/index.ts'
import { QUESTION_DEPTH } from '../limits.ts'
import { Answer } from './answer.ts'
import type { Draft, Question } from '../question.ts'
import type { Decision } from './verdict.ts'

export interface Approved {
  readonly id: string
  /** of a connect question: those to be shown, selected first; null: another kind */
  readonly accounts: readonly Address[] | null
}

/** One who waits for the answer. */
export interface Asker {
  readonly resolve: (approved: Approved) => void
  readonly refuse: (reason: RpcError) => void
  /** what a refusal without a code of its own becomes */
  readonly rejection: () => RpcError
  readonly signal: AbortSignal | null
}

/** A question of the queue, and those who wait for its answer. */
export class Waiting {
  readonly question: Question
  /** null: it is for a hand to answer */
  decision: Decision | null = null
  /** a script has it in hand */
  isHandedOut = false
  /** ends the clock that runs for it: to the answer that was decided, or to the end of patience */
  stop: () => void = () => {}
  /** with what ends the watch over its signal; one asker, but for questions that were asked twice */
  readonly #askers = new Map<Asker, () => void>()

  /** Throws RpcError -32602 for a draft that holds what JSON cannot. */
  constructor(draft: Draft, createdAt: number, replaces: string | null) {
    this.question = frozen(draft, { id: newId(), createdAt, replaces })
  }

  get askers(): number {
    return this.#askers.size
  }

  /** null: neither a script nor a decision has it. */
  get isOpen(): boolean {
    return this.decision === null && !this.isHandedOut
  }

  /** `onGone` is called when the signals of all askers were aborted; until then one that is aborted is refused alone, with `reason`. */
  join(asker: Asker, reason: () => RpcError, onGone: () => void): void {
    const leave = () => {
      if (this.#askers.size === 1) return onGone()
      this.#forget(asker)
      asker.refuse(reason())
    }
    asker.signal?.addEventListener('abort', leave)
    this.#askers.set(asker, () => asker.signal?.removeEventListener('abort', leave))
  }

  answer(answer: Answer): void {
    this.#end(({ resolve, refuse, rejection }) => {
      if (answer.type === 'approved') resolve({ id: this.question.id, accounts: answer.accounts })
      else refuse(Answer.refusal(answer, rejection))
    })
  }

  refuse(reason: RpcError): void {
    this.#end(({ refuse }) => refuse(reason))
  }

  /** Both ask to connect the same: two tabs, or a page that asks twice. */
  isTwinOf(draft: Draft): boolean {
    const { question } = this
    if (draft.kind !== 'connect' || question.kind !== 'connect') return false
    if (question.origin !== draft.origin || question.method !== draft.method || question.chain.chainId !== draft.chain.chainId) return false
    return String(question.accounts.map(({ address }) => address)) === String(draft.accounts.map(({ address }) => address))
  }

  #end(tell: (asker: Asker) => void): void {
    this.stop()
    for (const asker of [...this.#askers.keys()]) {
      this.#forget(asker)
      tell(asker)
    }
  }

  #forget(asker: Asker): void {
    this.#askers.get(asker)?.()
    this.#askers.delete(asker)
  }
}

interface Named {
  readonly id: string
  readonly createdAt: number
  readonly replaces: string | null
}

/** A copy that nobody can change any more: in process a draft may hold values of the app's own, and what is shown must stay what is signed. */
function frozen(draft: Draft, named: Named): Question {
  const question = copyOf(draft, named)
  if (isDeeper(question, QUESTION_DEPTH)) {
    const message = `${draft.method} holds values that nest deeper than ${QUESTION_DEPTH}, which nobody can be shown`
    throw invalidParams(message, { reason: 'too-deep', limit: QUESTION_DEPTH })
  }
  return question
}

function copyOf(draft: Draft, named: Named): Question {
  try {
    return JSON.parse(JSON.stringify({ ...draft, ...named }), (_, value: unknown) => Object.freeze(value)) as Question // a draft and its name are one
  } catch (error) {
    throw invalidParams(`${draft.method} holds a value that JSON cannot: ${String(error)}`, { reason: 'not-json' })
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1))
}

/** 32 hex digits, 128 random bits. */
function newId(): string {
  return Hex.fromBytes(crypto.getRandomValues(new Uint8Array(16))).slice(2)
}
