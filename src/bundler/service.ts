import { Address, Hex, UserOperation, entryPoint } from '../eth/index.ts'
import type { EntryPoint, Hash, PrivateKey } from '../eth/index.ts'
import { ChainWatch, EventLoopQueue, RpcError } from '../jsonrpc/index.ts'
import type { Records, Rpc } from '../jsonrpc/index.ts'
import { Bundles, insufficientFunds } from './bundles.ts'
import type { BundleEvents, EntityReputations } from './bundles.ts'
import { bundleGas } from './bundlegas.ts'
import type { Codes } from './codes.ts'
import { refuse } from './errors.ts'
import { estimate } from './estimation.ts'
import type { GasEstimate } from './estimation.ts'
import {
  BUNDLE_DELAY_MS,
  MIN_STAKE,
  MIN_UNSTAKE_SECONDS,
  POLL_MS,
  SEND_NOW_MS,
  SLOW_POLL_MS,
  WAITING_ESTIMATES,
  WARNED_OPERATIONS,
} from './limits.ts'
import { BundlerNode } from './node.ts'
import type { Overrides } from './stateoverrides.ts'
import { Pool } from './pool.ts'
import type { Admission, PooledOperation } from './pool.ts'
import { Outcomes } from './outcomes.ts'
import type { Outcome } from './outcomes.ts'
import { PoolRecords } from './poolrecords.ts'
import { transactionHashOf } from './receipts.ts'
import { Reputations, factoryOf } from './reputation.ts'
import { checkRules, stakeOf } from './rules.ts'
import type { RuleWarning, Stake } from './rules.ts'
import type { ValidationTrace } from './validationtrace.ts'
import type { BundlerRules, RuleSettings } from './rulesettings.ts'
import { missingAuthorization, noncesAhead, validate } from './validation.ts'
import type { Candidate, ValidationDeps } from './validation.ts'

export interface ServiceOptions {
  /** this node, or another with state overrides in eth_call */
  readonly rpc: Rpc
  /** key of the account that sends the bundles and receives the refunds; the account must not delegate (EIP-7702) */
  readonly key: PrivateKey
  /** the canonical EntryPoints 0.6 to 0.9 unless given */
  readonly entryPoints?: readonly EntryPoint[]
  /**
   * ERC-7562, which requires a node with geth's erc7562Tracer. `strict`, the default here: violations are refused. `relaxed`, the default of a node outside
   * a fleet: they are warnings. `off`: not checked. true and false are `strict` and `off`
   */
  readonly rules?: BundlerRules | boolean
  /** the stake with which an entity counts as staked, wei: 0.1 ether */
  readonly minStake?: bigint
  /** and for how long it is bound, seconds: a day */
  readonly minUnstakeDelay?: bigint
  /** where operations that are not final, and the reasons of refusals, are kept for the next bundler; without it they end with this one */
  readonly records?: Records
  /** resolves when what was written to the records is durable; by default they are when `put` returns */
  readonly settled?: () => Promise<void>
  /** receives one line for each warning of `relaxed` */
  readonly onNote?: (line: string) => void
  /** receives errors of background tasks */
  readonly onError?: (error: unknown) => void
  /** milliseconds of a monotonic clock */
  readonly now?: () => number
}

/** The state of a bundler: pool, reputations, bundles and outcomes. */
export class BundlerService {
  readonly node: BundlerNode
  readonly pool = new Pool()
  readonly reputations: Reputations
  readonly bundles: Bundles
  readonly outcomes = new Outcomes()
  readonly #rpc: Rpc
  readonly #records: PoolRecords | null
  readonly #settled: () => Promise<void>
  /** rule warnings by operation under `relaxed`, for the newest WARNED_OPERATIONS operations */
  readonly warnings = new Map<Hash, readonly RuleWarning[]>()
  readonly #onOutcome = new Map<(outcome: Outcome | null) => void, Hash>()
  readonly #onNote: (line: string) => void
  readonly #candidates: readonly EntryPoint[]
  readonly #onError: (error: unknown) => void
  #entryPoints: readonly EntryPoint[] = []
  /** `null` before the first operation */
  #watch: ChainWatch | null = null
  #bundleTimer: ReturnType<typeof setTimeout> | null = null
  #isClosed = false
  /** An estimate takes several simulations; operations that were sent and flashblocks run before the next one begins. */
  readonly #estimates = new EventLoopQueue()
  /** false: bundles are sent on request only */
  isAutomatic = true
  settings: RuleSettings

  constructor(options: ServiceOptions) {
    const { rpc, key, entryPoints, onError = () => undefined, onNote = () => undefined, now = () => performance.now() } = options
    this.#rpc = rpc
    this.#records = options.records === undefined ? null : new PoolRecords(options.records)
    this.#settled = options.settled ?? (async () => undefined)
    this.settings = settingsOf(options)
    this.#onNote = onNote
    this.node = new BundlerNode(rpc)
    this.#candidates = entryPoints ?? [entryPoint('0.8'), entryPoint('0.9'), entryPoint('0.7'), entryPoint('0.6')] // the wallet's first
    this.#onError = onError
    this.reputations = new Reputations(now)
    const events: BundleEvents = {
      included: (pooled, transaction, success) => {
        if (this.#isClosed) return
        if (this.outcomes.get(pooled.hash)?.status === 'rejected')
          this.#records?.put({ candidate: pooled, isBoosted: pooled.isBoosted, refusal: null })
        this.reputations.countIncluded(pooled)
        this.#recordOutcome(pooled, { status: success ? 'included' : 'failed', transaction, reason: null })
      },
      final: (hashes) => {
        if (!this.#isClosed) this.#records?.together(() => hashes.forEach((hash) => this.#records?.remove(hash)))
      },
      removed: (pooled, cause) => {
        if (!this.#isClosed) this.#processRemoved(pooled, cause)
      },
      failed: async (pooled, reason, isAlone) => {
        if (!this.#isClosed) await this.#blame(pooled, reason, isAlone)
      },
      dropped: (pooled, reason) => {
        if (!this.#isClosed) this.#recordOutcome(pooled, { status: 'rejected', transaction: null, reason })
      },
    }
    const reputations: EntityReputations = {
      statusOf: (entity) => (this.settings.rules === 'strict' ? this.reputations.status(entity) : 'ok'),
      refusal: (operation, entity) => this.reputations.refusal(operation, entity),
    }
    this.bundles = new Bundles(this.node, this.pool, key, events, reputations, now)
    this.#restore()
  }

  get address(): Address {
    return this.bundles.address
  }

  /** Returns the EntryPoints that have code on this chain. */
  async entryPoints(): Promise<readonly EntryPoint[]> {
    if (this.#entryPoints.length < this.#candidates.length) {
      const codes = await Promise.all(this.#candidates.map(({ address }) => this.node.code(address)))
      this.#entryPoints = this.#candidates.filter((_, i) => codes[i] !== '0x')
    }
    return this.#entryPoints
  }

  /** Throws RpcError -32602 for an unsupported EntryPoint. */
  async entryPoint(value: unknown): Promise<EntryPoint> {
    const all = await this.entryPoints()
    const found = Address.isAddress(value) ? all.find(({ address }) => address === Address.from(value)) : undefined
    if (found !== undefined) return found
    const known = all.map(({ address }) => Address.checksum(address)).join(', ')
    throw refuse(
      'invalid',
      `EntryPoint ${JSON.stringify(value) ?? 'undefined'} is not supported; supported are: ${known === '' ? 'none, because this chain has none' : known}`,
    )
  }

  async candidate(at: EntryPoint, operation: UserOperation): Promise<Candidate> {
    return { entryPoint: at, operation, hash: await this.hash(at, operation) }
  }

  async hash(at: EntryPoint, operation: UserOperation): Promise<Hash> {
    const isDelegating = operation.factory === UserOperation.DELEGATION
    const delegate = isDelegating ? (operation.authorization?.address ?? (await this.node.delegate(operation.sender))) : null
    if (isDelegating && delegate === null) throw missingAuthorization(operation.sender)
    const chainId = await this.node.chainId()
    return UserOperation.hash(operation, {
      version: at.version,
      entryPoint: at.address,
      chainId,
      ...(delegate === null ? undefined : { delegate }),
    })
  }

  /** Throws RpcError and leaves the state unchanged if the operation is refused. `isBoosted`: it has no fees, the bundler pays. */
  async send(candidate: Candidate, isBoosted = false): Promise<Hash> {
    this.#assertOpen()
    this.#watchChain()
    if (isBoosted) assertBoostable(candidate.operation)
    this.pool.assertAcceptable(candidate)
    const warnings: RuleWarning[] = []
    const codes = await validate(this.#depsWith(warnings), candidate, isBoosted)
    await this.#assertFunds(candidate, isBoosted)
    const hasStakedSender = this.settings.rules !== 'off' && (await this.stake(candidate.entryPoint, candidate.operation.sender)).isStaked
    const assertDeposit = await this.#depositCheck(candidate)
    // Synchronous from here to `add`: the pool may have changed during the validation.
    this.#assertOpen()
    this.pool.assertAcceptable(candidate)
    if (this.settings.rules !== 'off') {
      this.#judge(warnings, 'STO-040', () => this.pool.assertRoles(candidate.operation))
      this.#judge(warnings, 'AUTH-040', () => this.pool.assertDelegate(candidate))
      if (!hasStakedSender) this.#judge(warnings, 'UREP-010', () => this.pool.assertSenderCount(candidate))
      this.#judge(warnings, 'GREP', () =>
        this.reputations.assert({ operation: candidate.operation, hasStakedSender }, (entity) => this.pool.countByEntity(entity)),
      )
    }
    assertDeposit()
    this.add(candidate, { codes, hasStakedSender, isBoosted, isDepositChecked: true })
    this.#warn(candidate, warnings)
    await this.#settled()
    return candidate.hash
  }

  /** Under `strict` throws what `assert` throws; under `relaxed` it becomes a warning. */
  #judge(warnings: RuleWarning[], rule: string, assert: () => void): void {
    try {
      assert()
    } catch (error) {
      if (this.settings.rules !== 'relaxed' || !(error instanceof RpcError)) throw error
      warnings.push({ rule, role: null, entity: null, error })
    }
  }

  #warn({ hash }: Candidate, warnings: readonly RuleWarning[]): void {
    if (warnings.length === 0) return
    const [oldest] = this.warnings.keys()
    if (this.warnings.size >= WARNED_OPERATIONS && oldest !== undefined) this.warnings.delete(oldest)
    this.warnings.set(hash, warnings)
    const rules = warnings.map(({ rule, role, entity }) => (entity === null ? rule : `${rule} by ${role} ${entity}`))
    const first = warnings[0]?.error.message.split(' (', 1)[0]
    this.#onNote(
      `user operation ${hash}: a public bundler refuses this (${[...new Set(rules)].join(', ')}): ${first}; --bundler-rules strict refuses it here too`,
    )
  }

  /** Adds an operation without validating it. */
  add(candidate: Candidate, admission: Admission = UNVALIDATED): void {
    this.#assertOpen()
    this.#watchChain()
    const replaced = this.pool.withSameNonce(candidate)
    const outcome = replaced === null ? null : outcomeOf(replaced, replacedBy(candidate.hash))
    // The records first: a failed write leaves the pool as it was.
    this.#records?.together(() => {
      this.#records?.put({ candidate, isBoosted: admission.isBoosted, refusal: null })
      if (replaced !== null && outcome !== null) this.#store(outcome, replaced)
    })
    this.pool.add(candidate, admission)
    this.outcomes.delete(candidate.hash)
    if (outcome !== null) this.#announce(outcome)
    if (replaced !== null) this.reputations.uncountSeen(replaced)
    this.reputations.countSeen({ operation: candidate.operation, hasStakedSender: admission.hasStakedSender })
    if (this.isAutomatic) this.#scheduleBundle()
  }

  /** Throws RpcError; AA25 for a nonce ahead of the account's unless the operations before it wait in the pool. */
  async estimate(candidate: Candidate, overrides: Overrides): Promise<GasEstimate> {
    if (this.#estimates.size >= WAITING_ESTIMATES)
      throw refuse('server', `${this.#estimates.size} estimates wait already, which is the limit; try again later`)
    await this.#estimates.wait()
    this.#assertOpen()
    const { entryPoint: at, operation } = candidate
    const ahead = await noncesAhead(this.node, at, operation)
    if (!this.pool.hasPredecessors(candidate, ahead))
      throw refuse(
        'account',
        `AA25 invalid account nonce: ${operation.nonce} is ${ahead} ahead of the account's, and the operations before it do not wait here; send them first`,
      )
    return estimate(this.#depsWith([]), candidate, ahead, overrides)
  }

  /** Returns the outcome of a pooled operation; `null` if there is none after `SEND_NOW_MS`, or the pool is cleared. */
  async outcomeOf(hash: Hash): Promise<Outcome | null> {
    const known = this.outcomes.get(hash)
    if (known !== undefined) return known
    return new Promise((resolve) => {
      const timer = setTimeout(() => finish(null), SEND_NOW_MS)
      const finish = (outcome: Outcome | null) => {
        clearTimeout(timer)
        this.#onOutcome.delete(finish)
        resolve(outcome)
      }
      this.#onOutcome.set(finish, hash)
    })
  }

  /** Returns the transaction that contains an operation, pending or included; `null` if there is none. */
  async transactionOf(hash: Hash): Promise<Hash | null> {
    const pooled = this.pool.get(hash)
    if (pooled !== null && !this.bundles.isUnchecked(hash)) return pooled.bundle
    const outcome = this.outcomes.get(hash)
    if (outcome !== undefined && outcome.transaction !== null) return outcome.transaction
    try {
      // Another bundler may have included an operation that was dropped here, or this one before a restart.
      return await transactionHashOf(this.node, await this.entryPoints(), hash)
    } catch (error) {
      // A node may refuse to search its whole history.
      if ((outcome !== undefined || pooled !== null) && error instanceof RpcError) return null
      throw error
    }
  }

  /** Sends all bundles that are ready. */
  flush(): Promise<readonly Hash[]> {
    return this.bundles.send()
  }

  /** Forgets all operations, outcomes, warnings and reputations. */
  clear(): void {
    this.#records?.clear()
    this.#forgetOperations()
    this.reputations.clear()
    this.outcomes.clear()
    this.warnings.clear()
  }

  /** Forgets the operations of the pool, also those in sent bundles. */
  clearPool(): void {
    const hashes = this.pool.all().map(({ hash }) => hash)
    this.#records?.together(() => hashes.forEach((hash) => this.#records?.remove(hash)))
    this.bundles.forgetSent()
    this.#emptyPool()
  }

  /** The records keep the operations for the next bundler. Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#bundleTimer !== null) clearTimeout(this.#bundleTimer)
    this.#watch?.end()
    this.#forgetOperations()
    await this.bundles.close()
  }

  #forgetOperations(): void {
    this.bundles.clear()
    this.#emptyPool()
  }

  #emptyPool(): void {
    this.pool.clear()
    for (const resolve of this.#onOutcome.keys()) resolve(null)
  }

  /** Operations of an earlier bundler are not validated again: the simulation of their bundle refuses those that have become invalid. */
  #restore(): void {
    for (const { candidate, isBoosted, refusal } of this.#records?.load(this.#candidates, this.#onNote) ?? []) {
      if (refusal !== null) this.outcomes.set({ id: this.pool.nextId(), candidate, status: 'rejected', transaction: null, ...refusal })
      else this.pool.add(candidate, { ...UNVALIDATED, isBoosted })
    }
    if (this.pool.size === 0) return
    this.bundles.restore(this.pool.all().map(({ hash }) => hash))
    this.#watchChain()
    this.#scheduleBundle()
  }

  /** Returns an operation to the pool that a fault has removed from its block. */
  #processRemoved(pooled: PooledOperation, cause: string | null): void {
    const other = this.pool.withSameNonce(pooled)
    if (other?.hash === pooled.hash) return // its client has sent it again
    if (cause !== null) {
      const reason = refuse('server', `its bundle was removed for good (${cause}); send it again`)
      return this.#recordOutcome(pooled, { status: 'rejected', transaction: null, reason })
    }
    this.outcomes.delete(pooled.hash)
    if (other === null) this.pool.add(pooled, { ...pooled, isDepositChecked: false })
    else this.#recordOutcome(pooled, replacedBy(other.hash))
  }

  /** Returns the stake of an entity, and whether it is enough for ERC-7562. */
  async stake({ address }: EntryPoint, entity: Address): Promise<Stake & { readonly isStaked: boolean }> {
    const stake = await stakeOf(this.node, address, entity)
    return { ...stake, isStaked: stake.amount >= this.settings.minStake && stake.unstakeSeconds >= this.settings.minUnstakeDelay }
  }

  /** The consequences of a failure in a bundle for the entities. `isAlone`: the operation alone has become invalid. */
  async #blame(failed: PooledOperation, reason: string, isAlone: boolean): Promise<void> {
    const { entryPoint: at, operation, hasStakedSender } = failed
    const { paymaster, sender } = operation
    const factory = factoryOf(operation)
    if (!isAlone && reason.startsWith('AA31') && !failed.isDepositChecked) return // it was accepted beyond the deposit
    const isPaymasters = reason.startsWith('AA3')
    if (isAlone) {
      // EREP-015: not the paymaster's fault. EREP-030: a staked account answers for its paymaster.
      if (paymaster !== null && (!isPaymasters || hasStakedSender)) this.reputations.uncountSeenOf(paymaster)
      return
    }
    if (reason.startsWith('AA10')) return // another operation has created the account
    const isFactorys = factory !== null && (reason.startsWith('AA1') || (await this.stake(at, factory)).isStaked) // EREP-020
    const accountable = isPaymasters ? (hasStakedSender ? sender : paymaster) : isFactorys ? factory : null
    if (accountable !== null) this.reputations.penalize(accountable)
  }

  /** Under `relaxed` the violations are added to `warnings`. */
  #depsWith(warnings: RuleWarning[]): ValidationDeps {
    const { rules, ...limits } = this.settings
    const check = async (trace: ValidationTrace, candidate: Candidate): Promise<Codes> => {
      const checked = await checkRules(this.node, trace, candidate, limits)
      const [first] = checked.warnings
      if (first !== undefined && rules === 'strict') throw first.error
      warnings.push(...checked.warnings)
      return checked.codes
    }
    return { node: this.node, bundler: this.address, checkRules: rules === 'off' ? null : check }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw refuse('server', 'the bundler is closed; send the operation to another one')
  }

  /** Refuses operations while the bundler's account cannot pay for a bundle. */
  async #assertFunds({ entryPoint: at, operation }: Candidate, isBoosted: boolean): Promise<void> {
    const [balance, fee] = await Promise.all([
      this.node.quantity('eth_getBalance', this.address, 'pending'),
      isBoosted ? this.node.marketFee() : operation.maxFeePerGas,
    ])
    const cost = bundleGas(at, [operation]) * fee
    if (balance < cost) throw insufficientFunds(this.address, balance, cost)
  }

  /** Reads the deposit of the paymaster, which covers all of its pooled operations. Returns a function that throws RpcError if it is too low. */
  async #depositCheck(candidate: Candidate): Promise<() => void> {
    const {
      entryPoint: at,
      operation: { paymaster },
    } = candidate
    if (paymaster === null) return () => undefined
    const before = this.pool.ofPaymaster(paymaster, at.address)
    const deposit = await this.node.deposit(at.address, paymaster)
    return () => {
      // The deposit may have been read before a block had those that left the pool in the meantime.
      const waiting = new Set([...before, ...this.pool.ofPaymaster(paymaster, at.address)])
      const replaced = this.pool.withSameNonce(candidate)
      if (replaced !== null) waiting.delete(replaced)
      const required = [candidate, ...waiting].reduce((sum, { operation: each }) => sum + at.prefundGas(each) * each.maxFeePerGas, 0n)
      if (deposit >= required) return
      throw refuse('deposit', `AA31 paymaster deposit too low: ${deposit} wei, and the waiting operations may cost ${required} wei`, {
        reason: 'AA31 paymaster deposit too low',
        paymaster,
        deposit: Hex.fromQuantity(deposit),
        required: Hex.fromQuantity(required),
      })
    }
  }

  // --- schedule -----------------------------------------------------------------------------------------------------

  /** Each flashblock and each block processes receipts and sends bundles; a timer does so if the node has no subscriptions. */
  #watchChain(): void {
    if (this.#isClosed) return
    this.#watch ??= new ChainWatch({
      rpc: this.#rpc,
      onActivity: () => this.#tick(),
      pollMs: POLL_MS,
      slowPollMs: SLOW_POLL_MS,
      feeds: ['newFlashblocks', 'newHeads'].map((name) => ({ params: [name], isComplete: true })),
    })
  }

  #scheduleBundle(): void {
    if (this.#bundleTimer !== null) return
    this.#bundleTimer = setTimeout(() => {
      this.#bundleTimer = null
      this.#tick()
    }, BUNDLE_DELAY_MS)
    if (typeof this.#bundleTimer === 'object') this.#bundleTimer.unref()
  }

  #tick(): void {
    if (this.#isClosed || this.bundles.isIdle) return
    this.#isDue = true
    if (this.#isTicking) return
    this.#isTicking = true
    this.#isDue = false
    const work: Promise<unknown> = this.isAutomatic ? this.bundles.send() : this.bundles.settle()
    work
      .then(
        () => (this.#lastError = null),
        (error: unknown) => {
          // Operations may wait for long, and each flashblock tries again.
          const message = error instanceof Error ? error.message : null
          if (!this.#isClosed && (message === null || message !== this.#lastError)) this.#onError(error)
          this.#lastError = message
        },
      )
      .finally(() => {
        this.#isTicking = false
        if (this.#isDue) this.#tick()
      })
  }

  /** message of the error with which the last run ended */
  #lastError: string | null = null
  // One run at a time; requests during a run cause one more run.
  #isTicking = false
  #isDue = false

  #recordOutcome(pooled: PooledOperation, end: End): void {
    const outcome = outcomeOf(pooled, end)
    this.#store(outcome, pooled)
    this.#announce(outcome)
  }

  #store({ candidate, reason, failedBundles, replacedBy: by }: Outcome, { isBoosted }: PooledOperation): void {
    if (reason !== null) this.#records?.put({ candidate, isBoosted, refusal: { reason, failedBundles, replacedBy: by } })
  }

  #announce(outcome: Outcome): void {
    this.outcomes.set(outcome)
    for (const [resolve, awaited] of this.#onOutcome) if (awaited === outcome.candidate.hash) resolve(outcome)
  }
}

/** How an operation left the pool. */
type End = Pick<Outcome, 'status' | 'transaction' | 'reason'> & Partial<Pick<Outcome, 'replacedBy'>>

function outcomeOf({ id, entryPoint: at, operation, hash, attempts }: PooledOperation, end: End): Outcome {
  return { id, candidate: { entryPoint: at, operation, hash }, failedBundles: attempts, replacedBy: null, ...end }
}

function replacedBy(hash: Hash): End {
  return { status: 'rejected', transaction: null, reason: refuse('invalid', `replaced by ${hash}`), replacedBy: hash }
}

const UNVALIDATED: Admission = { codes: new Map(), hasStakedSender: false, isBoosted: false, isDepositChecked: false }

function assertBoostable({ maxFeePerGas, maxPriorityFeePerGas, paymaster }: UserOperation): void {
  if (maxFeePerGas !== 0n || maxPriorityFeePerGas !== 0n)
    throw refuse('invalid', 'maxFeePerGas and maxPriorityFeePerGas must be 0 for a boosted user operation')
  if (paymaster !== null) throw refuse('invalid', 'Paymaster is not supported for boosted user operations: the bundler pays for them')
}

function settingsOf({ rules = 'strict', minStake = MIN_STAKE, minUnstakeDelay = MIN_UNSTAKE_SECONDS }: ServiceOptions): RuleSettings {
  return { rules: typeof rules === 'string' ? rules : rules ? 'strict' : 'off', minStake, minUnstakeDelay }
}
