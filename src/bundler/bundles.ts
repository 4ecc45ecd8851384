import { Hex, Secp256k1, Transaction, isObject } from '../eth/index.ts'
import type { Address, Authorization, EntryPoint, Hash, PrivateKey, UserOperation } from '../eth/index.ts'
import { RpcError, schema } from '../jsonrpc/index.ts'
import { bundleGas, operationBytes, tooMuchGas } from './bundlegas.ts'
import { changedCode, delegatesOf, delegationHash } from './codes.ts'
import { refuse } from './errors.ts'
import { refusalFor } from './failure.ts'
import type { Failure } from './failure.ts'
import {
  MAX_BUNDLE_FAILURES,
  MAX_FILLED_NONCES,
  BUNDLE_BYTES,
  BUNDLE_OPERATIONS,
  FINALITY_BLOCKS,
  LOST_MS,
  NONCE_GAP_MS,
  SLICE_MS,
  STUCK_MS,
  THROTTLED_BLOCKS,
  THROTTLED_BUNDLE_OPERATIONS,
} from './limits.ts'
import { maximum } from './node.ts'
import type { BundlerNode } from './node.ts'
import { delegationOverride, mergeOverrides } from './stateoverrides.ts'
import { busySequences, nonceSequence } from './pool.ts'
import type { Pool, PooledOperation } from './pool.ts'
import { operationResults, transactionHashOf } from './receipts.ts'
import { entitiesOf } from './reputation.ts'
import type { ReputationStatus } from './reputation.ts'
import { authorizationState, noncesAhead } from './validation.ts'

/** Callbacks for the end of an operation. */
export interface BundleEvents {
  readonly included: (pooled: PooledOperation, transaction: Hash, success: boolean) => void
  /** called after `included`, when FINALITY_BLOCKS follow their block, or when they must not be sent again */
  readonly final: (hashes: readonly Hash[]) => void
  /** called after `included`, when no block contains the operation any more; `cause`: the request that removed it, `null` for a fault */
  readonly removed: (pooled: PooledOperation, cause: string | null) => void
  readonly dropped: (pooled: PooledOperation, reason: RpcError) => void
  /** `isAlone`: it fails without the other operations of its bundle too */
  readonly failed: (pooled: PooledOperation, reason: string, isAlone: boolean) => Promise<void>
}

/** Reputations of the entities of operations, by which operations are selected. */
export interface EntityReputations {
  readonly statusOf: (entity: Address) => ReputationStatus
  readonly refusal: (operation: UserOperation, entity: Address) => RpcError
}

type Fees = Pick<Transaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>

/** A bundle transaction that was sent and has no receipt yet. */
interface Bundle {
  readonly transaction: Transaction
  readonly operations: readonly PooledOperation[]
  readonly sentMs: number
  /** it replaces one with lower fees */
  readonly isRaised?: true
}

/** A bundle in a block that a reorg may still remove. */
interface IncludedBundle {
  readonly blockNumber: bigint
  readonly blockHash: Hash
  readonly operations: readonly PooledOperation[]
  /** the request that may have removed it; `null`: none */
  readonly cause: string | null
}

/** Sends pooled operations in bundles and processes their receipts. Its tasks run one after the other. */
export class Bundles {
  readonly #node: BundlerNode
  readonly #pool: Pool
  readonly #key: PrivateKey
  readonly #events: BundleEvents
  readonly #reputations: EntityReputations
  readonly #now: () => number
  readonly #pending = new Map<Hash, Bundle>()
  /** included bundles, by transaction hash */
  readonly #included = new Map<Hash, IncludedBundle>()
  /** number of the block under construction in which a waiting transaction was first seen */
  readonly #waitingSince = new WeakMap<Transaction, bigint>()
  /** time since which the mempool contains formerly included bundles; `null`: it contains none */
  #returnedSinceMs: number | null = null
  /** hash of the sealed head at which they were last searched */
  #lastHead: Hash | null = null
  #clears = 0
  #isClosed = false
  /** when the nonce gap before an operation was first seen */
  readonly #nonceGapSinceMs = new WeakMap<PooledOperation, number>()
  /** block in which an operation of a throttled entity was first seen */
  readonly #throttledSince = new WeakMap<PooledOperation, bigint>()
  /** operations that failed only after others of their sender: they wait while a bundle has those */
  readonly #conflicting = new WeakSet<PooledOperation>()
  /** operations restored from records: a block may already contain them */
  readonly #restored = new Set<Hash>()
  #yieldedMs = 0
  #lastTask: Promise<unknown> = Promise.resolve()
  readonly address: Address

  constructor(node: BundlerNode, pool: Pool, key: PrivateKey, events: BundleEvents, reputations: EntityReputations, now: () => number) {
    this.#node = node
    this.#pool = pool
    this.#key = key
    this.#events = events
    this.#reputations = reputations
    this.#now = now
    this.address = Secp256k1.address(key)
  }

  /** Sends the operations that are ready. Returns the hashes of the transactions. */
  send(): Promise<readonly Hash[]> {
    return this.#serialize(async () => {
      await this.#processReceipts()
      this.dropBanned()
      const sent: Hash[] = []
      const errors: unknown[] = []
      for (const entryPoint of new Set(this.#pool.all().map((each) => each.entryPoint))) {
        try {
          const chosen = await this.#removeFailing(entryPoint, await this.#selectOperations(entryPoint))
          await this.#sendChosen(entryPoint, chosen, sent)
        } catch (error) {
          errors.push(error) // the others are sent
        }
      }
      if (errors.length > 0) throw errors[0]
      return sent
    })
  }

  /** Processes the receipts of sent bundles. */
  settle(): Promise<void> {
    return this.#serialize(() => this.#processReceipts())
  }

  get isIdle(): boolean {
    return this.#pending.size === 0 && this.#pool.size === 0 && this.#included.size === 0
  }

  /** Returns the price that a sent bundle pays at most; `null` if it is in a block or was replaced. */
  maxFeeOf(bundle: Hash): bigint | null {
    return this.#pending.get(bundle)?.transaction.maxFeePerGas ?? null
  }

  /** Forgets the operations. */
  clear(): void {
    this.forgetSent()
    this.#included.clear()
  }

  /** Forgets the operations of sent bundles. The bundles stay until they have a receipt, so that one below the base fee is canceled and frees its nonce. */
  forgetSent(): void {
    this.#clears++
    for (const [hash, bundle] of this.#pending) this.#pending.set(hash, { ...bundle, operations: [] })
  }

  /** Operations of an earlier bundler, which a block may have. */
  restore(hashes: Iterable<Hash>): void {
    for (const hash of hashes) this.#restored.add(hash)
  }

  /** Whether a block may contain the operation although the pool does. */
  isUnchecked(hash: Hash): boolean {
    return this.#restored.has(hash)
  }

  /** Drops the operations that wait, also those in sent bundles. */
  dropAll(reason: RpcError): void {
    for (const pooled of this.#pool.all()) this.#drop(pooled, reason)
    this.forgetSent()
  }

  /** GREP-010: drops the operations of banned entities, without those in sent bundles. */
  dropBanned(): void {
    for (const pooled of this.#pool.all()) {
      const banned = entitiesOf(pooled).find((entity) => this.#reputations.statusOf(entity) === 'banned')
      if (banned !== undefined && pooled.bundle === null) this.#drop(pooled, this.#reputations.refusal(pooled.operation, banned))
    }
  }

  /** Called when a request removes blocks or promises. Operations that it removes permanently are not sent again. */
  expectRemoval(cause: string): void {
    for (const [transaction, bundle] of this.#included) this.#included.set(transaction, { ...bundle, cause })
    this.#lastHead = null
  }

  /** Nothing is sent after the call. Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#lastTask
  }

  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#lastTask.then(() => {
      this.#assertOpen()
      return work()
    })
    this.#lastTask = done.catch(() => undefined)
    return done
  }

  #assertOpen(): void {
    if (this.#isClosed) throw refuse('server', 'the bundler is closed')
  }

  // --- sending ------------------------------------------------------------------------------------------------------

  /** Sends the operations in one transaction and adds its hash to `sent`. A transaction that the node refuses is split, down to the operations at fault; while its pool is full they wait. */
  async #sendChosen(entryPoint: EntryPoint, chosen: readonly PooledOperation[], sent: Hash[]): Promise<void> {
    if (chosen.length === 0) return
    const transaction = await this.#buildTransaction(entryPoint, chosen)
    this.#assertOpen()
    // One was replaced, or all were removed, during the simulation; the others are selected again.
    if (chosen.some((pooled) => this.#pool.get(pooled.hash) !== pooled)) return
    const clears = this.#clears
    // Set before sending: a node that seals a block per transaction announces the block before it responds, and clients then request the
    // receipt.
    for (const pooled of chosen) pooled.bundle = transaction.hash
    const refusal = await this.#submit(transaction).catch((error: unknown) => {
      for (const pooled of chosen) pooled.bundle = null
      throw error
    })
    if (refusal === null) {
      const operations = clears === this.#clears ? chosen : []
      this.#pending.set(transaction.hash, { transaction, operations, sentMs: this.#now() })
      sent.push(transaction.hash)
      return
    }
    for (const pooled of chosen) pooled.bundle = null
    const [first] = chosen
    if (hasReason(refusal, NODE_FULL)) throw refusal
    if (chosen.length > 1) return this.#sendHalves(entryPoint, chosen, sent)
    if (first !== undefined && !hasReason(refusal, UNFUNDED)) this.#countFailure(first, refusal)
    throw refusal
  }

  async #sendHalves(entryPoint: EntryPoint, chosen: readonly PooledOperation[], sent: Hash[]): Promise<void> {
    const half = chosen.slice(0, Math.ceil(chosen.length / 2))
    const sequences = new Set(half.map(nonceSequence))
    const rest = chosen.slice(half.length).filter((pooled) => !sequences.has(nonceSequence(pooled))) // those wait for their predecessors
    const errors: unknown[] = []
    for (const part of [half, rest]) await this.#sendChosen(entryPoint, part, sent).catch((error: unknown) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }

  /**
   * Selects, for each account and nonce key without a pending bundle, the next operations that arrived in the order of their nonces. Operations below the base
   * fee wait, and those that the bundler's balance does not cover. Throws RpcError if it covers none.
   */
  async #selectOperations(entryPoint: EntryPoint): Promise<readonly PooledOperation[]> {
    this.#yieldedMs = this.#now()
    const all = this.#pool.all()
    const busy = busySequences(all)
    const chosenOf = new Map<string, bigint>()
    const now = await this.#node.now()
    const { baseFee } = now
    const [maxGas, funds] = await Promise.all([this.#node.maxBundleGas(now), this.#funds()])
    const marketFee = all.some(({ isBoosted }) => isBoosted) ? await this.#node.marketFee() : 0n
    let unfunded: RpcError | null = null
    const chosen: PooledOperation[] = []
    const sent = all.filter(({ bundle }) => bundle !== null)
    for (const pooled of all.filter((each) => each.entryPoint === entryPoint)) {
      await this.#yieldIfLong()
      const sequence = nonceSequence(pooled)
      const isCheap = pooled.operation.maxFeePerGas < baseFee && !pooled.isBoosted
      if (busy.has(sequence) || (isCheap && !this.#restored.has(pooled.hash))) continue
      if (chosen.length > 0 && !fits(entryPoint, [...chosen, pooled], { maxGas, funds, marketFee })) continue
      const ahead = await noncesAhead(this.#node, entryPoint, pooled.operation)
      if (ahead < 0n) await this.#processUsedNonce(pooled)
      this.#restored.delete(pooled.hash)
      if (isCheap) continue
      if (ahead > 0n) this.#dropAfterNonceGap(pooled, ahead)
      const before = chosenOf.get(sequence) ?? 0n
      if (ahead !== before) continue
      if (hasOtherDelegate(pooled, [...sent, ...chosen])) continue
      if (this.#conflicting.has(pooled) && sent.some(({ operation }) => operation.sender === pooled.operation.sender)) continue
      if (this.#isThrottled(pooled, chosen, now.number)) continue
      const authorization = await authorizationState(this.#node, pooled.operation)
      if (authorization === 'premature') {
        this.#countFailure(pooled, prematureAuthorization(pooled)) // the missing transactions are included again soon, or never
        continue
      }
      const delegates = delegatesOf([...chosen, pooled].map(({ operation }) => operation))
      const invalid = authorization === 'used' ? usedAuthorization(pooled) : await changedCode(this.#node, pooled.codes, delegates)
      if (invalid !== null) {
        this.#drop(pooled, invalid)
        continue
      }
      const gas = bundleGas(entryPoint, [pooled.operation])
      const cost = gas * maxFeeOf([pooled], marketFee)
      if (gas > maxGas) {
        this.#countFailure(pooled, tooMuchGas(gas, maxGas)) // the chain accepted as much when it arrived
        continue
      }
      if (cost > funds) {
        unfunded ??= insufficientFunds(this.address, funds, cost)
        pooled.failure = unfunded
        continue
      }
      chosenOf.set(sequence, before + 1n)
      chosen.push(pooled)
      if (chosen.length === BUNDLE_OPERATIONS) break
    }
    if (chosen.length === 0 && unfunded !== null) throw unfunded
    return chosen
  }

  /** Returns the wei that the account can spend on a further transaction. */
  async #funds(): Promise<bigint> {
    const balance = await this.#node.quantity('eth_getBalance', this.address, 'pending')
    return [...this.#pending.values()].reduce((left, { transaction }) => left - transaction.gas * transaction.maxFeePerGas, balance)
  }

  /** GREP-020: an operation of a throttled entity waits while the bundle has others of the entity, and is dropped after THROTTLED_BLOCKS. */
  #isThrottled(pooled: PooledOperation, chosen: readonly PooledOperation[], block: bigint): boolean {
    const throttled = entitiesOf(pooled).filter((entity) => this.#reputations.statusOf(entity) === 'throttled')
    const [first] = throttled
    if (first === undefined) {
      this.#throttledSince.delete(pooled)
      return false
    }
    const since = this.#throttledSince.get(pooled) ?? block
    this.#throttledSince.set(pooled, since)
    if (block - since >= THROTTLED_BLOCKS) {
      this.#drop(pooled, this.#reputations.refusal(pooled.operation, first))
      return true
    }
    return throttled.some((entity) => chosen.filter((each) => entitiesOf(each).includes(entity)).length >= THROTTLED_BUNDLE_OPERATIONS)
  }

  /** Requests to a node in the same process take no turn of the event loop, and thousands of operations take seconds. */
  async #yieldIfLong(): Promise<void> {
    if (this.#now() - this.#yieldedMs < SLICE_MS) return
    await new Promise((resolve) => void setTimeout(resolve))
    this.#yieldedMs = this.#now()
  }

  /** Drops an operation if an operation with a lower nonce has been missing from the pool for `NONCE_GAP_MS`. */
  #dropAfterNonceGap(pooled: PooledOperation, ahead: bigint): void {
    const { operation } = pooled
    if (this.#pool.hasPredecessors(pooled, ahead)) return void this.#nonceGapSinceMs.delete(pooled)
    const sinceMs = this.#nonceGapSinceMs.get(pooled) ?? this.#now()
    this.#nonceGapSinceMs.set(pooled, sinceMs)
    if (this.#now() - sinceMs < NONCE_GAP_MS) return
    const message = `AA25 invalid account nonce: ${operation.nonce} is ${ahead} ahead of the account's, and an operation before it is missing`
    this.#drop(pooled, refuse('account', message))
  }

  /** The nonce was used by the operation itself, in a bundle that counted as lost, or by another operation. */
  async #processUsedNonce(pooled: PooledOperation): Promise<void> {
    const place = await transactionHashOf(this.#node, [pooled.entryPoint], pooled.hash)
    const reason = 'AA25 invalid account nonce: another operation has used it'
    if (place === null) return this.#drop(pooled, refuse('account', reason))
    const receipt = RECEIPT.parse(await this.#node.ask('eth_getTransactionReceipt', place), 'receipt')
    this.#include(pooled, place, receipt, operationResults(receipt.logs, [pooled.entryPoint]).get(pooled.hash) ?? false)
  }

  /** Simulates handleOps and removes the operation that the EntryPoint names, until the bundle succeeds. */
  async #removeFailing(entryPoint: EntryPoint, chosen: readonly PooledOperation[]): Promise<readonly PooledOperation[]> {
    let rest = chosen
    while (rest.length > 0) {
      const failure = await this.#simulate(entryPoint, rest)
      if (failure === null) return rest
      const failed = (failure.index === null ? await this.#findFailing(entryPoint, rest) : rest[failure.index]) ?? rest.at(-1)
      if (failed === undefined) return []
      const before = rest.slice(0, rest.indexOf(failed))
      const sequence = nonceSequence(failed)
      const isOwn = (each: PooledOperation) => nonceSequence(each) === sequence
      rest = rest.filter((each) => !isOwn(each) || each.operation.nonce < failed.operation.nonce) // those after it wait for another with its nonce
      // It is tried again once its predecessors have run: they may refund the funds that it needs.
      if (rest.some(isOwn)) continue
      if (failure.isHalt === true) {
        this.#countFailure(failed, refusalFor(failure, failed.operation)) // the node may be at fault
        continue
      }
      const isAlone = rest.length === 0 || (await this.#simulate(entryPoint, [failed])) !== null
      const own = isAlone ? [] : before.filter(({ operation }) => operation.sender === failed.operation.sender)
      if (own.length > 0 && (await this.#simulate(entryPoint, [...own, failed])) !== null) {
        // Its sender's other operations invalidate it, such as one that creates the account too. No entity is at fault.
        failed.failure = refusalFor(failure, failed.operation)
        this.#conflicting.add(failed)
        continue
      }
      await this.#events.failed(failed, failure.reason, isAlone)
      // In another bundle it may be valid: an earlier operation of this bundle may have invalidated it.
      if (isAlone) this.#drop(failed, refusalFor(failure, failed.operation))
      else this.#countFailure(failed, refusalFor(failure, failed.operation))
    }
    return rest
  }

  /**
   * Returns the first operation that fails in a bundle of its own, for errors that name no operation, such as malformed return data of an account; if each
   * succeeds there, the first that fails after those before it.
   */
  async #findFailing(entryPoint: EntryPoint, operations: readonly PooledOperation[]): Promise<PooledOperation | undefined> {
    for (const each of operations) if ((await this.#simulate(entryPoint, [each])) !== null) return each
    let [valid, failing] = [1, operations.length]
    while (failing - valid > 1) {
      const middle = (valid + failing) >> 1
      if ((await this.#simulate(entryPoint, operations.slice(0, middle))) === null) valid = middle
      else failing = middle
    }
    return operations[failing - 1]
  }

  #simulate(entryPoint: EntryPoint, pooled: readonly PooledOperation[]): Promise<Failure | null> {
    const operations = pooled.map(({ operation }) => operation)
    const overrides = mergeOverrides(...operations.map(delegationOverride))
    return this.#node.handleOps(entryPoint, operations, this.address, overrides)
  }

  async #buildTransaction(entryPoint: EntryPoint, chosen: readonly PooledOperation[]): Promise<Transaction> {
    const operations = chosen.map(({ operation }) => operation)
    const data = entryPoint.handleOps(operations, this.address)
    const authorizationList = authorizationsOf(operations)
    const [chainId, nonce, fees] = await Promise.all([
      this.#node.chainId(),
      this.#node.quantity('eth_getTransactionCount', this.address, 'pending'),
      this.#feesOf(chosen),
    ])
    return Transaction.sign(
      {
        type: authorizationList.length === 0 ? 2 : 4,
        chainId,
        nonce,
        to: entryPoint.address,
        data,
        gas: bundleGas(entryPoint, operations, data.length),
        ...fees,
        authorizationList,
      },
      this.#key,
      this.address,
    )
  }

  async #feesOf(chosen: readonly PooledOperation[]): Promise<Fees> {
    const tips = payingAmong(chosen).map(({ maxPriorityFeePerGas }) => maxPriorityFeePerGas)
    return {
      maxFeePerGas: maxFeeOf(chosen, await this.#node.marketFee()),
      maxPriorityFeePerGas: tips.length === 0 ? 1n : minimum(tips),
    }
  }

  /** Returns why the node refuses the transaction, `null` if it accepts it. */
  async #submit(transaction: Transaction): Promise<RpcError | null> {
    try {
      await this.#node.ask('eth_sendRawTransaction', Hex.fromBytes(transaction.raw))
      return null
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      const balance = await this.#node.quantity('eth_getBalance', this.address, 'pending')
      const cost = transaction.gas * transaction.maxFeePerGas
      if (balance < cost) return insufficientFunds(this.address, balance, cost)
      const reason = error.message.startsWith('txpool is full') ? NODE_FULL : 'bundle-refused' // geth's text
      return refuse('server', `the node refused the bundle: ${error.message}`, { reason })
    }
  }

  // --- receipts -----------------------------------------------------------------------------------------------------

  async #processReceipts(): Promise<void> {
    await this.#fillMissingNonces()
    for (const hash of this.#pending.keys()) {
      this.#assertOpen()
      const receipt = await this.#node.ask('eth_getTransactionReceipt', hash)
      const bundle = this.#pending.get(hash) as Bundle // only this task removes them; `clear` may have emptied it meanwhile
      if (receipt === null) await this.#processPendingBundle(bundle)
      else this.#processIncludedBundle(bundle, RECEIPT.parse(receipt, 'receipt'))
    }
    await this.#processIncluded()
  }

  /** With each sealed block looks for the included bundles. Operations that are in no block any more are sent again, or refused if a request removed them. */
  async #processIncluded(): Promise<void> {
    if (this.#included.size === 0) {
      this.#returnedSinceMs = null
      return
    }
    const head = HEAD.parse(await this.#node.ask('eth_getBlockByNumber', 'latest', false), 'block')
    if (head.hash === this.#lastHead) return
    this.#lastHead = head.hash
    const hashes = new Map<bigint, Hash | null>([[head.number, head.hash]])
    const final: Hash[] = []
    let hasReturned = false
    for (const [transaction, { blockNumber, blockHash, operations }] of this.#included) {
      if (blockNumber > head.number) continue // promised, and not sealed yet
      if (!hashes.has(blockNumber)) hashes.set(blockNumber, await this.#hashOfBlock(blockNumber))
      if (hashes.get(blockNumber) !== blockHash) hasReturned = (await this.#findAgain(transaction)) || hasReturned
      else if (head.number >= blockNumber + FINALITY_BLOCKS && this.#included.delete(transaction))
        final.push(...operations.map(({ hash }) => hash))
    }
    this.#returnedSinceMs = hasReturned ? (this.#returnedSinceMs ?? this.#now()) : null
    if (final.length > 0) this.#events.final(final)
  }

  async #hashOfBlock(number: bigint): Promise<Hash | null> {
    const block = await this.#node.ask('eth_getBlockByNumber', Hex.fromQuantity(number), false)
    return block === null ? null : HEAD.parse(block, 'block').hash
  }

  /** The block of a bundle is another one now: it was sealed, or replaced by a reorg. Returns true if the bundle is in the mempool again. */
  async #findAgain(transaction: Hash): Promise<boolean> {
    const answer = await this.#node.ask('eth_getTransactionReceipt', transaction)
    if (answer === null && (await this.#node.ask('eth_getTransactionByHash', transaction)) !== null) return true
    const bundle = this.#included.get(transaction)
    if (bundle === undefined) return false // removed in the meantime
    this.#included.delete(transaction)
    const { operations, cause } = bundle
    const receipt = answer === null ? null : RECEIPT.parse(answer, 'receipt')
    const results = receipt === null ? NO_RESULTS : operationResults(receipt.logs, entryPointsOf(operations))
    const kept = operations.filter(({ hash }) => results.has(hash))
    if (receipt !== null && kept.length > 0) this.#included.set(transaction, { ...receipt, operations: kept, cause: null })
    for (const pooled of operations) if (!results.has(pooled.hash)) this.#events.removed(pooled, receipt === null ? cause : null)
    return false
  }

  #include(pooled: PooledOperation, transaction: Hash, { blockNumber, blockHash }: Receipt, success: boolean): void {
    this.#pool.remove(pooled.hash)
    const before = this.#included.get(transaction)?.operations ?? []
    this.#included.set(transaction, { blockNumber, blockHash, operations: [...before, pooled], cause: null })
    this.#events.included(pooled, transaction, success)
  }

  #processIncludedBundle({ transaction, operations }: Bundle, receipt: Receipt): void {
    this.#pending.delete(transaction.hash)
    const included = operationResults(receipt.logs, entryPointsOf(operations))
    for (const pooled of operations) {
      const success = included.get(pooled.hash)
      pooled.bundle = null
      if (success === undefined) this.#countFailure(pooled, refuse('account', `the bundle ${transaction.hash} was included and failed`))
      else this.#include(pooled, transaction.hash, receipt, success)
    }
  }

  /**
   * Returns the operations of a lost bundle to the pool. A bundle that a block with room does not contain is replaced once with one that has higher fees, which
   * its operations do not refund; after that it is canceled.
   */
  async #processPendingBundle(bundle: Bundle): Promise<void> {
    const { transaction, sentMs } = bundle
    const ageMs = this.#now() - sentMs
    if (ageMs < LOST_MS) return
    if ((await this.#node.ask('eth_getTransactionByHash', transaction.hash)) === null) return this.#processLostBundle(bundle)
    const { baseFee, number } = await this.#node.now()
    if (transaction.maxFeePerGas < baseFee) return this.#cancel(bundle)
    const since = this.#waitingSince.get(transaction) ?? number
    this.#waitingSince.set(transaction, since)
    if (ageMs < STUCK_MS || !(await this.#hadRoom(transaction, since))) return
    if (bundle.isRaised === true) {
      const { maxFeePerGas, maxPriorityFeePerGas } = transaction
      const price = `${maxFeePerGas} wei with a tip of ${maxPriorityFeePerGas} wei`
      const refusal = refuse('server', `no block included the bundle at ${price}: send the operation again with higher fees`)
      return bundle.operations.length === 0 ? undefined : this.#cancel(bundle, refusal)
    }
    const replacement = await this.#withRaisedFees(transaction)
    this.#assertOpen()
    const sent = await this.#node.ask('eth_sendRawTransaction', Hex.fromBytes(replacement.raw)).then(
      () => replacement,
      () => transaction,
    )
    const { operations } = this.#pending.get(transaction.hash) ?? bundle // `clear` may have emptied it meanwhile
    this.#pending.delete(transaction.hash)
    for (const pooled of operations) pooled.bundle = sent.hash
    this.#pending.set(sent.hash, {
      transaction: sent,
      operations,
      sentMs: this.#now(),
      ...(sent === replacement ? { isRaised: true } : {}),
    })
  }

  /** Whether a block since then is the newest and had room for the transaction. Without such blocks higher fees change nothing. */
  async #hadRoom({ gas }: Transaction, since: bigint): Promise<boolean> {
    const { number, gasLimit, gasUsed } = SPACE.parse(await this.#node.ask('eth_getBlockByNumber', 'latest', false), 'block')
    return number >= since && gasUsed + gas <= gasLimit
  }

  /** Replaces a bundle with an empty transaction at the market price; its operations wait in the pool. `failure`: it counts as one of theirs. */
  async #cancel({ transaction, operations }: Bundle, failure: RpcError | null = null): Promise<void> {
    const fees = await this.#raisedFees(transaction, await this.#node.marketFee())
    if (!(await this.#sendEmpty(transaction.nonce, fees))) return // included meanwhile, or tried again later
    this.#pending.delete(transaction.hash)
    for (const pooled of operations) {
      pooled.bundle = null
      if (failure !== null) this.#countFailure(pooled, failure)
    }
  }

  /**
   * Sends empty transactions for missing nonces, once transactions have waited for STUCK_MS: those after a bundle that a request has dropped permanently are not
   * executable without it. Bundles that waited for one get as much time again before their fees are raised.
   */
  async #fillMissingNonces(): Promise<void> {
    const nowMs = this.#now()
    const sinceMs = [...this.#pending.values()].map(({ sentMs }) => sentMs)
    if (this.#returnedSinceMs !== null) sinceMs.push(this.#returnedSinceMs)
    if (nowMs - Math.min(...sinceMs, nowMs) < STUCK_MS) return
    const missing = await this.#missingNonces()
    if (missing.length === 0) return
    const fees = { maxFeePerGas: await this.#node.marketFee(), maxPriorityFeePerGas: 1n }
    for (const nonce of missing) await this.#sendEmpty(nonce, fees)
    for (const [hash, bundle] of this.#pending) this.#pending.set(hash, { ...bundle, sentMs: nowMs })
    if (this.#returnedSinceMs !== null) this.#returnedSinceMs = nowMs
  }

  /** The lowest nonces between those of the account's transactions in the mempool; none if the node does not list them. */
  async #missingNonces(): Promise<readonly bigint[]> {
    try {
      const { pending, queued } = MEMPOOL.parse(await this.#node.ask('txpool_contentFrom', this.address), 'txpool_contentFrom')
      const present = new Set([...pending.keys(), ...queued.keys()].map(BigInt))
      const missing: bigint[] = []
      const end = [...present].reduce((high, nonce) => (nonce > high ? nonce : high), 0n)
      const next = await this.#node.quantity('eth_getTransactionCount', this.address, 'pending')
      for (let nonce = next; nonce < end && missing.length < MAX_FILLED_NONCES; nonce++) if (!present.has(nonce)) missing.push(nonce)
      return missing
    } catch (error) {
      if (error instanceof RpcError) return []
      throw error
    }
  }

  /** Returns false if the node refuses the transaction. */
  async #sendEmpty(nonce: bigint, fees: Fees): Promise<boolean> {
    const chainId = await this.#node.chainId()
    const transaction = Transaction.sign({ type: 2, chainId, nonce, to: this.address, gas: TRANSFER_GAS, ...fees }, this.#key, this.address)
    this.#assertOpen()
    try {
      await this.#node.ask('eth_sendRawTransaction', Hex.fromBytes(transaction.raw))
    } catch (error) {
      if (error instanceof RpcError) return false
      throw error
    }
    this.#pending.set(transaction.hash, { transaction, operations: [], sentMs: this.#now() })
    return true
  }

  /** Returns fees that replace those of the transaction, with at least this price and the proposed tip. */
  async #raisedFees(transaction: Transaction, price = 0n): Promise<Fees> {
    const maxFeePerGas = maximum(raised(transaction.maxFeePerGas), price)
    const tip = maximum(raised(transaction.maxPriorityFeePerGas), await this.#node.quantity('eth_maxPriorityFeePerGas'))
    return { maxFeePerGas, maxPriorityFeePerGas: minimum([tip, maxFeePerGas]) }
  }

  async #withRaisedFees(transaction: Transaction): Promise<Transaction> {
    const fees = await this.#raisedFees(transaction)
    return Transaction.sign({ ...transaction, type: transaction.type === 4 ? 4 : 2, ...fees }, this.#key, this.address)
  }

  /** The mempool has dropped the transaction, or the chain was rewound. */
  #processLostBundle({ transaction, operations }: Bundle): void {
    this.#pending.delete(transaction.hash)
    for (const pooled of operations) {
      pooled.bundle = null
      this.#countFailure(pooled, refuse('server', `the bundle ${transaction.hash} was lost`))
    }
  }

  #countFailure(pooled: PooledOperation, reason: RpcError): void {
    if (this.#pool.get(pooled.hash) !== pooled) return // replaced or removed
    pooled.attempts += 1
    pooled.failure = reason
    if (pooled.attempts >= MAX_BUNDLE_FAILURES) this.#drop(pooled, reason)
  }

  #drop(pooled: PooledOperation, reason: RpcError): void {
    if (this.#pool.get(pooled.hash) !== pooled) return // replaced or removed
    this.#pool.remove(pooled.hash)
    this.#events.dropped(pooled, reason)
  }
}

function prematureAuthorization({ operation: { sender, authorization } }: PooledOperation): RpcError {
  return refuse(
    'invalid',
    `Invalid EIP-7702 authorization: its nonce is ${authorization?.nonce}, and a reorg removed earlier transactions of ${sender}`,
  )
}

/** The whole bundle would fail with it, although simulations that override the sender's code succeed. */
function usedAuthorization({ operation: { sender, authorization } }: PooledOperation): RpcError {
  return refuse('invalid', `Invalid EIP-7702 authorization: ${sender} has used nonce ${authorization?.nonce} otherwise`)
}

const HEAD = schema.object({ hash: schema.hash, number: schema.quantity })
const SPACE = schema.object({ number: schema.quantity, gasLimit: schema.quantity, gasUsed: schema.quantity })
const NONCES = schema.mapOf(schema.string, schema.anything, 100_000)
const MEMPOOL = schema.object({ pending: NONCES, queued: NONCES })
const RECEIPT = schema.object({ blockNumber: schema.quantity, blockHash: schema.hash, logs: schema.anything })
type Receipt = schema.Infer<typeof RECEIPT>
const NO_RESULTS: ReadonlyMap<Hash, boolean> = new Map()

function entryPointsOf(operations: readonly PooledOperation[]): readonly EntryPoint[] {
  return [...new Set(operations.map(({ entryPoint }) => entryPoint))]
}

interface BundleLimits {
  readonly maxGas: bigint
  /** wei */
  readonly funds: bigint
  /** wei per gas that the bundler pays if all operations are boosted */
  readonly marketFee: bigint
}

function fits(entryPoint: EntryPoint, chosen: readonly PooledOperation[], { maxGas, funds, marketFee }: BundleLimits): boolean {
  const operations = chosen.map(({ operation }) => operation)
  const sizeBytes = operations.reduce((sum, operation) => sum + 700 + operationBytes(operation), 100)
  if (sizeBytes > BUNDLE_BYTES) return false
  const gas = bundleGas(entryPoint, operations, sizeBytes)
  return gas <= maxGas && gas * maxFeeOf(chosen, marketFee) <= funds
}

/**
 * Returns the lowest price of the operations, since that operation refunds no more. The bundler itself pays for boosted operations, at the
 * market price if the bundle has no others.
 */
function maxFeeOf(chosen: readonly PooledOperation[], marketFee: bigint): bigint {
  const paying = payingAmong(chosen)
  return paying.length === 0 ? marketFee : minimum(paying.map(({ maxFeePerGas }) => maxFeePerGas))
}

function payingAmong(chosen: readonly PooledOperation[]): readonly UserOperation[] {
  return chosen.filter(({ isBoosted }) => !isBoosted).map(({ operation }) => operation)
}

/** Whether one of the others, whose bundle no block has yet, runs the account with another delegate (EIP-7702): each runs with that of its validation. */
function hasOtherDelegate(pooled: PooledOperation, others: readonly PooledOperation[]): boolean {
  const { sender, authorization } = pooled.operation
  return others.some(
    (other) =>
      other.operation.sender === sender &&
      (authorization !== null || other.operation.authorization !== null) &&
      codeOf(pooled) !== codeOf(other),
  )
}

/** Returns the hash of the code with which the operation was validated; undefined if it is not known. */
function codeOf({ operation: { sender, authorization }, codes }: PooledOperation): Hash | undefined {
  return authorization === null ? codes.get(sender) : delegationHash(authorization.address)
}

/** Returns one authorization per account; all of an account have the same delegate. */
function authorizationsOf(operations: readonly UserOperation[]): readonly Authorization[] {
  const bySender = new Map(
    operations.flatMap(({ sender, authorization }) => (authorization === null ? [] : [[sender, authorization] as const])),
  )
  return [...bySender.values()]
}

const TRANSFER_GAS = 21_000n

function minimum(values: readonly bigint[]): bigint {
  return values.reduce((low, value) => (value < low ? value : low))
}

/** Mempools require a price increase of 10 % for a replacement. */
function raised(fee: bigint): bigint {
  return (fee * 5n) / 4n + 1n
}

/** Returns RpcError -32000. */
export function insufficientFunds(bundler: Address, balance: bigint, cost: bigint): RpcError {
  const message = `the bundler's account ${bundler} has ${balance} wei on this chain, and a bundle may cost ${cost} wei: send it some ether`
  return refuse('server', message, { reason: UNFUNDED, bundler })
}

/** Reasons why a bundle waits. No operation is at fault. */
const UNFUNDED = 'bundler-unfunded'
const NODE_FULL = 'node-full'

function hasReason({ data }: RpcError, reason: string): boolean {
  return isObject(data) && data['reason'] === reason
}
