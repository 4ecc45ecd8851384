import { describe, expect, it } from 'vitest'
import { CADENCES } from '../../chain/index.ts'
import { Address, Hash, Hex } from '../../eth/index.ts'
import { ALICE, LOGGER, LOGGER_INIT_CODE, testNode } from '../node.fixture.ts'
import type { TestNode, TestNodeOptions } from '../node.fixture.ts'
import { COMPAT } from '../../compat.ts'
import { createRpc } from '../noderpc.ts'
import { DevAccounts } from '../accounts.ts'

const BOB = Address.from('0x00000000000000000000000000000000000b0b0b')
const GWEI = 10n ** 9n

interface PendingBlock {
  readonly number: Hex
  readonly hash: Hex
  readonly stateRoot: Hex
  readonly timestamp: Hex
  readonly miner: Hex
  readonly transactions: readonly Hex[]
}

/** A node under the manual cadence, with the hashes of the users' transactions in its pending block. */
async function manualNode(options: TestNodeOptions = {}) {
  const node = await testNode({ cadence: CADENCES.manual, ...options })
  const block = async (tag: string) => (await node.ask('eth_getBlockByNumber', tag, false)) as PendingBlock
  /** Without the L1 attributes deposit. */
  const pending = async () => (await block('pending')).transactions.slice(1)
  const pay = (fields: Parameters<TestNode['send']>[0] = {}) => node.send({ to: BOB, value: 1n, gas: 21_000n, ...fields })
  const balance = async (tag = 'pending') => BigInt((await node.ask('eth_getBalance', BOB, tag)) as Hex)
  return { ...node, block, pending, pay, balance }
}

describe('the pending block under the manual cadence', () => {
  it('is the latest block while the pool holds no executable transaction', async () => {
    const { ask, block, pay } = await manualNode()
    await pay({ nonce: 1n })
    expect(await block('pending')).toEqual(await block('latest'))
    expect(await ask('eth_getBlockTransactionCountByNumber', 'pending')).toBe('0x0')
  })

  it('is what evm_mine seals, with the same roots, and a zero hash', async () => {
    const { ask, block, pay, send } = await manualNode()
    await pay()
    await send({ data: LOGGER_INIT_CODE, nonce: 1n })
    const { hash, ...pending } = await block('pending')
    expect(hash).toBe(Hash.zero)
    expect(pending.transactions).toHaveLength(3)
    const proof = await ask('eth_getProof', BOB, [], 'pending')
    const contract = await ask('eth_getProof', LOGGER, ['0x0'], 'pending')
    await ask('evm_mine')
    const sealed = await block('latest')
    const { size: _, ...same } = { size: null, ...sealed, hash }
    expect({ ...pending, hash }).toEqual(same)
    expect(await ask('eth_getProof', BOB, [], 'latest')).toEqual(proof)
    expect(await ask('eth_getProof', LOGGER, ['0x0'], 'latest')).toEqual(contract)
  })

  it('is computed on request only, once per change, and changes neither chain nor pool nor any event', async () => {
    const { chain, block, pay, balance } = await manualNode()
    const events: unknown[] = []
    chain.head.subscribe((event) => events.push(event))
    await pay()
    const { view } = chain.head
    const before = [chain.sealed.history.version, chain.pool.version]
    const first = view.pendingWithPool
    expect(view.pendingWithPool).toBe(first)
    expect(await balance()).toBe(1n)
    expect(view.pendingWithPool).toBe(first)
    await block('pending')
    expect([chain.sealed.history.version, chain.pool.version]).toEqual(before)
    expect(chain.head.view).toBe(view)
    expect(events).toEqual([])
    expect([view.pending, view.byTag('pending')]).toEqual([null, view.head])
  })

  it('has no receipts and no logs', async () => {
    const { ask, pay, send } = await manualNode()
    const mined = await pay()
    await ask('evm_mine')
    const created = await send({ data: LOGGER_INIT_CODE, nonce: 1n })
    const logged = await send({ to: LOGGER, nonce: 2n })
    expect(await ask('eth_getTransactionCount', ALICE, 'pending')).toBe('0x3')
    for (const hash of [created, logged]) {
      expect(await ask('eth_getTransactionReceipt', hash)).toBeNull()
      expect(await ask('eth_getTransactionByHash', hash)).toMatchObject({ blockNumber: null })
    }
    expect(await ask('eth_getLogs', { fromBlock: 'pending', toBlock: 'pending' })).toEqual([])
    const receipts = [{ type: '0x7e' }, { transactionHash: mined }]
    expect(await ask('eth_getBlockReceipts', 'pending')).toMatchObject(receipts)
    expect(await ask('ots_getBlockTransactions', 'latest', 0, 25)).toMatchObject({ receipts: [{}, {}] })
    expect(await ask('ots_getBlockTransactions', 'pending', 0, 25)).toMatchObject({
      fullblock: { number: '0x2', transactions: [{ type: '0x7e' }, { hash: created }, { hash: logged }] },
      receipts: [],
    })
    expect(await ask('debug_getRawReceipts', 'pending')).toEqual(await ask('debug_getRawReceipts', 'latest'))
  })

  it('is the one whose encodings the debug methods return', async () => {
    const { ask, pay } = await manualNode()
    await pay()
    const [block, header, transactions] = await Promise.all(
      ['debug_getRawBlock', 'debug_getRawHeader', 'debug_getRawTransactions'].map((name) => ask(name, 'pending')),
    )
    await ask('evm_mine')
    expect(block).toEqual(await ask('debug_getRawBlock', 'latest'))
    expect(header).toEqual(await ask('debug_getRawHeader', 'latest'))
    expect(transactions).toEqual(await ask('debug_getRawTransactions', 'latest'))
  })

  it('holds a replacement in place of the replaced transaction', async () => {
    const { pending, pay, balance } = await manualNode()
    await pay({ nonce: 0n })
    expect(await balance()).toBe(1n)
    const replacement = await pay({ nonce: 0n, value: 7n, maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: GWEI })
    expect(await pending()).toEqual([replacement])
    expect(await balance()).toBe(7n)
  })

  it('loses dropped transactions and those that follow them', async () => {
    const { ask, pending, pay, balance } = await manualNode()
    const [first, second] = [await pay(), await pay(), await pay()]
    await ask('anvil_dropTransaction', second)
    expect(await pending()).toEqual([first])
    expect(await balance()).toBe(1n)
    await ask('anvil_removePoolTransactions', ALICE)
    expect(await balance()).toBe(0n)
  })

  it('follows evm_revert', async () => {
    const { ask, pending, pay, balance } = await manualNode()
    const first = await pay()
    const id = await ask('evm_snapshot')
    await pay()
    expect(await balance()).toBe(2n)
    await ask('evm_mine')
    expect(await pending()).toEqual(((await ask('eth_getBlockByNumber', 'latest', false)) as PendingBlock).transactions.slice(1))
    await ask('evm_revert', id)
    expect(await pending()).toEqual([first])
    expect(await balance()).toBe(1n)
  })

  it('skips a transaction that its sender can no longer pay, which stays in the pool', async () => {
    const { ask, block, pending, pay } = await manualNode()
    const hash = await pay({ value: 10n ** 18n })
    await ask('anvil_setBalance', ALICE, '0xde0b6b3a7640000')
    expect(await block('pending')).toEqual(await block('latest'))
    expect(await ask('txpool_status')).toMatchObject({ pending: '0x1' })
    await ask('anvil_setBalance', ALICE, '0x1bc16d674ec80000')
    expect(await pending()).toEqual([hash])
  })

  it('includes the transactions of an impersonated sender', async () => {
    const { ask, pending, balance } = await manualNode()
    const sender = Address.from('0x0000000000000000000000000000000000001234')
    await ask('anvil_setBalance', sender, '0xde0b6b3a7640000')
    await ask('anvil_impersonateAccount', sender)
    const hash = await ask('eth_sendTransaction', { from: sender, to: BOB, value: '0x9' })
    expect(await pending()).toEqual([hash])
    expect(await balance()).toBe(9n)
  })

  it('has the settings of the next block', async () => {
    const { ask, block, pay, chain } = await manualNode()
    await pay()
    await block('pending')
    const timestamp = chain.head.view.head.header.timestamp + 1_000
    await ask('evm_setNextBlockTimestamp', timestamp)
    expect((await block('pending')).timestamp).toBe(Hex.fromQuantity(timestamp))
    await ask('anvil_setCoinbase', BOB)
    expect(await block('pending')).toMatchObject({ miner: BOB, timestamp: Hex.fromQuantity(timestamp) })
  })

  it('holds at most what the limits of a block allow, of a pool of thousands', async () => {
    const { ask, pending, pay, balance, chain } = await manualNode()
    for (let index = 0; index < 3_000; index++) await pay()
    const included = await pending()
    // Since Jovian each transaction has a data-availability footprint of at least 40,000 gas.
    expect(included).toHaveLength(1_500)
    expect(await balance()).toBe(1_500n)
    await ask('evm_mine')
    expect(chain.head.view.head.transactions.slice(1).map(({ hash }) => hash)).toEqual(included)
  })

  it('gives the state of an account whose nonce others have raised', async () => {
    const { ask, send } = await manualNode()
    // Creates an empty contract with CREATE.
    const factory = Address.from('0x00000000000000000000000000000000000fac00')
    await ask('anvil_setCode', factory, '0x5f5f5ff000')
    await send({ to: factory })
    expect(await ask('eth_getTransactionCount', factory, 'pending')).toBe('0x1')
    expect(await ask('eth_getTransactionCount', factory, 'latest')).toBe('0x0')
  })

  it('is the state on which calls, estimates, simulations and traces without a block or at pending run', async () => {
    const { ask, send } = await manualNode()
    await send({ data: LOGGER_INIT_CODE })
    const call = { from: ALICE, to: LOGGER }
    expect(Number(await ask('eth_estimateGas', call))).toBeGreaterThan(21_000)
    const filled = (await ask('eth_fillTransaction', call)) as { readonly tx: { readonly gas: Hex; readonly nonce: Hex } }
    expect(Number(filled.tx.gas)).toBeGreaterThan(21_000)
    expect(filled.tx.nonce).toBe('0x1')
    const simulated = await ask('eth_simulateV1', { blockStateCalls: [{ calls: [call] }] }, 'pending')
    expect(simulated).toMatchObject([{ number: '0x2', calls: [{ logs: [{}] }] }])
    expect(await ask('debug_traceCall', call, 'pending', { tracer: 'callTracer', tracerConfig: { withLog: true } })).toMatchObject({
      logs: [{}],
    })
    expect(await ask('debug_traceBlockByNumber', 'pending', { tracer: 'callTracer' })).toHaveLength(2)
    expect(await ask('eth_getTransactionByBlockNumberAndIndex', 'pending', '0x1')).toMatchObject({ from: ALICE, blockNumber: '0x1' })
  })
})

describe('a call at pending while nothing is pending', () => {
  /** Returns NUMBER, TIMESTAMP, BASEFEE, COINBASE, GASLIMIT and the hash of the block before, as 32-byte words. */
  const ENVIRONMENT = '0x435f5242602052486040524160605245608052600143034060a05260c05ff3'
  /** Reverts unless NUMBER is above `number`. */
  const above = (number: number) => `0x4360${number.toString(16).padStart(2, '0')}10600a575f5ffd5b00`

  /** Returns the number of L1Block, the hash of the block before from the history contract, and the beacon root of the block's own time. */
  const SYSTEM_VALUES = [
    '0x638381f58a60e01b5f52',
    staticCall('0x4200000000000000000000000000000000000015', 4, 0x80),
    '600143035f52',
    staticCall('0x0000f90827f1c53a10cb7a02335b175320002935', 32, 0xa0),
    '425f52',
    staticCall('0x000f3df6d732807ef1319fb7b8bb8522d0beac02', 32, 0xc0),
    '60606080f3',
  ].join('')

  const words = (result: unknown) => ((result as string).slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))

  it.each([CADENCES.manual, CADENCES.instant])('runs in the environment of the next block under the $kind cadence', async (cadence) => {
    const { ask, chain } = await manualNode({ cadence })
    await ask('evm_mine')
    const { head } = chain.head.view
    const { number, timestamp, gasLimit, baseFeePerGas, coinbase } = head.header
    const call = { from: ALICE, data: ENVIRONMENT, maxFeePerGas: '0x77359400' }
    const latest = [BigInt(number), BigInt(timestamp), baseFeePerGas, BigInt(coinbase), gasLimit, BigInt(head.header.parentHash)]
    expect(words(await ask('eth_call', call, 'latest'))).toEqual(latest)
    await ask('evm_setNextBlockTimestamp', timestamp + 1_000)
    await ask('anvil_setCoinbase', BOB)
    await ask('evm_setBlockGasLimit', '0x1c9c380')
    await ask('anvil_setNextBlockBaseFeePerGas', '0x7')
    const next = [BigInt(number + 1), BigInt(timestamp + 1_000), 7n, BigInt(BOB), 30_000_000n, BigInt(head.hash)]
    expect(words(await ask('eth_call', call, 'pending'))).toEqual(next)
    expect(words(await ask('eth_call', call, 'latest'))).toEqual(latest)
    expect(words(((await ask('debug_traceCall', call, 'pending', { tracer: 'callTracer' })) as { output: string }).output)).toEqual(next)
    expect(words(((await ask('trace_call', call, ['trace'], 'pending')) as { output: string }).output)).toEqual(next)
    const bundles = [{ transactions: [call] }]
    expect(words(((await ask('eth_callMany', bundles, { blockNumber: 'pending' })) as [[{ value: string }]])[0][0].value)).toEqual(next)
    await ask('evm_mine')
    expect(chain.head.view.head.header).toMatchObject({
      timestamp: timestamp + 1_000,
      coinbase: BOB,
      gasLimit: 30_000_000n,
      baseFeePerGas: 7n,
    })
  })

  it.each([CADENCES.manual, CADENCES.instant, CADENCES.native])(
    'reads what a block under $kind writes before its first transaction',
    async (cadence) => {
      const { ask, chain, clock } = await manualNode({ cadence })
      await ask('anvil_mine', 3)
      const call = { from: ALICE, data: SYSTEM_VALUES, maxFeePerGas: '0x77359400' }
      const { head } = chain.head.view
      const pending = (await ask('eth_call', call, 'pending')) as Hex
      expect(words(pending)[1]).toBe(BigInt(head.hash))
      const traced = (await ask('debug_traceCall', call, 'pending', { tracer: 'callTracer' })) as { output: Hex }
      expect(traced.output).toBe(pending)
      const { accessList } = (await ask('eth_createAccessList', call, 'pending')) as { accessList: unknown[] }
      expect(accessList).toHaveLength(3)
      // Reads of the state still see the head.
      expect(await ask('eth_getBlockByNumber', 'pending', false)).toEqual(await ask('eth_getBlockByNumber', 'latest', false))
      // The code of the contract is what the constructor returns in the block.
      const hash = await ask('eth_sendTransaction', call)
      if (cadence === CADENCES.manual) await ask('evm_mine')
      if (cadence === CADENCES.native) await clock.advance(1_000)
      const { contractAddress } = (await ask('eth_getTransactionReceipt', hash)) as { contractAddress: Address }
      const mined = (await ask('eth_getCode', contractAddress)) as Hex
      if (cadence === CADENCES.native) expect(words(mined).slice(0, 1)).toEqual(words(pending).slice(0, 1))
      else expect(mined).toBe(pending)
    },
  )

  it('estimates what succeeds in the next block only, and fills in its gas; geth estimates at latest', async () => {
    const { ask } = await manualNode({ cadence: CADENCES.instant })
    const call = { from: ALICE, data: above(0) }
    expect(Number(await ask('eth_estimateGas', call))).toBeGreaterThan(53_000)
    expect(Number(((await ask('eth_fillTransaction', call)) as { tx: { gas: Hex } }).tx.gas)).toBeGreaterThan(53_000)
    await expect(ask('eth_estimateGas', call, 'latest')).rejects.toMatchObject({ code: -32_000 })
    await expect(ask('eth_estimateGas', { ...call, data: above(1) })).rejects.toMatchObject({ code: -32_000 })
    const geth = await manualNode({ cadence: CADENCES.instant, compat: 'geth' })
    await expect(geth.ask('eth_estimateGas', call)).rejects.toMatchObject({ code: 3 })
  })

  it('sees the time that evm_increaseTime has set before a block is mined', async () => {
    const { ask, chain } = await manualNode({ cadence: CADENCES.instant })
    const before = chain.head.view.head.header.timestamp
    await ask('evm_increaseTime', 3_600)
    const [, timestamp] = words(await ask('eth_call', { data: ENVIRONMENT }, 'pending'))
    expect(Number(timestamp)).toBeGreaterThanOrEqual(before + 3_600)
  })
})

it('with --latest promised, latest holds no transaction that is only in the pool', async () => {
  const { ask, chain, pay } = await manualNode()
  await pay()
  const promised = { ...COMPAT.default, latestState: 'promised' } as const
  const rpc = createRpc({
    chain,
    accounts: new DevAccounts([]),
    compat: promised,
    workers: null,
    offloadPolicy: null,
    clientVersion: '',
    devClientVersion: '',
    onBug: () => undefined,
  })
  expect(await rpc.request({ method: 'eth_getBalance', params: [BOB, 'latest'] })).toBe('0x0')
  expect(await rpc.request({ method: 'eth_getBalance', params: [BOB, 'pending'] })).toBe('0x1')
  expect(await ask('eth_getBalance', BOB)).toBe('0x0')
})

it.each([CADENCES.native, CADENCES.preconf, CADENCES.instant])(
  'under the $kind cadence the pool is pending if it is not promised',
  async (cadence) => {
    const { clock, balance, pay } = await manualNode({ cadence })
    await clock.advance(200)
    await pay()
    expect(await balance()).toBe(cadence.kind === 'preconf' ? 0n : 1n)
    expect(await balance('latest')).toBe(cadence.kind === 'instant' ? 1n : 0n)
  },
)

it('evm_setAutomine(false) shows the pool at pending, and true mines it', async () => {
  const { ask, balance, pay } = await manualNode({ cadence: CADENCES.instant })
  await ask('evm_setAutomine', false)
  await pay()
  expect([await balance(), await balance('latest')]).toEqual([1n, 0n])
  await ask('evm_setAutomine', true)
  expect([await balance(), await balance('latest')]).toEqual([1n, 1n])
})

/** Code that calls an address with the first `size` bytes of memory, and writes a word of the result to `at`. */
function staticCall(address: string, size: number, at: number): string {
  return `602060${at.toString(16)}60${size.toString(16).padStart(2, '0')}5f73${address.slice(2)}5afa50`
}
