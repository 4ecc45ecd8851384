import { describe, expect, test } from 'vitest'
import { CADENCES } from '../../chain/index.ts'
import { Address, Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { ALICE, PRECONF, PUBLIC, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'
import { DO, OTTER_INIT_CODE } from '../otterscan.fixture.ts'

// The comparison with anvil is in test/conformance/otterscan.test.ts.

const BOB = Address.from(`0x${'b0'.repeat(20)}`)
const EVE = Address.from(`0x${'e0'.repeat(20)}`)

interface Page {
  readonly txs: readonly { readonly hash: Hash; readonly blockNumber: Hex; readonly from: Address; readonly to: Address | null }[]
  readonly receipts: readonly { readonly transactionHash: Hash; readonly timestamp: Hex }[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

async function before(node: TestNode, address: Address, block: number, size: number): Promise<Page> {
  return (await node.ask('ots_searchTransactionsBefore', address, block, size)) as Page // the tests check its shape
}

async function after(node: TestNode, address: Address, block: number, size: number): Promise<Page> {
  return (await node.ask('ots_searchTransactionsAfter', address, block, size)) as Page
}

/** Blocks of 0 to 6 transfers of ALICE, every third of them to BOB. Returns the hashes in order. */
async function busy(blocks: number, node: TestNode): Promise<Hash[]> {
  const hashes: Hash[] = []
  for (let block = 0; block < blocks; block++) {
    for (let i = 0; i < (block * 5) % 7; i++) hashes.push(await node.send({ to: hashes.length % 3 === 0 ? BOB : EVE, value: 1n }))
    await node.ask('evm_mine')
  }
  return hashes
}

function blockOf({ blockNumber }: { readonly blockNumber: Hex }): number {
  return Number(blockNumber)
}

/** Walks as Otterscan's buttons do, from the newest page on. */
async function olderPages(node: TestNode, address: Address, size: number): Promise<readonly Page[]> {
  const pages = [await before(node, address, 0, size)]
  while (pages.at(-1)?.lastPage === false) pages.push(await before(node, address, blockOf(pages.at(-1)!.txs.at(-1)!), size))
  return pages
}

async function newerPages(node: TestNode, address: Address, size: number): Promise<readonly Page[]> {
  const pages = [await after(node, address, 0, size)]
  while (pages.at(-1)?.firstPage === false) pages.push(await after(node, address, blockOf(pages.at(-1)!.txs[0]!), size))
  return pages
}

describe('pages of the transactions of an address', () => {
  test('contain every transaction exactly once, read from either end', async () => {
    const node = await testNode()
    const hashes = await busy(50, node)
    const expected: readonly (readonly [Address, readonly Hash[]])[] = [
      [ALICE, hashes],
      [BOB, hashes.filter((_, i) => i % 3 === 0)],
    ]
    for (const [address, all] of expected) {
      for (const size of [1, 4, 25]) {
        const older = await olderPages(node, address, size)
        expect(older.flatMap(({ txs }) => txs.map(({ hash }) => hash))).toEqual(all.toReversed())
        const newer = await newerPages(node, address, size)
        expect(newer.toReversed().flatMap(({ txs }) => txs.map(({ hash }) => hash))).toEqual(all.toReversed())
        for (const pages of [older, newer.toReversed()]) {
          expect(pages.map(({ firstPage }) => firstPage)).toEqual(pages.map((_, i) => i === 0))
          expect(pages.map(({ lastPage }) => lastPage)).toEqual(pages.map((_, i) => i === pages.length - 1))
        }
      }
    }
  })

  test('never split a block, and are otherwise as long as requested', async () => {
    const node = await testNode()
    await busy(20, node)
    for (const page of [...(await olderPages(node, ALICE, 4)), ...(await newerPages(node, ALICE, 4))]) {
      const blocks = page.txs.map(blockOf)
      const [newest, oldest] = [Math.max(...blocks), Math.min(...blocks)]
      expect(blocks).toEqual(blocks.toSorted((a, b) => b - a))
      const fewest = Math.min(blocks.filter((block) => block !== newest).length, blocks.filter((block) => block !== oldest).length)
      expect(fewest).toBeLessThan(4)
      for (const block of new Set(blocks)) {
        const count = await node.ask('eth_getBlockTransactionCountByNumber', Hex.fromQuantity(block))
        const others = node.chain.head.view.byNumber(block)?.transactions.filter(({ from }) => from !== ALICE)
        expect(blocks.filter((each) => each === block)).toHaveLength(Number(count) - (others?.length ?? 0))
      }
    }
  })

  test('have the transactions and receipts of the standard methods, with the time of the block', async () => {
    const node = await testNode()
    await busy(4, node)
    const { txs, receipts } = await before(node, ALICE, 0, 100)
    expect(txs.length).toBeGreaterThan(3)
    for (const [i, tx] of txs.entries()) {
      expect(tx).toEqual(await node.ask('eth_getTransactionByHash', tx.hash))
      const { timestamp, ...receipt } = receipts[i]!
      expect(receipt).toEqual(await node.ask('eth_getTransactionReceipt', tx.hash))
      expect(await node.ask('eth_getBlockByNumber', tx.blockNumber, false)).toMatchObject({ timestamp })
    }
  })

  test('have no removed transactions after a rewind, but the new ones', async () => {
    const node = await testNode()
    const kept = await busy(6, node)
    const snapshot = await node.ask('evm_snapshot')
    const nonce = kept.length
    const gone = await node.send({ to: BOB, nonce: BigInt(nonce) })
    await node.ask('evm_mine')
    expect(await node.ask('ots_getTransactionBySenderAndNonce', ALICE, nonce)).toBe(gone)
    await node.ask('evm_revert', snapshot)
    expect(await node.ask('ots_getTransactionBySenderAndNonce', ALICE, nonce)).toBe(null)
    expect((await before(node, ALICE, 0, 1)).txs[0]?.hash).toBe(kept.at(-1))
    const other = await node.send({ to: EVE, nonce: BigInt(nonce), value: 7n })
    await node.ask('evm_mine')
    const { txs } = await before(node, ALICE, 0, 100)
    expect(txs.map(({ hash }) => hash)).toEqual([other, ...kept.toReversed()])
    expect(await node.ask('ots_getTransactionBySenderAndNonce', ALICE, nonce)).toBe(other)
  })

  test('contain a transaction to its own sender once', async () => {
    const node = await testNode()
    const hash = await node.send({ to: ALICE, value: 1n })
    await node.ask('evm_mine')
    expect((await before(node, ALICE, 0, 25)).txs.map((tx) => tx.hash)).toEqual([hash])
  })
})

describe('a sender and a nonce', () => {
  test('name any transaction of a long chain', async () => {
    const node = await testNode()
    const hashes = await busy(40, node)
    const found = await Promise.all(hashes.map((_, nonce) => node.ask('ots_getTransactionBySenderAndNonce', ALICE, nonce)))
    expect(found).toEqual(hashes)
    expect(await node.ask('ots_getTransactionBySenderAndNonce', ALICE, hashes.length)).toBe(null)
    expect(await node.ask('ots_getTransactionBySenderAndNonce', BOB, 0)).toBe(null)
  })

  test('also name one that is not sealed yet', async () => {
    const node = await testNode({ cadence: PRECONF })
    const hash = await node.send({ to: BOB })
    await node.ask('pocketchain_tick', 400)
    expect(node.chain.head.view.pending?.transactions.map((tx) => tx.hash)).toContain(hash)
    expect(await node.ask('ots_getTransactionBySenderAndNonce', ALICE, '0x0')).toBe(hash)
  })
})

describe('the creator of a contract', () => {
  test('is the contract that created it, regardless of other transactions to that address', async () => {
    const node = await testNode()
    const [factory, child] = [Address.create(ALICE, 0n), Address.create(Address.create(ALICE, 0n), 1n)]
    await node.send({ to: null, data: OTTER_INIT_CODE })
    await node.send({ to: child, value: 1n })
    await node.ask('evm_mine')
    await busy(5, node)
    await node.send({ to: factory, value: 100n })
    const hash = await node.send({ to: factory, data: Hex.toBytes(DO.everything), gas: 1_000_000n })
    await node.ask('evm_mine')
    await node.send({ to: child })
    await node.ask('evm_mine')
    expect(await node.ask('ots_getContractCreator', child)).toEqual({ hash, creator: factory })
    expect(await node.ask('ots_getContractCreator', factory)).toMatchObject({ creator: ALICE })
  })

  test('is null for contracts of the genesis or of a test, and for a failed creation', async () => {
    const node = await testNode()
    await node.ask('evm_mine')
    await node.ask('anvil_setCode', EVE, '0x00')
    const failed = await node.send({ to: null, data: Hex.toBytes('0x60006000fd') })
    await node.ask('evm_mine')
    expect(await node.ask('eth_getTransactionReceipt', failed)).toMatchObject({ status: '0x0' })
    expect(await node.ask('ots_hasCode', EVE, 'latest')).toBe(true)
    expect(await node.ask('ots_getContractCreator', EVE)).toBe(null)
    expect(await node.ask('ots_getContractCreator', Address.create(ALICE, 0n))).toBe(null)
  })

  test('is unknown for a contract of another contract whose state is pruned', async () => {
    const node = await testNode({ historyBlocks: 4 })
    const [factory, child] = [Address.create(ALICE, 0n), Address.create(Address.create(ALICE, 0n), 1n)]
    await node.send({ to: null, data: OTTER_INIT_CODE })
    await node.send({ to: factory, value: 100n })
    await node.send({ to: factory, data: Hex.toBytes(DO.everything), gas: 1_000_000n })
    await node.ask('anvil_mine', 10)
    await expect(node.ask('ots_getContractCreator', child)).rejects.toMatchObject({ code: 4444 })
    expect(await node.ask('ots_getContractCreator', factory)).toMatchObject({ creator: ALICE })
  })
})

test('erigon_getHeaderByHash is erigon_getHeaderByNumber by hash, null for an unknown one', async () => {
  const { ask } = await testNode()
  await ask('anvil_mine', 3)
  const header = (await ask('erigon_getHeaderByNumber', 2)) as { readonly hash: Hash }
  expect(header).toMatchObject({ number: '0x2' })
  expect(await ask('erigon_getHeaderByHash', header.hash)).toEqual(header)
  expect(await ask('erigon_getHeaderByHash', `0x${'12'.repeat(32)}`)).toBeNull()
  await expect(ask('erigon_getHeaderByHash', '0x12')).rejects.toMatchObject({ code: -32602 })
})

test('erigon_getBlockByTimestamp is the block at a time, or the last one before it', async () => {
  const { ask } = await testNode()
  await ask('anvil_mine', 9, 10)
  const times = await Promise.all(
    Array.from({ length: 10 }, async (_, number) => {
      const { timestamp } = (await ask('eth_getBlockByNumber', Hex.fromQuantity(number), false)) as { readonly timestamp: Hex }
      return Number(timestamp)
    }),
  )
  const numberAt = async (seconds: unknown) =>
    Number(((await ask('erigon_getBlockByTimestamp', seconds)) as { readonly number: Hex }).number)
  for (const [number, time] of times.entries()) {
    expect(await numberAt(time)).toBe(number)
    expect(await numberAt(Hex.fromQuantity(time + 9))).toBe(number)
  }
  expect([await numberAt(0), await numberAt('0x1fffffffffffff')]).toEqual([0, 9])
  expect(await ask('erigon_getBlockByTimestamp', times[4], true)).toEqual(await ask('eth_getBlockByNumber', '0x4', true))
  for (const wrong of ['soon', -1, undefined])
    await expect(ask('erigon_getBlockByTimestamp', wrong)).rejects.toMatchObject({ code: -32602 })
})

test('erigon_getBlockByTimestamp is the first of several blocks in one second', async () => {
  const { ask, clock } = await testNode({ cadence: CADENCES.native })
  await clock.advance(3_000)
  const { timestamp } = (await ask('eth_getBlockByNumber', '0x7', false)) as { readonly timestamp: Hex }
  const { number } = (await ask('erigon_getBlockByTimestamp', timestamp)) as { readonly number: Hex }
  const block = async (ref: number) => (await ask('eth_getBlockByNumber', Hex.fromQuantity(ref), false)) as { readonly timestamp: Hex }
  expect(await block(Number(number))).toMatchObject({ timestamp })
  expect(Number((await block(Number(number) - 1)).timestamp)).toBe(Number(timestamp) - 1)
})

test('the public endpoint rejects all of these methods', async () => {
  const node = await testNode()
  for (const method of ['ots_getApiLevel', 'erigon_getHeaderByNumber']) {
    await expect(node.rpc.request({ method, params: [] }, PUBLIC)).rejects.toMatchObject({ code: -32601 })
  }
})
