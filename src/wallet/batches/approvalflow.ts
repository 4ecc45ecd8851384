import type { Address, Transaction } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { Approved, AskOptions } from '../approvals/approvals.ts'
import { callAfter } from '../approvals/timing.ts'
import type { WalletChain } from '../chains/chain.ts'
import { assertStillPermitted } from '../connecting.ts'
import type { WalletContext } from '../context.ts'
import { failureText } from '../errors.ts'
import { NONCE_TRIES, REPEATED_QUESTIONS } from '../limits.ts'
import type { ProviderCaller } from '../method.ts'
import { hasChanged, unsignedTransactions } from './plan.ts'
import type { Plan } from './plan.ts'
import { KnownRecipients } from '../preview/knownrecipients.ts'
import { recipientsOf } from '../preview/warnings.ts'
import type { Draft } from '../question.ts'
import { accountKey, isNonceTaken, nextNonce, signTransactions } from './transactions.ts'

/** One request of an app, whose questions are created in the order of the origin's requests. */
export interface Session {
  readonly wallet: WalletContext
  readonly caller: ProviderCaller
  readonly ask: (draft: Extract<Draft, { readonly kind: 'send' | 'batch' | 'upgrade' }>, options?: AskOptions) => Promise<Approved>
}

/**
 * Runs `work` so that the first questions of an origin's requests are created in the order of the requests, independent of the duration of their
 * previews. `holdMs`: maximum time for which later requests wait for this one, whose sponsor responds first; null: no limit.
 */
export async function inRequestOrder<T>(
  wallet: WalletContext,
  caller: ProviderCaller,
  holdMs: number | null,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const position = wallet.batches.mutex.reserve(`questions of ${caller.origin}`)
  const ask: Session['ask'] = async (draft, options) => {
    await position.acquired
    // The site may have lost the account or left the chain since its request.
    assertStillPermitted(wallet, caller, Number(draft.chain.chainId), draft.account)
    const answer = wallet.approvals.ask(draft, options)
    position.release()
    return answer
  }
  const stop = holdMs === null ? () => {} : callAfter(holdMs, position.release)
  try {
    return await work({ wallet, caller, ask })
  } finally {
    stop()
    position.release()
  }
}

/** The steps in which a transaction and a batch differ. */
interface Steps<T> {
  /** Plans for the current state of the chain. `approved`: the approved plan, returned if it is still valid. Throws RpcError. */
  readonly plan: (approved: Plan | null) => Promise<Plan>
  /** Returns the question about the plan, after any approval that must come before it. */
  readonly draft: (plan: Plan) => Promise<Extract<Draft, { readonly kind: 'send' | 'batch' }>>
  /** Signs and submits. `now`: the approved plan in the current state; `id`: of the approved question. Throws RpcError if the node has accepted nothing. */
  readonly submit: (approved: Plan, now: Plan, id: string) => Promise<T>
  /** Returns the plan to submit in place of a refused one. Throws RpcError if there is none. Absent: every refusal is final. */
  readonly replan?: (error: unknown, refused: Plan, approved: Plan) => Promise<Plan>
}

interface Sender {
  readonly chain: WalletChain
  readonly from: Address
  /** true: the app chose the nonce, so a pending upgrade of the account does not matter */
  readonly isNonceChosen: boolean
}

/**
 * Plans, requests approval, and submits exactly the approved plan or nothing. The approval covers everything but the nonce, so questions may be answered in any
 * order. If a change of the chain alters the effects in between, a new question replaces the first.
 */
export async function approveAndSubmit<T>(session: Session, { chain, from, isNonceChosen }: Sender, steps: Steps<T>): Promise<T> {
  const { wallet, caller, ask } = session
  const { batches } = wallet
  const waitForUpgrade = async () => (isNonceChosen ? undefined : batches.waitForUpgrade(chain, from))
  await waitForUpgrade()
  let plan = await steps.plan(null)
  let replaces: string | null = null
  for (let tries = 0; tries < REPEATED_QUESTIONS; tries++) {
    const draft = await steps.draft(plan)
    const { id }: { readonly id: string } = await ask(draft, { signal: caller.signal, replaces })
    const approved = plan
    const work = batches.mutex.runExclusive(accountKey(chain, from), async () => {
      await waitForUpgrade()
      return submitUnlessChanged(session, approved, id, steps)
    })
    const outcome = await work.catch((error: unknown) => {
      wallet.activities.fail(id, failureText(error))
      throw error
    })
    if ('result' in outcome) {
      rememberRecipients(wallet, approved, draft.calls)
      return outcome.result
    }
    wallet.activities.fail(id, CHANGED)
    plan = outcome.changed
    replaces = id
  }
  const message = `the outcome changed ${REPEATED_QUESTIONS} times between question and answer; nothing was sent`
  throw new RpcError(CODE.server, message, { reason: 'changed-too-often' })
}

const CHANGED = 'its effects had changed by the time of the answer; nothing was sent, and a new question replaced this one'

/** Under the account's mutex: submits the approved plan, or returns the plan that another question has to be about. */
async function submitUnlessChanged<T>(
  { wallet, caller }: Session,
  approved: Plan,
  id: string,
  steps: Steps<T>,
): Promise<{ readonly result: T } | { readonly changed: Plan }> {
  const assertPermitted = () => assertStillPermitted(wallet, caller, approved.chain.chainId, approved.from)
  assertPermitted()
  let now = await steps.plan(approved)
  for (let tries = 1; ; tries++) {
    if (hasChanged(approved, now)) return { changed: now }
    // Planning may have taken seconds.
    assertPermitted()
    try {
      return { result: await steps.submit(approved, now, id) }
    } catch (error) {
      if (tries >= NONCE_TRIES || steps.replan === undefined) throw error
      now = await steps.replan(error, now, approved)
    }
  }
}

/** Signs the plan's transactions with `nonce`, or with the next ones (null), and again if another program takes a nonce first. */
export async function signAndSubmit<T>(
  wallet: WalletContext,
  plan: Plan,
  nonce: bigint | null,
  submit: (transactions: readonly Transaction[]) => Promise<T>,
): Promise<T> {
  const { chain, from } = plan
  for (let tries = 1; ; tries++) {
    const transactions = signTransactions(wallet.keyring, chain, from, unsignedTransactions(plan), nonce ?? (await nextNonce(chain, from)))
    try {
      return await submit(transactions)
    } catch (error) {
      const mayRetry = nonce === null && tries < NONCE_TRIES && error instanceof RpcError && isNonceTaken(error)
      if (!mayRetry) throw error
    }
  }
}

/** Failures are reported only: the calls are submitted already. */
function rememberRecipients(
  { records, onError }: WalletContext,
  { from, calls }: Plan,
  views: Parameters<typeof recipientsOf>[0]['views'],
): void {
  try {
    const recipients = recipientsOf({ calls, views }).map(({ address }) => address)
    KnownRecipients.add(records, from, recipients)
  } catch (error) {
    onError(error)
  }
}
