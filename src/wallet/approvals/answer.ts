import { Address } from '../../eth/index.ts'
import { RpcError, invalidParams } from '../../jsonrpc/index.ts'
import { rejected } from '../errors.ts'
import type { Choice, Question } from '../question.ts'

/** The answer to a question, as JSON. */
export type Answer =
  | {
      readonly type: 'approved'
      /** permitted accounts of a connect question; null for other kinds */ readonly accounts: readonly Address[] | null
    }
  | { readonly type: 'rejected'; /** null: the default of the question */ readonly code: number | null; readonly message: string | null }

/** `manual`: a user or a script. */
export type AnsweredBy = 'manual' | 'rule' | 'policy' | 'recording'

export const Answer = { approved, rejected: rejectedWith, of, refusal }

/** Throws RpcError -32602 for an account that the question does not offer. */
function approved(question: Question, choice: Choice): Answer {
  return { type: 'approved', accounts: chosen(question, choice) }
}

/** Throws RpcError -32602 unless `code` is an integer. */
function rejectedWith(code: number | undefined, message: string | undefined): Answer {
  const isCode = code === undefined || Number.isSafeInteger(code)
  if (!isCode) throw invalidParams(`the code of a refusal is an integer, not ${String(code)}`, { reason: 'code' })
  return { type: 'rejected', code: code ?? null, message: message ?? null }
}

function of(verdict: 'approve' | 'reject', question: Question): Answer {
  return verdict === 'approve' ? approved(question, {}) : rejectedWith(undefined, undefined)
}

/** The error for the app. `rejection`: the default of the question. */
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
  // A script may pass an address in any letter case.
  const wanted = new Set(accounts.map((text) => (Address.isAddress(text) ? Address.from(text) : text)))
  const notOffered = [...wanted].find((address) => !offered.includes(address))
  if (notOffered === undefined) return [...wanted]
  const message = `account ${String(notOffered)} is not among those offered: ${offered.join(', ')}`
  throw invalidParams(message, { reason: 'account-not-offered', account: String(notOffered) })
}
