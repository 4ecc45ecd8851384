import type { Question, QuestionKind } from '../question.ts'

/** What becomes of a question that no rule answers: it waits, or it is answered at once. */
export type Policy = 'ask' | 'approve' | 'reject'

/** Answers a question, or leaves it (null) to the rules after it and to the policy. */
export type Rule = (question: Question) => 'approve' | 'reject' | null

/**
 * Approves a transaction or a batch through which the account loses less than `limitWei` of the chain's currency: the values of its calls, or what the
 * preview says that leaves the account when that is more, and the highest fee unless a sponsor pays. What cannot be expressed in wei (a
 * token that leaves, an allowance that stays) and what nobody could preview is under no limit: such a question is left to others.
 */
export function approveUnder(limitWei: bigint): Rule {
  return (question) => {
    const outflow = outflowOf(question)
    return outflow !== null && outflow < limitWei ? 'approve' : null
  }
}

export function approveKind(...kinds: readonly QuestionKind[]): Rule {
  return (question) => (kinds.includes(question.kind) ? 'approve' : null)
}

export function rejectKind(...kinds: readonly QuestionKind[]): Rule {
  return (question) => (kinds.includes(question.kind) ? 'reject' : null)
}

/** Origins as the browser names them, such as `http://localhost:3000`. */
export function approveOrigin(...origins: readonly string[]): Rule {
  return (question) => (origins.includes(question.origin) ? 'approve' : null)
}

/** Everything that these origins ask. */
export function rejectOrigin(...origins: readonly string[]): Rule {
  return (question) => (origins.includes(question.origin) ? 'reject' : null)
}

/** Wei that leave the account at most; null: the question spends nothing, or more than wei. */
function outflowOf(question: Question): bigint | null {
  if (question.kind !== 'send' && question.kind !== 'batch') return null
  const { calls, preview, fee, warnings } = question
  if (preview.status === 'unavailable') return null
  // Of the calls, or one from before that the sponsor holds: what it takes in the end no preview can promise.
  if (preview.allowances.some(({ isSpent }) => !isSpent) || warnings.some(({ code }) => code === 'sponsor-allowance')) return null
  const losses = preview.changes.filter(({ amount }) => amount.startsWith('-'))
  if (losses.some(({ asset }) => asset !== 'native')) return null
  const lost = losses.reduce((sum, { amount }) => sum - BigInt(amount), 0n)
  const given = calls.reduce((sum, { value }) => sum + BigInt(value), 0n)
  const paid = fee.sponsor === null ? BigInt(fee.most) : 0n
  return (lost > given ? lost : given) + paid
}
