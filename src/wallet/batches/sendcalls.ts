import { Transaction } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { approveAndSubmit, inRequestOrder, signAndSubmit } from './approvalflow.ts'
import type { Session } from './approvalflow.ts'
import type { Call } from './call.ts'
import { duplicateId, randomBatchId } from './batches.ts'
import type { SentOperation, SignedBatch } from './batches.ts'
import { assertCapabilities, assertGasOverrides, assertSize, assertTransactionSize } from './callsrequest.ts'
import type { CallsRequest } from './callsrequest.ts'
import { chainLabel } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { chainMismatch } from '../connecting.ts'
import type { WalletContext } from '../context.ts'
import { DELEGATE } from '../delegate.ts'
import { WALLET_CODE, failureText, sponsorRequired, unparsableRequest, unsupportedCapability } from '../errors.ts'
import { chainUnsupported, delegationStatus, executionOf, passesLimits } from './execution.ts'
import type { Unsponsored, Upgrade } from './execution.ts'
import { latestBlock } from './fees.ts'
import { TRANSACTION_GAS_CAP, hasTransactionGasCap } from './gas.ts'
import { SPONSOR_HOLD_MS } from '../limits.ts'
import type { ProviderCaller } from '../method.ts'
import { questionView, unsignedTransactions } from './plan.ts'
import type { Plan } from './plan.ts'
import { permittedAccount } from '../sites.ts'
import { assertSponsorshipEnabled, isSponsorshipEnabled, sponsorshipSupport } from '../sponsorship/availability.ts'
import type { PaymasterCapability } from '../sponsorship/capability.ts'
import { toPaymasterError } from '../sponsorship/failure.ts'
import { PaymentPlanner } from '../sponsorship/paymentplanner.ts'
import { signQuote } from '../sponsorship/quote.ts'
import { upgradeWarnings } from '../preview/warnings.ts'

/** The result of interface 2.7 and of EIP-5792 in one. */
interface CallsResult {
  readonly id: string
  readonly batchId: string
  readonly status: 'pending'
}

/**
 * Resolves when the batch is submitted, without waiting for a block. Throws RpcError if nothing was sent, in this order: 4100, 5710 for an unknown chain,
 * -32602, 5720, 5740, 5700, 4100 if sponsorship is switched off, 5710 and 5760 for calls that cannot be atomic, 4200 and 4300 of a sponsor, 5740 and
 * -32602 for a transaction that is too large or has too much gas, 5750 and 4001 of the user, and the refusals of the node.
 */
export function sendCalls(wallet: WalletContext, request: CallsRequest, caller: ProviderCaller): Promise<CallsResult> {
  const holdMs = request.paymaster === null ? null : SPONSOR_HOLD_MS
  return inRequestOrder(wallet, caller, holdMs, async (session) => {
    const batch = await checkBatch(wallet, request, caller)
    const { id, chain, from, execute, sponsor } = batch
    const { origin, signal } = caller
    const intent = { chain, from, calls: batch.calls, requested: {} }
    const assertSponsored = () => assertSponsorshipEnabled(wallet, origin)
    const planner = new PaymentPlanner({
      batches: wallet.batches,
      settings: wallet.settings,
      intent,
      sponsor,
      assertSponsored,
      execute,
      signal,
    })
    const upgrades = new UpgradeApprovals(session, batch)
    const sending = approveAndSubmit(
      session,
      { chain, from, isNonceChosen: false },
      {
        plan: (approved) => {
          assertUnusedId(wallet, batch)
          return planner.plan(approved)
        },
        draft: async (plan) => {
          const { execution } = plan
          assertTransactionSizes(plan)
          await assertTransactionGas(plan)
          if ('upgrade' in execution && execution.upgrade !== null) await upgrades.ask(execution.upgrade)
          const view = await questionView(wallet, plan)
          const { kind } = execution
          return { ...view, kind: 'batch', origin, method: 'wallet_sendCalls', batchId: id, atomic: kind !== 'sequential', execution: kind }
        },
        submit: (approved, now) => signAndSubmitBatch(wallet, batch, approved, now),
        replan: (error, refused, approved) => planner.replan(error, refused, approved),
      },
    )
    await sending.catch((error: unknown) => {
      upgrades.fail(error)
      throw error
    })
    return { id, batchId: id, status: 'pending' }
  })
}

/** A batch that has passed all checks before its question. */
interface CheckedBatch extends Pick<SignedBatch, 'id' | 'isOwnId' | 'origin' | 'from' | 'chain'> {
  /** without optional gas limits that the code of the account cannot forward */
  readonly calls: readonly Call[]
  /** null: the account pays */
  readonly sponsor: PaymasterCapability | null
  /** Returns how the account executes the calls if it pays itself. Throws RpcError 5710 and 5760. */
  readonly execute: () => Promise<Unsponsored>
}

/** The checks before the question, in the order of their error codes. Throws RpcError. */
async function checkBatch(wallet: WalletContext, request: CallsRequest, { origin }: ProviderCaller): Promise<CheckedBatch> {
  const from = permittedAccount(wallet.sites.get(origin), request.from ?? undefined)
  const chain = selectedChain(wallet, request.chainId, origin)
  wallet.keyring.assertMaySign(from, chain)
  const hasOverride = request.calls.some(({ gasLimitOverride }) => gasLimitOverride !== null)
  if (hasOverride) assertGasOverrides(request, (await latestBlock(chain)).gasLimit)
  const id = request.id ?? randomBatchId()
  const execute = () => executionOf(chain, from, request.calls.length, request.isAtomic)
  const batch = { origin, id, isOwnId: request.id === null, chain, from, execute, sponsor: null, calls: request.calls }
  assertUnusedId(wallet, batch)
  assertSize(request, wallet.settings)
  assertCapabilities(request)
  const isUnlimited = hasOverride && !passesLimits(await delegationStatus(chain, from))
  if (isUnlimited && request.requiresLimits) throw unsupportedCapability('gasLimitOverride', NO_LIMITS)
  const sponsor = await sponsorOf(wallet, request, batch)
  await execute() // throws if the calls cannot be atomic
  const calls = isUnlimited ? request.calls.map((call) => ({ ...call, gasLimitOverride: null })) : request.calls
  return { ...batch, sponsor, calls }
}

const NO_LIMITS =
  "The code of the account cannot limit the gas of one call; leave gasLimitOverride out, or remove the code on the wallet's page"

/** Throws RpcError 5710 for a chain that the wallet does not have, -32602 for one that the site has not selected. */
function selectedChain({ chains, sites }: WalletContext, chainId: string, origin: string): WalletChain {
  const chain = chains.get(Number(BigInt(chainId)))
  if (chain === null || BigInt(chain.chainId) !== BigInt(chainId)) throw chainUnsupported(chainId, 'unknown-chain')
  const { chainId: selected } = sites.get(origin)
  if (selected !== chain.chainId) throw chainMismatch(selected, chainId)
  return chain
}

/** Null: the account pays. Throws RpcError 5700 if sponsorship is not supported, then 4100 if it is switched off, unless the capability is optional. */
async function sponsorOf(
  wallet: WalletContext,
  { paymaster }: CallsRequest,
  { chain, from, origin }: CheckedBatch,
): Promise<PaymasterCapability | null> {
  if (paymaster === null) return null
  const support = await sponsorshipSupport(chain, from, wallet.settings)
  if (paymaster.isOptional) return support === 'supported' && isSponsorshipEnabled(wallet, origin) ? paymaster : null
  if (support !== 'supported') throw sponsorRequired(support)
  assertSponsorshipEnabled(wallet, origin)
  return paymaster
}

/** Throws RpcError 5740 for a transaction that pools refuse for its size, before its question. */
function assertTransactionSizes(plan: Plan): void {
  for (const { fields, isUpgrade } of unsignedTransactions(plan)) {
    const { length } = Transaction.unsigned(fields, plan.from).raw
    assertTransactionSize(length + SIGNATURE_BYTES + (isUpgrade ? AUTHORIZATION_BYTES : 0))
  }
}

/** Throws RpcError -32602 for a gasLimitOverride with which a transaction has more gas than the chain permits (EIP-7825), before its question. */
async function assertTransactionGas(plan: Plan): Promise<void> {
  if (plan.calls.every(({ gasLimitOverride }) => gasLimitOverride === null)) return
  const gas = unsignedTransactions(plan)
    .map(({ fields }) => fields.gas ?? 0n)
    .find((each) => each > TRANSACTION_GAS_CAP)
  if (gas === undefined || !(await hasTransactionGasCap(plan.chain))) return
  throw unparsableRequest(
    `gasLimitOverride: its transaction would have ${gas} gas, and a transaction has at most ${TRANSACTION_GAS_CAP} gas`,
  )
}

/** Upper bounds of what a signature and an authorization add to a transaction. */
const SIGNATURE_BYTES = 64
const AUTHORIZATION_BYTES = 120

/** Throws RpcError 5720. */
function assertUnusedId({ batches }: WalletContext, batch: CheckedBatch): void {
  if (batches.has(batch)) throw duplicateId(batch.id)
}

/** Throws RpcError, 4300 for a fault of the paymaster. */
async function signAndSubmitBatch(wallet: WalletContext, batch: CheckedBatch, approved: Plan, now: Plan): Promise<void> {
  const { execution, sponsoring } = now
  if (sponsoring === null || execution.kind !== 'sponsored') {
    const unsigned = unsignedTransactions(approved)
    return signAndSubmit(wallet, approved, null, async (signed) => {
      const transactions = signed.map((transaction, i) => ({ transaction, isPreparation: unsigned[i]?.isPreparation === true }))
      await wallet.batches.submit(signedBatch(batch, approved, transactions, null))
    })
  }
  assertSponsorshipEnabled(wallet, batch.origin) // it may have been switched off while the sponsor was requested again
  const { quote } = sponsoring
  const signed = await signQuote(wallet.keyring, now.chain, quote, execution)
  try {
    await wallet.batches.submit(signedBatch(batch, now, [], { ...signed, entryPoint: quote.entryPoint }))
  } catch (error) {
    throw error instanceof RpcError ? toPaymasterError(error) : error
  }
}

function signedBatch(
  { origin, id, isOwnId, chain, from }: CheckedBatch,
  { execution: { kind: execution }, calls }: Plan,
  transactions: SignedBatch['transactions'],
  operation: SentOperation | null,
): SignedBatch {
  return {
    origin,
    id,
    isOwnId,
    chain,
    from,
    atomic: execution !== 'sequential',
    execution,
    callCount: calls.length,
    transactions,
    operation,
  }
}

/** Asks for the approval of the upgrade that a batch needs: once, also if the plan of the batch changes. */
class UpgradeApprovals {
  readonly #session: Session
  readonly #batch: CheckedBatch
  readonly #approvedIds: string[] = []
  #approved: Upgrade | null = null

  constructor(session: Session, batch: CheckedBatch) {
    this.#session = session
    this.#batch = batch
  }

  /** Throws RpcError 5750. */
  async ask(upgrade: Upgrade): Promise<void> {
    const approved = this.#approved
    if (approved !== null && approved.before === upgrade.before && approved.deploys === upgrade.deploys) return
    const { ask, caller } = this.#session
    const { chain, from, id } = this.#batch
    const draft = {
      kind: 'upgrade',
      origin: caller.origin,
      method: 'wallet_sendCalls',
      warnings: upgradeWarnings(DELEGATE.address, upgrade.before),
      account: from,
      chain: chainLabel(chain),
      delegate: DELEGATE.address,
      delegateName: DELEGATE.name,
      delegateBefore: upgrade.before,
      deploys: upgrade.deploys,
      batchId: id,
    } as const
    const answered = await ask(draft, { signal: caller.signal, rejection: upgradeRejected })
    this.#approvedIds.push(answered.id)
    this.#approved = upgrade
  }

  /** Notes that the batch was not sent, and so no upgrade. */
  fail(error: unknown): void {
    for (const id of this.#approvedIds) this.#session.wallet.activities.fail(id, `its batch was not sent: ${failureText(error)}`)
  }
}

function upgradeRejected(): RpcError {
  return new RpcError(WALLET_CODE.upgradeRejected, 'EIP-7702 upgrade rejected for this chain and account', { reason: 'upgrade-rejected' })
}
