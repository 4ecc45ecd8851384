import { Address } from '../../eth/index.ts'
import { RpcError, invalidParams } from '../../jsonrpc/index.ts'
import { rejected } from '../errors.ts'
import type { Choice, Question } from '../question.ts'

/** How a question was answered. JSON as it stands. */
export type Answer =
  | {
      readonly type: 'approved'
      /** those that a connect question shows; null: another kind */ readonly accounts: readonly Address[] | null
    }
  | { readonly type: 'rejected'; /** null: the question's own */ readonly code: number | null; readonly message: string | null }

/** Who answered: a person or a script (`hand`), or what answers by itself. */
export type AnsweredBy = 'hand' | 'rule' | 'policy' | 'recording'

export const Answer = { approved, rejected: rejectedWith, of, refusal }

/** Throws RpcError -32602 for a choice that the question does not offer. */
function approved(question: Question, choice: Choice): Answer {
  return { type: 'approved', accounts: chosen(question, choice) }
}

/** Throws RpcError -32602 for a code that is none. */
function rejectedWith(code: number | undefined, message: string | undefined): Answer {
  const isCode = code === undefined || Number.isSafeInteger(code)
  if (!isCode) throw invalidParams(`the code of a refusal is an integer, not ${String(code)}`, { reason: 'code' })
  return { type: 'rejected', code: code ?? null, message: message ?? null }
}

function of(verdict: 'approve' | 'reject', question: Question): Answer {
  return verdict === 'approve' ? approved(question, {}) : rejectedWith(undefined, undefined)
}

/** What the app gets. `rejection`: the question's own refusal. */
function refusal({ code, message }: Extract<Answer, { type: 'rejected' }>, rejection: () => RpcError): RpcError {
  const own = rejection()
  if (code === null && message === null) return own
  const words = code === null || code === own.code ? own.message : rejected().message
  return new RpcError(code ?? own.code, message ?? words, own.data)
}

function chosen(question: Question, { accounts }: Choice): readonly Address[] | null {
  if (question.kind !== 'connect') {
    if (accounts === undefined) return null
    throw invalidParams(`question ${question.id} (${question.kind}) offers no accounts to choose from`, { reason: 'no-choice' })
  }
  const offered = question.accounts.map(({ address }) => address)
  if (accounts === undefined) return offered
  if (accounts.length === 0)
    throw invalidParams('no account was chosen: name at least one, or reject the question', { reason: 'no-account' })
  // A script may write an address as people do, in either case.
  const wanted = new Set(accounts.map((text) => (Address.isAddress(text) ? Address.from(text) : text)))
  const stranger = [...wanted].find((address) => !offered.includes(address))
  if (stranger === undefined) return [...wanted]
  const message = `account ${String(stranger)} is not among those offered: ${offered.join(', ')}`
  throw invalidParams(message, { reason: 'account-not-offered', account: String(stranger) })
}
