import { describe, expect, test } from 'vitest'
import { Address, Hash, Transaction } from '../../eth/index.ts'
import type { TransactionFields } from '../../eth/index.ts'
import { below, random } from '../chain.fixture.ts'
import { POOL_BYTES, POOL_TRANSACTIONS, POOL_TRANSACTIONS_PER_SENDER } from '../limits.ts'
import { Mempool, PoolError } from './mempool.ts'
import type { PoolErrorCode } from './mempool.ts'
import { effectiveTip } from './besttransactions.ts'
import type { PoolOrder } from './besttransactions.ts'

const SENDERS = Array.from({ length: 5 }, (_, index) => Address.fromBigint(0xa000n + BigInt(index)))
const ALICE = SENDERS[0]!
const BOB = SENDERS[1]!

function tx(nonce: number, fields: TransactionFields = {}, from = ALICE): Transaction {
  return Transaction.unsigned({ nonce: BigInt(nonce), gas: 21_000n, maxFeePerGas: 100n, maxPriorityFeePerGas: 10n, ...fields }, from)
}

/** Account nonces are 0 unless the test sets them. */
function poolOf(order: PoolOrder = 'fees'): { pool: Mempool; nonces: Map<Address, bigint>; announced: Transaction[] } {
  const nonces = new Map<Address, bigint>()
  const pool = new Mempool((address) => nonces.get(address) ?? 0n, order)
  const announced: Transaction[] = []
  pool.subscribe((transaction) => announced.push(transaction))
  return { pool, nonces, announced }
}

function walk(pool: Mempool, baseFee = 0n): Transaction[] {
  return [...pool.bestTransactions({ baseFeePerGas: baseFee, blobBaseFee: 0n })]
}

function refusal(run: () => void): PoolError {
  try {
    run()
  } catch (error) {
    if (error instanceof PoolError) return error
    throw error
  }
  throw new Error('was not refused')
}

describe('nonce queues', () => {
  test('transactions behind a nonce gap are not executable until it is filled', () => {
    const { pool } = poolOf()
    const [zero, one, two, four] = [tx(0), tx(1), tx(2), tx(4)]
    for (const each of [two, four, zero]) pool.add(each)
    expect(walk(pool)).toEqual([zero])
    expect(pool.status()).toEqual({ pending: 1, queued: 2 })
    pool.add(one)
    expect(walk(pool)).toEqual([zero, one, two])
    expect(pool.content()).toEqual({ pending: new Map([[ALICE, [zero, one, two]]]), queued: new Map([[ALICE, [four]]]) })
    expect(pool.nextNonce(ALICE, 0n)).toBe(3n)
    expect(pool.nextNonce(BOB, 7n)).toBe(7n)
  })

  test('each transaction is announced once, when it becomes executable', () => {
    const { pool, announced } = poolOf()
    const [zero, one, two, four] = [tx(0), tx(1), tx(2), tx(4)]
    pool.add(two)
    pool.add(one)
    pool.add(four)
    expect(announced).toEqual([])
    pool.add(zero)
    expect(announced).toEqual([zero, one, two])
    const dearer = tx(0, { maxFeePerGas: 200n, maxPriorityFeePerGas: 20n })
    pool.add(dearer)
    expect(announced).toEqual([zero, one, two, dearer])
  })

  test('prune removes included transactions and all lower nonces of their senders', () => {
    const { pool, nonces } = poolOf()
    const [zero, one, two, bobs] = [tx(0), tx(1), tx(2), tx(0, {}, BOB)]
    for (const each of [zero, one, two, bobs]) pool.add(each)
    nonces.set(ALICE, 2n)
    pool.prune([one])
    expect(pool.all()).toEqual([two, bobs])
    expect([zero, one].map(({ hash }) => pool.has(hash))).toEqual([false, false])
    expect(walk(pool)).toEqual([two, bobs])
  })

  test('a nonce used without a transaction is pruned too, and the next one is announced', () => {
    const { pool, nonces, announced } = poolOf()
    const [zero, two, three] = [tx(0), tx(2), tx(3)]
    for (const each of [zero, two, three]) pool.add(each)
    nonces.set(ALICE, 2n)
    pool.prune([], [ALICE, BOB])
    expect(pool.all()).toEqual([two, three])
    expect(announced).toEqual([zero, two, three])
    pool.prune([], [ALICE])
    expect(announced).toHaveLength(3)
  })

  test('prune drops what blocks refused, unless one of them included it', () => {
    const { pool } = poolOf()
    const [included, unpayable] = [tx(0), tx(0, {}, BOB)]
    for (const each of [included, unpayable]) pool.add(each)
    const dropped: Transaction[] = []
    pool.observer = { added: () => undefined, dropped: (each) => dropped.push(each) }
    pool.prune([included], [], [included, unpayable])
    expect(pool.size).toBe(0)
    expect(dropped).toEqual([unpayable])
  })

  test('one transaction, a sender’s, or all can be dropped', () => {
    const { pool } = poolOf()
    const [zero, one, bobs] = [tx(0), tx(1), tx(0, {}, BOB)]
    for (const each of [zero, one, bobs]) pool.add(each)
    expect(pool.drop(zero.hash)).toBe(true)
    expect(pool.drop(zero.hash)).toBe(false)
    expect(pool.get(one.hash)).toBe(one)
    expect(walk(pool)).toEqual([bobs])
    expect(pool.dropSender(ALICE)).toBe(1)
    expect(pool.dropSender(ALICE)).toBe(0)
    expect(pool.all()).toEqual([bobs])
    pool.dropAll()
    expect(pool.size).toBe(0)
    expect(pool.get(bobs.hash)).toBeNull()
  })

  test('restore leaves out used nonces, takes more than the limit, and still notifies the observer', () => {
    const { pool, nonces } = poolOf()
    const many = Array.from({ length: POOL_TRANSACTIONS_PER_SENDER }, (_, nonce) => tx(nonce + 1))
    for (const each of many) pool.add(each)
    pool.reinsert([tx(0)])
    const former = pool.all()
    const dropped: Hash[] = []
    pool.observer = { added: () => undefined, dropped: ({ hash }) => dropped.push(hash) }
    pool.restore(former)
    expect([pool.all(), dropped]).toEqual([former, []])
    nonces.set(ALICE, 1n)
    pool.restore(former)
    expect([pool.all(), dropped]).toEqual([many, [former[0]!.hash]])
    pool.drop(many[0]!.hash)
    expect(dropped).toEqual([former[0]!.hash, many[0]!.hash])
  })

  test('restore replaces the contents and announces only transactions that were not in the pool', () => {
    const { pool, announced } = poolOf()
    const [stays, gone, comes, waits] = [tx(0), tx(0, {}, BOB), tx(1), tx(3)]
    for (const each of [stays, gone, waits]) pool.add(each)
    pool.restore([comes, waits, stays])
    expect(pool.all()).toEqual([comes, waits, stays])
    expect(announced).toEqual([stays, gone, comes])
    pool.add(tx(2))
    expect(announced.map(({ nonce }) => nonce)).toEqual([0n, 0n, 1n, 2n, 3n])
  })

  test('dropping a transaction leaves a nonce gap until another one fills it', () => {
    const { pool, announced } = poolOf()
    const row = [0, 1, 2, 3].map((nonce) => tx(nonce))
    for (const each of row) pool.add(each)
    expect(pool.nextNonce(ALICE, 0n)).toBe(4n)
    pool.drop(row[1]!.hash)
    expect(pool.nextNonce(ALICE, 0n)).toBe(1n)
    expect(pool.status()).toEqual({ pending: 1, queued: 2 })
    pool.add(tx(1, { value: 1n }))
    expect(pool.nextNonce(ALICE, 0n)).toBe(4n)
    expect(announced.map(({ nonce }) => nonce)).toEqual([0n, 1n, 2n, 3n, 1n])
  })

  test('the transactions of a discarded block are reinserted in front, unannounced', () => {
    const { pool, announced } = poolOf('fifo')
    const [zero, one, bobs, late] = [tx(0), tx(1), tx(0, {}, BOB), tx(0, {}, SENDERS[2])]
    for (const each of [zero, one, bobs]) pool.add(each)
    pool.dropAll()
    pool.add(late)
    const other = tx(1, { value: 5n })
    pool.add(other)
    const count = announced.length
    pool.reinsert([zero, one, bobs])
    expect(walk(pool)).toEqual([zero, bobs, late, other])
    expect(pool.has(one.hash)).toBe(false)
    expect(announced).toHaveLength(count)
  })
})

describe('order', () => {
  test('the effective tip is limited by the fee cap above the base fee', () => {
    const { pool } = poolOf()
    const capped = tx(0, { maxFeePerGas: 60n, maxPriorityFeePerGas: 50n })
    const modest = tx(0, { maxFeePerGas: 1_000n, maxPriorityFeePerGas: 20n }, BOB)
    pool.add(capped)
    pool.add(modest)
    expect(walk(pool, 0n)).toEqual([capped, modest])
    expect(walk(pool, 50n)).toEqual([modest, capped])
    expect([effectiveTip(capped, 50n), effectiveTip(modest, 50n)]).toEqual([10n, 20n])
  })

  test('a transaction below the base fee stays in the pool, with all that follow it', () => {
    const { pool } = poolOf()
    const [zero, cheap, two] = [tx(0), tx(1, { maxFeePerGas: 49n }), tx(2)]
    for (const each of [zero, cheap, two]) pool.add(each)
    expect(walk(pool, 50n)).toEqual([zero])
    expect(walk(pool, 49n)).toEqual([zero, cheap, two])
  })

  test('fifo selects in arrival order', () => {
    const { pool } = poolOf('fifo')
    const [first, dearer, second] = [tx(0), tx(0, { maxPriorityFeePerGas: 90n }, BOB), tx(1)]
    for (const each of [first, dearer, second]) pool.add(each)
    expect(walk(pool)).toEqual([first, dearer, second])
  })

  test('a popped sender is left out of this iteration only', () => {
    const { pool } = poolOf()
    const [zero, one, bobs] = [tx(0, { maxPriorityFeePerGas: 90n }), tx(1), tx(0, {}, BOB)]
    for (const each of [zero, one, bobs]) pool.add(each)
    const selection = pool.bestTransactions({ baseFeePerGas: 0n, blobBaseFee: 0n })
    expect(selection.peek()).toBe(zero)
    selection.pop()
    expect(selection.peek()).toBe(bobs)
    selection.shift()
    expect(selection.peek()).toBeNull()
    expect(walk(pool)[0]).toBe(zero)
  })

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('agrees with a model that compares all pairs (seed %i)', (seed) => {
    const next = random(seed)
    const { pool, nonces } = poolOf()
    const model: Transaction[] = []
    for (let step = 0; step < 150; step++) {
      const from = SENDERS[below(next, SENDERS.length)]!
      const maxFeePerGas = BigInt(20 + below(next, 60))
      const candidate = tx(
        below(next, 12),
        { maxFeePerGas, maxPriorityFeePerGas: BigInt(below(next, Number(maxFeePerGas))), value: BigInt(step) },
        from,
      )
      addToBoth(pool, model, candidate)
      if (next() < 0.1) pool.drop(model.splice(below(next, model.length), 1)[0]!.hash)
      for (const sender of SENDERS) expect(pool.nextNonce(sender, nonces.get(sender) ?? 0n)).toBe(modelNonce(model, sender, nonces))
      if (step % 10 !== 9) continue
      const baseFee = BigInt(below(next, 50))
      const expected = modelWalk(model, nonces, baseFee)
      expect(walk(pool, baseFee)).toEqual(expected)
      const included = expected.slice(0, below(next, 4))
      for (const each of included) nonces.set(each.from, each.nonce + 1n)
      pool.prune(included)
      const stays = model.filter((each) => each.nonce >= (nonces.get(each.from) ?? 0n))
      model.splice(0, model.length, ...stays)
      expect(pool.all()).toEqual(model)
    }
  })
})

/** The model keeps arrival order; a replacement takes the position of the replaced transaction. */
function addToBoth(pool: Mempool, model: Transaction[], candidate: Transaction): void {
  const place = model.findIndex((each) => each.from === candidate.from && each.nonce === candidate.nonce)
  try {
    pool.add(candidate)
  } catch (error) {
    if (error instanceof PoolError) return
    throw error
  }
  if (place < 0) model.push(candidate)
  else model[place] = candidate
}

function modelNonce(model: readonly Transaction[], sender: Address, nonces: ReadonlyMap<Address, bigint>): bigint {
  let nonce = nonces.get(sender) ?? 0n
  while (model.some((each) => each.from === sender && each.nonce === nonce)) nonce++
  return nonce
}

function modelWalk(model: readonly Transaction[], accountNonces: ReadonlyMap<Address, bigint>, baseFee: bigint): Transaction[] {
  const nonces = new Map(accountNonces)
  const order: Transaction[] = []
  for (;;) {
    const candidates = model.filter((each) => each.nonce === (nonces.get(each.from) ?? 0n) && each.maxFeePerGas >= baseFee)
    let best: Transaction | null = null
    for (const each of candidates) if (best === null || effectiveTip(each, baseFee) > effectiveTip(best, baseFee)) best = each
    if (best === null) return order
    order.push(best)
    nonces.set(best.from, best.nonce + 1n)
  }
}

describe('replacement', () => {
  const old = { maxFeePerGas: 1_000n, maxPriorityFeePerGas: 100n }

  test('requires 10 % more of both fees, to the wei', () => {
    const { pool } = poolOf()
    const first = tx(0, old)
    pool.add(first)
    for (const fees of [
      { maxFeePerGas: 1_099n, maxPriorityFeePerGas: 110n },
      { maxFeePerGas: 1_100n, maxPriorityFeePerGas: 109n },
      { maxFeePerGas: 9_000n, maxPriorityFeePerGas: 100n },
    ]) {
      expect(refusal(() => pool.add(tx(0, fees)))).toMatchObject({
        code: 'replacement-underpriced',
        message: 'replacement transaction underpriced',
      })
      expect(pool.all()).toEqual([first])
    }
    const replacement = tx(0, { maxFeePerGas: 1_100n, maxPriorityFeePerGas: 110n })
    pool.add(replacement)
    expect(pool.all()).toEqual([replacement])
    expect(pool.has(first.hash)).toBe(false)
  })

  test('rounds against the replacement', () => {
    const { pool } = poolOf()
    pool.add(tx(0, { maxFeePerGas: 15n, maxPriorityFeePerGas: 15n }))
    expect(refusal(() => pool.add(tx(0, { maxFeePerGas: 16n, maxPriorityFeePerGas: 16n }))).code).toBe('replacement-underpriced')
    pool.add(tx(0, { maxFeePerGas: 17n, maxPriorityFeePerGas: 17n }))
    expect(pool.size).toBe(1)
  })

  test('keeps the arrival number of the replaced transaction', () => {
    const { pool } = poolOf('fifo')
    pool.add(tx(0, old))
    const bobs = tx(0, {}, BOB)
    pool.add(bobs)
    const replacement = tx(0, { maxFeePerGas: 2_000n, maxPriorityFeePerGas: 200n })
    pool.add(replacement)
    expect(walk(pool)).toEqual([replacement, bobs])
  })
})

describe('refusals', () => {
  test('have a code and the message that clients match, and change nothing', () => {
    const { pool, nonces } = poolOf()
    nonces.set(ALICE, 5n)
    const known = tx(5)
    pool.add(known)
    const cases: readonly [Transaction, PoolErrorCode, string][] = [
      [known, 'already-known', 'already known'],
      [tx(4), 'nonce-too-low', 'nonce too low: next nonce 5, tx nonce 4'],
      [tx(5, { value: 1n }), 'replacement-underpriced', 'replacement transaction underpriced'],
    ]
    for (const [transaction, code, message] of cases) {
      expect(refusal(() => pool.add(transaction))).toMatchObject({ name: 'PoolError', code, message })
      expect(pool.all()).toEqual([known])
    }
  })

  test('the pool has a limit in bytes', () => {
    const { pool } = poolOf()
    const large = (nonce: number, values: TransactionFields = {}) => ({ ...tx(nonce, values), raw: new Uint8Array(2 ** 20) })
    const most = POOL_BYTES / 2 ** 20
    for (let nonce = 0; nonce < most; nonce++) pool.add(large(nonce))
    expect(refusal(() => pool.add(tx(most)))).toMatchObject({
      code: 'pool-full',
      message: `txpool is full: it holds its limit of ${POOL_BYTES} bytes of transactions; mine some or drop some`,
    })
    const [first] = pool.all()
    pool.add(large(1, { maxFeePerGas: 200n, maxPriorityFeePerGas: 20n }))
    pool.drop(first!.hash)
    expect(pool.sizeBytes).toBe(POOL_BYTES - 2 ** 20)
    pool.add(tx(most))
    pool.dropAll()
    expect(pool.sizeBytes).toBe(0)
  })

  test('a sender has a limit, and the pool has one; a replacement needs no space', () => {
    const { pool } = poolOf()
    const template = tx(0)
    // Only the fields that the pool reads, which saves 10,000 keccaks.
    const numbered = (nonce: number, from: Address): Transaction => ({
      ...template,
      from,
      nonce: BigInt(nonce),
      hash: Hash.fromBigint((Address.toBigint(from) << 32n) + BigInt(nonce)),
    })
    const perSender = POOL_TRANSACTIONS_PER_SENDER
    for (let nonce = 0; nonce < perSender; nonce++) pool.add(numbered(nonce, ALICE))
    expect(refusal(() => pool.add(numbered(perSender, ALICE)))).toMatchObject({
      code: 'pool-full',
      message: `txpool is full: this sender has its limit of ${perSender}`,
    })
    const others = POOL_TRANSACTIONS / perSender
    for (let sender = 1; sender < others; sender++)
      for (let nonce = 0; nonce < perSender; nonce++) pool.add(numbered(nonce, SENDERS[sender]!))
    expect(refusal(() => pool.add(numbered(0, SENDERS[others]!)))).toMatchObject({
      code: 'pool-full',
      message: `txpool is full: it holds its limit of ${POOL_TRANSACTIONS} transactions`,
    })
    pool.add(tx(3, { maxFeePerGas: 200n, maxPriorityFeePerGas: 20n }))
    expect(pool.size).toBe(POOL_TRANSACTIONS)
  })
})
