import * as fc from 'fast-check'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPocketchain } from '../index.ts'
import { JsonRecords, memoryRecords } from '../jsonrpc/index.ts'
import { CHAIN, DAY, FOREIGN, NOON, PAYMASTER, account, input, block, charge, granted, hashOf } from './ledger.fixture.ts'
import { loggedRecords, pictureOf, policyOf, recordsAfter, terms } from './ledger.fixture.ts'
import { UnreadableLedger } from './format.ts'
import { Ledger } from './ledger.ts'
import type { Entry } from './ledger.ts'
import { ENTRY_CALLS, OPEN_ENTRIES, PAGE_ENTRIES, REFUSALS, REFUSAL_CHARS, REFUSAL_REASONS, SIGNED_HASHES } from './limits.ts'
import { refusal } from './policy.ts'
import { parsePolicies } from './policyschema.ts'
import type { Policy } from './policy.ts'

const sealed = (number: number, timestamp: number) => ({ number, hash: block(number), timestamp })
const [ANY] = policyOf() as [Policy]

function stateOf(ledger: Ledger, { id }: Entry): Entry | undefined {
  return ledger.entries().entries.find((entry) => entry.id === id)
}

describe('a reservation', () => {
  it('is stored before it is returned', () => {
    const records = loggedRecords()
    const entry = granted(new Ledger(records), policyOf({ total: '10' }), { calls: [{ to: FOREIGN, value: 7n, selector: null }] })
    expect(records.puts.map(([key]) => key)).toEqual(['sponsor/format', 'sponsor/entry/000000000001'])
    const [again] = new Ledger(recordsAfter(records.puts, 2)).entries().entries
    expect(again).toEqual(entry)
    expect(entry).toMatchObject({ state: 'reserved', policy: 'p', paymaster: PAYMASTER, maxCost: 10n, cost: null, validUntil: NOON + 300 })
  })

  it('reserves the highest cost: a budget for 10 grants 10 of 100 requests', () => {
    const ledger = new Ledger(memoryRecords())
    const policies = policyOf({ total: '100' })
    const answers = Array.from({ length: 100 }, (_, i) => ledger.reserve(policies, input({ sender: account(i) }), terms()))
    expect(answers.filter(({ isGranted }) => isGranted)).toHaveLength(10)
    expect(answers[10]).toMatchObject({ isGranted: false, reason: 'total', policy: 'p' })
    expect(ledger.budget(policies[0]!, NOON)).toEqual({ reserved: 100n, settled: 0n, today: 100n, users: 10, left: 0n })
    expect(ledger.reservedOf(PAYMASTER)).toBe(100n)
  })

  it('of a nonce counts once, at the highest signed cost', () => {
    const ledger = new Ledger(memoryRecords())
    const policies = policyOf({ total: '10', perDay: '10', perUser: '10' })
    const first = granted(ledger, policies, { maxCost: 4n }, { userOpHash: hashOf('a') })
    const second = granted(ledger, policies, { maxCost: 10n }, { userOpHash: hashOf('b'), validUntil: NOON + 900 })
    expect(second).toMatchObject({ id: first.id, maxCost: 10n, validUntil: NOON + 900, userOpHash: hashOf('b') })
    const third = granted(ledger, policies, { maxCost: 2n }, { userOpHash: hashOf('c') })
    expect(third).toMatchObject({ id: first.id, maxCost: 10n, validUntil: NOON + 900, signed: ['a', 'b', 'c'].map(hashOf) })
    expect(ledger.totals).toEqual({ reserved: 10n, settled: 0n })
    expect([input(), input({ nonce: 1n })].map((nonce) => ledger.reservedOf(PAYMASTER, nonce))).toEqual([0n, 10n])
    // The budget is exhausted, also for this account.
    expect(ledger.reserve(policies, input({ maxCost: 11n }), terms())).toMatchObject({ reason: 'per-user' })
    expect(ledger.reserve(policies, input({ nonce: 1n, maxCost: 1n }), terms())).toMatchObject({ isGranted: false })
    expect(ledger.decide(policies, input({ maxCost: null })).isGranted).toBe(true)
    expect(ledger.decide(policies, input({ maxCost: null, nonce: 1n })).isGranted).toBe(false)
  })

  it('of a nonce that is signed again the next day counts for that day', () => {
    const ledger = new Ledger(memoryRecords())
    const policies = policyOf({ perDay: '10' })
    granted(ledger, policies)
    expect(granted(ledger, policies, { now: NOON + DAY, nonce: 5n }).day).toBe(Math.floor(NOON / DAY) + 1)
    expect(ledger.reserve(policies, input({ now: NOON + DAY }), terms())).toMatchObject({ reason: 'per-day' })
    expect(ledger.budget(policies[0]!, NOON)).toMatchObject({ today: 10n, left: 0n })
    expect(ledger.budget(policies[0]!, NOON + 2 * DAY)).toMatchObject({ today: 0n, left: 10n })
  })

  it('is made by the first policy that grants, and each has its own budgets', () => {
    const ledger = new Ledger(memoryRecords())
    const policies = parsePolicies([
      { name: 'a', total: '15' },
      { name: 'b', perUser: '10' },
      { name: 'c', senders: [account(9)] },
    ])
    const names = [0, 1, 2].map((nonce) => {
      const answer = ledger.reserve(policies, input({ nonce: BigInt(nonce) }), terms())
      return answer.isGranted ? answer.policy.name : answer.reasons.map(({ reason }) => reason)
    })
    expect(names).toEqual(['a', 'b', ['total', 'per-user', 'sender']])
  })

  it('keeps the first calls of many, and the newest hashes', () => {
    const ledger = new Ledger(memoryRecords())
    const calls = Array.from({ length: ENTRY_CALLS + 5 }, (_, i) => ({ to: account(i), value: 0n, selector: null }))
    for (let i = 0; i < SIGNED_HASHES + 3; i++) granted(ledger, [ANY], { calls }, { userOpHash: hashOf(`${i}`) })
    const [entry] = ledger.entries().entries
    expect([entry?.calls?.length, entry?.callCount, entry?.signed.length]).toEqual([ENTRY_CALLS, ENTRY_CALLS + 5, SIGNED_HASHES])
    expect(entry?.signed.at(-1)).toBe(hashOf(`${SIGNED_HASHES + 2}`))
  })

  it('requires a cost', () => {
    const records = loggedRecords()
    expect(() => new Ledger(records).reserve([ANY], input({ maxCost: null }), terms())).toThrow(RangeError)
    expect(records.puts).toEqual([])
  })

  it('is rejected when too many are open, except for a reserved nonce', () => {
    const ledger = new Ledger(memoryRecords())
    for (let i = 0; i < OPEN_ENTRIES; i++) granted(ledger, [ANY], { nonce: BigInt(i) })
    expect(ledger.reserve([ANY], input({ nonce: -1n }), terms())).toMatchObject({ isGranted: false, reason: 'too-many-open' })
    expect(ledger.reserve([ANY], input({ nonce: 5n }), terms())).toMatchObject({ isGranted: true })
    ledger.settle(CHAIN, charge(input({ nonce: 5n })), true)
    expect(ledger.reserve([ANY], input({ nonce: 20_000n }), terms())).toMatchObject({ isGranted: true })
  })
})

describe('records of a newer version', () => {
  it('are rejected with an error and not overwritten', () => {
    const kept = loggedRecords()
    granted(new Ledger(kept), [ANY])
    const newer = loggedRecords()
    for (const [key, value] of kept.puts) newer.put(key, value)
    JsonRecords.put(newer, 'sponsor/format', 2)
    // The journal of an interrupted roll-up.
    JsonRecords.put(newer, 'sponsor/folding', { ids: [1], puts: [] })
    const before = newer.puts.length
    expect(() => new Ledger(newer)).toThrow(UnreadableLedger)
    expect(() => new Ledger(newer)).toThrow('written by a newer pocketchain (format 2, this one reads up to 1); use that version')
    expect(newer.puts).toHaveLength(before)
  })

  it.each(['0', '"x"', '{bad', 'null', ''])('are distinguished from damaged ones: %s', (format) => {
    const records = memoryRecords()
    granted(new Ledger(records), [ANY])
    records.put('sponsor/format', Buffer.from(format))
    const kept = [...records.entries('sponsor/')]
    expect(() => new Ledger(records)).toThrow(expect.objectContaining({ name: 'UnreadableLedger', reason: 'corrupt' }))
    expect(() => new Ledger(records)).toThrow(
      'is damaged (its format cannot be read); restore it from a copy, or start without the sponsor',
    )
    expect([...records.entries('sponsor/')]).toEqual(kept)
  })

  it('records without a version are continued', () => {
    const records = memoryRecords()
    const entry = granted(new Ledger(records), [ANY])
    records.put('sponsor/format', null)
    const ledger = new Ledger(records)
    expect(stateOf(ledger, entry)).toEqual(entry)
    granted(ledger, [ANY], { nonce: 1n })
    expect(JsonRecords.get(records, 'sponsor/format')).toBe(1)
  })
})

describe('prices', () => {
  it('are those of the latest signature, and the gas is that of the charge until a reorg', () => {
    const records = memoryRecords()
    const ledger = new Ledger(records)
    granted(ledger, [ANY], {}, { maxFeePerGas: 5n, maxPriorityFeePerGas: 2n })
    const entry = granted(ledger, [ANY], {}, { maxFeePerGas: 7n, maxPriorityFeePerGas: 1n })
    expect(entry).toMatchObject({ maxFeePerGas: 7n, maxPriorityFeePerGas: 1n, gasUsed: null })
    ledger.settle(CHAIN, charge(entry, {}, { gasUsed: 3n }), true)
    expect(stateOf(ledger, entry)).toMatchObject({ maxFeePerGas: 7n, maxPriorityFeePerGas: 1n, gasUsed: 3n })
    expect(stateOf(new Ledger(records), entry)).toEqual(stateOf(ledger, entry))
    ledger.retract(CHAIN, 0)
    expect(stateOf(ledger, entry)).toMatchObject({ maxFeePerGas: 7n, gasUsed: null, cost: null })
  })

  it('are unknown for entries of an earlier version, whose records lack them', () => {
    const records = memoryRecords()
    const entry = granted(new Ledger(records), [ANY])
    const key = 'sponsor/entry/000000000001'
    const { maxFeePerGas, maxPriorityFeePerGas, gasUsed, ...earlier } = JsonRecords.get(records, key) as Readonly<Record<string, unknown>>
    expect([maxFeePerGas, maxPriorityFeePerGas, gasUsed]).toEqual(['0x3', '0x1', null])
    JsonRecords.put(records, key, earlier)
    expect(stateOf(new Ledger(records), entry)).toEqual({ ...entry, maxFeePerGas: null, maxPriorityFeePerGas: null })
  })
})

describe('a failed write', () => {
  it('changes nothing, and throws to the caller', () => {
    const records = memoryRecords()
    let isFull = false
    const disk = { ...records, put: (key: string, value: Uint8Array | null) => (isFull ? full() : records.put(key, value)) }
    const ledger = new Ledger(disk)
    const policies = policyOf({ total: '100' })
    const entries = [0n, 1n, 2n].map((nonce) => granted(ledger, policies, { nonce }))
    const before = [pictureOf(ledger, policies, NOON), ledger.entries()]
    isFull = true
    const attempts = [
      () => ledger.reserve(policies, input({ nonce: 9n }), terms()),
      () => ledger.reserve(policies, input({ nonce: 1n, maxCost: 20n }), terms()),
      () => ledger.atomically(() => entries.forEach((entry) => ledger.settle(CHAIN, charge(entry), true))),
      () => ledger.settle(CHAIN, charge(input({ nonce: 77n })), true),
      () => ledger.expire(CHAIN, sealed(9, NOON + 1_000)),
    ]
    for (const attempt of attempts) expect(attempt).toThrow('the disk is full')
    expect([pictureOf(ledger, policies, NOON), ledger.entries()]).toEqual(before)
    isFull = false
    for (const attempt of attempts) attempt()
    expect(ledger.totals).toEqual({ reserved: 0n, settled: 16n })
    expect(pictureOf(new Ledger(records), policies, NOON)).toBe(pictureOf(ledger, policies, NOON))
  })

  it('the changes of a block are one transaction, if the records support them', () => {
    const records = loggedRecords()
    const ledger = new Ledger({
      ...records,
      transaction: (work) => {
        const count = records.puts.length
        const result = work()
        transactions.push(records.puts.length - count)
        return result
      },
    })
    const transactions: number[] = []
    const entries = [0n, 1n, 2n].map((nonce) => granted(ledger, [ANY], { nonce }))
    ledger.atomically(() => entries.forEach((entry) => ledger.settle(CHAIN, charge(entry), true)))
    ledger.retract(CHAIN, 0)
    expect(transactions, 'the first one writes the format version').toEqual([2, 1, 1, 3, 3])
  })
})

function full(): never {
  throw new Error('the disk is full')
}

describe('a refusal', () => {
  it('changes no budget, and no record before flush', () => {
    const records = loggedRecords()
    const ledger = new Ledger(records)
    const policies = policyOf({ total: '5' })
    const decision = ledger.reserve(policies, input(), terms())
    expect(decision.isGranted).toBe(false)
    if (!decision.isGranted) ledger.refuse(input(), 'final', decision)
    const reasons = Array.from({ length: 50 }, (_, i) => ({ policy: `p${i}`, reason: 'total' as const, message: 'y'.repeat(5_000) }))
    ledger.refuse(input({ maxCost: null, calls: null }), 'stub', { ...refusal('fault', 'x'.repeat(5_000)), reasons })
    expect(records.puts).toEqual([])
    expect(ledger.totals).toEqual({ reserved: 0n, settled: 0n })
    expect(ledger.counts).toMatchObject({ reserved: 0, refused: 2 })
    ledger.flush()
    ledger.flush()
    expect(records.puts).toHaveLength(1)
    const again = new Ledger(records).entries().entries
    expect(again).toEqual(ledger.entries().entries)
    expect(again[1]).toMatchObject({
      state: 'refused',
      stage: 'final',
      reason: 'total',
      policy: 'p',
      maxCost: 10n,
      reasons: [{ reason: 'total' }],
    })
    expect(again[0]).toMatchObject({ stage: 'stub', calls: null, maxCost: null, reason: 'fault' })
    expect(again[0]?.message).toHaveLength(REFUSAL_CHARS)
    expect(again[0]?.reasons.map(({ message }) => message.length)).toEqual(Array(REFUSAL_REASONS).fill(REFUSAL_CHARS))
  })

  it('replaces the oldest ones, also in the records', () => {
    const records = memoryRecords()
    const ledger = new Ledger(records)
    for (let i = 0; i < REFUSALS * 2; i++) {
      ledger.refuse(input({ nonce: BigInt(i) }), 'stub', refusal('fault', 'no'))
      if (i % 130 === 0) ledger.flush()
    }
    ledger.flush()
    expect([...records.entries('sponsor/refusals/')]).toHaveLength(20)
    const ledgers = [ledger, new Ledger(records)]
    for (const each of ledgers) {
      expect(each.counts.refused).toBe(REFUSALS)
      expect(each.entries({ limit: 1 }).entries[0]?.nonce).toBe(BigInt(REFUSALS * 2 - 1))
    }
    expect(granted(new Ledger(records), [ANY]).id).toBeGreaterThan(ledger.entries({ limit: 1 }).entries[0]?.id ?? 0)
  })
})

describe('a charge of the chain', () => {
  it('settles a reservation with its cost, once', () => {
    const records = loggedRecords()
    const ledger = new Ledger(records)
    const entry = granted(ledger, policyOf({ total: '10' }), {}, { userOpHash: hashOf('x') })
    ledger.settle(CHAIN, charge(entry, { cost: 4n }), true)
    ledger.settle(CHAIN, charge(entry, { cost: 4n }), true)
    expect(stateOf(ledger, entry)).toMatchObject({
      state: 'settled',
      cost: 4n,
      success: true,
      place: { blockNumber: 7, blockHash: block(7) },
    })
    expect(ledger.budget(policyOf({ total: '10' })[0]!, NOON)).toEqual({ reserved: 0n, settled: 4n, today: 4n, users: 1, left: 6n })
    expect(ledger.counts).toMatchObject({ reserved: 0, settled: 1 })
    expect(records.puts, 'the format, and the entry twice').toHaveLength(3)
  })

  it('keeps the whole reservation while pre-confirmed, and is reverted with the block under construction', () => {
    const records = loggedRecords()
    const ledger = new Ledger(records)
    const entry = granted(ledger, [ANY])
    ledger.include(CHAIN, [charge(entry, { isSealed: false })])
    expect(stateOf(ledger, entry)).toMatchObject({ state: 'included', cost: 4n, place: { blockNumber: 7, blockHash: null } })
    expect([ledger.totals.reserved, ledger.reservedOf(PAYMASTER)]).toEqual([10n, 0n])
    ledger.include(CHAIN, [])
    expect(stateOf(ledger, entry)).toEqual(entry)
    expect(ledger.reservedOf(PAYMASTER)).toBe(10n)
    expect(records.puts, 'the format and the entry').toHaveLength(2)
  })

  it('is not stored while pre-confirmed, also when the operation is signed again', () => {
    const records = memoryRecords()
    const ledger = new Ledger(records)
    const entry = granted(ledger, [ANY])
    ledger.include(CHAIN, [charge(entry, { isSealed: false })])
    granted(ledger, [ANY], { maxCost: 12n })
    expect(stateOf(ledger, entry)).toMatchObject({ state: 'included', maxCost: 12n })
    expect(stateOf(new Ledger(records), entry)).toMatchObject({ state: 'reserved', maxCost: 12n, cost: null, place: null })
  })

  it('frees the reservation of a nonce that another operation used', () => {
    const ledger = new Ledger(memoryRecords())
    const entry = granted(ledger, [ANY])
    ledger.settle(CHAIN, charge(entry, {}, { paymaster: FOREIGN }), false)
    expect(stateOf(ledger, entry)).toMatchObject({ state: 'expired', reason: 'nonce-used', cost: null })
    expect(ledger.totals).toEqual({ reserved: 0n, settled: 0n })
  })

  it.each([
    ['another account', { sender: account(2) }],
    ['another nonce', { nonce: 1n }],
    ['another EntryPoint', { entryPoint: FOREIGN }],
  ])('does not match %s', (_, over) => {
    const ledger = new Ledger(memoryRecords())
    const entry = granted(ledger, [ANY])
    ledger.settle(CHAIN, charge(entry, {}, { paymaster: FOREIGN, ...over }), false)
    ledger.settle(CHAIN + 1, charge(entry), false)
    expect(stateOf(ledger, entry)).toEqual(entry)
  })

  it('settles the policy whose signature was used and frees the others of the nonce', () => {
    const ledger = new Ledger(memoryRecords())
    const policies = parsePolicies([{ name: 'a' }, { name: 'b' }])
    const a = granted(ledger, policies, { policy: 'a' }, { userOpHash: hashOf('a') })
    const b = granted(ledger, policies, { policy: 'b' }, { userOpHash: hashOf('b') })
    granted(ledger, policies, { policy: 'b' }, { userOpHash: hashOf('b2') })
    expect(ledger.totals.reserved).toBe(20n)
    ledger.settle(CHAIN, charge(b, {}, { userOpHash: hashOf('b') }), true)
    expect(stateOf(ledger, a)).toMatchObject({ state: 'expired', reason: 'nonce-used' })
    expect(stateOf(ledger, b)).toMatchObject({ state: 'settled', cost: 4n, userOpHash: hashOf('b') })
    expect(ledger.totals).toEqual({ reserved: 0n, settled: 4n })
  })

  it('of our paymaster without a reservation becomes an entry', () => {
    const records = memoryRecords()
    const ledger = new Ledger(records)
    ledger.settle(CHAIN, charge(input(), { cost: 9n }), true)
    expect(ledger.entries().entries).toMatchObject([{ state: 'settled', policy: null, cost: 9n, version: '0.8' }])
    expect(ledger.totals.settled).toBe(9n)
    ledger.retract(CHAIN, 6)
    expect(ledger.entries().entries).toEqual([])
    expect(new Ledger(records).totals.settled).toBe(0n)
  })

  it('reservations expire with the first later block, and not before', () => {
    const ledger = new Ledger(memoryRecords())
    const entry = granted(ledger, [ANY])
    const endless = granted(ledger, [ANY], { nonce: 1n }, { validUntil: 0 })
    const promised = granted(ledger, [ANY], { nonce: 2n })
    ledger.include(CHAIN, [charge(promised, { isSealed: false })])
    ledger.expire(CHAIN, sealed(9, NOON + 300))
    expect(stateOf(ledger, entry)).toEqual(entry)
    ledger.expire(CHAIN + 1, sealed(9, NOON + 301))
    expect(stateOf(ledger, entry)).toEqual(entry)
    ledger.expire(CHAIN, sealed(9, NOON + 301))
    expect(stateOf(ledger, entry)).toMatchObject({
      state: 'expired',
      reason: 'ran-out',
      place: { blockNumber: 9, blockHash: block(9), transactionHash: null },
    })
    expect(stateOf(ledger, endless)?.state).toBe('reserved')
    expect(stateOf(ledger, promised)?.state).toBe('included')
  })

  it('is reverted with its block only', () => {
    const ledger = new Ledger(memoryRecords())
    const [old, settled, overtaken, over, waiting] = [0n, 1n, 2n, 3n, 4n].map((nonce) => granted(ledger, [ANY], { nonce })) as [
      Entry,
      Entry,
      Entry,
      Entry,
      Entry,
    ]
    granted(ledger, [ANY], { nonce: 4n }, { validUntil: NOON + 900 })
    ledger.settle(CHAIN, charge(old, { number: 5 }), true)
    ledger.settle(CHAIN, charge(settled, { number: 6 }), true)
    ledger.settle(CHAIN, charge(overtaken, { number: 7 }, { paymaster: FOREIGN }), false)
    ledger.expire(CHAIN, sealed(8, NOON + 400))
    expect([settled, overtaken, over, waiting].map((entry) => stateOf(ledger, entry)?.state)).toEqual([
      'settled',
      'expired',
      'expired',
      'reserved',
    ])
    ledger.retract(CHAIN + 1, 0)
    expect(ledger.totals.settled).toBe(8n)
    ledger.retract(CHAIN, 5)
    expect([old, settled, overtaken, over].map((entry) => stateOf(ledger, entry)?.state)).toEqual([
      'settled',
      ...Array<string>(3).fill('reserved'),
    ])
    expect(ledger.totals).toEqual({ reserved: 40n, settled: 4n })
    // Included again with another cost.
    ledger.settle(CHAIN, charge(settled, { number: 6, fork: 1, cost: 7n }), true)
    expect(ledger.totals).toEqual({ reserved: 30n, settled: 11n })
  })

  it('settles an expired reservation', () => {
    const ledger = new Ledger(memoryRecords())
    const entry = granted(ledger, [ANY])
    ledger.expire(CHAIN, sealed(9, NOON + 301))
    ledger.settle(CHAIN, charge(entry), true)
    expect(ledger.entries().entries).toMatchObject([{ id: entry.id, state: 'settled', policy: 'p' }])
  })
})

describe('the pages', () => {
  it('list each entry once, the newest first', () => {
    const ledger = new Ledger(memoryRecords())
    for (let i = 0; i < 7; i++) {
      granted(ledger, [ANY], { nonce: BigInt(i) })
      ledger.refuse(input(), 'stub', refusal('fault', 'no'))
    }
    const ids: number[] = []
    for (let before: number | null | undefined; before !== null;) {
      const page = ledger.entries({ limit: 4, ...(before === undefined ? null : { before }) })
      ids.push(...page.entries.map(({ id }) => id))
      before = page.next
    }
    expect(ids).toHaveLength(14)
    expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  })

  it('can be filtered by account and state, and limited', () => {
    const ledger = new Ledger(memoryRecords())
    for (let i = 0; i < PAGE_ENTRIES + 1; i++) granted(ledger, [ANY], { sender: account(i) })
    ledger.settle(CHAIN, charge(input({ sender: account(3) })), true)
    ledger.refuse(input({ sender: account(3) }), 'final', refusal('fault', 'no'))
    const count = (query: object) => ledger.entries(query).entries.length
    expect([{}, { limit: 10_000 }, { limit: 0 }, { sender: account(3) }, { state: 'settled' }, { state: 'refused' }].map(count)).toEqual([
      PAGE_ENTRIES,
      PAGE_ENTRIES,
      1,
      2,
      1,
      1,
    ])
    expect(ledger.entries({ sender: account(3) }).next).toBeNull()
  })
})

describe('a record that is not an entry', () => {
  it.each([
    ['another shape', { hello: 1 }],
    ['no id', { state: 'reserved', sender: account(1), entryPoint: FOREIGN, nonce: '0x0', chainId: CHAIN }],
    ['no number', { state: 'reserved', sender: account(1), entryPoint: FOREIGN, nonce: 'one', chainId: CHAIN, id: 1 }],
    ['a state that there is not', { state: 'paid', sender: account(1), entryPoint: FOREIGN, nonce: '0x0', chainId: CHAIN, id: 1 }],
  ])('is reported and ignored: %s', (_, value) => {
    const records = memoryRecords()
    const entry = granted(new Ledger(records), [ANY])
    records.put('sponsor/entry/000000000007', new TextEncoder().encode(JSON.stringify(value)))
    const errors: unknown[] = []
    const ledger = new Ledger(records, { onError: (error) => errors.push(error) })
    expect(ledger.entries().entries).toEqual([entry])
    expect(errors).toMatchObject([{ message: expect.stringContaining('sponsor/entry/000000000007') }])
    expect(() => new Ledger(records)).toThrow('is not an entry')
    // The record is not overwritten.
    expect(granted(ledger, [ANY], { nonce: 1n }).id).toBe(8)
  })

  it('of refusals is reported and ignored, without effect on budgets', () => {
    const records = memoryRecords()
    const before = new Ledger(records)
    const entry = granted(before, [ANY])
    before.refuse(input(), 'final', refusal('fault', 'test'))
    before.flush()
    const [[key] = ['']] = [...records.entries('sponsor/refusals/')]
    for (const value of ['{"hello":1}', '[{"state":"refused"}]']) {
      records.put(key, new TextEncoder().encode(value))
      const errors: unknown[] = []
      const ledger = new Ledger(records, { onError: (error) => errors.push(error) })
      expect(ledger.entries().entries).toEqual([entry])
      expect(errors).toMatchObject([{ message: expect.stringContaining(key) }])
    }
  })
})

describe('the cursor', () => {
  it('is stored per chain', () => {
    const records = memoryRecords()
    const cursor = { head: sealed(9, NOON), trail: [[9, block(9)]] } as const
    new Ledger(records).putCursor(CHAIN, cursor)
    expect(new Ledger(records).cursor(CHAIN)).toEqual(cursor)
    expect(new Ledger(records).cursor(1)).toBeNull()
  })
})

describe('rolling up', () => {
  const keep = { closed: 4, batch: 3 }
  const policies = parsePolicies([{ name: 'p', total: '1000', perUser: '400', perDay: '600' }])

  function filled(records = loggedRecords()) {
    const ledger = new Ledger(records, { keep })
    for (let i = 0; i < 24; i++) {
      const entry = granted(ledger, policies, {
        sender: account(1 + (i % 3)),
        nonce: BigInt(i),
        now: NOON + (i > 12 ? DAY : 0),
        maxCost: 20n,
      })
      if (i % 4 !== 0) ledger.settle(CHAIN, charge(entry, { cost: BigInt(i) }), true)
      else if (i % 8 === 0) ledger.settle(CHAIN, charge(entry, {}, { paymaster: FOREIGN }), false)
    }
    ledger.settle(CHAIN, charge(input({ nonce: 77n }), { cost: 5n }), true)
    return { ledger, records }
  }

  it('keeps all sums, also by account and day, and all open entries', () => {
    const { ledger, records } = filled()
    const before = pictureOf(ledger, policies, NOON + DAY)
    ledger.flush()
    const { entries } = ledger.entries()
    expect(entries.filter(({ state }) => state !== 'reserved').length).toBeLessThan(keep.closed + keep.batch)
    expect(entries.filter(({ state }) => state === 'reserved')).toHaveLength(3)
    expect([...records.entries('sponsor/entry/')]).toHaveLength(entries.length)
    expect(pictureOf(ledger, policies, NOON + DAY)).toBe(before)
    expect(pictureOf(new Ledger(records, { keep }), policies, NOON + DAY)).toBe(before)
    expect(ledger.budget(policies[0]!, NOON).today).toBeGreaterThan(0n)
  })

  it('can be interrupted after any put: the next process has the same sums', () => {
    const { ledger, records } = filled()
    const before = pictureOf(ledger, policies, NOON + DAY)
    const from = records.puts.length
    ledger.flush()
    expect(records.puts.length).toBeGreaterThan(from + 30)
    for (let count = from; count <= records.puts.length; count++) {
      const found = recordsAfter(records.puts, count)
      expect(pictureOf(new Ledger(found, { keep }), policies, NOON + DAY), `after ${count} puts`).toBe(before)
    }
  })

  it('does not reuse ids', () => {
    const { ledger, records } = filled()
    ledger.flush()
    const newest = ledger.entries().entries[0]?.id ?? 0
    expect(granted(new Ledger(records, { keep }), policies, { nonce: 500n }).id).toBeGreaterThan(newest)
  })
})

// --- any sequence -----------------------------------------------------------------------------------------------------------

const BUDGETS = parsePolicies([
  { name: 'tight', total: '60', perUser: '35', perDay: '45', perOperation: '25' },
  { name: 'loose', total: '150', perUser: '80' },
])

interface Telling {
  readonly kind: 'promise' | 'seal' | 'overtake'
  readonly which: number
  readonly percent: number
}

type Step =
  | Telling
  | { readonly kind: 'reserve'; readonly sender: number; readonly nonce: number; readonly wei: number; readonly policy: string | null }
  | { readonly kind: 'later'; readonly seconds: number }
  | { readonly kind: 'back'; readonly blocks: number }
  | { readonly kind: 'restart' | 'flush' | 'drop' }

const step = (goesBack: boolean): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('reserve' as const),
        sender: fc.integer({ min: 1, max: 3 }),
        nonce: fc.nat(3),
        wei: fc.integer({ min: 1, max: 28 }),
        policy: fc.constantFrom(null, null, 'tight', 'loose'),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom('promise' as const, 'seal' as const, 'seal' as const, 'overtake' as const),
        which: fc.nat(20),
        percent: fc.nat(100),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('later' as const), seconds: fc.constantFrom(1, 150, 301, DAY) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('restart' as const, 'flush' as const, 'drop' as const) }) },
    { weight: goesBack ? 2 : 0, arbitrary: fc.record({ kind: fc.constant('back' as const), blocks: fc.nat(4) }) },
  )

/** A chain with a ledger, and the expected state. */
class Play {
  readonly records = loggedRecords()
  readonly keep: { readonly closed: number; readonly batch: number }
  ledger: Ledger
  now = NOON
  fork = 0
  /** charges and time of each block by number */
  blocks: { readonly charges: readonly { readonly policy: string; readonly wei: bigint }[]; readonly time: number }[] = [
    { charges: [], time: NOON },
  ]
  /** by policy, the amount that a reorg may have added to reservations: settled operations count with their highest cost again */
  slack = new Map<string, bigint>()
  /** ids of returned entries with the number of puts at that time */
  readonly answered: { readonly puts: number; readonly id: number; readonly wei: bigint }[] = []
  #nonces = 0

  constructor(keep: { readonly closed: number; readonly batch: number }) {
    this.keep = keep
    this.ledger = new Ledger(this.records, { keep })
  }

  run(step: Step): void {
    if (step.kind === 'reserve') this.#reserve(step)
    else if (step.kind === 'later') this.#seal([], step.seconds)
    else if (step.kind === 'back') this.#back(step.blocks)
    else if (step.kind === 'restart') this.ledger = new Ledger(this.records, { keep: this.keep })
    else if (step.kind === 'flush') this.ledger.flush()
    else if (step.kind === 'drop') this.ledger.include(CHAIN, [])
    else this.#settle(step as Telling) // the kinds that are left
  }

  #reserve({ sender, nonce, wei, policy }: Extract<Step, { kind: 'reserve' }>): void {
    // Used nonces are not requested again.
    const operation = input({
      sender: account(sender),
      nonce: BigInt(this.#nonces * 10 + nonce),
      maxCost: BigInt(wei),
      now: this.now,
      policy,
    })
    const answer = this.ledger.reserve(BUDGETS, operation, terms({ validUntil: this.now + 300 }))
    if (answer.isGranted) this.answered.push({ puts: this.records.puts.length, id: answer.entry.id, wei: BigInt(wei) })
    else this.ledger.refuse(operation, 'final', answer)
  }

  #settle({ kind, which, percent }: Telling): void {
    const open = this.ledger.open()
    const entry = open[which % Math.max(open.length, 1)]
    if (entry === undefined) return
    const cost = ((entry.maxCost ?? 0n) * BigInt(percent)) / 100n
    const number = this.blocks.length
    if (kind === 'promise') return this.ledger.include(CHAIN, [charge(entry, { cost, number, isSealed: false })])
    this.#nonces++
    const isOurs = kind === 'seal'
    const settled = charge(entry, { cost, number, fork: this.fork }, isOurs ? {} : { paymaster: FOREIGN })
    this.ledger.settle(CHAIN, settled, isOurs)
    const meant = this.ledger.entries({ state: 'settled' }).entries.find(({ place }) => place?.blockNumber === number)
    this.#seal(isOurs ? [{ policy: meant?.policy ?? '', wei: cost }] : [], 2)
  }

  #seal(charges: Play['blocks'][number]['charges'], seconds: number): void {
    this.now += seconds
    this.blocks.push({ charges, time: this.now })
    this.ledger.expire(CHAIN, { number: this.blocks.length - 1, hash: block(this.blocks.length - 1, this.fork), timestamp: this.now })
    this.ledger.include(CHAIN, [])
  }

  #back(count: number): void {
    const after = Math.max(0, this.blocks.length - 1 - count)
    for (const { place, state, policy, maxCost, cost } of this.ledger.entries().entries) {
      if (place === null || place.blockNumber <= after || (state !== 'settled' && state !== 'expired')) continue
      this.slack.set(policy ?? '', (this.slack.get(policy ?? '') ?? 0n) + (maxCost ?? 0n) - (cost ?? 0n))
    }
    this.blocks = this.blocks.slice(0, after + 1)
    this.now = this.blocks.at(-1)?.time ?? NOON
    this.fork++
    this.ledger.retract(CHAIN, after)
  }

  charged(policy?: string): bigint {
    const all = this.blocks.flatMap(({ charges }) => charges)
    return all.reduce((sum, each) => (policy === undefined || each.policy === policy ? sum + each.wei : sum), 0n)
  }
}

/** Computes the ledger's sums from all entries. */
function assertBudgets(play: Play): void {
  const { ledger, now } = play
  const { entries } = ledger.entries()
  for (const { name, total, perUser, perDay } of BUDGETS) {
    const slack = play.slack.get(name) ?? 0n
    const own = entries.filter(({ policy }) => policy === name)
    const sum = (some: readonly Entry[]) =>
      some.reduce(
        (wei, { state, cost, maxCost }) =>
          wei + ((state === 'settled' ? cost : state === 'expired' || state === 'refused' ? 0n : maxCost) ?? 0n),
        0n,
      )
    const { reserved, settled, today } = ledger.budget(
      BUDGETS.find((policy) => policy.name === name)!,
      now,
    )
    expect(settled).toBe(play.charged(name))
    expect(reserved + settled).toBeLessThanOrEqual((total ?? 0n) + slack)
    expect(today).toBeLessThanOrEqual((perDay ?? 2n ** 255n) + slack)
    for (let n = 1; n <= 3; n++) expect(sum(own.filter(({ sender }) => sender === account(n)))).toBeLessThanOrEqual((perUser ?? 0n) + slack)
    if (play.keep.closed > 1_000) expect(reserved + settled).toBe(sum(own))
  }
  expect(ledger.totals.settled).toBe(play.charged())
}

describe.each([
  ['no block is taken back', false, { closed: 5_000, batch: 64 }],
  ['blocks are taken back', true, { closed: 5_000, batch: 64 }],
  ['old entries are rolled up', false, { closed: 3, batch: 2 }],
])('any sequence where %s', (_, goesBack, keep) => {
  it('exceeds no budget, and a ledger over the same records is equal', () => {
    fc.assert(
      fc.property(fc.array(step(goesBack), { minLength: 10, maxLength: 90, size: 'max' }), (steps) => {
        const play = new Play(keep)
        for (const each of steps) {
          play.run(each)
          assertBudgets(play)
          play.ledger.flush()
          expect(pictureOf(new Ledger(play.records, { keep }), BUDGETS, play.now)).toBe(pictureOf(play.ledger, BUDGETS, play.now))
        }
      }),
      { seed: 7_677, numRuns: 60 },
    )
  })

  it('a process that ends after any put has returned no entry that the next one lacks', () => {
    fc.assert(
      fc.property(fc.array(step(goesBack), { maxLength: 70, size: 'max' }), (steps) => {
        const play = new Play(keep)
        for (const each of steps) play.run(each)
        const { puts } = play.records
        for (let count = 0; count <= puts.length; count++) {
          const found = new Ledger(recordsAfter(puts, count), { keep })
          const entries = new Map(found.entries().entries.map((entry) => [entry.id, entry]))
          const sum = [...entries.values()].reduce((wei, { state, maxCost }) => (state === 'reserved' ? wei + (maxCost ?? 0n) : wei), 0n)
          expect(found.totals.reserved).toBe(sum)
          if (keep.closed < 1_000) continue
          for (const { id, wei } of play.answered.filter((answer) => answer.puts <= count))
            expect(entries.get(id)?.maxCost).toBeGreaterThanOrEqual(wei)
        }
      }),
      { seed: 7_677, numRuns: 30 },
    )
  })
})

describe('on a disk', () => {
  it('a ledger of a newer version is rejected with the data directory, and not changed', async () => {
    const data = mkdtempSync(join(tmpdir(), 'pocketchain-ledger-'))
    try {
      const node = await createPocketchain({ data, cadence: 'instant' })
      granted(new Ledger(node.store.records), [ANY])
      JsonRecords.put(node.store.records, 'sponsor/format', 2)
      const kept = [...node.store.records.entries('sponsor/')]
      await node.close()
      const refused = createPocketchain({ data, cadence: 'instant' })
      await expect(refused).rejects.toMatchObject({
        name: 'StorageError',
        reason: 'newer-format',
        message: expect.stringContaining('format 2'),
      })
      const importedChain = new Uint8Array([1, 2]) // is rejected too if it is read
      await expect(createPocketchain({ data, cadence: 'instant', importedChain })).rejects.toThrow('format 2')
      const without = await createPocketchain({ data, cadence: 'instant', sponsor: false })
      expect([...without.store.records.entries('sponsor/')]).toEqual(kept)
      await without.close()
    } finally {
      rmSync(data, { recursive: true })
    }
  })

  it('a reservation is kept over a restart', async () => {
    const data = mkdtempSync(join(tmpdir(), 'pocketchain-ledger-'))
    try {
      const node = await createPocketchain({ data, cadence: 'instant' })
      const ledger = new Ledger(node.store.records)
      const entry = granted(ledger, [ANY], { calls: [{ to: FOREIGN, value: 1n, selector: '0xa9059cbb' }] })
      granted(ledger, [ANY], { nonce: 1n })
      await node.close()
      const again = await createPocketchain({ data, cadence: 'instant' })
      const { entries } = new Ledger(again.store.records).entries({ before: entry.id + 1 })
      expect(entries).toEqual([entry])
      await again.close()
    } finally {
      rmSync(data, { recursive: true })
    }
  })
})
