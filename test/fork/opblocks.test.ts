import { describe, expect, it } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import { Header, Hex, Transaction } from '../../src/eth/index.ts'
import { attributesOf, recorded, rebuilt } from '../conformance/op-blocks.fixture.ts'
import { WitnessUpstream } from './witnessupstream.fixture.ts'

// Blocks of OP Sepolia, recorded with all state that they read, on a fork of their parents.

/**
 * HTTP requests of all transactions of a block, as measured. A round has one request, and the transactions share rounds, so the longest chain of reads
 * decides. The witness cannot execute, so upstream has no access lists.
 */
const REQUESTS: Readonly<Record<number, number>> = { 26_207_961: 39, 26_207_963: 13, 26_208_858: 44 }

describe.skipIf(recorded.length === 0)('a fork of OP Sepolia', () => {
  it.each(recorded.map((block) => [block.number, block] as const))(
    'executes the transactions of block %i as the chain did',
    async (_, block) => {
      await using upstream = await WitnessUpstream.start(block)
      const fork = { url: upstream.url, blockNumber: block.number - 1, storageCaching: false }
      await using node = await createPocketchain({
        fork,
        cadence: 'manual',
        wallet: false,
        bundler: false,
        sponsor: false,
        factories: false,
        accounts: 1,
        mnemonic: 'legal winner thank year wave sausage worth useful legal winner thank yellow',
        onNote: () => undefined,
      })
      const atStart = upstream.requests
      const transactions = block.payload.transactions.map((raw) => Transaction.decode(Hex.toBytes(raw)))
      const { block: built } = await node.chain.buildDetached(attributesOf(block), transactions)
      const expected = rebuilt(block)

      expect(expected.hash).toBe(block.expected_block_hash)
      expect(built.receipts).toEqual(expected.receipts)
      // A fork has no tries of the forked chain, so these two roots are its own.
      const { stateRoot, withdrawalsRoot } = expected.header
      const header = { ...built.header, stateRoot, withdrawalsRoot }
      expect(Header.hash(header)).toBe(block.expected_block_hash)
      expect(atStart).toBe(3)
      expect(upstream.requests - atStart).toBeLessThanOrEqual(REQUESTS[block.number]!)
    },
  )
})
