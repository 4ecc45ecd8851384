import { describe, expect, it } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import { Header, Hex, Transaction } from '../../src/eth/index.ts'
import { attributesOf, recorded, rebuilt } from '../conformance/op-blocks.fixture.ts'
import { WitnessUpstream } from './witnessupstream.fixture.ts'

// Blocks of OP Sepolia, recorded with all state that they read, on a fork of their parents.

/** Most HTTP requests of a block's transactions, executed one after the other: as measured, with the longest chain of reads. */
const MOST_REQUESTS = 64

describe.skipIf(recorded.length === 0)('a fork of OP Sepolia', () => {
  it.each(recorded.map((block) => [block.number, block] as const))(
    'executes the transactions of block %i as the chain did',
    { timeout: 30_000 },
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
      const built = await node.chain.buildDetached(attributesOf(block), transactions)
      const expected = rebuilt(block)

      expect(expected.hash).toBe(block.expected_block_hash)
      expect(built.receipts).toEqual(expected.receipts)
      // A fork has no tries of the forked chain, so these two roots are its own.
      const { stateRoot, withdrawalsRoot } = expected.header
      const header = { ...built.header, stateRoot, withdrawalsRoot }
      expect(Header.hash(header)).toBe(block.expected_block_hash)
      console.log(
        `block ${block.number}: ${transactions.length} transactions, ${upstream.requests - atStart} requests, ${atStart} at the start`,
      )
      expect(atStart).toBe(3)
      expect(upstream.requests - atStart).toBeLessThanOrEqual(MOST_REQUESTS)
    },
  )
})
