import { describe, expect, test } from 'vitest'
import { Address, Hash, Hex } from '../../eth/index.ts'
import type { LogFilter } from './blockstore.ts'
import { ALICE, ETHER, LOGGER_INIT_CODE, RECIPIENT, flashblocksOf, sealedOf, signed, startedChain } from '../chain.fixture.ts'
import { RewoundState } from '../state/history.ts'
import { verify } from '../state/trie.fixture.ts'

const LOGGER = Address.create(ALICE, 0n)
const ALL: LogFilter = { addresses: null, topics: [] }

function logCall(nonce: bigint, topic: bigint) {
  return signed({ nonce, to: LOGGER, data: Hex.toBytes(Hash.fromBigint(topic)), gas: 100_000n, value: 0n })
}

/** Block 1 deploys the logger, block 2 logs 1 and 2, the pending block 3. */
async function loggingChain() {
  const parts = await startedChain()
  const { chain, clock } = parts
  await chain.submit(signed({ to: null, data: LOGGER_INIT_CODE, gas: 200_000n, value: 0n }))
  await clock.advance(2_000)
  await chain.submit(logCall(1n, 1n))
  await chain.submit(logCall(2n, 2n))
  await clock.advance(2_000)
  await chain.submit(logCall(3n, 3n))
  await clock.advance(200)
  return parts
}

describe('tags', () => {
  test('without a flashblock pending is latest', async () => {
    const { chain } = await startedChain('manual')
    const { view } = chain.head
    expect(view.pending).toBeNull()
    for (const tag of ['latest', 'pending', 'safe', 'finalized', 'earliest'] as const) expect(view.byTag(tag)).toBe(chain.genesis)
  })

  test('with one, pending is the block under construction, its hash zero', async () => {
    const { chain } = await startedChain()
    const { view } = chain.head
    expect(view.byTag('pending')).toBe(view.pending)
    expect(view.pending).toMatchObject({ hash: Hash.zero, header: { number: 1, parentHash: chain.genesis.hash } })
    expect(view.byTag('latest')).toBe(chain.genesis)
  })
})

describe('blocks', () => {
  test('are found by number and hash; the pending one by neither', async () => {
    const { chain } = await loggingChain()
    const { view } = chain.head
    expect(view.byNumber(2)).toBe(view.head)
    expect(view.byHash(view.head.hash)).toBe(view.head)
    expect([view.byNumber(3), view.byHash(Hash.zero), view.byHash(Hash.fromBigint(9n))]).toEqual([null, null, null])
  })

  test('sealed after the View was taken are not visible', async () => {
    const { chain, clock, events } = await loggingChain()
    const old = sealedOf(events)[0]!.view
    await clock.advance(10_000)
    expect(old.head.header.number).toBe(1)
    expect(old.byNumber(2)).toBeNull()
    expect(old.byHash(chain.head.view.byNumber(2)!.hash)).toBeNull()
    expect([...old.logs(ALL, 0, 100, true)]).toEqual([])
  })

  test('a transaction is located in its block, sealed or pending', async () => {
    const { chain } = await loggingChain()
    const { view } = chain.head
    expect(view.locate(logCall(2n, 2n).hash)).toEqual({ block: view.head, index: 2 })
    expect(view.locate(logCall(3n, 3n).hash)).toEqual({ block: view.pending, index: 1 })
    expect(view.locate(Hash.fromBigint(1n))).toBeNull()
  })
})

describe('state', () => {
  test('of each block is its post-state, also when read later', async () => {
    const { chain, clock } = await startedChain()
    for (let nonce = 0; nonce < 4; nonce++) {
      await chain.submit(signed({ nonce: BigInt(nonce), value: ETHER }))
      await clock.advance(2_000)
    }
    await chain.submit(signed({ nonce: 4n, value: ETHER }))
    await clock.advance(200)
    const { view } = chain.head
    const later = chain.head.view
    await clock.advance(10_000)
    for (let number = 0; number <= 4; number++)
      expect(view.state(view.byNumber(number)!).account(RECIPIENT)?.balance ?? 0n).toBe(BigInt(number) * ETHER)
    expect(later.state(later.pending!).account(RECIPIENT)?.balance).toBe(5n * ETHER)
  })

  test('of an earlier flashblock stays readable through its View', async () => {
    const { chain, clock, events } = await startedChain()
    await chain.submit(signed({ value: ETHER }))
    await clock.advance(400)
    const balances = flashblocksOf(events).map(({ view }) => view.state(view.pending!).account(RECIPIENT)?.balance ?? 0n)
    expect(balances).toEqual([0n, ETHER, ETHER])
  })

  test('of a removed block is rejected, never that of its replacement', async () => {
    const { chain, clock } = await startedChain()
    await chain.submit(signed({ value: ETHER }))
    await clock.advance(2_000)
    await chain.submit(signed({ nonce: 1n, value: ETHER }))
    await clock.advance(200)
    const { view: old } = chain.head
    await chain.rollback(1)
    await chain.submit(signed({ value: 7n }))
    await clock.advance(4_000)
    expect(chain.head.view.head.header.number).toBe(2)
    for (const block of [old.pending!, old.head]) {
      expect(() => old.state(block)).toThrow(RewoundState)
      expect(() => old.proof(block, RECIPIENT, [])).toThrow(RewoundState)
    }
    expect(old.state(old.byNumber(0)!).account(RECIPIENT)).toBeNull()
  })

  test('of a discarded pending block is rejected; that of its head is not', async () => {
    const { chain, clock } = await startedChain()
    await clock.advance(200)
    const { view: old } = chain.head
    await chain.edit((world) => world.setBalance(RECIPIENT, 5n))
    expect(() => old.state(old.pending!)).toThrow(RewoundState)
    // the state before the edit
    expect(old.state(old.head).account(RECIPIENT)).toBeNull()
    expect(chain.head.view.state(chain.head.view.head).account(RECIPIENT)?.balance).toBe(5n)
  })

  test('of a pending block that was sealed since stays the same', async () => {
    const { chain, clock } = await startedChain()
    await chain.submit(signed({ value: ETHER }))
    await clock.advance(200)
    const { view: old } = chain.head
    await chain.submit(signed({ nonce: 1n, value: ETHER }))
    await clock.advance(6_000)
    expect(old.state(old.pending!).account(RECIPIENT)?.balance).toBe(ETHER)
  })

  test('is proven against the block’s own state root, pending included', async () => {
    const { chain } = await loggingChain()
    const { view } = chain.head
    for (const block of [view.byNumber(0)!, view.byNumber(1)!, view.head, view.pending!]) {
      const { account, accountProof } = view.proof(block, ALICE, [])
      expect(account).toEqual(view.state(block).account(ALICE))
      expect(verify(block.header.stateRoot, Hash.keccak(Address.toBytes(ALICE)), accountProof)).not.toBeNull()
    }
  })
})

describe('logs', () => {
  function topicsOf(
    view: Awaited<ReturnType<typeof loggingChain>>['chain']['head']['view'],
    from: number,
    to: number,
    withPending: boolean,
    filter = ALL,
  ) {
    return [...view.logs(filter, from, to, withPending)].map(({ log, block, logIndex, transactionIndex }) => [
      Number(BigInt(log.topics[0]!)),
      block.header.number,
      transactionIndex,
      logIndex,
    ])
  }

  test('of sealed blocks come in order, followed by those of the pending block with withPending', async () => {
    const { chain } = await loggingChain()
    const { view } = chain.head
    expect(topicsOf(view, 0, 2, false)).toEqual([
      [1, 2, 1, 0],
      [2, 2, 2, 1],
    ])
    expect(topicsOf(view, 0, 2, true)).toEqual([
      [1, 2, 1, 0],
      [2, 2, 2, 1],
      [3, 3, 1, 0],
    ])
    expect(topicsOf(view, 0, 99, false)).toHaveLength(2)
    expect(topicsOf(view, 0, 1, false)).toEqual([])
  })

  test('are filtered alike in sealed and pending blocks', async () => {
    const { chain } = await loggingChain()
    const { view } = chain.head
    const topics = (...values: bigint[]): LogFilter => ({ addresses: null, topics: [new Set(values.map(Hash.fromBigint))] })
    expect(topicsOf(view, 0, 2, true, topics(2n, 3n)).map(([topic]) => topic)).toEqual([2, 3])
    expect(topicsOf(view, 0, 2, true, { addresses: new Set([RECIPIENT]), topics: [] })).toEqual([])
    expect(topicsOf(view, 0, 2, true, { addresses: new Set([LOGGER]), topics: [null] })).toHaveLength(3)
    expect(topicsOf(view, 0, 2, true, { addresses: null, topics: [null, new Set([Hash.fromBigint(1n)])] })).toEqual([])
  })
})

describe('the environment of a call', () => {
  test('in the pending block has that block’s number, time, base fee and gas limit', async () => {
    const { chain } = await loggingChain()
    const { view } = chain.head
    const { header } = view.pending!
    expect(view.context(view.pending!).env).toMatchObject({
      number: header.number,
      timestamp: header.timestamp,
      baseFeePerGas: header.baseFeePerGas,
      gasLimit: header.gasLimit,
      coinbase: header.coinbase,
      prevRandao: header.mixHash,
    })
    expect(view.context(view.pending!).env.blockHash(2)).toBe(view.head.hash)
    expect(view.context(view.pending!).env.blockHash(3)).toBeNull()
  })
})
