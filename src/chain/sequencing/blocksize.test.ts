import { expect, test } from 'vitest'
import { Block } from '../../eth/index.ts'
import type { Transaction } from '../../eth/index.ts'
import { hashesOf, signed, startedChain, testGenesis } from '../chain.fixture.ts'
import type { TestChain } from '../chain.fixture.ts'
import { configOf } from '../genesis/defaultgenesis.ts'
import { BLOCK_BYTES } from '../limits.ts'
import { ImportError, importChain } from '../replica/import.ts'

const LIMITS = { codeSizeLimit: null, transactionGasCap: null }
const GAS_LIMIT = 200_000_000n
/** One more than a block has room for. */
const COUNT = 65

function chainOf(hardfork: 'osaka' | 'prague' | 'azul'): Promise<TestChain> {
  const config = configOf(31_337, hardfork, 0, LIMITS)
  const l1 = hardfork === 'azul' ? {} : { extraData: new Uint8Array(), excessBlobGas: 0n, blobGasUsed: 0n }
  return startedChain('manual', { gasLimit: GAS_LIMIT, genesis: { ...testGenesis(), ...l1, config, gasLimit: GAS_LIMIT } })
}

let last: readonly Transaction[] | null = null

/** Transactions with 130,000 bytes of data each, by nonce. */
function large(): readonly Transaction[] {
  const data = new Uint8Array(130_000)
  return (last ??= Array.from({ length: COUNT }, (_, nonce) => signed({ nonce: BigInt(nonce), gas: 1_400_000n, data })))
}

async function mined({ chain }: TestChain): Promise<Block> {
  for (const tx of large()) await chain.submit(tx)
  const [block] = await chain.mine(1)
  return block!
}

test('an L1 block since Osaka is at most as large as EIP-7934 permits; what does not fit waits', async () => {
  const parts = await chainOf('osaka')
  const block = await mined(parts)
  expect(block.sizeBytes).toBeLessThanOrEqual(BLOCK_BYTES)
  expect(hashesOf(block)).toEqual(
    large()
      .slice(0, 64)
      .map(({ hash }) => hash),
  )
  expect(parts.chain.pool.all().map(({ hash }) => hash)).toEqual([large()[64]!.hash])
  const [next] = await parts.chain.mine(1)
  expect(hashesOf(next!)).toEqual([large()[64]!.hash])
  expect(parts.bugs).toEqual([])
})

test('a block of exactly the limit is built and imported, and one byte more is not', async () => {
  const { chain } = await chainOf('osaka')
  const first = large().slice(0, 64)
  for (const tx of first) await chain.submit(tx)
  const [before] = await chain.mine(1)
  await chain.rollback(1)
  const build = (bytes: number) => {
    const data = new Uint8Array(bytes)
    return chain.sealTransactions([...first, signed({ nonce: 64n, gas: 1_400_000n, data })], {
      timestamp: before!.header.timestamp,
      prevRandao: before!.header.mixHash,
    })
  }
  const overhead =
    Block.encode({ ...before!, transactions: [...first, signed({ nonce: 64n, gas: 1_400_000n, data: new Uint8Array(60_000) })] }).length -
    60_000
  const bytes = BLOCK_BYTES - overhead
  await expect(build(bytes + 1)).rejects.toThrow(/^transaction size of \d+ bytes is 1 more than the block has left$/)
  expect(chain.head.view.head.header.number).toBe(0)
  const block = await build(bytes)
  expect(block.sizeBytes).toBe(BLOCK_BYTES)
  const { chain: other } = await chainOf('osaka')
  await importChain(other, Block.encode(block))
  expect(other.head.view.head.hash).toBe(block.hash)
})

test('before Osaka, and on OP chains, blocks may be larger', async () => {
  for (const hardfork of ['prague', 'azul'] as const) {
    const block = await mined(await chainOf(hardfork))
    expect(hashesOf(block)).toHaveLength(COUNT)
    expect(block.sizeBytes).toBeGreaterThan(BLOCK_BYTES)
  }
})

test('the import refuses a larger block, and the chain stays as it was', async () => {
  const block = await mined(await chainOf('prague'))
  const { chain } = await chainOf('osaka')
  const { genesis } = chain
  const refused = importChain(chain, Block.encode({ ...block, header: { ...block.header, parentHash: genesis.hash } }))
  await expect(refused).rejects.toThrow(ImportError)
  await expect(refused).rejects.toThrow(`block 1: block RLP-encoded size exceeds maximum: ${block.sizeBytes} bytes, limit ${BLOCK_BYTES}`)
  expect(chain.head.view.head).toBe(genesis)
})
