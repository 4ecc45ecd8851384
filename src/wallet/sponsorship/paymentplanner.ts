import { Address, ENTRY_POINTS, Hex } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { Batches } from '../batches/batches.ts'
import { sponsoredExecutionOf } from '../batches/execution.ts'
import type { Sponsored, Unsponsored } from '../batches/execution.ts'
import { latestBlock, feesFor } from '../batches/fees.ts'
import { feeViewOf, hasChanged, planOf, sponsoredPlanOf } from '../batches/plan.ts'
import type { Intent, Plan } from '../batches/plan.ts'
import { WALLET_CODE, cancelled, sponsorFailed, sponsorRequired } from '../errors.ts'
import { NONCE_TRIES, SPONSOR_TOKENS } from '../limits.ts'
import type { WalletSettings } from '../settings.ts'
import type { PaymasterCapability } from './capability.ts'
import { causeOf, failureText } from './failure.ts'
import { assertOperationSize, isFresh, quoteOf } from './quote.ts'
import { SponsorClient } from './client.ts'
import { SPONSORED_VERSION } from './availability.ts'

interface PaymentPlannerOptions {
  readonly batches: Batches
  readonly settings: WalletSettings
  readonly intent: Intent
  /** null: the account pays */
  readonly sponsor: PaymasterCapability | null
  /** throws RpcError 4100 if sponsorship is switched off */
  readonly assertSponsored: () => void
  /** returns how the account executes the calls if it pays itself; throws RpcError */
  readonly execute: () => Promise<Unsponsored>
  /** aborted when the app disconnects */
  readonly signal: AbortSignal | null
}

/** Plans one batch from its request to its submission, paid by its sponsor or, if that fails and the capability is optional, by the account. */
export class PaymentPlanner {
  readonly #options: PaymentPlannerOptions
  #service: SponsorClient | null = null
  /** why the account pays although a sponsor was requested; final */
  #failure: RpcError | null = null

  constructor(options: PaymentPlannerOptions) {
    this.#options = options
  }

  /**
   * Returns the plan for the current state, with the approved quote if that is still valid. Throws RpcError: 4200 and 4300 of a required sponsor, 4300
   * if the account cannot pay in its place either, and the refusals of the node.
   */
  async plan(approved: Plan | null): Promise<Plan> {
    const signal = approved === null ? this.#options.signal : null
    for (let tries = 1; this.#options.sponsor !== null && this.#failure === null; tries++) {
      try {
        return await this.#sponsored(approved, 0n, signal)
      } catch (error) {
        // The first plan is made without the account's mutex, so another operation may use its nonce.
        if (tries >= NONCE_TRIES || !(error instanceof RpcError && isStateStale(error))) this.#fallBack(error)
      }
    }
    return this.#selfPaid()
  }

  /**
   * Returns the plan to submit in place of one that the bundler has refused: with another nonce or price, with a new quote if the old one dates from
   * before the approval, or else paid by the account. Throws RpcError: the refusal, if there is no such plan.
   */
  async replan(error: unknown, refused: Plan, approved: Plan): Promise<Plan> {
    if (!(error instanceof RpcError) || refused.sponsoring === null) throw error
    const { quote } = refused.sponsoring
    const isFault = error.code === WALLET_CODE.paymaster || isSwitchedOff(error)
    const isOld = quote === approved.sponsoring?.quote
    try {
      if (isNonceUsed(error)) return await this.#sponsored(null, quote.operation.nonce + 1n, null)
      if (isOld && (isFault || isPriceStale(error) || isStateStale(error))) return await this.#sponsored(null, 0n, null)
    } catch (secondError) {
      this.#fallBack(secondError)
      return this.#selfPaid()
    }
    if (!isFault) throw error
    this.#fallBack(error)
    return this.#selfPaid()
  }

  /** `minNonce`: the first nonce that may be unused. `signal`: aborts the requests to the sponsor; null after the approval. */
  async #sponsored(approved: Plan | null, minNonce: bigint, signal: AbortSignal | null): Promise<Plan> {
    const { batches, intent, sponsor, settings, assertSponsored } = this.#options
    const { chain, from, calls } = intent
    if (sponsor === null) throw new Error('no sponsor was requested')
    assertSponsored()
    const execution = await sponsoredExecutionOf(chain, from)
    if (execution === null) throw sponsorRequired('account')
    assertOperationSize(from, calls, execution) // before any error of the sponsor
    const service = (this.#service ??= new SponsorClient(sponsor.url, settings))
    const nonce = await batches.nextOperationNonce(chain, from, ENTRY_POINTS[SPONSORED_VERSION], minNonce)
    const namedTokens = tokensIn(sponsor.context)
    const kept = approved === null ? null : await this.#reuse(approved, execution, nonce, namedTokens)
    if (kept !== null) return kept
    const { context } = sponsor
    const quote = await quoteOf({ chain, from, calls, execution, service, context, nonce, signal })
    return sponsoredPlanOf(intent, execution, quote, namedTokens)
  }

  /** Plans with the approved quote; null: it is not valid any more. */
  async #reuse(approved: Plan, execution: Sponsored, nonce: bigint, namedTokens: readonly Address[]): Promise<Plan | null> {
    const { intent } = this.#options
    const { chain } = intent
    if (approved.sponsoring === null) return null
    const { quote } = approved.sponsoring
    if (!isFresh(quote, nonce, await feesFor(chain, await latestBlock(chain)))) return null
    const now = await sponsoredPlanOf(intent, execution, quote, namedTokens)
    return hasChanged(approved, now) ? null : now
  }

  /** Makes the account pay from here on. Throws the error if the sponsor is required. */
  #fallBack(error: unknown): void {
    const { sponsor, signal } = this.#options
    if (signal?.aborted === true) throw cancelled(signal)
    if (!(error instanceof RpcError) || sponsor?.isOptional !== true) throw error
    this.#failure = error
  }

  async #selfPaid(): Promise<Plan> {
    const { intent, execute } = this.#options
    const failure = this.#failure
    const plan = await planOf(intent, await execute(), failure === null ? null : failureText(failure))
    if (failure !== null) await assertAffordable(plan, failure)
    return plan
  }
}

/** The nonce was used by another operation, in a block or in the bundler's pool. */
function isNonceUsed({ message }: RpcError): boolean {
  return /\bAA25\b|replacement underpriced|cannot be replaced/i.test(message)
}

/** True for the 4100 of `assertSponsored`, false for the 4100 of an account. */
function isSwitchedOff({ code, data }: RpcError): boolean {
  return code === WALLET_CODE.unauthorized && typeof data === 'object' && data !== null && 'capability' in data
}

/** AA20, AA25: the account's code or nonce has changed. */
function isStateStale({ message }: RpcError): boolean {
  return /\bAA2[05]\b/.test(message)
}

/** ERC-7769: the operation's fees or preVerificationGas are too low by now. */
function isPriceStale({ code, message }: RpcError): boolean {
  return code === -32_602 && /maxFeePerGas|preVerificationGas/i.test(message)
}

/** Throws RpcError 4300 if the account cannot pay in place of the sponsor. */
async function assertAffordable(plan: Plan, failure: RpcError): Promise<void> {
  const { chain, from, preview } = plan
  const [fee, balance] = await Promise.all([feeViewOf(plan), chain.rpc.request({ method: 'eth_getBalance', params: [from, 'pending'] })])
  const native = BigInt(preview.changes.find(({ asset }) => asset === 'native')?.amount ?? '0')
  const needed = BigInt(fee.most) + (native < 0n ? -native : 0n)
  const has = Hex.isHex(balance) ? BigInt(balance) : 0n
  if (has >= needed) return
  const detail = `${failureText(failure)}; and the account, with ${has} wei, cannot pay in its place, which may take ${needed} wei`
  throw sponsorFailed('cannot-pay', detail, { cause: causeOf(failure) })
}

/** Returns the addresses in an app's context: one may be the token that the sponsor transfers in payment. */
function tokensIn(context: unknown): readonly Address[] {
  if (typeof context !== 'object' || context === null) return []
  const named = Object.values(context).flatMap((value) => (Address.isAddress(value) ? [Address.from(value)] : []))
  return named.slice(0, SPONSOR_TOKENS)
}
