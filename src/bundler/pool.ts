import type { Address, Hash, UserOperation } from '../eth/index.ts'
import type { RpcError } from '../jsonrpc/index.ts'
import type { Codes } from './codes.ts'
import { refuse } from './errors.ts'
import { OPERATIONS_PER_SENDER, POOL_OPERATIONS, REPLACEMENT_PERCENT, UNSTAKED_SENDER_OPERATIONS } from './limits.ts'
import { entitiesOf } from './reputation.ts'
import type { AccountableOperation } from './reputation.ts'
import type { Candidate } from './validation.ts'

/** A user operation that was accepted and is in no block yet. */
export interface PooledOperation extends Candidate, AccountableOperation {
  /** ascending in the order of arrival */
  readonly id: number
  readonly operation: UserOperation
  /** the transaction that contains it; `null` before it is sent */
  bundle: Hash | null
  /** the number of its bundles that failed */
  attempts: number
  /** why the last of them failed */
  failure: RpcError | null
  /** hashes of the code that ran in its validation; without the rules of ERC-7562 only that of an account that delegates */
  readonly codes: Codes
  /** the bundler pays for it */
  readonly isBoosted: boolean
  /** the paymaster's deposit covered it besides the operations before it */
  readonly isDepositChecked: boolean
}

/** The result of a validation. */
export type Admission = Pick<PooledOperation, 'codes' | 'hasStakedSender' | 'isBoosted' | 'isDepositChecked'>

/** The bundler's mempool, in the order of arrival. */
export class Pool {
  readonly #byHash = new Map<Hash, PooledOperation>()
  readonly #byNonce = new Map<string, PooledOperation>()
  #nextId = 1

  get size(): number {
    return this.#byHash.size
  }

  get(hash: Hash): PooledOperation | null {
    return this.#byHash.get(hash) ?? null
  }

  all(): readonly PooledOperation[] {
    return [...this.#byHash.values()]
  }

  /** Returns the pooled operation with the same sender and nonce. */
  withSameNonce({ entryPoint, operation }: Candidate): PooledOperation | null {
    return this.#byNonce.get(nonceKey(entryPoint.address, operation)) ?? null
  }

  /** Returns whether the pool has all operations between the account's nonce and this one, which is `ahead` of it. */
  hasPredecessors({ entryPoint, operation }: Candidate, ahead: bigint): boolean {
    for (let i = 1n; i <= ahead; i++)
      if (!this.#byNonce.has(nonceKey(entryPoint.address, { ...operation, nonce: operation.nonce - i }))) return false
    return true
  }

  /** Throws RpcError -32602 unless the operation fits into the pool or replaces the one with its nonce. */
  assertAcceptable(candidate: Candidate): void {
    if (this.#byHash.has(candidate.hash)) throw refuse('invalid', `Already known: ${candidate.hash}`, { userOpHash: candidate.hash })
    const existing = this.withSameNonce(candidate)
    if (existing !== null) return assertReplaces(candidate.operation, existing)
    if (this.size >= POOL_OPERATIONS) throw refuse('server', `${this.size} operations wait already, which is the limit; try again later`)
    const { sender } = candidate.operation
    const own = this.#countOf(sender)
    if (own >= OPERATIONS_PER_SENDER)
      throw refuse(
        'invalid',
        `${sender} has ${own} operations waiting, at most ${OPERATIONS_PER_SENDER} are kept; send it when some are included`,
      )
  }

  /** STO-040: a paymaster or factory of a pooled operation is not the sender of another. Throws RpcError -32502. */
  assertRoles(operation: UserOperation): void {
    const helpers = helpersOf(operation)
    for (const { operation: other } of this.all()) {
      if (helpers.includes(other.sender)) throw twoRoles(other.sender, 'sender')
      if (helpersOf(other).includes(operation.sender)) throw twoRoles(operation.sender, 'different')
    }
  }

  /** AUTH-040: the authorizations of a sender's operations have the same delegate. Throws RpcError -32502. */
  assertDelegate(candidate: Candidate): void {
    const { sender, authorization } = candidate.operation
    if (authorization === null) return
    const replaced = this.withSameNonce(candidate)
    for (const each of this.all()) {
      const other = each.operation.authorization
      if (each === replaced || each.operation.sender !== sender || other === null || other.address === authorization.address) continue
      throw refuse(
        'rule',
        `${sender} delegates to ${other.address} in another operation that waits, and to ${authorization.address} in this one (AUTH-040 of ERC-7562); send it when that one is included`,
        { rule: 'AUTH-040', account: sender },
      )
    }
  }

  /** UREP-010: the operations of a sender without a stake. Throws RpcError -32505. */
  assertSenderCount(candidate: Candidate): void {
    const { sender } = candidate.operation
    if (this.withSameNonce(candidate) !== null || this.#countOf(sender) < UNSTAKED_SENDER_OPERATIONS) return
    throw refuse(
      'stake',
      `account ${sender} has ${UNSTAKED_SENDER_OPERATIONS} operations waiting, the most without a stake (UREP-010 of ERC-7562); send it when one is included`,
      { rule: 'UREP-010', account: sender },
    )
  }

  #countOf(sender: Address): number {
    return this.all().filter(({ operation }) => operation.sender === sender).length
  }

  /** Replaces the operation with the same nonce. */
  add(candidate: Candidate, admission: Admission): void {
    const existing = this.withSameNonce(candidate)
    if (existing !== null) this.remove(existing.hash)
    const pooled: PooledOperation = { ...candidate, ...admission, id: this.nextId(), bundle: null, attempts: 0, failure: null }
    this.#byHash.set(candidate.hash, pooled)
    this.#byNonce.set(nonceKey(candidate.entryPoint.address, candidate.operation), pooled)
  }

  /** Ids grow with the order of arrival. */
  nextId(): number {
    return this.#nextId++
  }

  remove(hash: Hash): void {
    const pooled = this.#byHash.get(hash)
    if (pooled === undefined) return
    this.#byHash.delete(hash)
    this.#byNonce.delete(nonceKey(pooled.entryPoint.address, pooled.operation))
  }

  clear(): void {
    this.#byHash.clear()
    this.#byNonce.clear()
  }

  countByEntity(entity: Address): number {
    return this.all().filter((each) => entitiesOf(each).includes(entity)).length
  }

  ofPaymaster(paymaster: Address, entryPoint: Address): readonly PooledOperation[] {
    return this.all().filter((each) => each.entryPoint.address === entryPoint && each.operation.paymaster === paymaster)
  }
}

function twoRoles(entity: Address, role: 'sender' | 'different'): RpcError {
  const message = `${entity} is used as a ${role} entity in another UserOperation currently in mempool (STO-040 of ERC-7562); send it when that one is included`
  return refuse('rule', message, { rule: 'STO-040' })
}

function helpersOf(operation: UserOperation): readonly Address[] {
  return entitiesOf({ operation, hasStakedSender: false })
}

/** Operations of one account and nonce key run in order; each EntryPoint has nonces of its own. */
export function nonceSequence({ entryPoint, operation: { sender, nonce } }: Candidate): string {
  return `${entryPoint.address} ${sender} ${nonce >> 64n}`
}

/** Returns the sequences of the operations in sent bundles: later operations of the same sequence wait. */
export function busySequences(operations: readonly PooledOperation[]): ReadonlySet<string> {
  return new Set(operations.filter(({ bundle }) => bundle !== null).map(nonceSequence))
}

function nonceKey(entryPoint: Address, { sender, nonce }: UserOperation): string {
  return `${entryPoint} ${sender} ${nonce}`
}

function assertReplaces(operation: UserOperation, existing: PooledOperation): void {
  if (existing.bundle !== null)
    throw refuse('invalid', `the operation ${existing.hash} with this nonce was sent in ${existing.bundle} and cannot be replaced any more`)
  for (const fee of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
    const required = (existing.operation[fee] * (100n + REPLACEMENT_PERCENT) + 99n) / 100n
    if (operation[fee] < required)
      throw refuse(
        'invalid',
        `replacement underpriced: ${fee} is ${operation[fee]} wei and must be at least ${required} to replace ${existing.hash}`,
      )
  }
}
