import { createTestClient, custom, parseEther, publicActions, walletActions } from 'viem'
import type { Hash, TestClient } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Cadence } from '../../chain/index.ts'
import { textOf } from '../body.ts'
import { ALICE, DEDICATED, GENESIS_SECONDS, PRECONF, testNode } from '../node.fixture.ts'
import type { NodeRpc } from '../noderpc.ts'

// viem's test client uses the method names and units of the node selected by its mode.

const STRANGER = '0x00000000000000000000000000000000000a11ce'
const CONTRACT = '0x0000000000000000000000000000000000c0de00'
const INSTANT: Cadence = { kind: 'instant' }
const SLOT_ONE = `0x${'1'.padStart(64, '0')}` as const
const WORD = `0x${'beef'.padStart(64, '0')}` as const

type Mode = TestClient['mode']

const MODES: readonly Mode[] = ['anvil', 'hardhat', 'ganache']

/** A transport without a socket that serialises to JSON, so that values outside of JSON are lost as on the wire. */
function overJson(rpc: NodeRpc) {
  let id = 0
  return custom(
    {
      request: async ({ method, params }: { method: string; params?: unknown }) => {
        const { body } = await rpc.handle(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }), DEDICATED)
        const { result, error } = JSON.parse(textOf(body ?? '{}')) as { result?: unknown; error?: { code: number; message: string } } // a JSON-RPC answer
        if (error !== undefined) throw Object.assign(new Error(error.message), error)
        return result
      },
    },
    { retryCount: 0 },
  )
}

async function clientOf(mode: Mode, cadence: Cadence) {
  const { rpc, clock, chain, bugs } = await testNode({ cadence })
  const client = createTestClient({ mode, transport: overJson(rpc), cacheTime: 0, account: ALICE })
    .extend(publicActions)
    .extend(walletActions)
  /** waits until the transaction has a receipt */
  const confirm = () => clock.advance(cadence.kind === 'preconf' ? 200 : 0)
  const receiptOf = async (hash: Hash) => {
    await confirm()
    return client.getTransactionReceipt({ hash })
  }
  const hasReceipt = async (hash: Hash) => (await rpc.request({ method: 'eth_getTransactionReceipt', params: [hash] })) !== null
  const pay = (from: `0x${string}` = ALICE) =>
    client.sendTransaction({ account: from, chain: null, to: STRANGER, value: 1n, gas: 100_000n })
  return { client, clock, chain, bugs, receiptOf, hasReceipt, pay }
}

describe.each(MODES)("viem's test client in mode %s", (mode) => {
  describe.each([INSTANT, PRECONF].map((cadence) => [cadence.kind, cadence] as const))('under %s', (_, cadence) => {
    it('mines the requested number of blocks', async () => {
      const { client } = await clientOf(mode, cadence)
      await client.mine({ blocks: 3 })
      expect(await client.getBlockNumber()).toBe(3n)
    })

    it.runIf(mode !== 'ganache')('mines blocks apart', async () => {
      const { client } = await clientOf(mode, cadence)
      await client.mine({ blocks: 3, interval: 60 })
      const second = await client.getBlock({ blockNumber: 2n })
      const third = await client.getBlock({ blockNumber: 3n })
      expect(third.timestamp - second.timestamp).toBe(60n)
    })

    it('reverts to a snapshot once', async () => {
      const { client, receiptOf, hasReceipt, pay } = await clientOf(mode, cadence)
      await client.setBalance({ address: STRANGER, value: 5n })
      const id = await client.snapshot()
      const hash = await pay()
      expect(await receiptOf(hash)).toMatchObject({ status: 'success' })
      await client.mine({ blocks: 2 })
      await client.revert({ id })
      expect(await client.getBalance({ address: STRANGER })).toBe(5n)
      expect(await client.getBlockNumber()).toBe(0n)
      expect(await hasReceipt(hash)).toBe(false)
      expect(await client.request({ method: 'evm_revert', params: [id] })).toBe(false)
    })

    it('moves time', async () => {
      const { client } = await clientOf(mode, cadence)
      await client.increaseTime({ seconds: 1_000 })
      await client.mine({ blocks: 1 })
      expect((await client.getBlock()).timestamp).toBe(BigInt(GENESIS_SECONDS + 1_000))
      const chosen = BigInt(GENESIS_SECONDS + 5_000)
      await client.setNextBlockTimestamp({ timestamp: chosen })
      await client.mine({ blocks: 1 })
      expect((await client.getBlock()).timestamp).toBe(chosen)
      await client.mine({ blocks: 1 })
      expect((await client.getBlock()).timestamp).toBe(chosen + 1n)
    })

    it('spaces timestamps', async () => {
      const { client } = await clientOf(mode, cadence)
      await client.setBlockTimestampInterval({ interval: 12 })
      await client.mine({ blocks: 2 })
      expect((await client.getBlock()).timestamp).toBe(BigInt(GENESIS_SECONDS + 24))
      await client.removeBlockTimestampInterval()
      await client.mine({ blocks: 1 })
      expect((await client.getBlock()).timestamp).toBe(BigInt(GENESIS_SECONDS + 25))
    })

    it('sets balance, code, nonce and storage, visible under latest and pending', async () => {
      const { client } = await clientOf(mode, cadence)
      await client.setBalance({ address: STRANGER, value: parseEther('7') })
      await client.setNonce({ address: STRANGER, nonce: 420 })
      await client.setCode({ address: CONTRACT, bytecode: '0x6001600055' })
      await client.setStorageAt({ address: CONTRACT, index: 0, value: WORD })
      await client.setStorageAt({ address: CONTRACT, index: SLOT_ONE, value: WORD })
      for (const blockTag of ['latest', 'pending'] as const) {
        expect(await client.getBalance({ address: STRANGER, blockTag })).toBe(parseEther('7'))
        expect(await client.getTransactionCount({ address: STRANGER, blockTag })).toBe(420)
        expect(await client.getCode({ address: CONTRACT, blockTag })).toBe('0x6001600055')
        expect(await client.getStorageAt({ address: CONTRACT, slot: '0x0', blockTag })).toBe(WORD)
        expect(await client.getStorageAt({ address: CONTRACT, slot: '0x1', blockTag })).toBe(WORD)
      }
      expect(await client.getBalance({ address: STRANGER, blockNumber: 0n })).toBe(parseEther('7'))
    })

    it('keeps pre-confirmed transactions when state is set', async () => {
      const { client, receiptOf, hasReceipt, pay } = await clientOf(mode, cadence)
      const hash = await pay()
      await receiptOf(hash)
      await client.setBalance({ address: CONTRACT, value: 1n })
      expect(await hasReceipt(hash)).toBe(true)
      expect(await client.getBlockNumber()).toBe(1n)
      expect(await client.getBalance({ address: STRANGER })).toBe(1n)
    })

    it('impersonates an account', async () => {
      const { client, receiptOf, pay } = await clientOf(mode, cadence)
      await client.setBalance({ address: CONTRACT, value: parseEther('1') })
      await expect(pay(CONTRACT)).rejects.toThrow('unknown account')
      await client.impersonateAccount({ address: CONTRACT })
      expect(await receiptOf(await pay(CONTRACT))).toMatchObject({ status: 'success', from: CONTRACT })
      await client.stopImpersonatingAccount({ address: CONTRACT })
      await expect(pay(CONTRACT)).rejects.toThrow('unknown account')
    })

    it('impersonates a contract', async () => {
      const { client, receiptOf, pay, bugs } = await clientOf(mode, cadence)
      await client.setCode({ address: CONTRACT, bytecode: '0x00' })
      await client.setBalance({ address: CONTRACT, value: parseEther('1') })
      await client.impersonateAccount({ address: CONTRACT })
      expect(await receiptOf(await pay(CONTRACT))).toMatchObject({ status: 'success', from: CONTRACT })
      expect(await client.getBalance({ address: STRANGER, blockTag: 'pending' })).toBe(1n)
      expect(bugs).toEqual([])
    })

    it('sends an unsigned transaction', async () => {
      const { client, receiptOf } = await clientOf(mode, cadence)
      await client.setBalance({ address: CONTRACT, value: parseEther('1') })
      const hash = await client.sendUnsignedTransaction({ from: CONTRACT, to: STRANGER, value: 3n })
      expect(await receiptOf(hash)).toMatchObject({ status: 'success', from: CONTRACT })
    })

    it('switches automine', async () => {
      const { client, clock, hasReceipt, pay } = await clientOf(mode, cadence)
      await client.setAutomine(false)
      expect(await client.getAutomine()).toBe(false)
      const hash = await pay()
      await clock.advance(10_000)
      expect(await hasReceipt(hash)).toBe(false)
      await client.mine({ blocks: 1 })
      expect(await hasReceipt(hash)).toBe(true)
      await client.setAutomine(true)
      expect(await client.getAutomine()).toBe(true)
      expect(await hasReceipt(await pay())).toBe(true)
    })

    it('switches interval mining', async () => {
      const { client, clock, hasReceipt, pay } = await clientOf(mode, cadence)
      await client.setIntervalMining({ interval: 5 })
      const before = await client.getBlockNumber()
      const hash = await pay()
      await clock.advance(200)
      expect(await hasReceipt(hash)).toBe(true)
      expect(await client.getBlockNumber()).toBe(before)
      await clock.advance(4_800)
      expect(await client.getBlockNumber()).toBe(before + 1n)
      await client.setIntervalMining({ interval: 0 })
      const after = await client.getBlockNumber()
      await clock.advance(20_000)
      expect(await client.getBlockNumber()).toBe(after)
    })

    it('drops a transaction', async () => {
      const { client, hasReceipt, pay } = await clientOf(mode, cadence)
      await client.setAutomine(false)
      const hash = await pay()
      expect(await client.getTxpoolStatus()).toEqual({ pending: 1, queued: 0 })
      await client.dropTransaction({ hash })
      expect(await client.getTxpoolStatus()).toEqual({ pending: 0, queued: 0 })
      expect((await client.getTxpoolContent()).pending).toEqual({})
      expect((await client.inspectTxpool()).pending).toEqual({})
      await client.mine({ blocks: 1 })
      expect(await hasReceipt(hash)).toBe(false)
    })

    it('resets', async () => {
      const { client, chain, receiptOf, pay } = await clientOf(mode, cadence)
      await receiptOf(await pay())
      await client.increaseTime({ seconds: 1_000 })
      await client.mine({ blocks: 3 })
      await client.reset()
      expect(await client.getBlockNumber()).toBe(0n)
      expect(await client.getBalance({ address: STRANGER })).toBe(0n)
      expect(await client.getTransactionCount({ address: ALICE, blockTag: 'pending' })).toBe(0)
      expect((await client.getBlock()).hash).toBe(chain.genesis.hash)
      expect(await receiptOf(await pay())).toMatchObject({ status: 'success' })
    })

    it('rejects a reset to a fork', async () => {
      const { client } = await clientOf(mode, cadence)
      await client.mine({ blocks: 1 })
      await expect(client.reset({ blockNumber: 1n, jsonRpcUrl: 'http://127.0.0.1:1' })).rejects.toThrow('this node cannot become a fork')
      await expect(client.setRpcUrl('http://127.0.0.1:1')).rejects.toThrow('this chain is not a fork')
      expect(await client.getBlockNumber()).toBe(1n)
    })

    it('sets the environment of the next blocks', async () => {
      const { client, pay } = await clientOf(mode, cadence)
      await client.setCoinbase({ address: STRANGER })
      await client.setBlockGasLimit({ gasLimit: 20_000_000n })
      await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 7_000_000_000n })
      await client.setLoggingEnabled(false)
      await client.mine({ blocks: 1 })
      expect(await client.getBlock()).toMatchObject({ miner: STRANGER, gasLimit: 20_000_000n, baseFeePerGas: 7_000_000_000n })
      await client.mine({ blocks: 1 })
      expect(await client.getBlock()).toMatchObject({ miner: STRANGER, gasLimit: 20_000_000n })
      expect((await client.getBlock()).baseFeePerGas).toBeLessThan(7_000_000_000n)
      await client.setMinGasPrice({ gasPrice: parseEther('0.001') })
      const cheap = { account: ALICE, chain: null, to: STRANGER, gas: 100_000n, gasPrice: 10_000_000_000n } as const
      await expect(client.sendTransaction(cheap)).rejects.toThrow('underpriced')
      // The node fills in a price that its pool accepts.
      await pay()
    })
  })
})
