import type { Question, QuestionKind } from '../question.ts'

/** For questions that no rule answers: `ask` leaves them pending, `approve` and `reject` answer them. */
export type Policy = (typeof POLICIES)[number]
export const POLICIES = ['ask', 'approve', 'reject'] as const

/** Answers a question; null leaves it to the rules added later and to the policy. */
export type Rule = (question: Question) => 'approve' | 'reject' | null

/**
 * Approves a transaction or a batch that costs the account less than `limitWei` of the chain's currency: the larger of the values of its calls
 * and the loss in the preview, plus the highest fee unless a sponsor pays. Returns null for an outflow that is not in wei (a token transfer,
 * a lasting allowance) and for a batch whose preview is missing or incomplete. It does not protect against a contract that detects the simulation
 * and acts differently in the transaction.
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

/** Origins such as `http://localhost:3000`. */
export function approveOrigin(...origins: readonly string[]): Rule {
  return (question) => (origins.includes(question.origin) ? 'approve' : null)
}

export function rejectOrigin(...origins: readonly string[]): Rule {
  return (question) => (origins.includes(question.origin) ? 'reject' : null)
}

/** The maximum outflow in wei; null if the question spends nothing, or something other than wei. */
function outflowOf(question: Question): bigint | null {
  if (question.kind !== 'send' && question.kind !== 'batch') return null
  const { calls, preview, fee, warnings } = question
  if (preview.status === 'unavailable' || (preview.omitted ?? 0) > 0) return null
  // A lasting allowance, new or already held by the sponsor: no preview bounds what its holder takes.
  if (preview.allowances.some(({ isSpent }) => !isSpent) || warnings.some(({ code }) => code === 'sponsor-allowance')) return null
  const losses = preview.changes.filter(({ amount }) => amount.startsWith('-'))
  if (losses.some(({ asset }) => asset !== 'native')) return null
  const lost = losses.reduce((sum, { amount }) => sum - BigInt(amount), 0n)
  const given = calls.reduce((sum, { value }) => sum + BigInt(value), 0n)
  const paid = fee.sponsor === null ? BigInt(fee.most) : 0n
  return (lost > given ? lost : given) + paid
}
