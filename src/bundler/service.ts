import { Address, Hex, UserOperation, entryPoint } from '../eth/index.ts'
import type { EntryPoint, Hash, PrivateKey } from '../eth/index.ts'
import { ChainWatch } from '../jsonrpc/index.ts'
import type { Rpc, RpcError } from '../jsonrpc/index.ts'
import { Bundles, poorMessage } from './bundles.ts'
import { refuse } from './errors.ts'
import { estimate } from './estimation.ts'
import type { GasEstimate } from './estimation.ts'
import { OUTCOMES, GATHER_MS, POLL_MS, SLOW_POLL_MS } from './limits.ts'
import { BundlerNode } from './node.ts'
import type { Overrides } from './node.ts'
import { Pool } from './pool.ts'
import type { Waiting } from './pool.ts'
import { gasPrice } from './preverification.ts'
import { placeOf } from './receipts.ts'
import { Reputations } from './reputation.ts'
import { assertRules } from './rules.ts'
import { bundleGas, validate } from './validation.ts'
import type { Candidate, Codes, ValidationDeps } from './validation.ts'

export interface ServiceOptions {
  /** the node: ours, or any other that knows state overrides in eth_call */
  readonly rpc: Rpc
  /** of an account of its own that pays for bundles and is paid back by them; it must not delegate (EIP-7702) */
  readonly key: PrivateKey
  /** those of 0.6, 0.7 and 0.8 where they are on every chain */
  readonly entryPoints?: readonly EntryPoint[]
  /** the rules of ERC-7562 hold for validations, which needs a node that traces with geth's erc7562Tracer: true */
  readonly rules?: boolean
  /** gets what breaks while nobody waits for it */
  readonly onError?: (error: unknown) => void
  /** milliseconds of a steady clock */
  readonly now?: () => number
}

/** The end of an operation that no longer waits. */
export interface Outcome {
  readonly candidate: Candidate
  readonly status: 'included' | 'failed' | 'rejected'
  readonly transaction: Hash | null
  readonly reason: RpcError | null
}

/** The bundler: user operations in, bundles out. */
export class BundlerService {
  readonly node: BundlerNode
  readonly pool = new Pool()
  readonly reputations: Reputations
  readonly bundles: Bundles
  readonly outcomes = new Map<Hash, Outcome>()
  readonly #rpc: Rpc
  readonly #rules: boolean
  readonly #candidates: readonly EntryPoint[]
  readonly #onError: (error: unknown) => void
  #entryPoints: readonly EntryPoint[] = []
  /** null: no operation has come yet */
  #watch: ChainWatch | null = null
  #gathering: ReturnType<typeof setTimeout> | null = null
  #isClosed = false
  /** false: bundles go out only when told */
  isAutomatic = true

  constructor({ rpc, key, entryPoints, rules = true, onError = () => undefined, now = () => performance.now() }: ServiceOptions) {
    this.#rpc = rpc
    this.#rules = rules
    this.node = new BundlerNode(rpc)
    this.#candidates = entryPoints ?? [entryPoint('0.8'), entryPoint('0.7'), entryPoint('0.6')]
    this.#onError = onError
    this.reputations = new Reputations(now)
    const events = {
      included: (waiting: Waiting, transaction: Hash, success: boolean) => {
        this.reputations.included(waiting.operation)
        this.#end(waiting, { status: success ? 'included' : 'failed', transaction, reason: null })
      },
      dropped: (waiting: Waiting, reason: RpcError) => this.#end(waiting, { status: 'rejected', transaction: null, reason }),
    }
    this.bundles = new Bundles(this.node, this.pool, key, events, now)
  }

  get address(): Address {
    return this.bundles.address
  }

  /** Those that have code on this chain. */
  async entryPoints(): Promise<readonly EntryPoint[]> {
    if (this.#entryPoints.length < this.#candidates.length) {
      const codes = await Promise.all(this.#candidates.map(({ address }) => this.node.code(address)))
      this.#entryPoints = this.#candidates.filter((_, i) => codes[i] !== '0x')
    }
    return this.#entryPoints
  }

  /** Throws RpcError -32602 for one that is not supported. */
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
    const delegating = at.version === '0.8' && operation.factory === UserOperation.DELEGATION
    const delegate = delegating ? (operation.authorization?.address ?? (await this.node.delegate(operation.sender))) : null
    if (delegating && delegate === null)
      throw refuse('invalid', `the factory is 0x7702, but there is no eip7702Auth and ${operation.sender} delegates to nothing yet`)
    const chainId = await this.node.chainId()
    return UserOperation.hash(operation, {
      version: at.version,
      entryPoint: at.address,
      chainId,
      ...(delegate === null ? undefined : { delegate }),
    })
  }

  /** Throws RpcError; then nothing has changed. */
  async send(candidate: Candidate): Promise<Hash> {
    this.#assertOpen()
    this.#listen()
    this.pool.assertRoom(candidate)
    const codes = await validate(this.#deps, candidate)
    await this.#assertFunds(candidate)
    if (this.#rules) this.pool.assertRoles(candidate.operation)
    this.reputations.assert(candidate.operation, (entity) => this.pool.waitingOf(entity))
    await this.#assertDeposit(candidate)
    // Others came in while this one was looked at.
    this.#assertOpen()
    this.pool.assertRoom(candidate)
    this.add(candidate, codes)
    return candidate.hash
  }

  /** Without looking at it. */
  add(candidate: Candidate, codes: Codes = new Map()): void {
    this.#assertOpen()
    this.#listen()
    const replaced = this.pool.add(candidate, codes)
    this.outcomes.delete(candidate.hash)
    if (replaced !== null) {
      this.reputations.forget(replaced.operation)
      const reason = refuse('invalid', `replaced by ${candidate.hash}`)
      this.#end(replaced, { status: 'rejected', transaction: null, reason })
    }
    this.reputations.saw(candidate.operation)
    if (this.isAutomatic) this.#gather()
  }

  estimate(candidate: Candidate, overrides: Overrides): Promise<GasEstimate> {
    return estimate(this.#deps, candidate, overrides)
  }

  /** The transaction that an operation is in, or on its way with; null: none. */
  async transactionOf(hash: Hash): Promise<Hash | null> {
    const waiting = this.pool.get(hash)
    if (waiting !== null) return waiting.bundle
    const outcome = this.outcomes.get(hash)
    if (outcome !== undefined) return outcome.transaction
    return placeOf(this.node, await this.entryPoints(), hash)
  }

  /** Bundles that are due go out now. */
  flush(): Promise<readonly Hash[]> {
    return this.bundles.send()
  }

  clearPool(): void {
    this.pool.clear()
    this.bundles.clear()
  }

  close(): void {
    this.#isClosed = true
    if (this.#gathering !== null) clearTimeout(this.#gathering)
    this.#watch?.end()
    this.clearPool()
  }

  get #deps(): ValidationDeps {
    const rules = (candidate: Candidate, overrides: Overrides) => assertRules(this.node, candidate, this.address, overrides)
    return { node: this.node, bundler: this.address, assertRules: this.#rules ? rules : null }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw refuse('server', 'the bundler is closed; ask one that runs')
  }

  /** A bundle that cannot be paid for helps nobody, so it is told to the first who asks. */
  async #assertFunds({ entryPoint: at, operation }: Candidate): Promise<void> {
    const [balance, now] = await Promise.all([this.node.quantity('eth_getBalance', this.address, 'pending'), this.node.now()])
    const cost = bundleGas(at, [operation]) * gasPrice(operation, now)
    if (balance < cost)
      throw refuse('server', poorMessage(this.address, balance, cost), { reason: 'bundler-unfunded', bundler: this.address })
  }

  /** One deposit pays for all operations of a paymaster that wait. */
  async #assertDeposit(candidate: Candidate): Promise<void> {
    const { entryPoint: at, operation } = candidate
    if (operation.paymaster === null) return
    const deposit = await this.node.deposit(at.address, operation.paymaster)
    const owed = this.pool.owedBy(operation.paymaster, at.address, candidate) + at.prefundGas(operation) * operation.maxFeePerGas
    if (deposit >= owed) return
    throw refuse('deposit', `AA31 paymaster deposit too low: ${deposit} wei, and what waits may cost ${owed} wei`, {
      reason: 'AA31 paymaster deposit too low',
      paymaster: operation.paymaster,
      deposit: Hex.fromQuantity(deposit),
      required: Hex.fromQuantity(owed),
    })
  }

  // --- time ---------------------------------------------------------------------------------------------------------

  /** Each flashblock, and each block, settles what is out and sends what waits; where the node tells no news, a timer does. */
  #listen(): void {
    if (this.#isClosed) return
    this.#watch ??= new ChainWatch({
      rpc: this.#rpc,
      onActivity: () => this.#tick(),
      pollMs: POLL_MS,
      slowPollMs: SLOW_POLL_MS,
      feeds: ['newFlashblocks', 'newHeads'].map((name) => ({ params: [name], isComplete: true })),
    })
  }

  #gather(): void {
    if (this.#gathering !== null) return
    this.#gathering = setTimeout(() => {
      this.#gathering = null
      this.#tick()
    }, GATHER_MS)
    if (typeof this.#gathering === 'object') this.#gathering.unref()
  }

  #tick(): void {
    if (this.#isClosed || this.bundles.isIdle) return
    this.#isDue = true
    if (this.#isTicking) return
    this.#isTicking = true
    this.#isDue = false
    const work: Promise<unknown> = this.isAutomatic ? this.bundles.send() : this.bundles.settle()
    work
      .catch((error: unknown) => {
        if (!this.#isClosed) this.#onError(error)
      })
      .finally(() => {
        this.#isTicking = false
        if (this.#isDue) this.#tick()
      })
  }

  // One at a time. Whatever comes meanwhile is one more time afterwards.
  #isTicking = false
  #isDue = false

  #end(waiting: Waiting, outcome: Omit<Outcome, 'candidate'>): void {
    const [oldest] = this.outcomes.keys()
    if (this.outcomes.size >= OUTCOMES && oldest !== undefined) this.outcomes.delete(oldest)
    const { entryPoint: at, operation, hash } = waiting
    this.outcomes.set(hash, { candidate: { entryPoint: at, operation, hash }, ...outcome })
  }
}
