import { Hex, Transaction } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { Approved, AskOptions } from '../approvals/approvals.ts'
import { after } from '../approvals/timing.ts'
import { duplicateId, randomBatchId } from './batches.ts'
import type { SignedBatch } from './batches.ts'
import { assertCapabilities, assertGasOverrides, assertSize, assertTransactionSize } from './callsrequest.ts'
import type { CallsRequest } from './callsrequest.ts'
import { chainLabel } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletContext } from '../context.ts'
import { DELEGATE } from '../delegate.ts'
import { WALLET_CODE, sponsorRequired, unreadable } from '../errors.ts'
import { chainUnsupported, executionOf } from './execution.ts'
import type { Unsponsored, Upgrade } from './execution.ts'
import { blockGround } from './fees.ts'
import { NONCE_TRIES, REPEATED_QUESTIONS, SPONSOR_LINE_MS } from '../limits.ts'
import type { Asker } from '../method.ts'
import { isOther, planOf, unsentOf, viewOf } from './plan.ts'
import type { Intent, Plan, PlanView } from './plan.ts'
import type { Draft } from '../question.ts'
import { hand, isNonceTaken, nextNonce, rawOf, signAll, turnOf } from './sending.ts'
import { permittedAccount } from '../sites.ts'
import type { PaymasterCapability } from '../sponsorship/capability.ts'
import { blamed } from '../sponsorship/failure.ts'
import { Payer } from '../sponsorship/payer.ts'
import { signQuote } from '../sponsorship/quote.ts'
import type { Quote } from '../sponsorship/quote.ts'
import { sponsorshipOn } from '../sponsorship/standing.ts'
import { assertSponsorship, isSponsorshipOn } from '../sponsorship/switch.ts'
import { KnownRecipients } from '../preview/knownrecipients.ts'
import { nonceWarnings, recipientsOf, upgradeWarnings } from '../preview/warnings.ts'

/** interface 2.7 and EIP-5792 in one. */
export interface CallsResult {
  readonly id: string
  readonly batchId: string
  readonly status: 'pending'
}

/**
 * Answers when the batch is submitted, without waiting for a block. Throws RpcError, in this order: 4100, 5710 for a chain that is not known, -32602,
 * 5720, 5740, 5700, 4100 when nobody else may pay, 5710 and 5760 for calls that cannot be atomic, 4200 and 4300 of a sponsor, 5750 and 4001 of the
 * person, and what the node says. Then nothing was sent.
 */
export function sendCalls(wallet: WalletContext, request: CallsRequest, asker: Asker): Promise<CallsResult> {
  const holdMs = request.paymaster === null ? null : SPONSOR_LINE_MS
  return inOrder(wallet, asker, holdMs, async (ask) => {
    const batch = await checked(wallet, request, asker)
    const { id, chain, from, execute, sponsor } = batch
    const intent: Intent = { chain, from, calls: request.calls, wish: {} }
    const { batches, settings } = wallet
    const admit = () => assertSponsorship(wallet, asker.origin)
    const payer = new Payer({ batches, settings, intent, sponsor, admit, execute, signal: asker.signal })
    const consent = upgradeConsent(ask, asker, batch)
    await approveAndSend<void>(
      { wallet, asker, ask },
      { chain, from },
      {
        plan: (approved) => payer.plan(approved),
        draft: (view, { execution }) => ({
          ...view,
          kind: 'batch',
          origin: asker.origin,
          method: 'wallet_sendCalls',
          batchId: id,
          atomic: execution.kind !== 'sequential',
          execution: execution.kind,
        }),
        before: async (plan) => {
          assertTakeable(plan)
          const { execution } = plan
          if ('upgrade' in execution && execution.upgrade !== null) await consent(execution.upgrade)
        },
        send: async (approved, now) => {
          if (now.sponsoring === null)
            return signAndSend(wallet, approved, null, (transactions) => submit(wallet, batch, approved, { transactions }))
          admit() // the sponsor may have been asked again, which takes its time
          return signAndSubmit(wallet, batch, now, now.sponsoring.quote)
        },
        instead: (error, refused, approved) => payer.instead(error, refused, approved),
        assertFree: () => assertFree(wallet, batch),
      },
    )
    return { id, batchId: id, status: 'pending' }
  })
}

/** A batch that may be asked about. */
interface CheckedBatch {
  readonly origin: string
  readonly id: string
  readonly isOwnId: boolean
  readonly chain: WalletChain
  readonly from: Address
  /** who is asked to pay; null: the account pays */
  readonly sponsor: PaymasterCapability | null
  /** as the account stands now, when it pays itself; throws RpcError 5710 and 5760 */
  readonly execute: () => Promise<Unsponsored>
}

/** What is checked before anything is asked, in its order. Throws RpcError. */
async function checked(wallet: WalletContext, request: CallsRequest, { origin }: Asker): Promise<CheckedBatch> {
  const from = permittedAccount(wallet.sites.get(origin), request.from ?? undefined)
  const chain = chainOf(wallet, request.chainId, origin)
  wallet.keyring.assertMaySign(from, chain)
  const choosesGas = request.calls.some(({ gasLimitOverride }) => gasLimitOverride !== null)
  if (choosesGas) assertGasOverrides(request, (await blockGround(chain)).gasLimit)
  const id = request.id ?? randomBatchId()
  const execute = () => executionOf(chain, from, request.calls.length, request.isAtomic)
  const batch = { origin, id, isOwnId: request.id === null, chain, from, execute, sponsor: null }
  assertFree(wallet, batch)
  assertSize(request, wallet.settings)
  assertCapabilities(request)
  const sponsor = await sponsorOf(wallet, request, batch)
  await execute() // for what it throws
  return { ...batch, sponsor }
}

/** Throws RpcError 5700 where nobody else can pay, then 4100 when nobody else may; unless the app can do without. Null: the account pays. */
async function sponsorOf(
  wallet: WalletContext,
  { paymaster }: CallsRequest,
  { chain, from, origin }: CheckedBatch,
): Promise<PaymasterCapability | null> {
  if (paymaster === null) return null
  const standing = await sponsorshipOn(chain, from, wallet.settings)
  if (paymaster.isOptional) return standing === 'supported' && isSponsorshipOn(wallet, origin) ? paymaster : null
  if (standing !== 'supported') throw sponsorRequired(standing)
  assertSponsorship(wallet, origin)
  return paymaster
}

/** Throws RpcError 5740 before anybody is asked for what the node would then refuse. */
function assertTakeable(plan: Plan): void {
  for (const { fields, isUpgrade } of unsentOf(plan)) {
    const { length } = Transaction.unsigned(fields, plan.from).raw
    assertTransactionSize(length + SIGNATURE_BYTES + (isUpgrade ? AUTHORIZATION_BYTES : 0))
  }
}

/** What a signature and an authorization add at most to a transaction that has neither. */
const SIGNATURE_BYTES = 64
const AUTHORIZATION_BYTES = 120

/** Throws RpcError 5720. */
function assertFree({ batches }: WalletContext, batch: CheckedBatch): void {
  if (batches.has(batch)) throw duplicateId(batch.id)
}

interface Submitted {
  readonly transactions?: readonly Transaction[]
  readonly operation?: SignedBatch['operation']
}

async function submit(
  wallet: WalletContext,
  batch: CheckedBatch,
  plan: Plan,
  { transactions: signed = [], operation }: Submitted,
): Promise<void> {
  const { kind } = plan.execution
  const { origin, id, isOwnId, chain, from } = batch
  const unsent = unsentOf(plan)
  const transactions = signed.map((transaction, i) => ({ transaction, isPreparation: unsent[i]?.isPreparation === true }))
  const callCount = plan.calls.length
  const own = { origin, id, isOwnId, chain, from, atomic: kind !== 'sequential', execution: kind, callCount, transactions }
  await wallet.batches.submit(operation === undefined ? own : { ...own, operation })
}

/** What the sponsor has signed, signed by the account as well. Throws RpcError, 4300 for what is the sponsor's fault. */
async function signAndSubmit(wallet: WalletContext, batch: CheckedBatch, plan: Plan, quote: Quote): Promise<void> {
  const { execution, chain } = plan
  if (execution.kind !== 'sponsored') throw new Error('what is quoted is sponsored')
  const { operation, hash } = await signQuote(wallet.keyring, chain, quote, execution)
  try {
    await submit(wallet, batch, plan, { operation: { operation, hash, entryPoint: quote.entryPoint } })
  } catch (error) {
    throw error instanceof RpcError ? blamed(error) : error
  }
}

/** One transaction. Answers its hash when the node has taken it. Throws RpcError: 4001, and what the node says. */
export async function sendTransaction(
  wallet: WalletContext,
  intent: Intent & { readonly nonce: bigint | null },
  asker: Asker,
): Promise<Hash> {
  const { chain, nonce, from } = intent
  wallet.keyring.assertMaySign(from, chain)
  return inOrder(wallet, asker, null, async (ask) => {
    const chosen = nonce === null ? [] : nonceWarnings(nonce, await nextNonce(chain, from))
    const account = { chain, from, isAhead: nonce !== null }
    return approveAndSend({ wallet, asker, ask }, account, {
      plan: () => planOf(intent, { kind: 'single' }),
      draft: (view) => ({
        ...view,
        warnings: [...chosen, ...view.warnings],
        kind: 'send',
        origin: asker.origin,
        method: 'eth_sendTransaction',
      }),
      before: async () => {},
      send: (approved) =>
        signAndSend(wallet, approved, nonce, async ([transaction]) => {
          if (transaction === undefined) throw new Error('a plan of one call has one transaction')
          const { hash } = transaction
          const handed = await hand(chain, rawOf(transaction), hash)
          if (handed.kind === 'refused') throw handed.error
          if (handed.kind === 'unsure') throw unsure(hash, handed.error)
          return hash
        }),
      instead: async (error) => {
        throw error
      },
      assertFree: () => {},
    })
  })
}

type SendingDraft = Extract<Draft, { readonly kind: 'send' | 'batch' | 'upgrade' }>
type Ask = (draft: SendingDraft, options?: AskOptions) => Promise<Approved>

/**
 * An origin's first questions are asked in the order of its requests, however long it takes to find out what they would do. `holdMs`: but this one is
 * waited for no longer than that, because somebody else has to say something first; null: it is.
 */
async function inOrder<T>(wallet: WalletContext, asker: Asker, holdMs: number | null, work: (ask: Ask) => Promise<T>): Promise<T> {
  const { batches, approvals } = wallet
  const { origin } = asker
  const place = batches.turns.line(`questions of ${origin}`)
  const ask: Ask = async (draft, options) => {
    await place.reached
    // The site may have lost the account or left the chain while it was found out what to ask.
    assertStill(wallet, asker, Number(draft.chain.chainId), draft.account)
    const answer = approvals.ask(draft, options)
    place.leave()
    return answer
  }
  const stop = holdMs === null ? () => {} : after(holdMs, place.leave)
  try {
    return await work(ask)
  } finally {
    stop()
    place.leave()
  }
}

/** What one of the two ways of sending has of its own. */
interface Sending<T> {
  /** as the chain is now; `approved`: what was said yes to. Throws RpcError */
  readonly plan: (approved: Plan | null) => Promise<Plan>
  readonly draft: (view: PlanView, plan: Plan) => SendingDraft
  /** what has to be approved before the question itself */
  readonly before: (plan: Plan) => Promise<void>
  /** `now` is what was approved, as it would be approved by now. Throws RpcError when the node has taken nothing */
  readonly send: (approved: Plan, now: Plan) => Promise<T>
  /** what to send in place of what was refused; throws RpcError when the refusal stands */
  readonly instead: (error: unknown, refused: Plan, approved: Plan) => Promise<Plan>
  /** throws RpcError when it may not be sent any more */
  readonly assertFree: () => void
}

/** Whose turn it is. */
interface Account {
  readonly chain: WalletChain
  readonly from: Address
  /** true: the nonce is chosen, whatever authorization waits for its block */
  readonly isAhead?: boolean
}

interface Asking {
  readonly wallet: WalletContext
  readonly asker: Asker
  readonly ask: Ask
}

/**
 * Asks, and sends what was approved or nothing. What is approved is everything but the nonce, so that questions can be answered in any order; when the
 * chain has moved on meanwhile so that it would be something else, another question takes the place of the first.
 */
async function approveAndSend<T>(
  { wallet, asker, ask }: Asking,
  { chain, from, isAhead = false }: Account,
  sending: Sending<T>,
): Promise<T> {
  const upgraded = async () => (isAhead ? undefined : wallet.batches.upgraded(chain, from))
  await upgraded()
  let plan = await sending.plan(null)
  let replaces: string | null = null
  for (let asked = 0; asked < REPEATED_QUESTIONS; asked++) {
    await sending.before(plan)
    const view = await viewOf(wallet, plan)
    const { id }: { readonly id: string } = await ask(sending.draft(view, plan), { signal: asker.signal, replaces })
    const approved = plan
    const outcome = await wallet.batches.turns.take(turnOf(chain, from), async () => {
      await upgraded()
      return sendOrChange({ wallet, asker, ask }, approved, sending)
    })
    if ('sent' in outcome) {
      remember(wallet, approved, view)
      return outcome.sent
    }
    plan = outcome.now
    replaces = id
  }
  const message = `what was asked changed ${REPEATED_QUESTIONS} times while it was answered; nothing was sent`
  throw new RpcError(CODE.server, message, { reason: 'changed-too-often' })
}

/** In the account's turn: sends what was approved, or answers what it would be by now. */
async function sendOrChange<T>(
  { wallet, asker }: Asking,
  approved: Plan,
  sending: Sending<T>,
): Promise<{ readonly sent: T } | { readonly now: Plan }> {
  const assertWanted = () => {
    assertStill(wallet, asker, approved.chain.chainId, approved.from)
    sending.assertFree()
  }
  assertWanted()
  let now = await sending.plan(approved)
  for (let tries = 1; ; tries++) {
    if (isOther(approved, now)) return { now }
    // Looking may have taken some seconds.
    assertWanted()
    try {
      return { sent: await sending.send(approved, now) }
    } catch (error) {
      if (tries >= NONCE_TRIES) throw error
      now = await sending.instead(error, now, approved)
    }
  }
}

/** What was sent is sent, also when this cannot be kept. */
function remember({ records, onError }: WalletContext, { from, calls }: Plan, { calls: views }: PlanView): void {
  try {
    const recipients = recipientsOf({ calls, views }).map(({ address }) => address)
    KnownRecipients.add(records, from, recipients)
  } catch (error) {
    onError(error)
  }
}

/** The nonce is taken where nobody else of this wallet takes one; a program beside it may, and then the next one does. `nonce`: null for the next one. */
async function signAndSend<T>(
  wallet: WalletContext,
  plan: Plan,
  nonce: bigint | null,
  send: (transactions: readonly Transaction[]) => Promise<T>,
): Promise<T> {
  const { chain, from } = plan
  for (let tries = 1; ; tries++) {
    const transactions = signAll(wallet.keyring, chain, from, unsentOf(plan), nonce ?? (await nextNonce(chain, from)))
    try {
      return await send(transactions)
    } catch (error) {
      const isWorthAnother = nonce === null && tries < NONCE_TRIES && error instanceof RpcError && isNonceTaken(error)
      if (!isWorthAnother) throw error
    }
  }
}

/** What the site was allowed when it asked, of a wallet that is there. Throws RpcError 4100, 4900 and -32602. */
function assertStill(wallet: WalletContext, { origin }: Asker, chainId: number, from: Address): void {
  wallet.approvals.assertOpen()
  const site = wallet.sites.get(origin)
  permittedAccount(site, from)
  if (site.chainId !== chainId) throw otherChain(site.chainId, Hex.fromQuantity(chainId))
}

/** Throws RpcError 5710 for a chain that the wallet does not know, -32602 for one that the site is not on. */
function chainOf({ chains, sites }: WalletContext, chainId: string, origin: string): WalletChain {
  const chain = chains.get(Number(BigInt(chainId)))
  if (chain === null || BigInt(chain.chainId) !== BigInt(chainId)) throw chainUnsupported(chainId, 'unknown-chain')
  const { chainId: selected } = sites.get(origin)
  if (selected !== chain.chainId) throw otherChain(selected, chainId)
  return chain
}

/** Asks once per batch: a plan that changes needs no second yes to the same upgrade. */
function upgradeConsent(ask: Ask, { origin, signal }: Asker, { chain, from, id }: CheckedBatch) {
  let given: Upgrade | null = null
  return async (upgrade: Upgrade): Promise<void> => {
    if (given !== null && given.before === upgrade.before && given.deploys === upgrade.deploys) return
    const draft: SendingDraft = {
      kind: 'upgrade',
      origin,
      method: 'wallet_sendCalls',
      warnings: upgradeWarnings(DELEGATE.address, upgrade.before),
      account: from,
      chain: chainLabel(chain),
      delegate: DELEGATE.address,
      delegateName: DELEGATE.name,
      delegateBefore: upgrade.before,
      deploys: upgrade.deploys,
      batchId: id,
    }
    await ask(draft, { signal, rejection: upgradeRejected })
    given = upgrade
  }
}

export function otherChain(selected: number, requested: string): RpcError {
  const data = { selected: Hex.fromQuantity(selected), requested }
  return unreadable(
    `chainId ${requested} is not the chain that the site is on, ${data.selected}; switch with wallet_switchEthereumChain`,
    'chain-mismatch',
    data,
  )
}

function upgradeRejected(): RpcError {
  return new RpcError(WALLET_CODE.upgradeRejected, 'EIP-7702 upgrade rejected for this chain and account', { reason: 'upgrade-rejected' })
}

function unsure(hash: Hash, { code, message }: RpcError): RpcError {
  const text = `the node may have taken the transaction ${hash} or not, its answer was lost (${message}); look for that hash before it is sent anew`
  return new RpcError(code, text, { reason: 'unsure', hash })
}
