import { describe, expect, test } from 'vitest'
import { Address, Block, EMPTY_REQUESTS_HASH, Hash, Header } from '../../eth/index.ts'
import type { Transaction } from '../../eth/index.ts'
import { GAS_PER_BLOB, InvalidTransaction } from '../../evm/index.ts'
import type { ChainConfig } from '../../evm/index.ts'
import { BlockBuilder, BlockFull } from './builder.ts'
import type { BlockAttributes } from './builder.ts'
import { ALICE, ETHER, GENESIS_SECONDS, GWEI, RECIPIENT, receiptOf, signed, startedChain, testChain } from '../chain.fixture.ts'

const MESSAGE_PASSER = Address.from('0x4200000000000000000000000000000000000016')

const ATTRIBUTES: BlockAttributes = {
  timestamp: GENESIS_SECONDS + 1,
  timestampMs: null,
  prevRandao: Hash.zero,
  feeRecipient: RECIPIENT,
  gasLimit: 1_000_000n,
  extraData: new Uint8Array(),
  parentBeaconBlockRoot: null,
  withdrawals: [],
  baseFeePerGas: GWEI,
  difficulty: 0n,
  ommers: [],
}

/** A builder on a genesis; without `op` under L1 rules. */
function builderOf(changes: Partial<BlockAttributes> = {}, op = true) {
  const { chain } = testChain('manual')
  const config: ChainConfig = op ? chain.config : { ...chain.config, op: null }
  const builder = new BlockBuilder(chain.sealed.history, config, chain.genesis, { ...ATTRIBUTES, ...changes }, () => null)
  builder.begin()
  return { builder, history: chain.sealed.history }
}

function blobs(nonce: number, count: number): Transaction {
  const blobVersionedHashes = Array.from({ length: count }, (_, index) => Hash.from(`0x01${index.toString(16).padStart(62, '0')}`))
  return signed({ type: 3, nonce: BigInt(nonce), maxFeePerBlobGas: GWEI, blobVersionedHashes })
}

describe('remaining gas', () => {
  test('a transaction may use all remaining gas, and no more', () => {
    const { builder } = builderOf()
    builder.add(signed({ gas: 1_000_000n }))
    expect(builder.gasUsed).toBe(21_000n)
    expect(() => builder.add(signed({ nonce: 1n, gas: 979_001n }))).toThrow(
      new BlockFull('transaction gas 979001 exceeds the 979000 left in the block'),
    )
    expect(builder.transactions).toHaveLength(1)
    builder.add(signed({ nonce: 1n, gas: 979_000n }))
  })

  test('the data-availability footprint also fills a block', () => {
    const { builder } = builderOf()
    for (let nonce = 0n; nonce < 25n; nonce++) {
      expect(builder.fits(signed({ nonce }), 1_000_000n)).toBe(true)
      builder.add(signed({ nonce }))
    }
    expect(builder.fits(signed({ nonce: 25n }), 1_000_000n)).toBe(false)
    expect(() => builder.add(signed({ nonce: 25n }))).toThrow('transaction blob gas 40000 exceeds the 0 left in the block')
    expect(builder.seal().block.header.blobGasUsed).toBe(1_000_000n)
  })

  test('for blobs is the L1 fork’s limit', () => {
    const { builder } = builderOf({}, false)
    builder.add(blobs(0, 6))
    expect(() => builder.add(blobs(1, 4))).toThrow(BlockFull)
    builder.add(blobs(1, 3))
    expect(builder.seal().block.header.blobGasUsed).toBe(9n * GAS_PER_BLOB)
  })
})

describe('a block', () => {
  test('is unchanged when a transaction is rejected', () => {
    const { builder, history } = builderOf()
    builder.add(signed())
    const version = history.version
    expect(() => builder.add(signed({ nonce: 5n }))).toThrow(InvalidTransaction)
    expect([builder.transactions.length, builder.receipts.length, builder.gasUsed, history.version]).toEqual([1, 1, 21_000n, version])
    builder.add(signed({ nonce: 1n }))
    const { block } = builder.seal()
    expect(block.receipts.map((receipt) => receipt.cumulativeGasUsed)).toEqual([21_000n, 42_000n])
  })

  test('writes to the state on commit, one version each, and returns the writes', () => {
    const { builder, history } = builderOf()
    builder.add(signed({ value: ETHER }))
    expect(history.at(history.version).account(ALICE)?.nonce).toBe(0n)
    const writes = builder.commit()
    expect(history.version).toBe(1)
    expect(writes.accounts.get(ALICE)?.nonce).toBe(1n)
    builder.add(signed({ nonce: 1n, value: ETHER }))
    expect(builder.commit().accounts.get(ALICE)?.nonce).toBe(2n)
    expect([1, 2].map((version) => history.at(version).account(ALICE)?.nonce)).toEqual([1n, 2n])
  })

  test('has the promised hash when nothing was added after it', () => {
    const { builder } = builderOf()
    builder.add(signed())
    builder.commit()
    const pending = builder.pending()
    expect(pending.hash).toBe(Hash.zero)
    expect(builder.hash()).toBe(Header.hash(pending.header))
    const { block } = builder.seal()
    expect(block.hash).toBe(Header.hash(pending.header))
    expect(block.sizeBytes).toBe(Block.encode(block).length)
  })

  test('changes header and hash when it grows, and adds no state version when it does not', () => {
    const { builder, history } = builderOf()
    builder.add(signed())
    builder.commit()
    const [first, hash, version] = [builder.header(), builder.hash(), history.version]
    builder.commit()
    expect([builder.header(), builder.hash(), history.version]).toEqual([first, hash, version])
    builder.add(signed({ nonce: 1n }))
    builder.commit()
    expect(builder.header().transactionsRoot).not.toBe(first.transactionsRoot)
    expect(builder.header().receiptsRoot).not.toBe(first.receiptsRoot)
    expect(builder.hash()).toBe(Header.hash(builder.header()))
    expect(builder.hash()).not.toBe(hash)
    expect(history.version).toBe(version + 1)
  })

  test('of an OP chain has the message passer’s storage root as withdrawals root, and no requests', async () => {
    const { chain } = await startedChain('manual')
    const empty = chain.genesis.header.withdrawalsRoot
    const withdrawal = signed({ to: MESSAGE_PASSER, value: ETHER, gas: 300_000n })
    await chain.submit(withdrawal)
    const [block] = await chain.mine(1)
    expect(receiptOf(chain, withdrawal.hash)).toMatchObject({ status: 1 })
    expect(block!.header.withdrawalsRoot).toBe(chain.sealed.history.storageRoot(MESSAGE_PASSER))
    expect(block!.header.withdrawalsRoot).not.toBe(empty)
    expect(block!.header).toMatchObject({ requestsHash: EMPTY_REQUESTS_HASH, excessBlobGas: 0n })
    expect(block!.withdrawals).toEqual([])
  })

  test('of L1 pays its withdrawals and has their root', () => {
    const withdrawal = { index: 0n, validatorIndex: 1n, address: RECIPIENT, amount: 3n }
    const { builder, history } = builderOf({ withdrawals: [withdrawal] }, false)
    const { block, writes } = builder.seal()
    expect(history.at(history.version).account(RECIPIENT)?.balance).toBe(3n * GWEI)
    expect(writes.accounts.get(RECIPIENT)?.balance).toBe(3n * GWEI)
    const { block: bare } = builderOf({}, false).builder.seal()
    expect(block.header.withdrawalsRoot).not.toBe(bare.header.withdrawalsRoot)
  })
})
