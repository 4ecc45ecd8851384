import { describe, expect, test } from 'vitest'
import { Block, DecodeError, Hash, Header, Rlp } from '../../eth/index.ts'
import type { DecodedBlock, Withdrawal } from '../../eth/index.ts'
import { MemoryStore } from '../../store/index.ts'
import { ALICE, GWEI, sealedOf, signed, startedChain, testChain } from '../chain.fixture.ts'
import type { TestChain } from '../chain.fixture.ts'
import type { Genesis } from '../genesis/genesis.ts'
import { parseGenesis } from '../genesis/gethgenesis.ts'
import { ImportError, importChain } from './import.ts'
import { bytes, hasVectors, text } from '../vectors.fixture.ts'

const HEAD = '0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7'

function emptyChain(): TestChain {
  const genesis = parseGenesis(text('rpc-compat/genesis.json'), () => {
    throw new Error('the file has its own rules')
  })
  return testChain('manual', { genesis, store: new MemoryStore() })
}

function fileOf(blocks: readonly Pick<DecodedBlock, 'header' | 'transactions' | 'ommers' | 'withdrawals'>[]): Uint8Array {
  return new Uint8Array(Buffer.concat(blocks.map((block) => Block.encode(block))))
}

test('transactions in an imported block leave the pool', async () => {
  const tx = signed()
  const waits = signed({ nonce: 1n })
  const there = testChain('manual')
  await there.chain.submit(tx)
  const blocks = await there.chain.mine(1)
  const { chain } = testChain('manual')
  await chain.submit(tx)
  await chain.submit(waits)
  await importChain(chain, fileOf(blocks))
  expect(chain.head.view.head.hash).toBe(blocks[0]!.hash)
  expect(chain.pool.all()).toEqual([waits])
})

test('blocks keep their millisecond timestamps, and time continues from there', async () => {
  const there = await startedChain('native')
  await there.clock.advance(1_800)
  const blocks = sealedOf(there.events).map(({ block }) => block)
  const { chain, clock } = testChain('native')
  await importChain(chain, fileOf(blocks))
  const times = blocks.map(({ header }) => chain.head.view.byNumber(header.number)!.timestampMs)
  expect(times).toEqual(blocks.map(({ timestampMs }) => timestampMs))
  await chain.start()
  await clock.advance(200)
  expect(chain.head.view.head.timestampMs).toBe(times.at(-1)! + 200)
})

function genesisOfL1(config: object, alloc: object = {}): Genesis {
  const file = {
    config: { chainId: 1337, londonBlock: 0, mergeNetsplitBlock: 0, ...config },
    timestamp: '0x65000000',
    gasLimit: '0x1c9c380',
    alloc,
  }
  return parseGenesis(JSON.stringify(file), () => {
    throw new Error('the file has its own rules')
  })
}

const ofL1 = genesisOfL1({ shanghaiTime: 0 })

describe('a field that the producer of a block chooses is checked, and the chain is left as it was', () => {
  const at = 2

  test.each<[string, (header: Header, parent: Header) => Partial<Header>, string, Genesis?]>([
    ['timestamp', (_, parent) => ({ timestamp: parent.timestamp }), 'is not after that of block 1'],
    ['timestamp', (_, parent) => ({ timestamp: parent.timestamp - 1 }), 'is not after that of block 1'],
    ['timestamp', (_, parent) => ({ timestamp: parent.timestamp - 1 }), 'is before that of block 1', ofL1],
    ['extraData', () => ({ extraData: new Uint8Array(33) }), 'at most 32 bytes'],
    ['extraData', () => ({ extraData: new Uint8Array(33) }), 'at most 32 bytes', ofL1],
    ['gasLimit', () => ({ gasLimit: 4_999n }), 'at least 5000', ofL1],
    ['gasLimit', () => ({ gasLimit: 2n ** 63n }), 'at most 9223372036854775807'],
    ['gasLimit', () => ({ gasLimit: 2n ** 63n }), 'at most 9223372036854775807', ofL1],
    ['nonce', () => ({ nonce: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1) }), 'zero after the merge'],
    ['nonce', () => ({ nonce: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1) }), 'zero after the merge', ofL1],
    ['difficulty', () => ({ difficulty: 1n }), 'zero after the merge'],
    ['difficulty', () => ({ difficulty: 1n }), 'zero after the merge', ofL1],
  ])('%s %#', async (field, change, rule, genesis) => {
    const options = genesis === undefined ? {} : { genesis }
    const [first, second] = await testChain('manual', options).chain.mine(2)
    const { chain, events } = testChain('manual', options)
    await importChain(chain, fileOf([first!]))
    const [{ view }, seen] = [chain.head, events.length]
    const changed = { ...second!, header: { ...second!.header, ...change(second!.header, first!.header) } }
    await expect(importChain(chain, fileOf([changed]))).rejects.toThrow(
      expect.objectContaining({
        name: 'ImportError',
        blockNumber: at,
        message: expect.stringMatching(new RegExp(`^block ${at}: ${field} is .*${rule}`)),
      }),
    )
    expect([chain.head.view, events.length]).toEqual([view, seen])
    await importChain(chain, fileOf([second!]))
    expect(chain.head.view.head.hash).toBe(second!.hash)
  })

  test('ommers after the merge', async () => {
    const [first, second] = await testChain('manual').chain.mine(2)
    const { chain } = testChain('manual')
    const ommers = [first!.header]
    const header = { ...second!.header, ommersHash: Hash.keccak(Rlp.encode(ommers.map(Header.toRlp))) }
    await expect(importChain(chain, fileOf([first!, { ...second!, header, ommers }]))).rejects.toThrow(
      /^block 2: ommersHash is 0x[0-9a-f]{64}, .*no ommers after the merge/,
    )
    expect(chain.head.view.head).toBe(chain.genesis)
  })
})

test('a transaction signed for another chain is refused, one without replay protection is not', async () => {
  const alloc = { [ALICE]: { balance: '0xde0b6b3a7640000' } }
  const there = testChain('manual', { genesis: genesisOfL1({ shanghaiTime: 0 }, alloc) }).chain
  const legacy = signed({ type: 0, chainId: null, maxPriorityFeePerGas: 10n * GWEI })
  const tx = signed({ chainId: 1337, nonce: 1n })
  for (const sent of [legacy, tx]) await there.submit(sent)
  const [block] = await there.mine(1)
  expect(block!.transactions).toEqual([legacy, tx])
  const other = testChain('manual', { genesis: genesisOfL1({ shanghaiTime: 0, chainId: 5 }, alloc) }).chain
  await expect(importChain(other, fileOf([block!]))).rejects.toThrow(
    new ImportError(1, `transaction 1 (${tx.hash}) is signed for the chain id 1337, this chain has 5`),
  )
  expect(other.head.view.head).toBe(other.genesis)
})

describe('the withdrawals of a block are those of its rules, and the chain is left as it was', () => {
  const withdrawal = { index: 0n, validatorIndex: 0n, address: ALICE, amount: 1n }

  test.each<[string, Genesis | undefined, withdrawals: readonly Withdrawal[] | null, problem: string]>([
    ['Shanghai', ofL1, null, 'has no list of withdrawals, which blocks have since Shanghai'],
    ['Paris', genesisOfL1({}), [], 'has a list of withdrawals, which blocks have since Shanghai'],
    ['Paris', genesisOfL1({}), [withdrawal], 'has a list of withdrawals, which blocks have since Shanghai'],
    ['an OP chain', undefined, null, 'has no list of withdrawals, which blocks have since Shanghai'],
    ['an OP chain', undefined, [withdrawal], 'has withdrawals of the consensus layer, which OP chains do not have'],
  ])('%s %#', async (_, genesis, withdrawals, problem) => {
    const options = genesis === undefined ? {} : { genesis }
    const [block] = await testChain('manual', options).chain.mine(1)
    const { chain } = testChain('manual', options)
    await expect(importChain(chain, fileOf([{ ...block!, withdrawals }]))).rejects.toThrow(new ImportError(1, problem))
    expect(chain.head.view.head).toBe(chain.genesis)
    await importChain(chain, fileOf([block!]))
    expect(chain.head.view.head.hash).toBe(block!.hash)
  })
})

test('a chain that this program made imports with jumps of the gas limit, and on L1 with several blocks in one second', async () => {
  for (const genesis of [ofL1, undefined]) {
    const options = genesis === undefined ? {} : { genesis }
    const there = await startedChain('native', options)
    await there.clock.advance(1_000)
    await there.chain.setGasLimit(1_000_000_000n)
    await there.clock.advance(1_000)
    await there.chain.setGasLimit(5_000_000n)
    await there.clock.advance(1_000)
    const blocks = sealedOf(there.events).map(({ block }) => block)
    expect(new Set(blocks.map(({ header }) => header.timestamp)).size).toBeLessThan(blocks.length)
    expect(new Set(blocks.map(({ header }) => header.gasLimit)).size).toBe(3)
    const { chain } = testChain('native', options)
    expect(await importChain(chain, fileOf(blocks))).toBe(blocks.length)
    expect(chain.head.view.head.hash).toBe(blocks.at(-1)!.hash)
  }
})

describe.skipIf(!hasVectors)('a chain file', () => {
  const file = hasVectors ? bytes('rpc-compat/chain.rlp') : new Uint8Array()
  const blocks = hasVectors ? [...Block.decodeChain(file)] : []

  test('of 54 blocks, frontier to Osaka, imports to its head, which is then safe and finalized', async () => {
    const { chain, events } = emptyChain()
    const imported: number[] = []
    expect(await importChain(chain, file, (number) => imported.push(number))).toBe(54)
    expect(imported).toEqual(blocks.map((block) => block.header.number))
    const { view } = chain.head
    expect(view.head.hash).toBe(HEAD)
    expect([view.byTag('safe').hash, view.byTag('finalized').hash, view.byTag('pending').hash]).toEqual([HEAD, HEAD, HEAD])
    expect(sealedOf(events).map((event) => event.block.hash)).toEqual(
      blocks.filter((block) => block.header.number > 0).map((block) => block.hash),
    )
  })

  test('stops when the callback throws, and leaves the chain as it was', async () => {
    const { chain, events } = emptyChain()
    const stopped = new Error('stopped')
    const stop = (number: number) => {
      if (number === 20) throw stopped
    }
    await expect(importChain(chain, file, stop)).rejects.toBe(stopped)
    expect([chain.head.view.head, events.length]).toEqual([chain.genesis, 0])
    expect(await importChain(chain, file)).toBe(54)
  })

  test('imported in two parts gives the same chain', async () => {
    const { chain } = emptyChain()
    const middle = 20
    await importChain(chain, fileOf(blocks.slice(0, middle)))
    await importChain(chain, fileOf(blocks.slice(middle)))
    expect(chain.head.view.head.hash).toBe(HEAD)
  })

  test('can be built on, and its blocks stay finalized', async () => {
    const { chain } = emptyChain()
    await importChain(chain, file)
    await chain.mine(3, 60)
    const { view } = chain.head
    expect(view.head.header.parentHash).not.toBe(HEAD)
    expect(view.byTag('finalized').header.number).toBeGreaterThanOrEqual(blocks.at(-1)!.header.number)
  })

  test('is no longer finalized above the block of a rewind', async () => {
    const { chain } = emptyChain()
    await importChain(chain, file)
    await chain.rollback(5)
    const { number } = chain.head.view.head.header
    expect([chain.head.view.byTag('safe').header.number, chain.head.view.byTag('finalized').header.number]).toEqual([number, number])
  })

  describe('with an error names block and field and leaves the chain as it was', () => {
    const at = 30

    function spoilt(change: (block: DecodedBlock) => Partial<DecodedBlock>): Uint8Array {
      return fileOf(blocks.map((block) => (block.header.number === at ? { ...block, ...change(block) } : block)))
    }

    test.each<[string, (block: DecodedBlock) => Partial<DecodedBlock>]>([
      ['stateRoot', (block) => ({ header: { ...block.header, stateRoot: block.header.parentHash } })],
      ['receiptsRoot', (block) => ({ header: { ...block.header, receiptsRoot: block.header.parentHash } })],
      ['gasUsed', (block) => ({ header: { ...block.header, gasUsed: block.header.gasUsed + 1n } })],
      ['baseFeePerGas', (block) => ({ header: { ...block.header, baseFeePerGas: (block.header.baseFeePerGas ?? 0n) + 1n } })],
      ['logsBloom', (block) => ({ header: { ...block.header, logsBloom: new Uint8Array(256).fill(255) } })],
      ['parentHash', (block) => ({ header: { ...block.header, parentHash: block.header.stateRoot } })],
      // block 30 was mined
      [
        'timestamp',
        ({ header }) => ({ header: { ...header, timestamp: blocks.find((each) => each.header.number === at - 1)!.header.timestamp } }),
      ],
      ['gasLimit', ({ header }) => ({ header: { ...header, gasLimit: header.gasLimit * 2n } })],
      ['gasLimit', ({ header }) => ({ header: { ...header, gasLimit: 1_000n } })],
    ])('%s %#', async (field, change) => {
      const { chain, events } = emptyChain()
      await importChain(chain, fileOf(blocks.slice(0, 10)))
      const before = {
        view: chain.head.view,
        version: chain.sealed.history.version,
        root: chain.sealed.history.stateRoot(),
        events: events.length,
      }
      const spoiltRest = spoilt(change).subarray(fileOf(blocks.slice(0, 10)).length)
      await expect(importChain(chain, spoiltRest)).rejects.toThrow(
        expect.objectContaining({
          name: 'ImportError',
          blockNumber: at,
          message: expect.stringMatching(new RegExp(`^block ${at}: ${field} is `)),
        }),
      )
      expect(chain.head.view).toBe(before.view)
      expect(chain.sealed.history.version).toBe(before.version)
      expect(chain.sealed.history.stateRoot()).toBe(before.root)
      expect(chain.sealed.store.byNumber(before.view.head.header.number + 1)).toBeNull()
      expect(events).toHaveLength(before.events)
      // valid blocks can still be imported
      await importChain(chain, fileOf(blocks.slice(10, 12)))
      expect(chain.head.view.head.hash).toBe(blocks[11]!.hash)
    })

    test('a transaction that cannot be included', async () => {
      const { chain } = emptyChain()
      const [sent] = blocks.find((block) => block.transactions.length > 0)!.transactions
      const twice = spoilt((block) => ({ transactions: [...block.transactions, sent!] }))
      await expect(importChain(chain, twice)).rejects.toThrow(
        new RegExp(`^block ${at}: transaction \\d+ \\(${sent!.hash}\\) cannot be included: nonce too low`),
      )
      expect(chain.head.view.head).toBe(chain.genesis)
    })

    test('a gap', async () => {
      const { chain } = emptyChain()
      await expect(importChain(chain, fileOf(blocks.filter((block) => block.header.number !== at)))).rejects.toThrow(
        `block ${at + 1}: does not follow block ${at - 1}`,
      )
      expect(chain.head.view.head).toBe(chain.genesis)
    })

    test('another genesis', async () => {
      const { chain } = testChain('manual')
      const genesis = { ...blocks[0]!, header: { ...blocks[0]!.header, number: 0 } }
      await expect(importChain(chain, fileOf([genesis]))).rejects.toThrow(/^block 0: is another genesis: the file has 0x/)
      await expect(importChain(chain, fileOf(blocks.filter((block) => block.header.number > 0)))).rejects.toThrow(ImportError)
    })

    test('bytes that are not blocks', async () => {
      const { chain } = emptyChain()
      await expect(importChain(chain, new Uint8Array())).rejects.toThrow('chain file')
      await expect(importChain(chain, file.subarray(0, file.length - 5))).rejects.toThrow(DecodeError)
      await expect(importChain(chain, file.subarray(0, file.length - 5))).rejects.toThrow(/block 5\d at byte \d+/)
      expect(chain.head.view.head).toBe(chain.genesis)
    })
  })
})
