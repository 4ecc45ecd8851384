import { describe, expect, test } from 'vitest'
import { Hash } from '../../eth/index.ts'
import type { TransactionFields } from '../../eth/index.ts'
import { GWEI, hashesOf, receiptOf, signed, startedChain, testGenesis } from '../chain.fixture.ts'
import { configOf } from '../genesis/defaultgenesis.ts'
import type { CadenceKind } from '../sequencing/cadence.ts'
import { PoolError } from './mempool.ts'

const VERSIONED_HASH = Hash.from(`0x01${'00'.repeat(31)}`)

/** The blob base fee is 1 wei, or 5 wei in block 1 and less after each block without blobs. */
function l1Chain(kind: CadenceKind, blobsAreDear = false) {
  const config = configOf(31_337, 'osaka', 0, { codeSizeLimit: null, transactionGasCap: null })
  const excessBlobGas = blobsAreDear ? 9_000_000n : 0n
  // A higher base fee keeps the blob base fee from falling (EIP-7918).
  const blobs = { baseFeePerGas: 10n, excessBlobGas, blobGasUsed: 0n }
  return startedChain(kind, { genesis: { ...testGenesis(), config, extraData: new Uint8Array(), ...blobs } })
}

function withBlobs(count: number, fields: TransactionFields = {}) {
  const blobVersionedHashes = Array.from({ length: count }, () => VERSIONED_HASH)
  return signed({ type: 3, maxFeePerBlobGas: GWEI, blobVersionedHashes, ...fields })
}

describe('a blob transaction that no block can contain is refused, and the pool stays as it was', () => {
  test.each<[string, number, TransactionFields]>([
    ['blob transaction has too many blobs: have 7, permitted 6', 7, {}],
    ['blob transaction missing blob hashes', 0, {}],
    ['blob 0 has invalid hash version', 1, { blobVersionedHashes: [Hash.from(`0x02${'00'.repeat(31)}`)] }],
    ['transaction gas price below minimum: blob fee cap 0, minimum needed 1', 1, { maxFeePerBlobGas: 0n }],
  ])('%s', async (message, count, fields) => {
    const { chain } = await l1Chain('instant')
    const refused = chain.submit(withBlobs(count, fields))
    await expect(refused).rejects.toThrow(PoolError)
    await expect(refused).rejects.toThrow(message)
    expect(chain.pool.size).toBe(0)
    expect(chain.head.view.head.header.number).toBe(0)
    const valid = withBlobs(6)
    await chain.submit(valid)
    expect(receiptOf(chain, valid.hash)?.status).toBe(1)
  })
})

describe('a blob fee cap below the blob base fee', () => {
  test.each<CadenceKind>(['instant', 'preconf', 'manual'])('waits for cheaper blobs (%s)', async (kind) => {
    const { chain, clock, bugs } = await l1Chain(kind, true)
    const [waiting, next] = [withBlobs(1, { maxFeePerBlobGas: 2n }), signed({ nonce: 1n })]
    await chain.submit(waiting)
    await chain.submit(next)
    await clock.advance(2_000)
    if (kind === 'manual') await chain.mine(1)
    expect(chain.pool.all().map(({ hash }) => hash)).toEqual([waiting.hash, next.hash])
    const before = chain.head.view.head.header.number
    for (let blocks = 0; chain.pool.size > 0 && blocks < 100; blocks++) await chain.mine(1)
    expect(chain.head.view.locate(waiting.hash)?.block.header.number).toBeGreaterThan(before + 1)
    expect(receiptOf(chain, waiting.hash)).toMatchObject({ status: 1, blobGasPrice: 2n })
    expect(receiptOf(chain, next.hash)).toMatchObject({ status: 1 })
    expect(bugs).toEqual([])
  })

  test('leaves no place for what pays less per gas, nor takes one', async () => {
    const { chain } = await l1Chain('instant', true)
    const [waiting, other] = [withBlobs(1, { maxFeePerBlobGas: 1n, maxPriorityFeePerGas: GWEI }), signed({}, 1)]
    await chain.submit(waiting)
    await chain.submit(other)
    expect(hashesOf(chain.head.view.head)).toEqual([other.hash])
    expect(chain.pool.all().map(({ hash }) => hash)).toEqual([waiting.hash])
  })
})
