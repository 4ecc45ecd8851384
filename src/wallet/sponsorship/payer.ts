import { Address, ENTRY_POINTS, Hex } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { Batches } from '../batches/batches.ts'
import { sponsoredExecutionOf } from '../batches/execution.ts'
import type { Sponsored, Unsponsored } from '../batches/execution.ts'
import { blockGround, feesFor } from '../batches/fees.ts'
import { feeOf, isOther, planOf, sponsoredPlanOf } from '../batches/plan.ts'
import type { Intent, Plan } from '../batches/plan.ts'
import { WALLET_CODE, rejected, sponsorFailed, sponsorRequired } from '../errors.ts'
import { NONCE_TRIES, SPONSOR_TOKENS } from '../limits.ts'
import type { WalletSettings } from '../settings.ts'
import type { PaymasterCapability } from './capability.ts'
import { causeOf, failureText } from './failure.ts'
import { assertOperationSize, isFresh, quoteOf } from './quote.ts'
import { SponsorService } from './service.ts'
import { SPONSORED_VERSION } from './standing.ts'

export interface PayerOptions {
  readonly batches: Batches
  readonly settings: WalletSettings
  readonly intent: Intent
  /** who is asked to pay; null: the account pays */
  readonly sponsor: PaymasterCapability | null
  /** throws RpcError 4100 when nobody else may pay any more */
  readonly admit: () => void
  /** how the account would do it by itself; throws RpcError */
  readonly execute: () => Promise<Unsponsored>
  /** aborted when nobody wants the answer any more */
  readonly signal: AbortSignal | null
}

/** Who pays for one batch, from the first look at it until it is sent: its sponsor, or, when that fails and the app allows for it, the account. */
export class Payer {
  readonly #options: PayerOptions
  #service: SponsorService | null = null
  /** why the account pays although a sponsor was asked for; it stays so */
  #failure: RpcError | null = null

  constructor(options: PayerOptions) {
    this.#options = options
  }

  /**
   * What is to be sent as the chain is now, with what was `approved` as far as it holds still. Throws RpcError: 4200 and 4300 of a sponsor that the app
   * cannot do without, 4300 when the account could not pay in its place either, and what the chain says.
   */
  async plan(approved: Plan | null): Promise<Plan> {
    const signal = approved === null ? this.#options.signal : null
    for (let tries = 1; this.#options.sponsor !== null && this.#failure === null; tries++) {
      try {
        return await this.#sponsored(approved, 0n, signal)
      } catch (error) {
        // A question is prepared before it is the account's turn, and its other operations go on meanwhile.
        if (tries >= NONCE_TRIES || !(error instanceof RpcError && isOvertaken(error))) this.#fail(error)
      }
    }
    return this.#own()
  }

  /**
   * What to send in place of what the bundler has refused: the same at another nonce or price, what the sponsor says by now when it was asked long ago,
   * or at last what the account pays for. Throws RpcError: the refusal, when it stands.
   */
  async instead(error: unknown, refused: Plan, approved: Plan): Promise<Plan> {
    if (!(error instanceof RpcError) || refused.sponsoring === null) throw error
    const { quote } = refused.sponsoring
    const isFault = error.code === WALLET_CODE.paymaster || isOff(error)
    const isOld = quote === approved.sponsoring?.quote
    try {
      if (isNonceUsed(error)) return await this.#sponsored(null, quote.operation.nonce + 1n, null)
      if (isOld && (isFault || isPriceStale(error) || isOvertaken(error))) return await this.#sponsored(null, 0n, null)
    } catch (again) {
      this.#fail(again)
      return this.#own()
    }
    if (!isFault) throw error
    this.#fail(error)
    return this.#own()
  }

  /** `least`: the first nonce that may be free. `signal`: ends what the sponsor is asked; after a yes nothing does. */
  async #sponsored(approved: Plan | null, least: bigint, signal: AbortSignal | null): Promise<Plan> {
    const { batches, intent, sponsor, settings, admit } = this.#options
    const { chain, from, calls } = intent
    if (sponsor === null) throw new Error('there is nobody to ask')
    admit()
    const execution = await sponsoredExecutionOf(chain, from)
    if (execution === null) throw sponsorRequired('account')
    assertOperationSize(from, calls, execution) // before anything is wrong with the sponsor
    const service = (this.#service ??= new SponsorService(sponsor.url, settings))
    const nonce = await batches.nextOperationNonce(chain, from, ENTRY_POINTS[SPONSORED_VERSION], least)
    const meant = tokensIn(sponsor.context)
    const kept = approved === null ? null : await this.#kept(approved, execution, nonce, meant)
    if (kept !== null) return kept
    const { context } = sponsor
    const quote = await quoteOf({ chain, from, calls, execution, service, context, nonce, signal })
    return sponsoredPlanOf(intent, execution, quote, meant)
  }

  /** With the quote that there is; null: it does not hold any more, and perhaps another one does. */
  async #kept(approved: Plan, execution: Sponsored, nonce: bigint, meant: readonly Address[]): Promise<Plan | null> {
    const { intent } = this.#options
    const { chain } = intent
    if (approved.sponsoring === null) return null
    const { quote } = approved.sponsoring
    if (!isFresh(quote, nonce, await feesFor(chain, await blockGround(chain)))) return null
    const now = await sponsoredPlanOf(intent, execution, quote, meant)
    return isOther(approved, now) ? null : now
  }

  /** From here on the account pays. Throws the error when the app does not allow for that. */
  #fail(error: unknown): void {
    const { sponsor, signal } = this.#options
    if (signal?.aborted === true) throw rejected('User rejected the request: who asked has gone before it was answered', 'withdrawn')
    if (!(error instanceof RpcError) || sponsor?.isOptional !== true) throw error
    this.#failure = error
  }

  async #own(): Promise<Plan> {
    const { intent, execute } = this.#options
    const failure = this.#failure
    const plan = await planOf(intent, await execute(), failure === null ? null : failureText(failure))
    if (failure !== null) await assertAffordable(plan, failure)
    return plan
  }
}

/** Somebody else has taken it, in a block or in the bundler's pool. */
function isNonceUsed({ message }: RpcError): boolean {
  return /\bAA25\b|replacement underpriced|cannot be replaced/i.test(message)
}

/** Nobody else may pay any more: 4100 of `admit`, not of a key. */
function isOff({ code, data }: RpcError): boolean {
  return code === WALLET_CODE.unauthorized && typeof data === 'object' && data !== null && 'capability' in data
}

/** What was looked up of the account is not so any more: its nonce, or that it runs code. */
function isOvertaken({ message }: RpcError): boolean {
  return /\bAA2[05]\b/.test(message)
}

/** ERC-7769: what the operation offers is too little by now. */
function isPriceStale({ code, message }: RpcError): boolean {
  return code === -32_602 && /maxFeePerGas|preVerificationGas/i.test(message)
}

/** Throws RpcError 4300: whoever was to pay does not, and the account cannot. */
async function assertAffordable(plan: Plan, failure: RpcError): Promise<void> {
  const { chain, from, preview } = plan
  const [fee, balance] = await Promise.all([feeOf(plan), chain.rpc.request({ method: 'eth_getBalance', params: [from, 'pending'] })])
  const native = BigInt(preview.changes.find(({ asset }) => asset === 'native')?.amount ?? '0')
  const needed = BigInt(fee.most) + (native < 0n ? -native : 0n)
  const has = Hex.isHex(balance) ? BigInt(balance) : 0n
  if (has >= needed) return
  const detail = `${failureText(failure)}; and the account, with ${has} wei, cannot pay in its place, which may take ${needed} wei`
  throw sponsorFailed('cannot-pay', detail, { cause: causeOf(failure) })
}

/** Addresses that an app tells a sponsor may be of the token that it is to take. */
function tokensIn(context: unknown): readonly Address[] {
  if (typeof context !== 'object' || context === null) return []
  const named = Object.values(context).flatMap((value) => (Address.isAddress(value) ? [Address.from(value)] : []))
  return named.slice(0, SPONSOR_TOKENS)
}
