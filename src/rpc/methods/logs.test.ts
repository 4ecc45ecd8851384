import { beforeAll, describe, expect, it } from 'vitest'
import { PUBLIC_LOG_RANGE_BLOCKS, PUBLIC_LOG_RESULTS } from '../../compat.ts'
import { Address, Hash, Hex, Transaction } from '../../eth/index.ts'
import { textOf } from '../body.ts'
import { FILTER_CHANGES_PER_TIER, FILTER_IDLE_MS, FILTERS_PER_TIER, FULL_FILTER_BYTES } from '../limits.ts'
import { DEDICATED, LOGGER, LOGGER_INIT_CODE, MANUAL, PRECONF, PUBLIC, testNode } from '../node.fixture.ts'
import type { TestNode, TestNodeOptions } from '../node.fixture.ts'
import { JsonStream } from '../texts.ts'

type LogJson = Readonly<Record<'blockHash' | 'blockNumber' | 'blockTimestamp' | 'transactionHash' | 'logIndex' | 'data', string>> & {
  readonly topics: readonly string[]
  readonly removed: boolean
}

/** toMatchObject accepts any message for a bare RegExp. */
const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern)

const topic = (n: number) => Hash.fromBigint(BigInt(n))

/** Deploys the logger in block 1; the pool is empty afterwards. */
async function withLogger(options: TestNodeOptions = {}) {
  const node = await testNode(options)
  await node.send({ data: LOGGER_INIT_CODE })
  await node.chain.mine(1)
  const emit = (n: number) => node.send({ to: LOGGER, data: Hash.toBytes(topic(n)) })
  const logs = async (filter: unknown) => (await node.ask('eth_getLogs', filter)) as readonly LogJson[] // its result schema
  /** the value n of each log and its position, abbreviated */
  const numbers = async (filter: unknown) => (await logs(filter)).map(({ topics }) => Number(topics[0]))
  return { ...node, emit, logs, numbers }
}

type Logger = Awaited<ReturnType<typeof withLogger>>

async function changes(node: TestNode, id: unknown): Promise<readonly string[]> {
  const logs = (await node.ask('eth_getFilterChanges', id)) as readonly LogJson[] // the result type of a log filter
  return logs.map(({ topics, blockNumber, removed }) => `${removed ? '-' : '+'}${Number(topics[0])}@${Number(blockNumber)}`)
}

describe('eth_getLogs over sealed blocks', () => {
  let node: Logger
  beforeAll(async () => {
    node = await withLogger()
    for (const n of [2, 3, 4]) {
      await node.emit(n)
      await node.emit(10 * n)
      await node.chain.mine(1)
    }
  }) // block n has logs n and 10 n; the head is 4

  it.each<[string, object, readonly number[]]>([
    ['nothing named: the latest block', {}, [4, 40]],
    ['a range, both ends included', { fromBlock: '0x2', toBlock: '0x3' }, [2, 20, 3, 30]],
    ['from a number to latest', { fromBlock: '0x3' }, [3, 30, 4, 40]],
    ['leading zeros', { fromBlock: '0x03', toBlock: '0x003' }, [3, 30]],
    ['tags', { fromBlock: 'earliest', toBlock: 'latest' }, [2, 20, 3, 30, 4, 40]],
    ['safe and finalized exist', { fromBlock: 'finalized', toBlock: 'safe' }, []],
    ['an address', { fromBlock: '0x0', address: LOGGER }, [2, 20, 3, 30, 4, 40]],
    ['another address', { fromBlock: '0x0', address: ['0x0000000000000000000000000000000000000001'] }, []],
    ['no addresses: any', { fromBlock: '0x4', address: [] }, [4, 40]],
    ['null as address and topics: any', { fromBlock: '0x4', address: null, topics: null }, [4, 40]],
    ['a topic', { fromBlock: '0x0', topics: [topic(30)] }, [30]],
    ['alternatives', { fromBlock: '0x0', topics: [[topic(2), topic(40)]] }, [2, 40]],
    ['an empty position', { fromBlock: '0x4', topics: [[]] }, [4, 40]],
    ['null among alternatives', { fromBlock: '0x4', topics: [[topic(9), null]] }, [4, 40]],
    ['free positions behind the last topic', { fromBlock: '0x0', topics: [topic(3), null, [], null] }, [3]],
    ['a position that the log does not have', { fromBlock: '0x0', topics: [null, topic(3)] }, []],
    ['an unknown key', { fromBlock: '0x4', something: 1 }, [4, 40]],
    ['open-ended from behind the head', { fromBlock: '0x5' }, []],
    ['pending without a block under construction is latest', { fromBlock: 'pending', toBlock: 'pending' }, [4, 40]],
    ['a poller that has seen the head and waits for what is pending', { fromBlock: '0x5', toBlock: 'pending' }, []],
  ])('%s', async (_, filter, expected) => {
    expect(await node.numbers(filter)).toEqual(expected)
  })

  it('by block hash, with any range', async () => {
    const blockHash = node.chain.head.view.byNumber(2)?.hash
    expect(await node.numbers({ blockHash })).toEqual([2, 20])
    expect(await node.numbers({ blockHash, fromBlock: '0x3', toBlock: '0x1' })).toEqual([2, 20])
  })

  it('under compat geth a range together with a hash is rejected', async () => {
    const geth = await withLogger({ compat: 'geth' })
    const blockHash = geth.chain.head.view.head.hash
    await expect(geth.logs({ blockHash, fromBlock: '0x0' })).rejects.toMatchObject({
      code: -32602,
      message: matching(/both BlockHash and FromBlock/),
    })
    expect(await geth.logs({ blockHash })).toEqual([])
  })

  it.each<[string, object, number, RegExp]>([
    ['an unknown hash', { blockHash: topic(7) }, -32001, /block not found: 0x0{63}7/],
    [
      'toBlock above the head',
      { fromBlock: '0x1', toBlock: '0x5' },
      -32602,
      /block range extends beyond current head block: requested 0x5, head 0x4/,
    ],
    [
      'fromBlock above toBlock',
      { fromBlock: '0x3', toBlock: '0x2' },
      -32602,
      /invalid block range params: fromBlock 0x3 is above toBlock 0x2/,
    ],
    ['latest to earliest', { toBlock: 'earliest' }, -32602, /invalid block range params/],
    ['a decimal block', { fromBlock: '1' }, -32602, /argument 0 \(filter\)\.fromBlock/],
    ['a bad topic', { topics: ['0x1'] }, -32602, /argument 0 \(filter\)\.topics\[0\]/],
    ['a bad address', { address: ['0x1'] }, -32602, /argument 0 \(filter\)\.address\[0\]/],
    ['five positions', { topics: [null, null, null, null, null] }, -32602, /exceed max topics/],
  ])('rejects %s', async (_, filter, code, message) => {
    await expect(node.logs(filter)).rejects.toMatchObject({ code, message: matching(message) })
  })

  it('each log has the ten fields of the interface', async () => {
    const [log] = await node.logs({ topics: [topic(40)] })
    const block = node.chain.head.view.head
    expect(log).toEqual({
      address: LOGGER,
      topics: [topic(40)],
      data: Hash.fromBigint(42n),
      blockNumber: '0x4',
      blockTimestamp: `0x${block.header.timestamp.toString(16)}`,
      blockHash: block.hash,
      transactionHash: block.transactions[2]?.hash,
      transactionIndex: '0x2',
      logIndex: '0x1',
      removed: false,
    })
  })
})

describe('eth_getLogs and the pending block', () => {
  it('covers pre-confirmed logs of the range only', async () => {
    const node = await withLogger({ cadence: PRECONF })
    await node.emit(1)
    await node.chain.mine(1)
    await node.emit(2)
    await node.clock.advance(200)
    const head = node.chain.head.view.head.header.number
    expect(await node.numbers({ fromBlock: 'pending', toBlock: 'pending' })).toEqual([2])
    expect(await node.numbers({ fromBlock: 'latest', toBlock: 'pending' })).toEqual([1, 2])
    expect(await node.numbers({ fromBlock: 'earliest', toBlock: 'pending' })).toEqual([1, 2])
    expect(await node.numbers({ fromBlock: `0x${(head + 1).toString(16)}`, toBlock: 'pending' })).toEqual([2])
    expect(await node.numbers({ fromBlock: 'pending', toBlock: 'pending', topics: [topic(1)] })).toEqual([])
    expect(await node.numbers({ fromBlock: 'earliest' })).toEqual([1])
    expect(await node.numbers({ fromBlock: 'pending' })).toEqual([])
    await expect(node.logs({ fromBlock: 'pending', toBlock: '0x0' })).rejects.toMatchObject({ code: -32602 })
    await expect(node.logs({ toBlock: `0x${(head + 1).toString(16)}` })).rejects.toMatchObject({ code: -32602 })
    const [log] = await node.logs({ fromBlock: 'pending', toBlock: 'pending' })
    expect(log).toMatchObject({ blockHash: Hash.zero, blockNumber: `0x${(head + 1).toString(16)}`, logIndex: '0x0', removed: false })
    await node.chain.stop()
  })

  it('from the beginning to pending there is never a gap or a duplicate, tick by tick', async () => {
    const node = await withLogger({ cadence: PRECONF })
    for (let n = 1; n <= 40; n++) {
      await node.emit(n)
      await node.clock.advance(100)
      const seen = await node.numbers({ fromBlock: '0x0', toBlock: 'pending' })
      expect(seen).toEqual(seen.map((_, i) => i + 1))
      expect(seen.length).toBeGreaterThanOrEqual(n - 2)
    }
    await node.chain.stop()
  })
})

describe('eth_getLogs on the public tier', () => {
  it('accepts a range of 2,000 blocks, and names the accepted range in the error for a larger one', async () => {
    const node = await withLogger()
    await node.chain.mine(PUBLIC_LOG_RANGE_BLOCKS + 5)
    const ask = (filter: object) => node.rpc.request({ method: 'eth_getLogs', params: [filter] }, PUBLIC)
    const [from, last] = ['0x1', `0x${(1 + PUBLIC_LOG_RANGE_BLOCKS).toString(16)}`]
    expect(await ask({ fromBlock: from, toBlock: last })).toEqual([])
    await expect(ask({ fromBlock: from, toBlock: 'latest' })).rejects.toMatchObject({
      code: -32602,
      message: matching(new RegExp(`block range too large.*this block range should work: \\[${from}, ${last}\\]`)),
      data: { from, to: last },
    })
    expect(await node.ask('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' })).toEqual([])
    expect(await ask({ blockHash: node.chain.head.view.head.hash })).toEqual([])
  })
})

/** Emits 2,500 empty logs for a million gas. */
const CHATTERBOX_INIT_CODE = Hex.toBytes('0x601080600b6000396000f36109c45b5f5fa0600190038060035700')
const LOGS_OF_ONE = 2_500

/** Deploys that contract in block 1 at the logger's address, then seals one block per number with that many calls. */
async function withChatter(calls: readonly number[], options: TestNodeOptions = {}) {
  const node = await testNode(options)
  await node.send({ data: CHATTERBOX_INIT_CODE })
  await node.chain.mine(1)
  const chatter = () => node.send({ to: LOGGER, gas: 1_500_000n })
  for (const count of calls) {
    for (let i = 0; i < count; i++) await chatter()
    await node.chain.mine(1)
  }
  return { ...node, chatter }
}

describe('eth_getLogs with many results', () => {
  const body = (filter: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] })

  it('on the public tier: the error names a range below the limit; a single block is never rejected', async () => {
    const node = await withChatter([3, 3, 3, 9])
    const ask = (fromBlock: string, toBlock: string) =>
      node.rpc.request({ method: 'eth_getLogs', params: [{ fromBlock, toBlock }] }, PUBLIC) as Promise<readonly unknown[]>
    const refused = (from: string, to: string) => ({
      code: -32602,
      message: matching(new RegExp(`query may have more than 20000 results.*this block range should work: \\[${from}, ${to}\\]`)),
      data: { from, to },
    })
    await expect(ask('0x0', '0x5')).rejects.toMatchObject(refused('0x0', '0x3'))
    expect(await ask('0x0', '0x3')).toHaveLength(6 * LOGS_OF_ONE)
    await expect(ask('0x2', '0x4')).rejects.toMatchObject(refused('0x2', '0x3'))
    await expect(ask('0x4', '0x5')).rejects.toMatchObject(refused('0x4', '0x4'))
    expect(await ask('0x4', '0x4')).toHaveLength(3 * LOGS_OF_ONE)
    await expect(ask('0x5', 'latest')).resolves.toHaveLength(9 * LOGS_OF_ONE)
    expect(9 * LOGS_OF_ONE).toBeGreaterThan(PUBLIC_LOG_RESULTS)
    expect(await node.ask('eth_getLogs', { fromBlock: '0x0' })).toHaveLength(18 * LOGS_OF_ONE)
  })

  it('are read while they are sent, and end at a rewind', async () => {
    const node = await withChatter([2, 2, 2])
    const open = async () => {
      const answer = await node.rpc.handle(body({ fromBlock: '0x0' }), DEDICATED)
      if (!(answer.body instanceof JsonStream)) throw new Error('not a stream')
      return answer.body
    }
    const expected = await node.ask('eth_getLogs', { fromBlock: '0x0' })
    expect(JSON.parse(textOf(await open()))).toEqual({ jsonrpc: '2.0', id: 1, result: expected })
    const [cut, grown] = [await open(), await open()]
    expect(cut.next()).not.toBeNull()
    await node.chain.mine(1)
    expect(JSON.parse(textOf(grown))).toEqual({ jsonrpc: '2.0', id: 1, result: expected })
    await node.chain.reorg(2, [])
    expect(() => textOf(cut)).toThrow(/removed by a reorg/)
    expect(cut.next()).toBeNull()
    expect(node.bugs).toEqual([])
  })

  it('are followed by the pending ones', async () => {
    const node = await withChatter([2], { cadence: PRECONF })
    const filter = { fromBlock: '0x0', toBlock: 'pending' }
    const sealed = await node.ask('eth_getLogs', filter)
    await node.chatter()
    await node.clock.advance(200)
    const { body: answer } = await node.rpc.handle(body(filter), DEDICATED)
    const { result } = JSON.parse(textOf(answer ?? '')) as { result: readonly LogJson[] } // a JSON-RPC answer
    expect(result).toHaveLength(3 * LOGS_OF_ONE)
    expect(result.slice(0, 2 * LOGS_OF_ONE)).toEqual(sealed)
    expect(new Set(result.slice(2 * LOGS_OF_ONE).map(({ blockHash }) => blockHash))).toEqual(new Set([Hash.zero]))
    await node.chain.stop()
  })
})

describe('filters', () => {
  it('deliver sealed logs once', async () => {
    const node = await withLogger()
    const all = await node.ask('eth_newFilter', {})
    const some = await node.ask('eth_newFilter', { topics: [topic(2)], fromBlock: '0x0' })
    await node.emit(1)
    await node.emit(2)
    expect(await changes(node, all)).toEqual([])
    await node.chain.mine(1)
    expect(await changes(node, all)).toEqual(['+1@2', '+2@2'])
    expect(await changes(node, all)).toEqual([])
    expect(await changes(node, some)).toEqual(['+2@2'])
    expect(await node.ask('eth_getFilterLogs', some)).toHaveLength(1)
  })

  it('bounded by numbers deliver only those blocks', async () => {
    const node = await withLogger()
    const id = await node.ask('eth_newFilter', { fromBlock: '0x3', toBlock: '0x4' })
    for (const n of [2, 3, 4, 5]) {
      await node.emit(n)
      await node.chain.mine(1)
    }
    expect(await changes(node, id)).toEqual(['+3@3', '+4@4'])
    expect(await node.ask('eth_getFilterLogs', id)).toHaveLength(2)
  })

  it('to pending deliver each log when it is pre-confirmed, and not again', async () => {
    const node = await withLogger({ cadence: PRECONF })
    const early = await node.ask('eth_newFilter', { fromBlock: 'pending', toBlock: 'pending' })
    const sealed = await node.ask('eth_newFilter', {})
    const at = node.chain.head.view.head.header.number + 1
    await node.emit(1)
    await node.clock.advance(200)
    expect([await changes(node, early), await changes(node, sealed)]).toEqual([[`+1@${at}`], []])
    await node.emit(2)
    await node.clock.advance(200)
    expect(await changes(node, early)).toEqual([`+2@${at}`])
    await node.clock.advance(2_000)
    expect([await changes(node, early), await changes(node, sealed)]).toEqual([[], [`+1@${at}`, `+2@${at}`]])
    await node.chain.stop()
  })

  it('to pending deliver a block that was never pre-confirmed when it is sealed', async () => {
    const node = await withLogger()
    const id = await node.ask('eth_newFilter', { toBlock: 'pending' })
    await node.emit(1)
    await node.chain.mine(1)
    expect(await changes(node, id)).toEqual(['+1@2'])
  })

  it('report removed logs of a reorganisation before the new ones', async () => {
    const node = await withLogger()
    const id = await node.ask('eth_newFilter', {})
    const pending = await node.ask('eth_newFilter', { toBlock: 'pending' })
    await node.emit(1)
    await node.chain.mine(1)
    const [tx] = node.chain.head.view.head.transactions.slice(-1)
    await node.emit(2)
    await node.chain.mine(1)
    await changes(node, id)
    await changes(node, pending)
    await node.chain.reorg(2, [{ tx: tx!, block: 1 }])
    expect(await changes(node, id)).toEqual(['-1@2', '-2@3', '+1@3'])
    expect(await changes(node, pending)).toEqual(['-1@2', '-2@3', '+1@3'])
  })

  describe('with --compat anvil and fromBlock begin with the logs that exist', () => {
    const withLogs = async (options: TestNodeOptions = {}) => {
      const node = await withLogger({ compat: 'anvil', ...options })
      for (const n of [2, 3, 4]) {
        await node.emit(n)
        await node.chain.mine(1)
      }
      return node
    }

    it('of the range, once', async () => {
      const node = await withLogs()
      const ids = async (...queries: readonly object[]) => Promise.all(queries.map((query) => node.ask('eth_newFilter', query)))
      const [all, some, ended, none] = await ids(
        { fromBlock: 'earliest' },
        { fromBlock: '0x2', topics: [[topic(3), topic(5)]] },
        { fromBlock: '0x2', toBlock: '0x3' },
        {},
      )
      await expect(node.ask('eth_newFilter', { fromBlock: '0x7' })).rejects.toMatchObject({ code: -32602 })
      const reversed = await node.ask('eth_newFilter', { fromBlock: '0x3', toBlock: '0x2' })
      expect(await node.ask('eth_getFilterLogs', all)).toHaveLength(3)
      await node.emit(5)
      await node.chain.mine(1)
      expect(await changes(node, all)).toEqual(['+2@2', '+3@3', '+4@4', '+5@5'])
      expect(await changes(node, some)).toEqual(['+3@3', '+5@5'])
      expect(await changes(node, ended)).toEqual(['+2@2', '+3@3'])
      expect(await changes(node, none)).toEqual(['+5@5'])
      for (const id of [all, some, ended, none, reversed]) expect(await changes(node, id)).toEqual([])
    })

    it('without those that a reorganisation or a revert removed before the first poll', async () => {
      const node = await withLogs()
      const snapshot = await node.chain.snapshot()
      await node.emit(5)
      await node.chain.mine(1)
      const id = await node.ask('eth_newFilter', { fromBlock: '0x3' })
      await node.emit(6)
      await node.chain.mine(1)
      await node.chain.revert(snapshot)
      await node.send({ to: LOGGER, data: Hash.toBytes(topic(7)), nonce: 4n })
      await node.chain.mine(1)
      expect(await changes(node, id)).toEqual(['+3@3', '+4@4', '+6@6', '-6@6', '+7@5'])
      await node.chain.rollback(2)
      expect(await changes(node, id)).toEqual(['-4@4', '-7@5'])
      await node.chain.reset()
      expect(await changes(node, id)).toEqual(['-3@3'])
    })

    it('with those that are promised, if they end at pending', async () => {
      const node = await withLogger({ compat: 'anvil', cadence: PRECONF })
      const at = node.chain.head.view.head.header.number + 1
      await node.emit(1)
      await node.clock.advance(200)
      const pending = await node.ask('eth_newFilter', { fromBlock: '0x0', toBlock: 'pending' })
      const sealed = await node.ask('eth_newFilter', { fromBlock: '0x0' })
      await node.emit(2)
      await node.clock.advance(200)
      expect([await changes(node, pending), await changes(node, sealed)]).toEqual([[`+1@${at}`, `+2@${at}`], []])
      await node.clock.advance(2_000)
      expect([await changes(node, pending), await changes(node, sealed)]).toEqual([[], [`+1@${at}`, `+2@${at}`]])
      await node.chain.stop()
    })

    it('but on the public tier not of a range that eth_getLogs refuses there', async () => {
      const node = await withLogs()
      await node.chain.mine(2_001)
      const install = (fromBlock: string) => node.rpc.request({ method: 'eth_newFilter', params: [{ fromBlock }] }, PUBLIC)
      await expect(install('0x0')).rejects.toMatchObject({ code: -32602, message: matching(/block range too large/) })
      expect(await install('0x10')).toMatch(/^0x/)
    })
  })

  it('retract a pre-confirmed log that vanishes', async () => {
    const node = await withLogger({ cadence: PRECONF })
    const id = await node.ask('eth_newFilter', { toBlock: 'pending' })
    const snapshot = await node.chain.snapshot()
    await node.emit(1)
    await node.clock.advance(200)
    const at = node.chain.head.view.head.header.number + 1
    expect(await changes(node, id)).toEqual([`+1@${at}`])
    await node.chain.revert(snapshot)
    expect(await changes(node, id)).toEqual([`-1@${at}`])
    await node.chain.stop()
  })

  it('collect block and transaction hashes', async () => {
    const node = await withLogger()
    const blocks = await node.ask('eth_newBlockFilter')
    const transactions = await node.ask('eth_newPendingTransactionFilter')
    const sent = [await node.emit(1), await node.emit(2)]
    const mined = await node.chain.mine(2)
    expect(await node.ask('eth_getFilterChanges', transactions)).toEqual(sent)
    expect(await node.ask('eth_getFilterChanges', blocks)).toEqual(mined.map(({ hash }) => hash))
    expect(await node.ask('eth_getFilterChanges', blocks)).toEqual([])
    await expect(node.ask('eth_getFilterLogs', blocks)).rejects.toMatchObject({ code: -32000, message: matching(/filter not found/) })
  })

  it('collect whole transactions, without those that were dropped', async () => {
    const node = await withLogger()
    const id = await node.ask('eth_newPendingTransactionFilter', true)
    const [mined, dropped, pooled] = [await node.emit(1), await node.emit(2), await node.emit(3)]
    await node.ask('anvil_dropTransaction', dropped)
    await node.chain.mine(1)
    expect(await node.ask('eth_getFilterChanges', id)).toMatchObject([{ hash: mined, blockNumber: '0x2' }, { hash: pooled }])
    expect(await node.ask('eth_getFilterChanges', id)).toEqual([])
    await expect(node.rpc.request({ method: 'eth_newPendingTransactionFilter', params: [true] }, PUBLIC)).rejects.toMatchObject({
      code: -32602,
    })
  })

  it('collect whole transactions up to the size of a response', async () => {
    const node = await withLogger()
    const id = await node.ask('eth_newPendingTransactionFilter', true)
    const raw = new Uint8Array(2 ** 20)
    for (let bytes = 0; bytes <= FULL_FILTER_BYTES; bytes += raw.length) {
      const tx = { ...Transaction.unsigned({ nonce: 0n }, Address.fromBigint(BigInt(0xa0000 + bytes))), raw }
      node.chain.pool.add(tx)
      node.chain.pool.drop(tx.hash)
    }
    await expect(node.ask('eth_getFilterChanges', id)).rejects.toMatchObject({
      code: -32000,
      message: matching(/bytes of them.*poll it more often/),
    })
  })

  it('are removed with their event listeners when uninstalled', async () => {
    const node = await withLogger()
    const id = await node.ask('eth_newFilter', {})
    expect(await node.ask('eth_uninstallFilter', id)).toBe(true)
    expect(await node.ask('eth_uninstallFilter', id)).toBe(false)
    await expect(node.ask('eth_getFilterChanges', id)).rejects.toMatchObject({ code: -32000, message: `filter not found: ${String(id)}` })
    await expect(node.ask('eth_getFilterChanges', 'abc')).rejects.toMatchObject({ code: -32602 })
  })

  it('expire without polls, by a monotonic clock', async () => {
    let now = 0
    const node = await withLogger({ now: () => now })
    const [idle, polled] = [await node.ask('eth_newFilter', {}), await node.ask('eth_newFilter', {})]
    now += FILTER_IDLE_MS
    await changes(node, polled)
    now += 1
    await expect(node.ask('eth_getFilterChanges', idle)).rejects.toMatchObject({ code: -32000 })
    expect(await changes(node, polled)).toEqual([])
  })

  it('of a tier keep a limited number of changes: those that were not polled for the longest time are dropped', async () => {
    let now = 0
    const node = await testNode({ cadence: MANUAL, now: () => now++ })
    const install = () => node.ask('eth_newPendingTransactionFilter')
    const unpolled = [await install(), await install()]
    const polled = await Promise.all(Array.from({ length: FILTERS_PER_TIER - 2 }, install))
    const own = await node.rpc.request({ method: 'eth_newPendingTransactionFilter' }, PUBLIC)
    // Two filters are dropped, because the first gives room for fewer changes than are above the limit.
    const sent = FILTER_CHANGES_PER_TIER / FILTERS_PER_TIER + 1
    for (let i = 0; i < sent; i++) await node.send({ to: LOGGER })
    for (const id of unpolled)
      await expect(node.ask('eth_getFilterChanges', id)).rejects.toMatchObject({ code: -32000, message: matching(/was dropped/) })
    for (const id of [...polled, own]) expect(await node.ask('eth_getFilterChanges', id)).toHaveLength(sent)
    for (let i = 0; i < sent; i++) await node.send({ to: LOGGER })
    expect(await node.ask('eth_getFilterChanges', polled[0])).toHaveLength(sent)
  })

  it('have a separate limit per tier', async () => {
    const node = await withLogger()
    const install = () => node.rpc.request({ method: 'eth_newBlockFilter' }, PUBLIC)
    for (let i = 0; i < FILTERS_PER_TIER; i++) await install()
    await expect(install()).rejects.toMatchObject({ code: -32005, message: matching(/too many filters/) })
    await expect(node.ask('eth_newBlockFilter')).resolves.toMatch(/^0x/)
  })
})
