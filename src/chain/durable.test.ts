import { describe, expect, test } from 'vitest'
import { Address, Block, Hash, Hex, Transaction } from '../eth/index.ts'
import type { StateReader } from '../evm/index.ts'
import { importChain } from './replica/import.ts'
import {
  ALICE,
  BOB,
  ETHER,
  GENESIS_MS,
  LOGGER_INIT_CODE,
  RECIPIENT,
  RICH,
  below,
  flashblocksOf,
  hashesOf,
  random,
  receiptOf,
  rewindsOf,
  sealedOf,
  signed,
  startedChain,
  testChain,
  testGenesis,
} from './chain.fixture.ts'
import type { TestChain } from './chain.fixture.ts'
import type { Genesis } from './genesis/genesis.ts'
import { GenesisMismatch, StateRootMismatch } from './genesis/openchain.ts'
import { CorruptOpenBlockRecord } from './sequencing/openblockrecord.ts'
import { PersistentStore } from './persistentstore.fixture.ts'
import { DEFAULT_L1 } from './l1.ts'
import { PrunedState, RewoundState } from './state/history.ts'
import { StateNotInMemory } from './view/view.ts'

/** State versions held in memory in these tests. */
const WINDOW = 3

const EAS = Address.from('0x4200000000000000000000000000000000000021')

/** The default genesis as of a version without EAS. */
function earlierGenesis(): Genesis {
  const genesis = testGenesis()
  const accounts = new Map(genesis.state.accounts)
  accounts.delete(EAS)
  return { ...genesis, state: { ...genesis.state, accounts } }
}

type Opened = TestChain & { readonly store: PersistentStore }

async function opened(
  kind: Parameters<typeof testChain>[0],
  options: Parameters<typeof testChain>[1] & { store?: PersistentStore } = {},
): Promise<Opened> {
  const store = options.store ?? new PersistentStore()
  return { ...(await startedChain(kind, { historyBlocks: WINDOW, ...options, store })), store }
}

function balance({ chain }: Pick<TestChain, 'chain'>, address: Address, number = chain.head.view.head.header.number): bigint {
  const { view } = chain.head
  return view.state(view.byNumber(number)!).account(address)?.balance ?? 0n
}

/** Seals `count` blocks, each of which gives RECIPIENT one wei. */
async function giving(parts: TestChain, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const nonce = parts.chain.head.view.state(parts.chain.head.view.head).account(ALICE)!.nonce
    await parts.chain.submit(signed({ nonce }))
    await parts.chain.mine(1)
  }
}

describe('a reopened chain', () => {
  test('continues from the newest block, with its state, time and receipts', async () => {
    const before = await opened('manual')
    await before.chain.submit(signed({ to: null, data: LOGGER_INIT_CODE, gas: 200_000n, value: 0n }))
    await before.chain.mine(1)
    await before.chain.submit(signed({ nonce: 1n, to: Address.create(ALICE, 0n), data: new Uint8Array(32), gas: 100_000n, value: 0n }))
    await before.chain.mine(3, 100)
    await before.chain.edit((world) => world.setBalance(RECIPIENT, 77n))
    const { chain, bugs } = await opened('manual', { store: before.store.reopened() })
    const { view } = chain.head
    expect(view.head).toEqual(before.chain.head.view.head)
    expect(chain.sealed.history.stateRoot()).toBe(before.chain.sealed.history.stateRoot())
    expect(balance({ chain }, RECIPIENT)).toBe(77n)
    expect([...view.logs({ addresses: null, topics: [] }, 0, 9, false)]).toHaveLength(1)
    const [next] = await chain.mine(1)
    const [same] = await before.chain.mine(1)
    expect(next!.hash).toBe(same!.hash)
    expect(next!.header.timestamp).toBeGreaterThan(view.head.header.timestamp)
    expect(chain.time.nowMs()).toBeGreaterThanOrEqual(next!.header.timestamp * 1_000)
    expect([chain.recovered, bugs]).toEqual([{ kept: [], retracted: [] }, []])
  })

  test('with only a genesis is the same chain', async () => {
    const store = new PersistentStore()
    testChain('manual', { store })
    const { chain } = testChain('manual', { store: store.reopened() })
    expect(chain.head.view.head).toBe(chain.genesis)
    await chain.mine(2)
    await chain.reset()
    expect(chain.sealed.history.stateRoot()).toBe(chain.genesis.header.stateRoot)
  })

  test('keeps safe and finalized behind the head', async () => {
    const before = await opened('manual')
    await before.chain.mine(40, 2)
    const { safeNumber, finalizedNumber } = before.chain.head.view
    const { chain } = await opened('manual', { store: before.store.reopened() })
    expect([chain.head.view.safeNumber, chain.head.view.finalizedNumber]).toEqual([safeNumber, finalizedNumber])
    expect(finalizedNumber).toBeGreaterThan(0)
    expect(safeNumber).toBeGreaterThan(finalizedNumber)
  })

  test('rejects a store of another genesis and a damaged state', async () => {
    const { chain, store } = await opened('manual')
    await chain.mine(2)
    expect(() => testChain('manual', { store: store.reopened(), genesis: testGenesis([BOB]) })).toThrow(GenesisMismatch)
    const account = chain.head.view.state(chain.head.view.head).account(ALICE)!
    const damaged = store.damaged(ALICE, { ...account, balance: account.balance + 1n })
    expect(() => testChain('manual', { store: damaged })).toThrow(StateRootMismatch)
    expect(() => testChain('manual', { store: damaged })).toThrow(store.persistedState.stateRoot)
  })

  test('keeps the contracts with which another version of the program began it, also after a reset', async () => {
    const { chain: before, store } = await opened('manual', { genesis: earlierGenesis() })
    await before.mine(2)
    const { chain } = testChain('manual', { store: store.reopened() })
    expect([before.hasOtherContracts, chain.hasOtherContracts, chain.genesis.hash, chain.head.view.head.header.number]).toEqual([
      false,
      true,
      before.genesis.hash,
      2,
    ])
    await chain.mine(1)
    await chain.reset()
    expect(chain.sealed.history.stateRoot()).toBe(before.genesis.header.stateRoot)
    expect(chain.genesisState.accounts.has(EAS)).toBe(false)
  })

  test('of a version that did not fund an account continues without it, also after a reset', async () => {
    const { chain: before, store } = await opened('manual', { genesis: testGenesis(RICH.slice(1)) })
    await before.mine(2)
    const genesis = { ...testGenesis(), mayLack: RICH.slice(0, 1) }
    const { chain } = testChain('manual', { store: store.reopened(), genesis })
    expect([chain.hasOtherContracts, chain.genesis.hash]).toEqual([false, before.genesis.hash])
    await chain.reset()
    expect(chain.sealed.history.stateRoot()).toBe(before.genesis.header.stateRoot)
    expect(() => testChain('manual', { store: store.reopened(), genesis: { ...genesis, mayLack: [BOB] } })).toThrow(GenesisMismatch)
  })

  test('of another version without the state of block 0 continues, and does not reset', async () => {
    const { chain: before, store } = await opened('manual', { genesis: earlierGenesis() })
    await before.mine(2)
    store.prune(1)
    const pruned = store.reopened()
    const { chain } = testChain('manual', { store: pruned })
    await chain.mine(1)
    await expect(chain.reset()).rejects.toThrow(PrunedState)
    expect([chain.head.view.head.header.number, pruned.hashOf(0)]).toEqual([3, before.genesis.hash])
  })

  test('of another version is rejected for other accounts, another header and a genesis file', async () => {
    const { chain, store } = await opened('manual', { genesis: earlierGenesis() })
    await chain.mine(1)
    const { contractsMayDiffer: _, ...file } = testGenesis()
    for (const genesis of [testGenesis([BOB]), { ...testGenesis(), gasLimit: 1n }, file]) {
      expect(() => testChain('manual', { store: store.reopened(), genesis })).toThrow(GenesisMismatch)
    }
  })

  test('rejects an open-block record that it cannot decode, and leaves it in place', async () => {
    const { chain, store } = await opened('manual')
    await chain.mine(2)
    const record = new Uint8Array([0xc2, 2, 1])
    store.putOpenBlockRecord(record)
    store.flush()
    const again = store.reopened()
    expect(() => testChain('manual', { store: again })).toThrow(CorruptOpenBlockRecord)
    expect([again.height, again.currentOpenBlockRecord]).toEqual([2, record])
  })
})

describe('state that memory no longer holds', () => {
  test('is read from the store, edits included, and cannot be proven', async () => {
    const parts = await opened('manual')
    const { chain } = parts
    await giving(parts, 2)
    await chain.edit((world) => world.setBalance(BOB, 5n))
    await giving(parts, 8)
    for (let number = 0; number <= 10; number++) expect(balance(parts, RECIPIENT, number)).toBe(BigInt(number))
    expect([1, 2, 10].map((number) => balance(parts, BOB, number))).toEqual([10_000n * ETHER, 5n, 5n])
    const { view } = chain.head
    expect(chain.sealed.history.size().versions).toBeLessThanOrEqual(3 * WINDOW + 1) // opened, filled, sealed
    expect(() => view.proof(view.byNumber(2)!, RECIPIENT, [])).toThrow(StateNotInMemory)
    expect(() => view.proof(view.byNumber(2)!, RECIPIENT, [])).toThrow('block 2 is too far behind the head')
    expect(view.proof(view.byNumber(9)!, RECIPIENT, []).account?.balance).toBe(9n)
    expect(chain.sealed.oldestStateBlock()).toBe(0)
    const proven = chain.sealed.oldestProvenBlock()
    expect(view.proof(view.byNumber(proven)!, RECIPIENT, []).account?.balance).toBe(BigInt(proven))
    expect(() => view.proof(view.byNumber(proven - 1)!, RECIPIENT, [])).toThrow(StateNotInMemory)
    parts.store.prune(4)
    expect(chain.sealed.oldestStateBlock()).toBe(4)
    expect(() => view.state(view.byNumber(3)!)).toThrow(PrunedState)
    expect(balance(parts, RECIPIENT, 4)).toBe(4n)
  })

  test('through a View older than memory equals the state of the View, or is rejected', async () => {
    const parts = await opened('manual')
    const { chain } = parts
    await giving(parts, 1)
    const seen = chain.head.view
    await giving(parts, 1)
    const unedited = chain.head.view
    await chain.edit((world) => world.setBalance(RECIPIENT, 100n))
    const edited = chain.head.view
    await giving(parts, 10)
    const read = (view: typeof seen, number: number) => view.state(view.byNumber(number)!).account(RECIPIENT)?.balance
    expect([read(seen, 1), read(edited, 1), read(edited, 2)]).toEqual([1n, 1n, 100n])
    expect(() => read(unedited, 2)).toThrow(PrunedState)
    expect(read(unedited, 1)).toBe(1n)
  })

  test('through a View is rejected after a later edit of its head, also if the next block could not be stored', async () => {
    const parts = await opened('manual')
    const { chain, store } = parts
    await giving(parts, 1)
    const seen = chain.head.view
    store.beforeFlush = () => {
      store.beforeFlush = () => undefined
      throw new Error('disk full')
    }
    await expect(chain.mine(1)).rejects.toThrow('disk full')
    await chain.edit((world) => world.setBalance(RECIPIENT, 100n))
    expect(seen.state(seen.head).account(RECIPIENT)?.balance).toBe(1n)
    await giving(parts, 10)
    expect(() => seen.state(seen.head)).toThrow(PrunedState)
  })

  test('is never that of a block that replaced the View’s block', async () => {
    const parts = await opened('manual')
    const { chain } = parts
    await giving(parts, 10)
    const old = chain.head.view
    const readers = [2, 3, 4].map((number) => old.state(old.byNumber(number)!))
    const blocks = [2, 3, 4].map((number) => old.byNumber(number)!)
    await chain.rollback(7)
    await chain.edit((world) => world.setBalance(RECIPIENT, 50n))
    await giving(parts, 10)
    expect(readers[0]!.account(RECIPIENT)?.balance).toBe(2n)
    expect(old.state(blocks[0]!).account(RECIPIENT)?.balance).toBe(2n)
    for (const index of [1, 2]) {
      expect(() => readers[index]!.account(RECIPIENT)).toThrow(RewoundState)
      expect(() => old.state(blocks[index]!)).toThrow(RewoundState)
    }
    expect([3, 4].map((number) => balance(parts, RECIPIENT, number))).toEqual([50n, 51n])
  })

  test('can be rewound to', async () => {
    const parts = await opened('manual')
    const { chain, events } = parts
    await giving(parts, 2)
    await chain.edit((world) => world.setBalance(BOB, 5n))
    await giving(parts, 10)
    await chain.rollback(10)
    expect([chain.head.view.head.header.number, balance(parts, RECIPIENT), balance(parts, BOB)]).toEqual([2, 2n, 5n])
    expect(rewindsOf(events)[0]!.removed.map(({ header }) => header.number)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3])
    await giving(parts, 1)
    const again = await opened('manual', { store: parts.store.reopened() })
    expect([balance(again, RECIPIENT), balance(again, BOB)]).toEqual([3n, 5n])
    parts.store.prune(2)
    await expect(chain.rollback(2)).rejects.toThrow('state is kept from block 2 on')
    await chain.reset()
    expect(chain.sealed.history.stateRoot()).toBe(chain.genesis.header.stateRoot)
    expect(parts.store.persistedState.stateRoot).toBe(chain.genesis.header.stateRoot)
  })
})

test('a snapshot whose state the store has pruned keeps nothing in memory, and the chain does not revert to it', async () => {
  const parts = await opened('manual')
  const { chain, store, events } = parts
  await giving(parts, 1)
  const pruned = await chain.snapshot()
  await giving(parts, 4)
  const near = await chain.snapshot()
  await giving(parts, 20)
  const held = chain.sealed.history.size().versions
  store.prune(4)
  await giving(parts, 1)
  expect(chain.sealed.history.size().versions).toBeLessThan(held)
  const [head, count] = [chain.head.view.head, events.length]
  await expect(chain.revert(pruned)).rejects.toThrow(PrunedState)
  expect([chain.head.view.head, events.length]).toEqual([head, count])
  expect(await chain.revert(near)).toBe(true)
  expect([balance(parts, RECIPIENT), balance(parts, RECIPIENT, 4)]).toEqual([5n, 4n])
  store.prune(5)
  await giving(parts, 20)
  expect(chain.sealed.history.size().versions).toBeLessThanOrEqual(3 * WINDOW + 1)
  await expect(chain.revert(pruned)).rejects.toThrow(PrunedState)
  expect([balance(parts, RECIPIENT), balance(parts, RECIPIENT, 5)]).toEqual([25n, 5n])
})

describe('random operations', () => {
  const LOGGER = Address.create(ALICE, 0n)

  function stateOf(state: StateReader): unknown {
    return [...RICH, RECIPIENT, LOGGER].map((address) => [
      state.account(address),
      state.storage(address, Hash.zero),
      [...state.slots(address)],
    ])
  }

  function assertSame(durable: Opened, plain: TestChain): void {
    expect(durable.chain.head.view.head).toEqual(plain.chain.head.view.head)
    expect(durable.chain.sealed.history.stateRoot()).toBe(plain.chain.sealed.history.stateRoot())
    const [ours, theirs] = [durable.chain.head.view, plain.chain.head.view]
    for (let number = 0; number <= ours.head.header.number; number++)
      expect(stateOf(ours.state(ours.byNumber(number)!))).toEqual(stateOf(theirs.state(theirs.byNumber(number)!)))
    // Reopening would detect damage.
    const { chain } = testChain('manual', { store: durable.store.reopened() })
    expect(chain.head.view.head).toEqual(ours.head)
  }

  test.each([1, 2, 3, 4, 5, 6])(
    'on a chain over a store and on one in memory give the same chain, which can be reopened at any time (seed %i)',
    async (seed) => {
      const next = random(seed)
      const durable = await opened('manual')
      const plain = await startedChain('manual')
      const chains = [durable.chain, plain.chain]
      const snapshots: string[] = []
      const nonces = () => chains[0]!.head.view.state(chains[0]!.head.view.head)
      const steps: (() => Promise<void>)[] = [
        async () => {
          const count = 1 + below(next, 5)
          for (const chain of chains) await chain.mine(count)
        },
        async () => {
          const account = below(next, 3)
          const nonce = nonces().account(RICH[account]!)!.nonce
          const deploys = account === 0 && nonce === 0n
          const tx = deploys
            ? signed({ to: null, data: LOGGER_INIT_CODE, gas: 200_000n, value: 0n })
            : signed({ nonce, value: BigInt(1 + below(next, 1_000)) }, account)
          for (const chain of chains) if (!chain.pool.has(tx.hash)) await chain.submit(tx).catch(() => undefined)
        },
        async () => {
          const value = BigInt(below(next, 4))
          const removes = below(next, 3) === 0
          for (const chain of chains)
            await chain.edit((world) => {
              if (removes) world.setAccount(RECIPIENT, null)
              else world.setBalance(RECIPIENT, value + 1n)
              if (!removes) world.setStorage(RECIPIENT, Hash.zero, value)
              world.setStorage(BOB, Hash.zero, value)
            })
        },
        async () => {
          const ids = [await chains[0]!.snapshot(), await chains[1]!.snapshot()]
          expect(ids[0]).toBe(ids[1])
          snapshots.push(ids[0]!)
        },
        async () => {
          const id = snapshots[below(next, snapshots.length + 1)] ?? '0x999'
          expect(await chains[0]!.revert(id)).toBe(await chains[1]!.revert(id))
        },
        async () => {
          const depth = 1 + below(next, 12)
          const done = await Promise.allSettled(chains.map((chain) => chain.rollback(depth)))
          expect(done[0]!.status).toBe(done[1]!.status)
        },
        async () => {
          const depth = 1 + below(next, 6)
          const nonce = nonces().account(BOB)!.nonce
          await Promise.allSettled(chains.map((chain) => chain.reorg(depth, [{ tx: signed({ nonce }, 1), block: 0 }])))
        },
        async () => {
          if (below(next, 4) === 0) for (const chain of chains) await chain.reset()
        },
      ]
      for (let i = 0; i < 60; i++) {
        await steps[below(next, 3) === 0 ? below(next, steps.length) : below(next, 3)]!()
        if (i % 5 === 0) assertSame(durable, plain)
      }
      assertSame(durable, plain)
      expect([durable.bugs, plain.bugs]).toEqual([[], []])
    },
  )
})

describe('a full disk', () => {
  const full = new Error('disk full')

  function fillUp(store: PersistentStore, times = 1): void {
    store.beforeFlush = () => {
      if (times-- > 0) throw full
    }
  }

  const changes: readonly [string, (parts: Opened) => Promise<unknown>][] = [
    ['mine', ({ chain }) => chain.mine(3)],
    ['an edit', ({ chain }) => chain.edit((world) => world.setBalance(RECIPIENT, 9n))],
    ['a rollback', ({ chain }) => chain.rollback(1)],
    ['a rollback beyond memory', ({ chain }) => chain.rollback(6)],
    ['a revert', ({ chain }) => chain.revert('0x1')],
    ['a reorg', ({ chain }) => chain.reorg(2)],
    ['a reset', ({ chain }) => chain.reset()],
  ]

  test.each(changes)('%s: is rejected and changes nothing', async (_, change) => {
    const parts = await opened('manual')
    const { chain, store, events, bugs } = parts
    await giving(parts, 7)
    await chain.snapshot()
    await chain.edit((world) => world.setBalance(RECIPIENT, 70n))
    await chain.submit(signed({ nonce: 7n }))
    await chain.setNextTimestamp(1_800_000_000)
    chain.setMinGasPrice(3n)
    const before = { view: chain.head.view, root: chain.sealed.history.stateRoot(), events: events.length, time: chain.time.snapshot() }
    fillUp(store)
    await expect(change(parts)).rejects.toBe(full)
    expect(chain.head.view).toBe(before.view)
    expect(events.length).toBe(before.events)
    expect([chain.sealed.history.stateRoot(), store.persistedState.stateRoot]).toEqual([before.root, before.root])
    expect(chain.time.snapshot()).toEqual(before.time)
    expect(chain.pool.size).toBe(1)
    expect(chain.minGasPrice).toBe(3n)
    expect(chain.snapshots).toHaveLength(1)
    expect(balance(parts, RECIPIENT)).toBe(70n)
    // then the disk has space again
    await change(parts)
    const [block] = await chain.mine(1)
    expect(chain.head.view.head.hash).toBe(block!.hash)
    testChain('manual', { store: store.reopened() })
    expect(bugs).toEqual([])
  })

  test('preconf: pre-confirms nothing that it cannot store, retries, and serves reads', async () => {
    const { chain, clock, store, events, bugs } = await opened('preconf')
    const tx = signed()
    await chain.submit(tx)
    fillUp(store, 2)
    await clock.advance(800)
    expect(bugs).toEqual([full, full])
    expect(receiptOf(chain, tx.hash)).toBeNull()
    // Two announced blocks were retracted; this transaction was not in them.
    const retracted = rewindsOf(events).flatMap(({ retracted: block }) => (block === null ? [] : [block]))
    expect(retracted).toHaveLength(2)
    expect(retracted.flatMap(hashesOf)).not.toContain(tx.hash)
    expect(chain.pool.has(tx.hash)).toBe(true)
    await clock.advance(400)
    expect(receiptOf(chain, tx.hash)?.status).toBe(1)
    store.beforeFlush = () => {
      throw full
    }
    await clock.advance(2_000)
    expect(chain.head.view.head.header.number).toBe(0)
    expect(rewindsOf(events).flatMap(({ retracted }) => hashesOf(retracted))).toContain(tx.hash)
    expect(chain.pool.has(tx.hash)).toBe(true)
    store.beforeFlush = () => undefined
    await clock.advance(4_000)
    expect(chain.head.view.locate(tx.hash)?.block.header.number).toBe(1)
  })

  test('during a mine of many blocks: the head is the last durable block, and the later transactions wait again', async () => {
    const { chain, store, events } = await opened('manual')
    const txs = Array.from({ length: 8 }, (_, nonce) => signed({ nonce: BigInt(nonce) }))
    await chain.mine(1)
    chain.head.subscribe(() => {
      const endMs = performance.now() + 11
      while (performance.now() < endMs);
    })
    for (const tx of txs) await chain.submit(tx)
    const flushes = store.flushes
    store.beforeFlush = () => {
      if (store.flushes > flushes + 1) throw full
    }
    await expect(chain.mine(500)).rejects.toBe(full)
    const { head } = chain.head.view
    expect(store.hashOf(store.height)).toBe(head.hash)
    expect(sealedOf(events).at(-1)!.block.hash).toBe(head.hash)
    expect(chain.sealed.head.hash).toBe(head.hash)
    expect(chain.sealed.history.stateRoot()).toBe(head.header.stateRoot)
    store.beforeFlush = () => undefined
    await chain.mine(2)
    expect(txs.map((tx) => receiptOf(chain, tx.hash)?.status)).toEqual(txs.map(() => 1))
    testChain('manual', { store: store.reopened() })
  })
})

test('every commit leaves a chain that can be opened and that keeps its promises', async () => {
  const parts = await opened('preconf')
  const { chain, clock, store } = parts
  let kept = 0
  store.beforeFlush = () => {
    const again = testChain('manual', { store: store.reopened() })
    expect(again.chain.recovered.retracted).toEqual([])
    kept += again.chain.recovered.kept.length
    expect(again.bugs).toEqual([])
  }
  const send = () => chain.submit(signed({ nonce: chain.head.view.state(chain.head.view.byTag('pending')).account(ALICE)!.nonce }))
  for (let i = 0; i < 20; i++) {
    await send()
    await clock.advance(500)
  }
  await chain.edit((world) => world.setBalance(BOB, 1n))
  const id = await chain.snapshot()
  await send()
  await clock.advance(300)
  await chain.edit((world) => world.setBalance(BOB, 2n))
  await chain.reorg(4)
  await chain.revert(id)
  await send()
  await clock.advance(300)
  await chain.rollback(5)
  await chain.mine(30)
  await send()
  await clock.advance(300)
  await chain.reset()
  await clock.advance(4_000)
  expect(kept).toBeGreaterThan(10)
  expect(parts.bugs).toEqual([])
})

describe('announcements are durable', () => {
  test('blocks, edits and rewinds', async () => {
    const parts = await opened('preconf')
    const { chain, clock, store } = parts
    const seen: unknown[] = []
    chain.head.subscribe((event) => {
      const { view } = event
      const { chain: again } = testChain('manual', { store: store.reopened() })
      const isPromise = event.kind === 'block' && !event.sealed
      if (!isPromise) expect(again.head.view.head.hash).toBe(view.head.hash)
      if (!isPromise) expect(again.sealed.history.stateRoot()).toBe(chain.sealed.history.stateRoot())
      seen.push(event.kind)
    })
    await chain.submit(signed())
    await clock.advance(4_000)
    await chain.edit((world) => world.setBalance(RECIPIENT, 9n))
    await chain.rollback(1)
    await chain.reset()
    expect(new Set(seen)).toEqual(new Set(['block', 'edit', 'rewind']))
  })

  test('many blocks need few commits', async () => {
    const { chain, store, events } = await opened('manual')
    const flushes = store.flushes
    await chain.mine(100)
    expect(store.flushes - flushes).toBeLessThan(80)
    expect(sealedOf(events).map(({ block }) => block.header.number)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
    for (const { view, block } of sealedOf(events)) expect(view.head).toBe(block)
  })
})

describe('a promise', () => {
  /** Publishes two flashblocks with a deployment, a call that logs, and a transaction of an impersonated sender. */
  async function promising(options: Parameters<typeof opened>[1] = {}) {
    const parts = await opened('preconf', options)
    const { chain, clock } = parts
    await clock.advance(4_000)
    await chain.edit((world) => world.setBalance(RECIPIENT, ETHER))
    const txs = [
      signed({ to: null, data: LOGGER_INIT_CODE, gas: 200_000n, value: 0n }),
      signed({ nonce: 1n, to: Address.create(ALICE, 0n), data: Hex.toBytes(Hash.fromBigint(7n)), gas: 100_000n, value: 0n }),
      Transaction.unsigned({ type: 2, chainId: 31_337, gas: 21_000n, to: BOB, value: 3n, maxFeePerGas: 10n ** 10n }, RECIPIENT),
    ]
    await chain.submit(txs[0]!)
    await clock.advance(200)
    await chain.submit(txs[1]!)
    await chain.submit(txs[2]!)
    await clock.advance(600)
    return { ...parts, txs, promised: chain.head.view.pending!, receipts: txs.map((tx) => receiptOf(chain, tx.hash)) }
  }

  test('has a record when it is announced, and none after it is sealed', async () => {
    const { chain, clock, store, txs, events } = await promising()
    expect(txs.map((tx) => flashblocksOf(events).some(({ block }) => hashesOf(block).includes(tx.hash)))).toEqual([true, true, true])
    expect(store.currentOpenBlockRecord).not.toBeNull()
    const flushes = store.flushes
    await clock.advance(200)
    expect(store.flushes).toBe(flushes) // no new promise, no flush
    await clock.advance(2_000)
    expect(store.currentOpenBlockRecord).toBeNull()
    expect(chain.head.view.locate(txs[2]!.hash)?.block.header.number).toBe(3)
  })

  test.each([
    ['with the same settings', {}],
    [
      'with another L1, seed, gas limit and cadence',
      { l1: { ...DEFAULT_L1, baseFee: 7n }, seed: 'other', gasLimit: 10_000_000n, coinbase: BOB },
    ],
  ])('is kept when the process ended before sealing, %s', async (_, options) => {
    const { store, txs, promised, receipts, clock: old } = await promising()
    const { chain, clock, bugs, store: again } = await opened('preconf', { store: store.reopened(), ...options })
    expect(chain.recovered).toEqual({ kept: hashesOf(promised), retracted: [] })
    expect(hashesOf(promised)).toHaveLength(3)
    const { head } = chain.head.view
    expect(txs.map((tx) => receiptOf(chain, tx.hash))).toEqual(receipts)
    expect(head.transactions).toEqual(promised.transactions)
    expect(head.receipts).toEqual(promised.receipts)
    expect(head.header).toEqual(promised.header)
    expect(head.hash).not.toBe(Hash.zero)
    expect([again.currentOpenBlockRecord, again.hashOf(head.header.number)]).toEqual([null, head.hash])
    await clock.advance(old.nowMs() - GENESIS_MS + 4_000)
    expect(chain.head.view.head.header.number).toBeGreaterThan(head.header.number)
    expect(bugs).toEqual([])
    // only once
    expect((await opened('preconf', { store: again.reopened() })).chain.recovered.kept).toEqual([])
  })

  test('that can no longer be kept is retracted by hash, and its transactions return to the pool', async () => {
    const { store, txs } = await promising()
    const genesis = { ...testGenesis(), config: { ...testGenesis().config, codeSizeLimit: 1 } }
    const { chain, store: again, bugs } = await opened('manual', { store: store.reopened(), genesis })
    expect(new Set(chain.recovered.retracted)).toEqual(new Set(txs.map(({ hash }) => hash)))
    expect(chain.recovered.kept).toEqual([])
    expect(txs.map((tx) => chain.pool.has(tx.hash))).toEqual([true, true, true])
    expect([again.currentOpenBlockRecord, chain.head.view.head.header.number]).toEqual([null, 2])
    await chain.mine(1)
    expect(receiptOf(chain, txs[2]!.hash)?.status).toBe(1)
    expect(bugs).toEqual([])
  })

  test('keeps its record when it cannot be sealed because the disk is full', async () => {
    const { store, promised } = await promising()
    const again = store.reopened()
    again.beforeFlush = () => {
      throw new Error('disk full')
    }
    expect(() => testChain('preconf', { store: again })).toThrow('disk full')
    expect(testChain('preconf', { store: again.reopened() }).chain.recovered.kept).toEqual(hashesOf(promised))
  })

  test('of a discarded block is not sealed later', async () => {
    const { chain, store, txs } = await promising()
    await chain.rollback(1)
    expect(store.currentOpenBlockRecord).toBeNull()
    expect(chain.pool.has(txs[0]!.hash)).toBe(false)
    const again = testChain('manual', { store: store.reopened() })
    expect(again.chain.recovered).toEqual({ kept: [], retracted: [] })
  })
})

describe('an import', () => {
  test('into a store can be interrupted and repeated, and is durable', async () => {
    const there = await startedChain('manual')
    await giving(there, 12)
    const blocks = sealedOf(there.events).map(({ block }) => block)
    const file = new Uint8Array(Buffer.concat(blocks.map((block) => Block.encode(block))))
    const parts = await opened('manual')
    const { chain, store } = parts
    await importChain(chain, file.subarray(0, Block.encode(blocks[0]!).length))
    const stop = (number: number) => {
      const endMs = performance.now() + 4
      while (performance.now() < endMs);
      if (number === 11) throw new Error('stopped')
    }
    await expect(importChain(chain, file, stop)).rejects.toThrow('stopped')
    expect([chain.head.view.head.header.number, store.height, balance(parts, RECIPIENT)]).toEqual([1, 1, 1n])
    expect(chain.sealed.history.stateRoot()).toBe(blocks[0]!.header.stateRoot)
    await importChain(chain, file)
    expect(chain.head.view.head.hash).toBe(blocks.at(-1)!.hash)
    const again = await opened('manual', { store: store.reopened() })
    expect(balance(again, RECIPIENT)).toBe(12n)
    const finalized = () => again.chain.head.view.byTag('finalized').header.number
    expect(finalized()).toBeLessThan(12)
    await importChain(again.chain, file)
    expect(again.chain.head.view.head.hash).toBe(blocks.at(-1)!.hash)
    expect(finalized()).toBe(12)
    await importChain(again.chain, file.subarray(0, Block.encode(blocks[0]!).length))
    expect(finalized()).toBe(12)
  })
})
