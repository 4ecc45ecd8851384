import { describe, expect, test } from 'vitest'
import { Address, Authorization, Hash, Hex } from '../../eth/index.ts'
import type { Receipt, Transaction } from '../../eth/index.ts'
import {
  ALICE,
  BOB,
  ETHER,
  GAS_LIMIT,
  GENESIS_SECONDS,
  GWEI,
  KEYS,
  LOGGER_INIT_CODE,
  RECIPIENT,
  below,
  flashblocksOf,
  hashesOf,
  random,
  receiptOf,
  rewindsOf,
  sealedOf,
  signed,
  startedChain,
  testGenesis,
} from '../chain.fixture.ts'
import { TIME_SLICE_MS } from '../limits.ts'

/** INVALID: the creation uses all its gas and fails */
const FAILING_INIT_CODE = Uint8Array.of(0xfe)

describe('the schedule', () => {
  test('flashblock 0 is published at once and holds the deposit only', async () => {
    const { chain, events } = await startedChain('manual')
    await chain.submit(signed())
    await chain.setCadence({ kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 200 })
    const [first, ...rest] = flashblocksOf(events)
    expect(rest).toEqual([])
    expect(first).toMatchObject({ firstTransaction: 0, flashblock: { index: 0, blockNumber: 1 } })
    expect(first!.block.transactions.map((tx) => tx.type)).toEqual([0x7e])
    expect(first!.block.receipts[0]?.status).toBe(1)
    expect(chain.head.view.pending).toBe(first!.block)
    expect(chain.head.view.head).toBe(chain.genesis)
    expect(chain.head.view.flashblockIndex).toBe(0)
  })

  test('a 2 s block has eleven flashblocks, then is sealed, and the next one opens in the same tick', async () => {
    const { clock, events } = await startedChain()
    const times: number[] = []
    await clock.advance(1_999)
    expect(flashblocksOf(events).map(({ flashblock }) => flashblock.index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    await clock.advance(1)
    times.push(...events.map((event) => (event.kind === 'block' && !event.sealed ? event.flashblock.index : -1)))
    expect(times).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -1, 0])
  })

  test('all announcements of a tick are synchronous: no other code runs between them', async () => {
    const { chain, clock } = await startedChain()
    await chain.submit(signed())
    await clock.advance(1_999)
    let others = 0
    const seen: number[] = []
    chain.head.subscribe(() => {
      seen.push(others)
      queueMicrotask(() => others++)
    })
    await clock.advance(1)
    expect(seen).toEqual([0, 0, 0])
    expect(others).toBe(3)
  })

  test('of several blocks that are mined together, each is announced in flashblocks and as sealed in one turn of the event loop', async () => {
    const { chain } = await startedChain('manual')
    const announced: (readonly [number: number, sealed: boolean, turn: number])[] = []
    let turn = 0
    chain.head.subscribe((event) => {
      if (event.kind !== 'block') return
      announced.push([event.block.header.number, event.sealed, turn])
      setImmediate(() => turn++)
      for (const endMs = performance.now() + TIME_SLICE_MS; performance.now() < endMs;);
    })
    await chain.mine(3)
    const turns = [1, 2, 3].map((number) => new Set(announced.filter(([of]) => of === number).map(([, , at]) => at)).size)
    expect(announced.map(([number, sealed]) => [number, sealed])).toEqual(
      [1, 2, 3].flatMap((n) => [false, true].map((sealed) => [n, sealed])),
    )
    expect(turns).toEqual([1, 1, 1])
    expect(new Set(announced.map(([, , at]) => at)).size).toBe(3)
  })

  test('ten blocks have 110 flashblocks, two seconds apart, each block with its own payload id', async () => {
    const { chain, clock, events } = await startedChain()
    await clock.advance(20_000)
    expect(sealedOf(events).map(({ block }) => block.header.number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    const published = flashblocksOf(events).filter(({ block }) => block.header.number <= 10)
    expect(published).toHaveLength(110)
    expect(new Set(published.map(({ flashblock }) => flashblock.payloadId)).size).toBe(10)
    // the first block's timestamp is one second after genesis although the clock is not; later ones follow the clock
    const stamps = sealedOf(events).map(({ block }) => block.header.timestamp - GENESIS_SECONDS)
    expect(stamps).toEqual([1, 2, 4, 6, 8, 10, 12, 14, 16, 18])
    expect(chain.head.view.pending?.header.number).toBe(11)
  })

  test('a flashblock message has the base once, and only new transactions', async () => {
    const { chain, clock, events } = await startedChain()
    await clock.advance(200)
    const tx = signed()
    await chain.submit(tx)
    await clock.advance(1_800)
    const messages = flashblocksOf(events).slice(0, 11)
    expect(messages.map(({ flashblock }) => flashblock.base !== null)).toEqual([true, ...Array.from({ length: 10 }, () => false)])
    expect(messages.map(({ flashblock }) => flashblock.diff.transactions.length)).toEqual([1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    expect(messages[2]!.flashblock.diff.transactions).toEqual([tx.raw])
    const [sealed] = sealedOf(events)
    expect(messages[10]!.flashblock.diff.blockHash).toBe(sealed!.block.hash)
    expect(messages[0]!.flashblock.base).toMatchObject({
      parentHash: chain.genesis.hash,
      timestamp: sealed!.block.header.timestamp,
      gasLimit: GAS_LIMIT,
    })
  })

  test('transaction, receipt, logs, nonce and balance appear in the same View', async () => {
    const { chain, clock, events } = await startedChain()
    const create = signed({ to: null, data: LOGGER_INIT_CODE, gas: 200_000n })
    const log = signed({ nonce: 1n, to: Address.create(ALICE, 0n), data: Hex.toBytes(Hash.fromBigint(7n)), gas: 100_000n, value: 0n })
    await chain.submit(create)
    await chain.submit(log)
    await clock.advance(400)
    const everything = { addresses: null, topics: [] }
    for (const { view } of flashblocksOf(events)) {
      const isIncluded = view.locate(log.hash) !== null
      const state = view.state(view.byTag('pending'))
      expect(state.account(ALICE)?.nonce).toBe(isIncluded ? 2n : 0n)
      expect(state.account(ALICE)!.balance < 10_000n * ETHER).toBe(isIncluded)
      expect([...view.logs(everything, 0, 9, true)].map(({ log: entry }) => entry.topics[0])).toEqual(
        isIncluded ? [Hash.fromBigint(7n)] : [],
      )
    }
    expect(flashblocksOf(events).at(-1)!.view.locate(log.hash)).not.toBeNull()
  })
})

describe('the gas budget of a block', () => {
  test('grows by a tenth of the gas with each flashblock; larger transactions wait', async () => {
    const { chain, clock, events } = await startedChain()
    const large = signed({ gas: 16_000_000n })
    const small = signed({ gas: 5_000_000n }, 1)
    await chain.submit(large)
    await chain.submit(small)
    await clock.advance(2_000)
    const indexOf = (tx: Transaction): number => {
      const found = flashblocksOf(events).find(({ block, firstTransaction }) => block.transactions.slice(firstTransaction).includes(tx))
      return found!.flashblock.index
    }
    expect(indexOf(small)).toBe(1)
    expect(indexOf(large)).toBe(3)
  })

  test('holds back the next nonces of a sender that waits for gas, and lets others pass', async () => {
    const { chain, clock } = await startedChain()
    const [large, next, others] = [signed({ gas: 16_000_000n, maxPriorityFeePerGas: GWEI }), signed({ nonce: 1n }), signed({}, 1)]
    for (const tx of [large, next, others]) await chain.submit(tx)
    await clock.advance(200)
    expect(hashesOf(chain.head.view.pending)).toEqual([others.hash])
    await clock.advance(400)
    expect(hashesOf(chain.head.view.pending)).toEqual([others.hash, large.hash, next.hash])
  })

  test('includes data availability since Jovian: 40,000 for the smallest transaction', async () => {
    const { chain, clock } = await startedChain('preconf', { gasLimit: 5_000_000n })
    for (let nonce = 0; nonce < 140; nonce++) await chain.submit(signed({ nonce: BigInt(nonce) }))
    await clock.advance(200)
    expect(hashesOf(chain.head.view.pending)).toHaveLength(12)
    await clock.advance(200)
    expect(hashesOf(chain.head.view.pending)).toHaveLength(25)
    await clock.advance(1_600)
    const { head } = chain.head.view
    // 5,000,000 minus the deposit's gas would be enough for 230 transfers
    expect(hashesOf(head)).toHaveLength(125)
    expect(head.header.blobGasUsed).toBe(5_000_000n)
    expect(head.header.gasUsed).toBeLessThan(3_500_000n)
    await clock.advance(2_000)
    expect(hashesOf(chain.head.view.head)).toHaveLength(15)
  })

  test('excludes a transaction above the block’s gas, which stays in the pool without blocking others', async () => {
    const { chain, clock } = await startedChain()
    const large = signed({ gas: 16_000_000n })
    await chain.submit(large)
    await chain.setGasLimit(10_000_000n)
    const other = signed({}, 1)
    await chain.submit(other)
    await clock.advance(4_000)
    expect(receiptOf(chain, other.hash)?.status).toBe(1)
    expect(chain.pool.all()).toEqual([large])
  })
})

describe('a promise', () => {
  test('is sealed as it was made: every field of every receipt, in the same position', async () => {
    const { chain, clock, events } = await startedChain()
    const logger = Address.create(ALICE, 0n)
    const call = (nonce: bigint, topic: bigint) =>
      signed({ nonce, to: logger, data: Hex.toBytes(Hash.fromBigint(topic)), gas: 100_000n, value: 0n })
    const sent: Transaction[] = [
      signed({ to: null, data: LOGGER_INIT_CODE, gas: 200_000n }),
      call(1n, 1n),
      signed({ type: 0 }, 1),
      signed({ to: null, data: FAILING_INIT_CODE, gas: 100_000n }, 2),
      signed({ nonce: 1n, type: 1, accessList: [{ address: RECIPIENT, storageKeys: [Hash.zero] }], gas: 50_000n }, 1),
      call(2n, 2n),
      // value to a contract that accepts it, and a call that runs out of gas
      signed({ nonce: 3n, to: logger, data: Hex.toBytes(Hash.fromBigint(3n)), gas: 100_000n }),
      signed({ nonce: 1n, to: null, data: LOGGER_INIT_CODE, gas: 54_000n }, 2),
    ]
    for (const tx of sent) {
      await chain.submit(tx)
      await clock.advance(200)
    }
    await clock.advance(400)
    const promised = new Map<Hash, Receipt>()
    for (const { block, firstTransaction } of flashblocksOf(events)) {
      if (block.header.number !== 1) continue
      for (let index = firstTransaction; index < block.transactions.length; index++)
        promised.set(block.transactions[index]!.hash, block.receipts[index]!)
    }
    const [sealed] = sealedOf(events)
    expect(sealed!.block.transactions.map((tx) => tx.hash)).toEqual([...promised.keys()])
    expect(sealed!.block.receipts).toEqual([...promised.values()])
    expect(sealed!.block.receipts.map((receipt) => receipt.status)).toEqual([1, 1, 1, 1, 0, 1, 1, 1, 0])
    expect(sealed!.block.receipts.flatMap((receipt) => receipt.logs.map(() => receipt.firstLogIndex))).toEqual([0, 1, 2])
    expect(rewindsOf(events)).toEqual([])
  })

  test.each([1, 2, 3])('is never reordered, lost or repeated (seed %i)', async (seed) => {
    const next = random(seed)
    const { chain, clock, events } = await startedChain('preconf', { gasLimit: 5_000_000n })
    const nonces = [0, 0, 0, 0]
    const sent: Hash[] = []
    for (let slot = 0; slot < 35; slot++) {
      for (let count = below(next, 4); count > 0; count--) {
        const account = below(next, nonces.length)
        const tip = BigInt(below(next, 1_000_000))
        const gas = next() < 0.1 ? 2_000_000n : 21_000n
        const tx = signed({ nonce: BigInt(nonces[account]!++), maxPriorityFeePerGas: tip, gas, value: BigInt(slot) }, account)
        sent.push(tx.hash)
        await chain.submit(tx)
      }
      await clock.advance(below(next, 3) * 100 + 100)
    }
    await clock.advance(4_000)
    assertOnlyGrows(events)
    const included = sealedOf(events).flatMap(({ block }) => block.transactions.filter((tx) => tx.type !== 0x7e))
    expect(included.map((tx) => tx.hash).toSorted()).toEqual(sent.toSorted())
    for (let account = 0; account < nonces.length; account++) {
      const own = included.filter((tx) => tx.from === signed({}, account).from).map((tx) => Number(tx.nonce))
      expect(own).toEqual(Array.from({ length: nonces[account]! }, (_, nonce) => nonce))
    }
    expect(rewindsOf(events)).toEqual([])
  })
})

/** Each flashblock starts with the contents of the previous one; the sealed block equals the last one. */
function assertOnlyGrows(events: readonly unknown[]): void {
  let promised: readonly Hash[] = []
  let number = 0
  for (const event of events as Parameters<typeof flashblocksOf>[0]) {
    if (event.kind !== 'block') continue
    const hashes = event.block.transactions.map((tx) => tx.hash)
    if (event.block.header.number !== number) promised = []
    number = event.block.header.number
    expect(hashes.slice(0, promised.length)).toEqual(promised)
    if (event.sealed) expect(hashes).toEqual(promised)
    promised = hashes
  }
}

describe('the order within a flashblock', () => {
  test('is by effective tip, then by arrival', async () => {
    const { chain, clock } = await startedChain()
    const tips = [1n, 3n, 2n, 3n]
    const sent = tips.map((tip, account) => signed({ maxPriorityFeePerGas: tip }, account))
    for (const tx of sent) await chain.submit(tx)
    await clock.advance(200)
    expect(hashesOf(chain.head.view.pending)).toEqual([1, 3, 2, 0].map((index) => sent[index]!.hash))
  })

  test('is by arrival with order fifo', async () => {
    const { chain, clock } = await startedChain('preconf', { order: 'fifo' })
    const sent = [1n, 3n, 2n, 3n].map((tip, account) => signed({ maxPriorityFeePerGas: tip }, account))
    for (const tx of sent) await chain.submit(tx)
    await clock.advance(200)
    expect(hashesOf(chain.head.view.pending)).toEqual(sent.map((tx) => tx.hash))
  })
})

describe('a transaction that cannot be executed', () => {
  test('for lack of balance waits for the seal and is dropped then, and the others still run', async () => {
    const { chain, clock, bugs } = await startedChain()
    const spends = signed({ value: 9_000n * ETHER, maxPriorityFeePerGas: 2n })
    const tooMuch = signed({ nonce: 1n, value: 9_000n * ETHER, maxPriorityFeePerGas: 2n })
    const other = signed({}, 1)
    for (const tx of [spends, tooMuch, other]) await chain.submit(tx)
    await clock.advance(200)
    expect(hashesOf(chain.head.view.pending)).toEqual([spends.hash, other.hash])
    expect(chain.pool.all()).toEqual([tooMuch])
    await clock.advance(2_000)
    expect(chain.pool.all()).toEqual([])
    expect(await chain.promises.settled(tooMuch.hash)).toMatchObject({ outcome: 'dropped' })
    expect(bugs).toEqual([])
  })

  test('and never can be is dropped', async () => {
    const { chain, clock, bugs } = await startedChain()
    const sent = signed()
    await chain.submit(sent)
    await chain.edit((world) => world.setCode(ALICE, new Uint8Array([1, 2, 3])))
    await clock.advance(2_000)
    expect(receiptOf(chain, sent.hash)).toBeNull()
    expect(chain.pool.size).toBe(0)
    expect(bugs).toEqual([])
  })

  test.each(['instant', 'native', 'manual'] as const)(
    "that exceeds the engine's memory is reported and dropped under %s, and the others run",
    async (kind) => {
      const genesis = { ...testGenesis(), config: { ...testGenesis().config, transactionGasCap: null } }
      const { chain, clock, bugs } = await startedChain(kind, { genesis, gasLimit: 400_000_000n })
      // Calls IDENTITY forever; each call adds a journal entry.
      await chain.edit((world) => world.setCode(RECIPIENT, Hex.toBytes('0x5b5f5f5f5f5f60045af1505f56')))
      const large = signed({ gas: 300_000_000n, value: 0n })
      const other = signed({ to: BOB }, 1)
      await chain.submit(large)
      await chain.submit(other)
      await clock.advance(2_000)
      if (kind === 'manual') await chain.mine(1)
      expect(chain.pool.all()).toEqual([])
      expect(receiptOf(chain, other.hash)?.status).toBe(1)
      expect(await chain.promises.settled(large.hash)).toMatchObject({ outcome: 'dropped' })
      expect(bugs).toMatchObject([{ name: 'EngineOutOfMemory' }])
    },
  )

  test.each([
    ['the first of its block', 9n],
    ['not the first of its block', 2n],
  ])("that fills the engine's tables is dropped, and no other transaction, if it is %s", async (_, maxPriorityFeePerGas) => {
    const genesis = { ...testGenesis(), config: { ...testGenesis().config, transactionGasCap: null } }
    const { chain, bugs } = await startedChain('manual', { genesis, gasLimit: 2_000_000_000n })
    // Reads the balances of addresses 2^40, 2^40 + 1, … forever; each read adds an account.
    await chain.edit((world) => world.setCode(RECIPIENT, Hex.toBytes('0x650100000000005b80315060010160075600')))
    const large = signed({ gas: 700_000_000n, value: 0n, maxPriorityFeePerGas })
    const others = [3n, 1n].map((tip, i) => signed({ to: BOB, maxPriorityFeePerGas: tip }, i + 1))
    for (const tx of [large, ...others]) await chain.submit(tx)
    await chain.mine(2)
    expect(others.map(({ hash }) => receiptOf(chain, hash)?.status)).toEqual([1, 1])
    expect(chain.pool.all()).toEqual([])
    expect(await chain.promises.settled(large.hash)).toMatchObject({ outcome: 'dropped' })
    expect(bugs).toMatchObject([{ name: 'EngineOutOfMemory' }])
  })

  test.each(['preconf', 'native', 'manual'] as const)('because an authorization used its nonce is removed under %s', async (kind) => {
    const { chain, clock } = await startedChain(kind)
    const [cheap, next] = [0n, 1n].map((nonce) => signed({ nonce, maxFeePerGas: 1n }, 1))
    const authorization = Authorization.sign({ chainId: 31_337n, address: RECIPIENT, nonce: 0n }, Hex.toBytes(KEYS[1]!))
    const takes = signed({ type: 4, gas: 100_000n, authorizationList: [authorization] })
    for (const tx of [cheap!, next!, takes]) await chain.submit(tx)
    await clock.advance(200)
    if (kind === 'manual') await chain.mine(1)
    expect(receiptOf(chain, takes.hash)?.status).toBe(1)
    expect(chain.pool.all()).toEqual([next])
    expect(chain.pool.status()).toEqual({ pending: 1, queued: 0 })
  })

  test('because of the base fee waits until it falls', async () => {
    const { chain, clock } = await startedChain()
    const cheap = signed({ maxFeePerGas: 985_000_000n })
    await chain.submit(cheap)
    await clock.advance(400)
    expect(hashesOf(chain.head.view.pending)).toEqual([])
    await clock.advance(3_800)
    expect(receiptOf(chain, cheap.hash)?.status).toBe(1)
    expect(chain.head.view.locate(cheap.hash)!.block.header.number).toBeGreaterThan(1)
  })

  test('because the executor throws is reported and dropped, so that later blocks succeed', async () => {
    const { chain, clock, bugs } = await startedChain()
    const poison = {
      ...signed(),
      get data(): Uint8Array {
        throw new Error('poison')
      },
    }
    const other = signed({}, 1)
    chain.pool.add(poison)
    await chain.submit(other)
    await clock.advance(4_000)
    expect(bugs.map(String)).toEqual(['Error: poison'])
    expect(chain.pool.size).toBe(0)
    expect(receiptOf(chain, other.hash)?.status).toBe(1)
    expect(chain.head.view.state(chain.head.view.head).account(ALICE)?.nonce).toBe(0n)
    expect(chain.head.view.state(chain.head.view.head).account(BOB)?.nonce).toBe(1n)
  })

  test('because the engine fails costs the open block, and no other transaction', async () => {
    const { chain, clock, bugs } = await startedChain()
    const trap = Object.assign(new Error('memory access out of bounds'), { name: 'RuntimeError' })
    const poison = {
      ...signed({ maxPriorityFeePerGas: 2n * GWEI }),
      get data(): Uint8Array {
        throw trap
      },
    }
    const other = signed({}, 1)
    chain.pool.add(poison)
    await chain.submit(other)
    await clock.advance(8_000)
    expect(bugs).toEqual([trap])
    expect(chain.pool.size).toBe(0)
    expect(receiptOf(chain, other.hash)?.status).toBe(1)
  })
})

describe('a transaction whose sender can no longer pay', () => {
  test.each(['preconf', 'native', 'manual'] as const)('is dropped at the next head under %s', async (cadence) => {
    const { chain, clock, bugs } = await startedChain(cadence)
    const filter = { from: ALICE }
    await chain.promises.hold(filter)
    const [first, second] = [signed(), signed({ nonce: 1n })]
    await chain.submit(first)
    await chain.submit(second)
    await chain.edit((world) => world.setBalance(ALICE, 0n))
    expect(chain.pool.size).toBe(2)
    await chain.promises.release(filter)
    if (cadence === 'manual') await chain.mine(1)
    else await clock.advance(4_000)
    expect(chain.pool.has(first.hash)).toBe(false)
    expect(await chain.promises.settled(first.hash)).toMatchObject({ outcome: 'dropped' })
    // The later nonce waits for another transaction in its place.
    expect(chain.pool.has(second.hash)).toBe(true)
    expect(bugs).toEqual([])
  })

  test('stays if another transaction of the block pays it', async () => {
    const { chain, clock } = await startedChain('native')
    await chain.promises.hold({ from: ALICE })
    const poor = signed({ maxPriorityFeePerGas: 2n * GWEI })
    await chain.submit(poor)
    await chain.edit((world) => world.setBalance(ALICE, 0n))
    await chain.submit(signed({ to: ALICE, value: ETHER }, 1))
    await chain.promises.release()
    await clock.advance(200)
    expect(chain.pool.has(poor.hash)).toBe(true)
    await clock.advance(200)
    expect(receiptOf(chain, poor.hash)?.status).toBe(1)
  })

  test('is not dropped if the block includes it at a second attempt, which leaves the sender poor', async () => {
    const { chain } = await startedChain('manual')
    const poor = signed({ value: (ETHER * 6n) / 10n })
    await chain.submit(poor)
    await chain.edit((world) => world.setBalance(ALICE, 0n))
    const funder = signed({ to: ALICE, value: ETHER }, 1)
    await chain.submit(funder)
    await chain.promises.reorder([poor.hash, funder.hash])
    await chain.mine(1)
    expect(receiptOf(chain, poor.hash)?.status).toBe(1)
    expect(chain.promises.records({ hash: poor.hash }).promises.map(({ outcome }) => outcome)).not.toContain('dropped')
  })
})
