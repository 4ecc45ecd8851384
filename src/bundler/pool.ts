import type { Address, Hash, UserOperation } from '../eth/index.ts'
import { refuse } from './errors.ts'
import { OPERATIONS_PER_SENDER, POOL_OPERATIONS, REPLACEMENT_PERCENT } from './limits.ts'
import { entitiesOf } from './reputation.ts'
import type { Candidate, Codes } from './validation.ts'

/** An operation that was accepted and is in no block yet. */
export interface Waiting extends Candidate {
  /** the bundle that it went out in; null: it waits */
  bundle: Hash | null
  /** bundles with it that failed as a whole */
  attempts: number
  /** what ran when it was checked; empty where the rules are switched off */
  readonly codes: Codes
}

/** What waits, in the order in which it came. */
export class Pool {
  readonly #byHash = new Map<Hash, Waiting>()
  readonly #bySlot = new Map<string, Waiting>()

  get size(): number {
    return this.#byHash.size
  }

  get(hash: Hash): Waiting | null {
    return this.#byHash.get(hash) ?? null
  }

  all(): readonly Waiting[] {
    return [...this.#byHash.values()]
  }

  /** What holds the same nonce of the same account. */
  rival({ entryPoint, operation }: Candidate): Waiting | null {
    return this.#bySlot.get(slotOf(entryPoint.address, operation)) ?? null
  }

  /** Throws RpcError -32602 unless it may come in, or in the place of what has its nonce. */
  assertRoom(candidate: Candidate): void {
    if (this.#byHash.has(candidate.hash)) throw refuse('invalid', `already known: ${candidate.hash}`, { userOpHash: candidate.hash })
    const rival = this.rival(candidate)
    if (rival !== null) return assertBetter(candidate.operation, rival)
    if (this.size >= POOL_OPERATIONS)
      throw refuse('server', `${this.size} operations wait already, which is all there is room for; try again later`)
    const { sender } = candidate.operation
    const own = this.all().filter(({ operation }) => operation.sender === sender).length
    if (own >= OPERATIONS_PER_SENDER)
      throw refuse(
        'invalid',
        `${sender} has ${own} operations waiting, at most ${OPERATIONS_PER_SENDER} are kept; send it when some are included`,
      )
  }

  /** STO-040: who pays for others, or makes them, sends nothing itself meanwhile. Throws RpcError -32502. */
  assertRoles(operation: UserOperation): void {
    const entities = entitiesOf(operation)
    for (const { operation: other } of this.all()) {
      const both = entities.includes(other.sender) ? other.sender : entitiesOf(other).includes(operation.sender) ? operation.sender : null
      if (both !== null)
        throw refuse(
          'rule',
          `${both} is the sender of one operation and the paymaster or factory of another that waits (STO-040 of ERC-7562)`,
          {
            rule: 'STO-040',
          },
        )
    }
  }

  /** Answers what it took the place of. */
  add(candidate: Candidate, codes: Codes): Waiting | null {
    const rival = this.rival(candidate)
    if (rival !== null) this.remove(rival.hash)
    const waiting: Waiting = { ...candidate, bundle: null, attempts: 0, codes }
    this.#byHash.set(candidate.hash, waiting)
    this.#bySlot.set(slotOf(candidate.entryPoint.address, candidate.operation), waiting)
    return rival
  }

  remove(hash: Hash): void {
    const waiting = this.#byHash.get(hash)
    if (waiting === undefined) return
    this.#byHash.delete(hash)
    this.#bySlot.delete(slotOf(waiting.entryPoint.address, waiting.operation))
  }

  clear(): void {
    this.#byHash.clear()
    this.#bySlot.clear()
  }

  waitingOf(entity: Address): number {
    return this.all().filter(({ operation }) => entitiesOf(operation).includes(entity)).length
  }

  /** wei that a paymaster would owe for all that waits, but for one that is replaced. */
  owedBy(paymaster: Address, entryPoint: Address, except: Candidate): bigint {
    const rival = this.rival(except)
    return this.all()
      .filter((each) => each !== rival && each.entryPoint.address === entryPoint && each.operation.paymaster === paymaster)
      .reduce((sum, each) => sum + each.entryPoint.prefundGas(each.operation) * each.operation.maxFeePerGas, 0n)
  }
}

function slotOf(entryPoint: Address, { sender, nonce }: UserOperation): string {
  return `${entryPoint} ${sender} ${nonce}`
}

function assertBetter(operation: UserOperation, rival: Waiting): void {
  if (rival.bundle !== null)
    throw refuse('invalid', `the operation ${rival.hash} with this nonce is on its way in ${rival.bundle} and cannot be replaced any more`)
  for (const fee of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
    const least = (rival.operation[fee] * (100n + REPLACEMENT_PERCENT) + 99n) / 100n
    if (operation[fee] < least)
      throw refuse(
        'invalid',
        `replacement underpriced: ${fee} is ${operation[fee]} wei and must be at least ${least} to replace ${rival.hash}`,
      )
  }
}
