import type { RpcError } from '../../jsonrpc/index.ts'
import { Answer } from './answer.ts'
import type { AnsweredBy } from './answer.ts'
import { rejected } from '../errors.ts'
import type { Question } from '../question.ts'
import { Replay, nameOf } from './recording.ts'
import type { Recording } from './recording.ts'
import type { Policy, Rule } from './rules.ts'

/** null: a hand decides. An RpcError: what should have decided it failed, and the question with it. */
export type Verdict = Decision | RpcError | null

export interface Decision {
  readonly answer: Answer
  readonly by: AnsweredBy
}

/** What answers questions by itself. In this order: the recording that is replayed, the rules as they were added, the policy. */
export class Deciders {
  policy: Policy
  #replay: Replay | null = null
  readonly #rules = new Set<{ readonly rule: Rule }>()

  constructor(policy: Policy) {
    this.policy = policy
  }

  /** Returns what removes it. */
  add(rule: Rule): () => void {
    const added = { rule }
    this.#rules.add(added)
    return () => void this.#rules.delete(added)
  }

  /** Returns what ends it. Throws Error for what is no recording. */
  replay(recording: Recording): () => void {
    const replay = new Replay(recording)
    this.#replay = replay
    return () => {
      if (this.#replay === replay) this.#replay = null
    }
  }

  /** A sentence for every recorded answer that no question has come for. */
  get missed(): readonly string[] {
    return (this.#replay?.left ?? []).map((recorded) => `the recording expects ${nameOf(recorded)}, which did not come`)
  }

  decide(question: Question): Verdict {
    if (this.#replay !== null) return replayed(this.#replay, question)
    return this.#byRule(question) ?? (this.policy === 'ask' ? null : { answer: Answer.of(this.policy, question), by: 'policy' })
  }

  /** Forgets rules and recording. */
  clear(policy: Policy): void {
    this.#rules.clear()
    this.#replay = null
    this.policy = policy
  }

  #byRule(question: Question): Verdict {
    try {
      for (const { rule } of this.#rules) {
        const verdict = rule(question)
        if (verdict !== null) return { answer: Answer.of(verdict, question), by: 'rule' }
      }
      return null
    } catch (error) {
      return rejected(`a rule failed at ${nameOf(question)}: ${String(error)}`, 'rule-failed')
    }
  }
}

function replayed(replay: Replay, question: Question): Verdict {
  const answer = replay.take(question)
  return typeof answer === 'string' ? rejected(answer, 'replay-mismatch') : { answer, by: 'recording' }
}
