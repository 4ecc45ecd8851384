import { Hex, Secp256k1, Transaction } from '../eth/index.ts'
import type { Address, Authorization, EntryPoint, Hash, PrivateKey, UserOperation } from '../eth/index.ts'
import { RpcError, schema } from '../jsonrpc/index.ts'
import { refuse } from './errors.ts'
import { refusalFor } from './failure.ts'
import { ATTEMPTS, BUNDLE_BYTES, BUNDLE_GAS, BUNDLE_OPERATIONS, GAP_MS, LOST_MS, STUCK_MS } from './limits.ts'
import type { BundlerNode } from './node.ts'
import { delegating, together } from './overriding.ts'
import type { Pool, Waiting } from './pool.ts'
import { includedIn, placeOf } from './receipts.ts'
import { changedCode } from './rules.ts'
import { authorizationNow, bundleGas, noncesAhead } from './validation.ts'

/** What the bundler is told. */
export interface BundleEvents {
  readonly included: (waiting: Waiting, transaction: Hash, success: boolean) => void
  readonly dropped: (waiting: Waiting, reason: RpcError) => void
}

/** A transaction that is out. */
interface Bundle {
  readonly transaction: Transaction
  readonly operations: readonly Waiting[]
  readonly sentMs: number
}

/** From what waits to transactions, and what became of them. One after the other: each step sees what the one before it did. */
export class Bundles {
  readonly #node: BundlerNode
  readonly #pool: Pool
  readonly #key: PrivateKey
  readonly #events: BundleEvents
  readonly #now: () => number
  readonly #out = new Map<Hash, Bundle>()
  /** since when nothing waits before them, though their account is not there yet */
  readonly #gaps = new WeakMap<Waiting, number>()
  #turn: Promise<unknown> = Promise.resolve()
  readonly address: Address

  constructor(node: BundlerNode, pool: Pool, key: PrivateKey, events: BundleEvents, now: () => number) {
    this.#node = node
    this.#pool = pool
    this.#key = key
    this.#events = events
    this.#now = now
    this.address = Secp256k1.address(key)
  }

  /** Sends what can be sent. Answers the transactions. */
  send(): Promise<readonly Hash[]> {
    return this.#inTurn(async () => {
      await this.#settle()
      const sent: Hash[] = []
      for (const entryPoint of new Set(this.#pool.all().map((each) => each.entryPoint))) {
        const hash = await this.#sendFor(entryPoint)
        if (hash !== null) sent.push(hash)
      }
      return sent
    })
  }

  /** Looks what was included. */
  settle(): Promise<void> {
    return this.#inTurn(() => this.#settle())
  }

  get isIdle(): boolean {
    return this.#out.size === 0 && this.#pool.size === 0
  }

  clear(): void {
    this.#out.clear()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }

  // --- out ----------------------------------------------------------------------------------------------------------

  async #sendFor(entryPoint: EntryPoint): Promise<Hash | null> {
    const chosen = await this.#sound(entryPoint, await this.#choice(entryPoint))
    if (chosen.length === 0) return null
    const transaction = await this.#transaction(entryPoint, chosen)
    // Before it is sent: a node that makes a block of each transaction tells of it before it answers, and who hears of it asks for the receipt.
    for (const waiting of chosen) waiting.bundle = transaction.hash
    await this.#submit(transaction, chosen).catch((error: unknown) => {
      for (const waiting of chosen) waiting.bundle = null
      throw error
    })
    this.#out.set(transaction.hash, { transaction, operations: chosen, sentMs: this.#now() })
    return transaction.hash
  }

  /** The next one of each account that has none on its way: two of one account could spoil one another. */
  async #choice(entryPoint: EntryPoint): Promise<readonly Waiting[]> {
    const all = this.#pool.all()
    const busy = new Set(all.filter(({ bundle }) => bundle !== null).map(({ operation }) => operation.sender))
    const chosen: Waiting[] = []
    for (const waiting of all.filter((each) => each.entryPoint === entryPoint)) {
      const { sender } = waiting.operation
      if (busy.has(sender) || (chosen.length > 0 && !fits(entryPoint, [...chosen, waiting]))) continue
      const ahead = await noncesAhead(this.#node, entryPoint, waiting.operation)
      if (ahead < 0n) await this.#passed(waiting)
      if (ahead > 0n) this.#behindGap(waiting, ahead)
      if (ahead !== 0n) continue
      const standing = await authorizationNow(this.#node, waiting.operation)
      if (standing === 'early') {
        this.#failed(waiting, early(waiting)) // what was before it comes back soon, or never
        continue
      }
      const changed = standing === 'spent' ? spent(waiting) : await changedCode(this.#node, waiting.codes)
      if (changed !== null) {
        this.#drop(waiting, changed)
        continue
      }
      busy.add(sender)
      chosen.push(waiting)
      if (chosen.length === BUNDLE_OPERATIONS) break
    }
    return chosen
  }

  /** What comes before it may still be sent, but nobody waits for that for ever: it may have been dropped. */
  #behindGap(waiting: Waiting, ahead: bigint): void {
    const { operation } = waiting
    const before = this.#pool.rival({ ...waiting, operation: { ...operation, nonce: operation.nonce - 1n } })
    if (before !== null) return void this.#gaps.delete(waiting)
    const sinceMs = this.#gaps.get(waiting) ?? this.#now()
    this.#gaps.set(waiting, sinceMs)
    if (this.#now() - sinceMs < GAP_MS) return
    const message = `AA25 invalid account nonce: ${operation.nonce} is ${ahead} ahead of the account's, and nothing waits before it`
    this.#drop(waiting, refuse('account', message))
  }

  /** Its nonce is used: by itself, in a bundle that was thought lost, or by another one. */
  async #passed(waiting: Waiting): Promise<void> {
    const place = await placeOf(this.#node, [waiting.entryPoint], waiting.hash)
    const reason = 'AA25 invalid account nonce: another operation has used it meanwhile'
    if (place === null) return this.#drop(waiting, refuse('account', reason))
    const receipt = RECEIPT.parse(await this.#node.ask('eth_getTransactionReceipt', place), 'receipt')
    this.#pool.remove(waiting.hash)
    this.#events.included(waiting, place, includedIn(receipt.logs).get(waiting.hash) ?? false)
  }

  /** Runs the whole handleOps and leaves out whom the EntryPoint names, until it names nobody. */
  async #sound(entryPoint: EntryPoint, chosen: readonly Waiting[]): Promise<readonly Waiting[]> {
    let rest = chosen
    while (rest.length > 0) {
      const operations = rest.map(({ operation }) => operation)
      const overrides = together(...operations.map(delegating))
      const gas = bundleGas(entryPoint, operations)
      const failure = await this.#node.handleOps(entryPoint, operations, this.address, gas, overrides)
      if (failure === null) return rest
      const failed = (failure.index === null ? await this.#unsound(entryPoint, rest) : rest[failure.index]) ?? rest[rest.length - 1]
      if (failed === undefined) return []
      rest = rest.filter((each) => each !== failed)
      // Alone it may still be sound: what came before it in this bundle stood in its way.
      if (chosen.length === 1) this.#drop(failed, refusalFor(failure, failed.operation))
      else this.#failed(failed, refusalFor(failure, failed.operation))
    }
    return rest
  }

  /** When the EntryPoint names nobody, as when an account answers what is no answer: the one that does not go through alone. */
  async #unsound(entryPoint: EntryPoint, operations: readonly Waiting[]): Promise<Waiting | undefined> {
    for (const each of operations) {
      const { operation } = each
      const gas = bundleGas(entryPoint, [operation])
      if ((await this.#node.handleOps(entryPoint, [operation], this.address, gas, delegating(operation))) !== null) return each
    }
    return undefined
  }

  async #transaction(entryPoint: EntryPoint, chosen: readonly Waiting[]): Promise<Transaction> {
    const operations = chosen.map(({ operation }) => operation)
    const data = entryPoint.handleOps(operations, this.address)
    const authorizationList = authorizationsOf(operations)
    const [chainId, nonce] = await Promise.all([
      this.#node.chainId(),
      this.#node.quantity('eth_getTransactionCount', this.address, 'pending'),
    ])
    return Transaction.sign(
      {
        type: authorizationList.length === 0 ? 2 : 4,
        chainId,
        nonce,
        to: entryPoint.address,
        data,
        gas: bundleGas(entryPoint, operations, data.length),
        // No more than the least of them pays back.
        maxFeePerGas: least(operations.map(({ maxFeePerGas }) => maxFeePerGas)),
        maxPriorityFeePerGas: least(operations.map(({ maxPriorityFeePerGas }) => maxPriorityFeePerGas)),
        authorizationList,
      },
      this.#key,
    )
  }

  async #submit(transaction: Transaction, chosen: readonly Waiting[]): Promise<void> {
    try {
      await this.#node.ask('eth_sendRawTransaction', Hex.fromBytes(transaction.raw))
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      const balance = await this.#node.quantity('eth_getBalance', this.address, 'pending')
      const cost = transaction.gas * transaction.maxFeePerGas
      const reason =
        balance < cost
          ? refuse('server', poorMessage(this.address, balance, cost), { reason: 'bundler-unfunded', bundler: this.address })
          : refuse('server', `the node refused the bundle: ${error.message}`, { reason: 'bundle-refused' })
      for (const waiting of chosen) this.#failed(waiting, reason)
      throw reason
    }
  }

  // --- back ---------------------------------------------------------------------------------------------------------

  async #settle(): Promise<void> {
    for (const bundle of this.#out.values()) {
      const receipt = await this.#node.ask('eth_getTransactionReceipt', bundle.transaction.hash)
      if (receipt === null) await this.#push(bundle)
      else this.#landed(bundle, RECEIPT.parse(receipt, 'receipt'))
    }
  }

  #landed({ transaction, operations }: Bundle, receipt: ReturnType<typeof RECEIPT.parse>): void {
    this.#out.delete(transaction.hash)
    const included = includedIn(receipt.logs)
    for (const waiting of operations) {
      const success = included.get(waiting.hash)
      waiting.bundle = null
      if (success === undefined) this.#failed(waiting, refuse('account', `the bundle ${transaction.hash} was included and failed`))
      else {
        this.#pool.remove(waiting.hash)
        this.#events.included(waiting, transaction.hash, success)
      }
    }
  }

  /** What is gone waits again; what nobody has included for long is offered again, at a higher price. */
  async #push(bundle: Bundle): Promise<void> {
    const { transaction, operations, sentMs } = bundle
    const ageMs = this.#now() - sentMs
    if (ageMs < LOST_MS) return
    if ((await this.#node.ask('eth_getTransactionByHash', transaction.hash)) === null) return this.#lost(bundle)
    if (ageMs < STUCK_MS) return
    this.#out.delete(transaction.hash)
    const dearer = this.#dearer(transaction)
    const sent = await this.#node.ask('eth_sendRawTransaction', Hex.fromBytes(dearer.raw)).then(
      () => dearer,
      () => transaction,
    )
    for (const waiting of operations) waiting.bundle = sent.hash
    this.#out.set(sent.hash, { transaction: sent, operations, sentMs: this.#now() })
  }

  #dearer(transaction: Transaction): Transaction {
    const { maxFeePerGas, maxPriorityFeePerGas } = transaction
    const fees = { maxFeePerGas: raised(maxFeePerGas), maxPriorityFeePerGas: raised(maxPriorityFeePerGas) }
    return Transaction.sign({ ...transaction, type: transaction.type === 4 ? 4 : 2, ...fees }, this.#key)
  }

  /** The pool has thrown it out, or time has gone back. */
  #lost({ transaction, operations }: Bundle): void {
    this.#out.delete(transaction.hash)
    for (const waiting of operations) {
      waiting.bundle = null
      this.#failed(waiting, refuse('server', `the bundle ${transaction.hash} was lost`))
    }
  }

  #failed(waiting: Waiting, reason: RpcError): void {
    waiting.attempts += 1
    if (waiting.attempts >= ATTEMPTS) this.#drop(waiting, reason)
  }

  #drop(waiting: Waiting, reason: RpcError): void {
    this.#pool.remove(waiting.hash)
    this.#events.dropped(waiting, reason)
  }
}

function early({ operation: { sender, authorization } }: Waiting): RpcError {
  return refuse(
    'invalid',
    `invalid eip7702Auth: its nonce is ${authorization?.nonce}, and the chain took back what ${sender} had sent before it`,
  )
}

/** A bundle with it would fail for all that are in it, though simulations that put the code in place go through. */
function spent({ operation: { sender, authorization } }: Waiting): RpcError {
  return refuse('invalid', `invalid eip7702Auth: ${sender} has used nonce ${authorization?.nonce} for something else meanwhile`)
}

const RECEIPT = schema.object({ status: schema.maybe(schema.quantity), logs: schema.anything })

function fits(entryPoint: EntryPoint, chosen: readonly Waiting[]): boolean {
  const operations = chosen.map(({ operation }) => operation)
  const bytes = operations.reduce((sum, operation) => sum + 700 + sizeOf(operation), 100)
  return bytes <= BUNDLE_BYTES && bundleGas(entryPoint, operations, bytes) <= BUNDLE_GAS
}

function sizeOf({ callData, factoryData, paymasterData, signature }: UserOperation): number {
  return callData.length + factoryData.length + paymasterData.length + signature.length
}

/** One for each account. */
function authorizationsOf(operations: readonly UserOperation[]): readonly Authorization[] {
  const bySender = new Map(
    operations.flatMap(({ sender, authorization }) => (authorization === null ? [] : [[sender, authorization] as const])),
  )
  return [...bySender.values()]
}

function least(values: readonly bigint[]): bigint {
  return values.reduce((low, value) => (value < low ? value : low))
}

/** Pools want a tenth more to replace a transaction. */
function raised(fee: bigint): bigint {
  return (fee * 5n) / 4n + 1n
}

export function poorMessage(bundler: Address, balance: bigint, cost: bigint): string {
  return `the bundler's account ${bundler} has ${balance} wei on this chain, and a bundle may cost ${cost} wei: send it some ether`
}
