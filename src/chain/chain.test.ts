import { describe, expect, test } from 'vitest'
import { Address, Hash, Hex } from '../eth/index.ts'
import { InvalidTransaction, rulesAt } from '../evm/index.ts'
import { nextBaseFee } from './sequencing/basefee.ts'
import type { BlockAttributes } from './sequencing/builder.ts'
import { BOB, GENESIS_SECONDS, GWEI, RECIPIENT, hashesOf, receiptOf, rewindsOf, sealedOf, signed, startedChain } from './chain.fixture.ts'
import type { TestChain } from './chain.fixture.ts'
import { DEFAULT_L1 } from './l1.ts'
import { SNAPSHOTS } from './limits.ts'
import { PrunedState } from './state/history.ts'

const L1_BLOCK = Address.from('0x4200000000000000000000000000000000000015')

function stampOf({ chain }: TestChain): number {
  return chain.head.view.head.header.timestamp - GENESIS_SECONDS
}

describe('time', () => {
  test('setNextTimestamp sets the next block’s timestamp, and time advances from there', async () => {
    const parts = await startedChain()
    await parts.clock.advance(2_000)
    await parts.chain.setNextTimestamp(GENESIS_SECONDS + 500)
    expect(parts.chain.head.view.pending?.header.timestamp).toBe(GENESIS_SECONDS + 500)
    await parts.clock.advance(2_000)
    expect(stampOf(parts)).toBe(500)
    await parts.clock.advance(4_000)
    expect(stampOf(parts)).toBe(502)
    expect(parts.chain.head.view.pending?.header.timestamp).toBe(GENESIS_SECONDS + 504)
  })

  test('increaseTime accumulates and returns the total offset', async () => {
    const parts = await startedChain('manual')
    expect(await parts.chain.increaseTime(100)).toBe(100)
    expect(await parts.chain.increaseTime(50)).toBe(150)
    await parts.chain.mine(1)
    expect(stampOf(parts)).toBe(150)
    expect(parts.chain.nowSeconds()).toBe(GENESIS_SECONDS + 150)
  })

  test('setTime sets the time, also backwards; timestamps still increase', async () => {
    const parts = await startedChain('manual')
    expect(await parts.chain.setTime(GENESIS_SECONDS + 1_000)).toBe(1_000)
    await parts.chain.mine(1)
    expect(await parts.chain.setTime(GENESIS_SECONDS + 10)).toBe(10)
    await parts.chain.mine(1)
    expect(stampOf(parts)).toBe(1_001)
  })

  test('the timestamp interval applies from block to block', async () => {
    const parts = await startedChain('manual')
    await parts.chain.mine(1)
    await parts.chain.setTimestampInterval(30)
    await parts.chain.mine(2)
    expect(stampOf(parts)).toBe(61)
    await parts.chain.setTimestampInterval(null)
    await parts.chain.mine(1)
    expect(stampOf(parts)).toBe(62)
  })

  test('promised transactions keep their timestamp when the time is changed', async () => {
    const parts = await startedChain()
    const tx = signed()
    await parts.chain.submit(tx)
    await parts.clock.advance(200)
    const promised = parts.chain.head.view.locate(tx.hash)!.block.header
    await parts.chain.increaseTime(1_000)
    expect(parts.chain.head.view.locate(tx.hash)!.block.header.timestamp).toBe(promised.timestamp)
    // the promised block of second 1 was ahead of the clock, so time continues from it
    expect(parts.chain.head.view.pending!.header.timestamp).toBe(GENESIS_SECONDS + 1_001)
  })
})

describe('settings', () => {
  test('the base fee and prevRandao overrides apply to one block', async () => {
    const { chain } = await startedChain('manual')
    const randao = Hash.fromBigint(77n)
    await chain.setNextBaseFee(5n * GWEI)
    await chain.setNextPrevRandao(randao)
    const [first, second] = await chain.mine(2)
    expect(first!.header).toMatchObject({ baseFeePerGas: 5n * GWEI, mixHash: randao })
    expect(second!.header.baseFeePerGas).toBe(nextBaseFee(first!.header, chain.config, rulesAt(chain.config, 2, second!.header.timestamp)))
    expect(second!.header.mixHash).not.toBe(randao)
  })

  test('gas limit and coinbase apply until they are changed', async () => {
    const { chain } = await startedChain('manual')
    await chain.setGasLimit(20_000_000n)
    await chain.setCoinbase(BOB)
    for (const { header } of await chain.mine(2)) expect(header).toMatchObject({ gasLimit: 20_000_000n, coinbase: BOB })
  })

  test('a transaction that leaves no gas for the system deposits is rejected on submission', async () => {
    const { chain } = await startedChain('manual')
    await chain.setGasLimit(10_000_000n)
    await expect(chain.submit(signed({ gas: 9_000_001n }))).rejects.toThrow('exceeds block gas limit')
    expect(chain.pool.size).toBe(0)
    expect(chain.maxTransactionGas).toBe(9_000_000n)
    const fitting = signed({ gas: 9_000_000n })
    await chain.submit(fitting)
    expect((await chain.mine(1))[0]!.transactions).toContain(fitting)
  })

  test('the maximum transaction gas is EIP-7825’s cap if that is below the available block gas', async () => {
    const { chain } = await startedChain('manual')
    expect(chain.maxTransactionGas).toBe(16_777_216n)
  })

  test('the minimum gas price is checked on submission', async () => {
    const { chain } = await startedChain('manual')
    chain.setMinGasPrice(20n * GWEI)
    await expect(chain.submit(signed())).rejects.toThrow('transaction underpriced')
    chain.setMinGasPrice(0n)
    await chain.submit(signed())
  })
})

describe('safe and finalized', () => {
  test('follow one and two L1 epochs behind the head, never before genesis', async () => {
    const { chain, clock, events } = await startedChain()
    await clock.advance(60_000)
    for (const { view, block } of sealedOf(events)) {
      const epoch = Math.floor((block.header.timestamp - GENESIS_SECONDS) / 12)
      const expected = (behind: number): number => {
        const older = sealedOf(events)
          .map((event) => event.block.header)
          .filter(
            (header) => header.number <= block.header.number && Math.floor((header.timestamp - GENESIS_SECONDS) / 12) <= epoch - behind,
          )
        return older.at(-1)?.number ?? 0
      }
      expect([view.byTag('safe').header.number, view.byTag('finalized').header.number]).toEqual([expected(1), expected(2)])
    }
    const { view } = chain.head
    expect([view.head, view.byTag('safe'), view.byTag('finalized')].map((block) => block.header.timestamp - GENESIS_SECONDS)).toEqual([
      58, 46, 34,
    ])
  })

  test('do not stay ahead of the head after a rewind', async () => {
    const { chain } = await startedChain('manual')
    await chain.mine(20, 12)
    expect(chain.head.view.byTag('safe').header.number).toBe(19)
    await chain.rollback(10)
    expect([chain.head.view.byTag('safe').header.number, chain.head.view.byTag('finalized').header.number]).toEqual([9, 8])
  })
})

describe('the L1 attributes of a block', () => {
  test('are in L1Block, and the sequence number counts within an epoch', async () => {
    const { chain, clock, events } = await startedChain('preconf', { l1: { ...DEFAULT_L1, baseFee: 7n * GWEI } })
    await clock.advance(30_000)
    const seen = sealedOf(events).map(({ block }) => {
      const { data } = block.transactions[0]!
      const word = (offset: number): number => Number(BigInt(Hex.fromBytes(data.subarray(offset, offset + 8))))
      return [word(28), word(12)]
    })
    expect(seen).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
      [0, 3],
      [0, 4],
      [0, 5],
      [1, 0],
      [1, 1],
      [1, 2],
      [1, 3],
      [1, 4],
      [1, 5],
      [2, 0],
      [2, 1],
      [2, 2],
    ])
    const state = chain.head.view.state(chain.head.view.head)
    expect(state.storage(L1_BLOCK, Hash.fromBigint(1n))).toBe(7n * GWEI)
    expect(state.storage(L1_BLOCK, Hash.fromBigint(0n)) & ((1n << 64n) - 1n)).toBe(2n)
  })
})

describe('state history', () => {
  test('reaches back the configured number of blocks', async () => {
    const { chain } = await startedChain('manual', { historyBlocks: 5 })
    for (let nonce = 0; nonce < 12; nonce++) {
      await chain.submit(signed({ nonce: BigInt(nonce) }))
      await chain.mine(1)
    }
    const { view } = chain.head
    expect(chain.sealed.oldestStateBlock()).toBe(7)
    for (let number = 7; number <= 12; number++) expect(view.state(view.byNumber(number)!).account(RECIPIENT)?.balance).toBe(BigInt(number))
    expect(() => view.state(view.byNumber(6)!)).toThrow(PrunedState)
    expect(() => view.proof(view.byNumber(6)!, RECIPIENT, [])).toThrow(PrunedState)
    expect(view.byNumber(1)?.receipts).toHaveLength(2)
    await expect(chain.rollback(6)).rejects.toThrow('cannot go back 6 blocks: state is kept from block 7 on')
    await chain.rollback(5)
    expect(chain.head.view.head.header.number).toBe(7)
  })

  test('snapshots keep their state until they are consumed', async () => {
    const { chain } = await startedChain('manual', { historyBlocks: 3 })
    await chain.mine(1)
    const id = await chain.snapshot()
    const { head } = chain.head.view
    await chain.mine(20)
    expect(await chain.revert(id)).toBe(true)
    expect(chain.head.view.head).toBe(head)
    await chain.mine(20)
    expect(() => chain.head.view.state(head)).toThrow(PrunedState)
  })

  test('the oldest snapshot is dropped above the limit', async () => {
    const { chain } = await startedChain('manual')
    const first = await chain.snapshot()
    const second = await chain.snapshot()
    for (let count = 2; count <= SNAPSHOTS; count++) await chain.snapshot()
    expect(await chain.revert(first)).toBe(false)
    expect(await chain.revert(second)).toBe(true)
  })
})

describe('concurrent changes', () => {
  test('run one at a time, in call order', async () => {
    const { chain, clock, events } = await startedChain()
    const txs = [0, 1, 2].map((nonce) => signed({ nonce: BigInt(nonce) }))
    await Promise.all([
      chain.submit(txs[0]!),
      chain.mine(1),
      chain.submit(txs[1]!),
      chain.edit((world) => world.setBalance(RECIPIENT, 0n)),
      chain.mine(1),
      chain.submit(txs[2]!),
      chain.increaseTime(10),
      clock.advance(2_000),
    ])
    await clock.advance(2_000)
    expect(txs.map((tx) => chain.head.view.locate(tx.hash)?.block.header.number)).toEqual([1, 2, 3])
    const versions = events.map((event) => event.view.version)
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(chain.head.view.state(chain.head.view.byNumber(2)!).account(RECIPIENT)?.balance).toBe(1n)
  })

  test('a clock that jumps far ahead produces every block in between', async () => {
    const { chain, clock } = await startedChain()
    await clock.advance(200_000)
    expect(chain.head.view.head.header.number).toBe(100)
  })
})

describe('a detached block', () => {
  function attributes({ chain }: TestChain): BlockAttributes {
    return {
      timestamp: chain.head.view.head.header.timestamp + 10,
      timestampMs: null,
      prevRandao: Hash.zero,
      feeRecipient: BOB,
      gasLimit: 30_000_000n,
      extraData: chain.head.view.head.header.extraData,
      parentBeaconBlockRoot: Hash.zero,
      withdrawals: [],
      baseFeePerGas: null,
      difficulty: 0n,
      ommers: [],
    }
  }

  test('is built on the head and leaves no trace', async () => {
    const parts = await startedChain('manual')
    const { chain, events } = parts
    await chain.mine(1)
    const before = [chain.head.view, chain.sealed.history.version, events.length]
    const tx = signed()
    const { block } = await chain.buildDetached(attributes(parts), [tx])
    expect(block.header).toMatchObject({ number: 2, parentHash: chain.head.view.head.hash, coinbase: BOB })
    expect(hashesOf(block)).toEqual([tx.hash])
    expect([chain.head.view, chain.sealed.history.version, events.length]).toEqual(before)
    await chain.submit(signed({ nonce: 1n }))
    await chain.submit(tx)
    expect(hashesOf((await chain.buildDetached(attributes(parts), 'pool')).block)).toHaveLength(2)
    expect(chain.pool.size).toBe(2)
  })

  test('of the pool holds what fits', async () => {
    const parts = await startedChain('manual')
    const { chain } = parts
    const waiting = [0n, 1n, 2n].map((nonce) => signed({ nonce }))
    for (const tx of waiting) await chain.submit(tx)
    const { block } = await chain.buildDetached({ ...attributes(parts), gasLimit: 100_000n }, 'pool')
    expect(hashesOf(block)).toEqual([waiting[0]!.hash, waiting[1]!.hash])
    expect(chain.pool.size).toBe(3)
  })

  test('that cannot be built throws the reason and leaves no trace', async () => {
    const parts = await startedChain('manual')
    const version = parts.chain.sealed.history.version
    await expect(parts.chain.buildDetached(attributes(parts), [signed(), signed({ nonce: 9n })])).rejects.toThrow(InvalidTransaction)
    expect(parts.chain.sealed.history.version).toBe(version)
  })

  test('under preconf leaves the open block and its promises as they are', async () => {
    const parts = await startedChain()
    const { chain, clock, events, bugs } = parts
    const [promised, given] = [signed(), signed({}, 1)]
    await chain.submit(promised)
    await clock.advance(200)
    const before = [chain.head.view, chain.sealed.history.version, events.length]
    const { block } = await chain.buildDetached(attributes(parts), [given])
    expect(hashesOf(block)).toEqual([given.hash])
    expect([chain.head.view, chain.sealed.history.version, events.length]).toEqual(before)
    expect(receiptOf(chain, promised.hash)?.status).toBe(1)
    await clock.advance(2_000)
    expect(hashesOf(chain.head.view.head)).toEqual([promised.hash])
    expect(rewindsOf(events)).toEqual([])
    expect(bugs).toEqual([])
  })

  test('of the pool begins with the promised transactions', async () => {
    const parts = await startedChain()
    const { chain, clock } = parts
    const [promised, waiting] = [signed(), signed({ nonce: 1n })]
    await chain.submit(promised)
    await clock.advance(200)
    await chain.submit(waiting)
    const { block } = await chain.buildDetached(attributes(parts), 'pool')
    expect(hashesOf(block)).toEqual([promised.hash, waiting.hash])
    expect(chain.pool.all()).toEqual([waiting])
  })

  test('has the hash of the sealed block with the same contents', async () => {
    const { chain } = await startedChain('manual')
    await chain.mine(1)
    await chain.submit(signed())
    const [sealed] = await chain.mine(1)
    await chain.rollback(1)
    const { header, transactions, withdrawals, ommers } = sealed!
    const same = { ...header, timestampMs: null, prevRandao: header.mixHash, feeRecipient: header.coinbase, withdrawals, ommers }
    const { block } = await chain.buildDetached(same, transactions)
    expect(block.hash).toBe(sealed!.hash)
  })
})
