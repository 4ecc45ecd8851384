import { beforeAll, describe, expect, it } from 'vitest'
import { Hash, Hex } from '../eth/index.ts'
import type { Block, Transaction } from '../eth/index.ts'
import { BLANK_HEADER } from '../eth/header.fixture.ts'
import { blockJson, receiptJson, transactionJson } from './json.ts'
import { ALICE, LOGGER, LOGGER_INIT_CODE, PRECONF, testNode } from './node.fixture.ts'
import type { TestNode } from './node.fixture.ts'
import { BLOCK, RECEIPT, TRANSACTION } from './results.ts'

// Cases that the conformance files of execution-apis do not cover: OP fields, deposits, pre-confirmed and native blocks.

type Shown = Readonly<Record<string, unknown>>

describe('a pre-confirmed block', () => {
  let node: TestNode
  let block: Shown
  let hash: Hash

  beforeAll(async () => {
    node = await testNode({ cadence: PRECONF })
    await node.send({ data: LOGGER_INIT_CODE })
    hash = await node.send({ to: LOGGER, data: Hash.toBytes(Hash.fromBigint(5n)) })
    await node.clock.advance(200)
    block = (await node.ask('eth_getBlockByNumber', 'pending', true)) as Shown // its result schema
  })

  it('has a hash of zeros, no size, and lists that are empty rather than absent', () => {
    expect(block).toMatchObject({ hash: Hash.zero, number: '0x1', uncles: [], withdrawals: [], nonce: '0x0000000000000000' })
    expect(block).not.toHaveProperty('size')
    expect(block).not.toHaveProperty('totalDifficulty')
    expect(block).not.toHaveProperty('timestampMs')
  })

  it('shows transactions with number, index and time, but without a block hash', async () => {
    const place = { blockHash: null, blockNumber: '0x1', transactionIndex: '0x2', blockTimestamp: block['timestamp'] }
    expect(await node.ask('eth_getTransactionByHash', hash)).toMatchObject({ ...place, hash, from: ALICE, to: LOGGER, type: '0x2' })
    expect((block['transactions'] as Shown[])[2]).toMatchObject(place)
  })

  it('has receipts whose logs have a block hash of zeros', async () => {
    expect(await node.ask('eth_getTransactionReceipt', hash)).toMatchObject({
      blockHash: Hash.zero,
      blockNumber: '0x1',
      status: '0x1',
      contractAddress: null,
      logs: [{ blockHash: Hash.zero, blockTimestamp: block['timestamp'], logIndex: '0x0', transactionIndex: '0x2', removed: false }],
    })
  })

  it('begins with the deposit of the L1 attributes', async () => {
    const deposit = (block['transactions'] as Shown[])[0]
    expect(deposit).toMatchObject({
      type: '0x7e',
      from: '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001',
      to: '0x4200000000000000000000000000000000000015',
      gasPrice: '0x0',
      mint: '0x0',
      depositReceiptVersion: '0x1',
      sourceHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as unknown,
      v: '0x0',
      r: '0x0',
      s: '0x0',
      yParity: '0x0',
    })
    for (const key of ['isSystemTx', 'chainId', 'accessList', 'maxFeePerGas']) expect(deposit).not.toHaveProperty(key)
    expect(await node.ask('eth_getTransactionReceipt', deposit?.['hash'])).toMatchObject({
      type: '0x7e',
      effectiveGasPrice: '0x0',
      l1Fee: '0x0',
      depositReceiptVersion: '0x1',
      depositNonce: deposit?.['nonce'],
    })
  })

  it('has receipts with the L1 costs; the operator fee only when it is charged', async () => {
    const receipt = await node.ask('eth_getTransactionReceipt', hash)
    for (const key of ['l1GasPrice', 'l1GasUsed', 'l1Fee', 'l1BaseFeeScalar', 'l1BlobBaseFee', 'l1BlobBaseFeeScalar', 'blobGasUsed']) {
      expect(receipt).toHaveProperty(key, expect.stringMatching(/^0x[1-9a-f]/))
    }
    expect(receipt).toMatchObject({ daFootprintGasScalar: '0x190' })
    expect(receipt).not.toHaveProperty('operatorFeeScalar')
    const { header } = node.chain.head.view.byTag('pending')
    expect(header.number).toBe(1)
  })

  it('is the same once sealed, but for hashes, roots and size', async () => {
    const receipts = (await node.ask('eth_getBlockReceipts', 'pending')) as Shown[]
    await node.clock.advance(2_000)
    const sealed = node.chain.head.view.byNumber(1)!
    const replaced = JSON.parse(
      JSON.stringify(receipts).replaceAll(`"blockHash":"${Hash.zero}"`, `"blockHash":"${sealed.hash}"`),
    ) as unknown
    expect(await node.ask('eth_getBlockReceipts', '0x1')).toEqual(replaced)
    expect(await node.ask('eth_getBlockByNumber', '0x1', false)).toMatchObject({
      transactions: (block['transactions'] as Shown[]).map((tx) => tx['hash']),
      size: Hex.fromQuantity(sealed.sizeBytes),
      hash: sealed.hash,
      timestamp: block['timestamp'],
    })
    await node.chain.stop()
  })

  it('fits the result schemas', () => {
    expect(misfits(BLOCK, block)).toEqual([])
    for (const tx of block['transactions'] as Shown[]) expect(misfits(TRANSACTION, tx)).toEqual([])
  })
})

describe('the native cadence', () => {
  it('adds milliseconds to blocks, transactions, receipts and logs', async () => {
    const node = await testNode({ cadence: { kind: 'native', blockTimeMs: 200 } })
    await node.send({ data: LOGGER_INIT_CODE })
    const hash = await node.send({ to: LOGGER })
    await node.clock.advance(1_000)
    const { block } = node.chain.head.view.locate(hash)!
    const at = Hex.fromQuantity(block.timestampMs ?? 0)
    expect(await node.ask('eth_getBlockByHash', block.hash, false)).toMatchObject({ timestampMs: at })
    expect(await node.ask('eth_getTransactionByHash', hash)).toMatchObject({ blockTimestampMs: at })
    const receipt = await node.ask('eth_getTransactionReceipt', hash)
    expect(receipt).toMatchObject({ blockTimestampMs: at, logs: [{ blockTimestampMs: at }] })
    expect(misfits(RECEIPT, receipt as Shown)).toEqual([])
    await node.chain.stop()
  })
})

describe('single fields', () => {
  const tx: Transaction = {
    type: 2,
    hash: Hash.zero,
    from: ALICE,
    to: null,
    chainId: 5,
    nonce: 1n,
    gas: 21_000n,
    value: 2n,
    data: new Uint8Array([1]),
    maxFeePerGas: 100n,
    maxPriorityFeePerGas: 3n,
    accessList: [],
    maxFeePerBlobGas: 0n,
    blobVersionedHashes: [],
    authorizationList: [],
    v: 1n,
    r: 2n,
    s: 3n,
    deposit: null,
    raw: new Uint8Array(0),
  }

  it('a pooled transaction has no place, and its price is its cap', () => {
    const nowhere = { blockHash: null, blockNumber: null, blockTimestamp: null, transactionIndex: null }
    expect(transactionJson(tx, null)).toMatchObject({ ...nowhere, gasPrice: '0x64', yParity: '0x1', v: '0x1', to: null, input: '0x01' })
  })

  it('legacy has no y parity, and a chain id only when it is replay-protected', () => {
    expect(transactionJson({ ...tx, type: 0, chainId: null, v: 27n }, null)).not.toHaveProperty('chainId')
    const legacy = transactionJson({ ...tx, type: 0, v: 37n }, null)
    expect(legacy).toMatchObject({ chainId: '0x5', v: '0x25', gasPrice: '0x64' })
    for (const key of ['yParity', 'accessList', 'maxFeePerGas']) expect(legacy).not.toHaveProperty(key)
  })

  it('a system deposit is marked', () => {
    const deposit = { sourceHash: Hash.zero, mint: 7n, isSystemTx: true }
    expect(transactionJson({ ...tx, type: 0x7e, deposit }, null)).toMatchObject({ isSystemTx: true, mint: '0x7', type: '0x7e' })
  })

  it('a block before its forks lacks their fields', () => {
    const shown = blockJson(OLD_BLOCK, true)
    for (const key of ['baseFeePerGas', 'withdrawals', 'withdrawalsRoot', 'blobGasUsed', 'parentBeaconBlockRoot', 'requestsHash']) {
      expect(shown).not.toHaveProperty(key)
    }
    expect(misfits(BLOCK, shown)).toEqual([])
  })

  it('a missing receipt is a bug', () => {
    expect(() => receiptJson({ block: OLD_BLOCK, index: 0 })).toThrow('block 7 has no receipt 0')
  })
})

/** Keys that the schema lacks, and missing required keys. */
function misfits(schema: Shown, value: Shown): readonly string[] {
  const known = Object.keys(schema['properties'] as Shown)
  const missing = (schema['required'] as string[]).filter((key) => !(key in value))
  return [...Object.keys(value).filter((key) => !known.includes(key)), ...missing]
}

const OLD_BLOCK: Block = {
  header: { ...BLANK_HEADER, difficulty: 1n, number: 7, gasLimit: 1n, timestamp: 1 },
  hash: Hash.fromBigint(1n),
  transactions: [],
  receipts: [],
  ommers: [],
  withdrawals: null,
  timestampMs: null,
  sizeBytes: 500,
}
