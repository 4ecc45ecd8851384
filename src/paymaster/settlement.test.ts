import { describe, expect, it } from 'vitest'
import { CODE, RpcError, memoryRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { account, granted, loggedRecords, policyOf, recordsAfter } from './ledger.fixture.ts'
import { Ledger } from './ledger.ts'
import { LOG_BLOCKS, LOG_SENDERS, TRAIL } from './limits.ts'
import { ETHER, PAYMASTER, START, Scene, between } from './settlement.fixture.ts'
import type { Settlement } from './settlement.ts'

describe('a sponsored operation', () => {
  it('is settled with its charge, to the wei', async () => {
    const scene = await Scene.open()
    const before = await scene.deposit()
    const alice = await scene.account('alice')
    const bob = await scene.account('bob')
    const entries = []
    for (const account of [alice, bob, alice]) {
      const { operation, entry } = await scene.grant(account)
      await scene.bundle(operation)
      entries.push(entry)
    }
    await scene.settlement.settled()
    const charged = before - (await scene.deposit())
    expect(charged).toBeGreaterThan(0n)
    expect(scene.ledger.totals).toEqual({ reserved: 0n, settled: charged })
    expect(scene.ledger.counts).toMatchObject({ reserved: 0, settled: 3 })
    const { number } = await scene.head()
    expect(scene.of(entries[2]!)).toMatchObject({
      state: 'settled',
      success: true,
      userOpHash: entries[2]?.userOpHash,
      place: { blockNumber: number },
    })
    expect(scene.of(entries[2]!)?.cost).toBeLessThan(entries[2]?.maxCost ?? 0n)
  })

  it('is followed automatically from pre-confirmation to the sealed block', async () => {
    const scene = await Scene.open({ cadence: 'preconf' })
    const { operation, entry } = await scene.grant(await scene.account('alice'))
    await scene.bundle(operation)
    await scene.clock.advance(200)
    await expect.poll(() => scene.of(entry)?.state).toBe('included')
    expect(scene.of(entry)).toMatchObject({ place: { blockHash: null }, success: true })
    expect(scene.ledger.totals).toEqual({ reserved: entry.maxCost, settled: 0n })
    await scene.clock.advance(2_000)
    await expect.poll(() => scene.of(entry)?.state).toBe('settled')
    expect(scene.ledger.totals).toEqual({ reserved: 0n, settled: ETHER - (await scene.deposit()) })
  })

  it('is reserved again when its pre-confirmation is revoked', async () => {
    const scene = await Scene.open({ cadence: 'preconf' })
    const alice = await scene.account('alice')
    await scene.clock.advance(2_000)
    const snapshot = await scene.request('evm_snapshot')
    const { operation, entry } = await scene.grant(alice)
    await scene.bundle(operation)
    await scene.clock.advance(200)
    await scene.settlement.settled()
    expect(scene.of(entry)?.state).toBe('included')
    await scene.request('evm_revert', snapshot)
    await scene.settlement.settled()
    expect(scene.of(entry)).toEqual(entry)
  })

  it('frees its reservation when another operation used the nonce', async () => {
    const scene = await Scene.open()
    const alice = await scene.account('alice')
    const { entry } = await scene.grant(alice)
    await scene.bundle(await scene.own(alice))
    await scene.settlement.settled()
    expect(scene.of(entry)).toMatchObject({ state: 'expired', reason: 'nonce-used', cost: null })
    expect(scene.ledger.totals).toEqual({ reserved: 0n, settled: 0n })
  })

  it('without a reservation is entered with its charge', async () => {
    const scene = await Scene.open()
    const { operation } = await scene.grant(await scene.account('alice'))
    await scene.settlement.close()
    const other = another(scene)
    await other.settlement.start()
    await scene.bundle(operation)
    await other.settlement.settled()
    expect(other.ledger.entries().entries).toMatchObject([{ policy: null, state: 'settled', paymaster: PAYMASTER }])
    expect(other.ledger.totals.settled).toBe(ETHER - (await scene.deposit()))
    await other.settlement.close()
  })

  it('expires with the first sealed block after its end, and not a second before', async () => {
    const scene = await Scene.open()
    const { entry } = await scene.grant(await scene.account('alice'))
    const validUntil = entry.validUntil ?? 0
    await scene.request('evm_setNextBlockTimestamp', validUntil)
    await scene.mine()
    await scene.settlement.settled()
    expect(scene.of(entry)?.state).toBe('reserved')
    await scene.request('evm_setNextBlockTimestamp', validUntil + 1)
    await scene.settlement.settled()
    expect(scene.of(entry)?.state).toBe('reserved')
    await scene.mine()
    await scene.settlement.settled()
    expect(scene.of(entry)).toMatchObject({ state: 'expired', reason: 'ran-out' })
  })

  it('in the last valid block is settled, not expired', async () => {
    const scene = await Scene.open()
    const { entry, operation } = await scene.grant(await scene.account('alice'))
    await scene.request('evm_setNextBlockTimestamp', entry.validUntil)
    await scene.bundle(operation)
    await scene.mine(1, 100)
    await scene.settlement.settled()
    expect(scene.of(entry)?.state).toBe('settled')
  })
})

describe('the onHead callback', () => {
  it('receives each newest block once, and its errors are contained', async () => {
    const scene = await Scene.open()
    const heads: number[] = []
    const settlement = scene.watcher(new Ledger(memoryRecords()), scene.node, ({ number }) => {
      heads.push(number)
      throw new Error('a listener')
    })
    expect(settlement.head).toBeNull()
    await settlement.start()
    await settlement.settled()
    await scene.mine()
    await settlement.settled()
    const { number, timestamp } = await scene.head()
    expect(heads).toEqual([number - 1, number])
    expect(settlement.head).toMatchObject({ number, timestamp })
    expect(scene.errors).toEqual(Array(2).fill(new Error('a listener')))
    await settlement.close()
    await scene.mine()
    await settlement.settled()
    expect(heads).toHaveLength(2)
  })
})

describe('a reorg', () => {
  it.each([
    ['evm_revert', (scene: Scene, snapshot: unknown) => scene.request('evm_revert', snapshot)],
    ['anvil_reorg', (scene: Scene) => scene.request('anvil_reorg', 3, [])],
  ])('by %s reverts charges, which may be included again', async (_, goBack) => {
    const scene = await Scene.open()
    const alice = await scene.account('alice')
    const early = await scene.grant(alice)
    await scene.bundle(early.operation)
    await scene.mine(2)
    await scene.settlement.settled()
    const snapshot = await scene.request('evm_snapshot')
    const late = await scene.grant(alice)
    await scene.bundle(late.operation)
    await scene.mine(2)
    await scene.settlement.settled()
    expect([early, late].map(({ entry }) => scene.of(entry)?.state)).toEqual(['settled', 'settled'])
    await goBack(scene, snapshot)
    await scene.settlement.settled()
    expect(scene.of(early.entry)?.state).toBe('settled')
    expect(scene.of(late.entry)).toEqual(late.entry)
    expect(scene.ledger.totals).toEqual({ reserved: late.entry.maxCost, settled: ETHER - (await scene.deposit()) })
    await scene.bundle(late.operation)
    await scene.settlement.settled()
    expect(scene.of(late.entry)?.state).toBe('settled')
    expect(scene.ledger.totals).toEqual({ reserved: 0n, settled: ETHER - (await scene.deposit()) })
  })

  it('that shortens the chain between the header and its logs is no failure', async () => {
    const scene = await Scene.open()
    await scene.settlement.close()
    let isArmed = false
    const rpc = between(scene.node, async ({ method, params }, forward) => {
      if (isArmed && method === 'eth_getLogs' && !JSON.stringify(params).includes('pending')) {
        isArmed = false
        await scene.request('anvil_rollback', 2)
      }
      return forward()
    })
    const settlement = scene.watch({ request: rpc.request, subscribe: () => Promise.reject(new RpcError(CODE.methodNotFound, 'none')) })
    await settlement.start()
    await scene.mine(3)
    isArmed = true
    await settlement.settled()
    expect(isArmed).toBe(false)
    expect(settlement.head?.number).toBe((await scene.head()).number)
    expect(scene.errors).toEqual([])
  })

  it('is detected automatically when it removes an operation', async () => {
    const scene = await Scene.open()
    const snapshot = await scene.request('evm_snapshot')
    const { operation, entry } = await scene.grant(await scene.account('alice'))
    await scene.bundle(operation)
    await expect.poll(() => scene.of(entry)?.state).toBe('settled')
    await scene.request('evm_revert', snapshot)
    await expect.poll(() => scene.of(entry)?.state).toBe('reserved')
  })

  it('reserves expired operations again', async () => {
    const scene = await Scene.open()
    const snapshot = await scene.request('evm_snapshot')
    const { entry } = await scene.grant(await scene.account('alice'))
    await scene.mine(1, 1)
    await scene.request('evm_increaseTime', 1_000)
    await scene.mine()
    await scene.settlement.settled()
    expect(scene.of(entry)?.state).toBe('expired')
    await scene.request('evm_revert', snapshot)
    await scene.settlement.settled()
    expect(scene.of(entry)).toEqual(entry)
  })

  it('deeper than the consecutive trail is processed from the last common block', async () => {
    const scene = await Scene.open()
    const began = (await scene.head()).number
    const alice = await scene.account('alice')
    const first = await scene.grant(alice)
    await scene.bundle(first.operation)
    await scene.settlement.settled()
    const snapshot = await scene.request('evm_snapshot')
    const second = await scene.grant(alice)
    await scene.bundle(second.operation)
    for (let i = 0; i < TRAIL * 2; i++) {
      await scene.mine()
      await scene.settlement.settled()
    }
    const trail = scene.ledger.cursor(31_337)?.trail ?? []
    expect(trail.length).toBeLessThanOrEqual(TRAIL)
    expect(trail[0]?.[0]).toBe(began)
    await scene.request('evm_revert', snapshot)
    await scene.settlement.settled()
    expect([first, second].map(({ entry }) => scene.of(entry)?.state)).toEqual(['settled', 'reserved'])
    expect(scene.ledger.totals.settled).toBe(ETHER - (await scene.deposit()))
  })

  it('during processing causes another attempt', async () => {
    const scene = await Scene.open()
    const alice = await scene.account('alice')
    const snapshot = await scene.request('evm_snapshot')
    const { operation, entry } = await scene.grant(alice)
    await scene.settlement.close()
    await scene.bundle(operation)
    let hasGoneBack = false
    const rpc = between(scene.node, async ({ method }, forward) => {
      const answer = await forward()
      if (method !== 'eth_getLogs' || hasGoneBack) return answer
      expect(answer).toHaveLength(1)
      hasGoneBack = true
      await scene.request('evm_revert', snapshot)
      await scene.mine(3)
      return answer
    })
    await scene.watch(rpc).start()
    expect(hasGoneBack).toBe(true)
    expect(scene.of(entry)).toEqual(entry)
    expect(scene.ledger.totals.settled).toBe(0n)
  })

  it('without a common block reverts all charges', async () => {
    const records = memoryRecords()
    const before = await Scene.open({}, records)
    const { operation, entry } = await before.grant(await before.account('alice'))
    await before.bundle(operation)
    await before.mine(5)
    await before.settlement.settled()
    expect(before.of(entry)?.state).toBe('settled')
    await before.settlement.close()
    const after = await Scene.open({ timestamp: START - 50 }, records)
    expect(after.of(entry)).toEqual(entry)
    // The signature is valid on the new chain.
    await after.account('alice')
    await after.bundle(operation)
    await after.settlement.settled()
    expect(after.ledger.totals).toEqual({ reserved: 0n, settled: ETHER - (await after.deposit()) })
    expect(after.errors).toEqual([])
  })
})

describe('after a restart', () => {
  it('processes blocks since the last run', async () => {
    const scene = await Scene.open()
    const alice = await scene.account('alice')
    const { operation, entry } = await scene.grant(alice)
    const bob = await scene.grant(await scene.account('bob'))
    await scene.settlement.close()
    await scene.bundle(operation)
    await scene.mine(3, 1_000)
    await scene.watch().start()
    expect([entry, bob.entry].map((each) => scene.of(each)?.state)).toEqual(['settled', 'expired'])
    expect(scene.ledger.totals).toEqual({ reserved: 0n, settled: ETHER - (await scene.deposit()) })
  })

  it('reverts charges that a reorg removed since', async () => {
    const scene = await Scene.open()
    const snapshot = await scene.request('evm_snapshot')
    const { operation, entry } = await scene.grant(await scene.account('alice'))
    await scene.bundle(operation)
    await scene.settlement.settled()
    await scene.settlement.close()
    await scene.request('evm_revert', snapshot)
    await scene.mine(4)
    await scene.watch().start()
    expect(scene.of(entry)).toEqual(entry)
  })

  it('reverts such charges also without the latest cursor', async () => {
    const records = loggedRecords()
    const scene = await Scene.open({}, records)
    const snapshot = await scene.request('evm_snapshot')
    const { operation, entry } = await scene.grant(await scene.account('alice'))
    await scene.bundle(operation)
    await scene.settlement.settled()
    await scene.settlement.close()
    const settled = records.puts.findLastIndex(([key]) => key.startsWith('sponsor/entry/'))
    await scene.request('evm_revert', snapshot)
    await scene.mine(4)
    const later = another(scene, recordsAfter(records.puts, settled + 1))
    expect(later.ledger.totals.settled).toBeGreaterThan(0n)
    await later.settlement.start()
    expect(later.ledger.entries().entries).toEqual([entry])
    await later.settlement.close()
  })

  it('requests logs in block ranges, and in several requests for many accounts', async () => {
    const scene = await Scene.open()
    const alice = await scene.account('alice')
    for (let i = 0; i < LOG_SENDERS; i++) granted(scene.ledger, policyOf(), { sender: account(i) }, { validUntil: 0 })
    const { entry } = await scene.grant(alice)
    await scene.settlement.settled()
    await scene.settlement.close()
    const began = (await scene.head()).number
    await scene.bundle(await scene.own(alice))
    await scene.mine(LOG_BLOCKS)
    const ranges = new Set<string>()
    let requests = 0
    const rpc = between(scene.node, ({ method, params }, forward) => {
      const [filter] = (params ?? []) as readonly { readonly fromBlock: string; readonly toBlock: string }[]
      if (method === 'eth_getLogs' && filter?.toBlock !== 'pending') {
        requests++
        ranges.add(`${filter?.fromBlock} ${filter?.toBlock}`)
      }
      return forward()
    })
    await scene.watch(rpc).start()
    expect(scene.of(entry)).toMatchObject({ state: 'expired', reason: 'nonce-used' })
    const { number } = await scene.head()
    const pages = [`${began + 1} ${began + LOG_BLOCKS}`, `${began + LOG_BLOCKS + 1} ${number}`]
    expect([...ranges].map((range) => range.split(' ').map(Number).join(' '))).toEqual(pages)
    // Ours in one, the accounts in two; behind the first page one account less is waited for.
    expect(requests).toBe(3 + 2)
  })

  it('after any last write leads to the same state', async () => {
    const records = loggedRecords()
    const scene = await Scene.open({}, records)
    const alice = await scene.account('alice')
    for (let i = 0; i < 4; i++) {
      const { operation } = await scene.grant(alice)
      await scene.bundle(operation)
      await scene.settlement.settled()
    }
    const unused = await scene.grant(alice)
    await scene.settlement.close()
    const charged = ETHER - (await scene.deposit())
    const granted = records.puts.findLastIndex(([key]) => key.startsWith('sponsor/entry/'))
    for (let count = granted + 1; count > 1; count--) {
      const later = another(scene, recordsAfter(records.puts, count))
      await later.settlement.start()
      expect(later.ledger.totals.settled, `after ${count} puts`).toBe(charged)
      if (count > granted) expect(later.ledger.totals.reserved).toBe(unused.entry.maxCost)
      await later.settlement.close()
    }
  })

  it('continues at the cursor, which is written only after changes', async () => {
    const records = loggedRecords()
    const scene = await Scene.open({}, records)
    const count = records.puts.length
    for (let i = 0; i < 5; i++) {
      await scene.mine()
      await scene.settlement.settled()
    }
    expect(records.puts).toHaveLength(count)
    await scene.settlement.close()
    expect(records.puts).toHaveLength(count + 1)
    await scene.settlement.close()
    expect(scene.ledger.cursor(31_337)?.head.number).toBe((await scene.head()).number)
  })
})

describe('another node', () => {
  it('without subscriptions and pending logs is polled', async () => {
    const scene = await Scene.open()
    await scene.settlement.close()
    const refused: string[] = []
    const poor = {
      ...between(scene.node, ({ method, params }, forward) => {
        if (method !== 'eth_getLogs' || !JSON.stringify(params).includes('pending')) return forward()
        refused.push(method)
        throw new RpcError(CODE.server, 'pending logs are not supported')
      }),
      subscribe: () => Promise.reject(new RpcError(CODE.methodNotFound, 'no subscriptions')),
    }
    await scene.watch(poor).start()
    const { operation, entry } = await scene.grant(await scene.account('alice'))
    await scene.settlement.settled()
    await scene.settlement.settled()
    // Once per block.
    expect(refused).toHaveLength(1)
    await scene.bundle(operation)
    await expect.poll(() => scene.of(entry)?.state).toBe('settled')
    expect(scene.errors).toEqual([])
  })

  it('that fails is reported once and polled again, without loss', async () => {
    const scene = await Scene.open()
    await scene.settlement.close()
    let isDown = false
    const rpc = between(scene.node, (_, forward) => (isDown ? Promise.reject(new Error('node stopped')) : forward()))
    await scene.watch(rpc).start()
    const { operation, entry } = await scene.grant(await scene.account('alice'))
    isDown = true
    await scene.bundle(operation)
    await scene.mine(2)
    await expect(scene.settlement.settled()).rejects.toThrow('node stopped')
    expect(scene.of(entry)).toEqual(entry)
    isDown = false
    await scene.settlement.settled()
    expect(scene.of(entry)?.state).toBe('settled')
    expect(scene.errors.length).toBeLessThanOrEqual(1)
  })

  it('that fails at the start causes an error', async () => {
    const scene = await Scene.open()
    await scene.settlement.close()
    const rpc = between(scene.node, () => Promise.reject(new Error('node stopped')))
    await expect(scene.watch(rpc).start()).rejects.toThrow('node stopped')
  })
})

/** Another sponsor with the same keys, or the same one after a restart. */
function another(scene: Scene, records: Records = memoryRecords()): { readonly ledger: Ledger; readonly settlement: Settlement } {
  const ledger = new Ledger(records)
  return { ledger, settlement: scene.watcher(ledger) }
}
