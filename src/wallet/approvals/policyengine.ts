import type { RpcError } from '../../jsonrpc/index.ts'
import { Answer } from './answer.ts'
import type { AnsweredBy } from './answer.ts'
import { rejected } from '../errors.ts'
import type { Question } from '../question.ts'
import { Replay, nameOf } from './recording.ts'
import type { Recording } from './recording.ts'
import { POLICIES } from './rules.ts'
import type { Policy, Rule } from './rules.ts'

/** null: a user or a script decides. RpcError: the rule or the recording failed, and the question is refused with it. */
export type Verdict = Decision | RpcError | null

export interface Decision {
  readonly answer: Answer
  readonly by: AnsweredBy
}

/** Automatic answers, in this order of precedence: the replayed recording, the rules in the order of their addition, the policy. */
export class PolicyEngine {
  #policy: Policy
  #replay: Replay | null = null
  readonly #rules = new Set<{ readonly rule: Rule }>()

  constructor(policy: Policy) {
    this.#policy = checkedPolicy(policy)
  }

  get policy(): Policy {
    return this.#policy
  }

  /** Throws RangeError. */
  set policy(policy: Policy) {
    this.#policy = checkedPolicy(policy)
  }

  /** Returns a function that removes the rule. */
  add(rule: Rule): () => void {
    const added = { rule }
    this.#rules.add(added)
    return () => void this.#rules.delete(added)
  }

  /** Returns a function that ends the replay. Throws Error for an invalid recording. */
  replay(recording: Recording): () => void {
    const replay = new Replay(recording)
    this.#replay = replay
    return () => {
      if (this.#replay === replay) this.#replay = null
    }
  }

  /** One sentence for each recorded answer whose question did not occur. */
  get unusedAnswers(): readonly string[] {
    return (this.#replay?.remaining ?? []).map((recorded) => `the recording expects ${nameOf(recorded)}, which did not come`)
  }

  decide(question: Question): Verdict {
    if (this.#replay !== null) return replayed(this.#replay, question)
    return this.#byRule(question) ?? (this.policy === 'ask' ? null : { answer: Answer.of(this.policy, question), by: 'policy' })
  }

  /** Removes the rules and the recording, and sets the policy. */
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

/** Throws RangeError. Any other value would reject every question, as a user does. */
function checkedPolicy(policy: Policy): Policy {
  if (POLICIES.includes(policy)) return policy
  throw new RangeError(`policy: expected one of ${POLICIES.join(', ')}, got ${JSON.stringify(policy)}`)
}

function replayed(replay: Replay, question: Question): Verdict {
  const answer = replay.take(question)
  return typeof answer === 'string' ? rejected(answer, 'replay-mismatch') : { answer, by: 'recording' }
}
