import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import type { RunningAnvil } from '../anvil.fixture.ts'
import { WORDS, startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, BOB, ForkedChain, LEDGER, POINTER, deploy, quantity, word } from './upstream.fixture.ts'

// Forks beside anvil: of an anvil, of an L1 chain of our own, and as anvil forks the same chain.

const CONFORMANCE = fileURLToPath(new URL('../../../shared/vectors/rpc-compat/', import.meta.url))
const LEDGER_BYTES = (LEDGER.length / 2).toString(16)
const alice = mnemonicToAccount(WORDS)

const PRODUCTS = { sponsor: false, wallet: false, bundler: false, factories: false } as const

type Json = Readonly<Record<string, unknown>>
type Asking = Pick<RunningNode, 'ask'>

/** Signed by Alice, for the default chain id of both nodes. */
function signed(nonce: number, { to, data = '0x', value = 0n }: { to: string; data?: string; value?: bigint }): Promise<string> {
  const fees = { gas: 200_000n, gasPrice: 10_000_000_000n, type: 'legacy' } as const
  return alice.signTransaction({ chainId: 31_337, nonce, to: to as `0x${string}`, data: data as `0x${string}`, value, ...fees })
}

/** Sends the transaction and returns its receipt. */
async function sent(node: Asking, raw: string): Promise<Json> {
  return (await node.ask('eth_sendRawTransactionSync', raw)) as Json
}

/** Every way to read a block and what is in it. */
async function expectSameBlock(fork: Asking, upstream: Asking, number: number): Promise<void> {
  const at = quantity(number)
  const { hash, transactions } = (await upstream.ask('eth_getBlockByNumber', at, false)) as { hash: string; transactions: string[] }
  const calls: [method: string, ...params: unknown[]][] = [
    ['eth_getBlockByNumber', at, true],
    ['eth_getBlockByNumber', at, false],
    ['eth_getBlockByHash', hash, true],
    ['eth_getBlockReceipts', at],
    ['eth_getBlockTransactionCountByNumber', at],
    ...transactions.flatMap((tx): [string, ...unknown[]][] => [
      ['eth_getTransactionByHash', tx],
      ['eth_getTransactionReceipt', tx],
      ['eth_getRawTransactionByHash', tx],
    ]),
  ]
  for (const [method, ...params] of calls) {
    // As text, so that the order of the fields is compared too.
    const [ours, theirs] = [await fork.ask(method, ...params), await upstream.ask(method, ...params)]
    expect([method, JSON.stringify(ours)]).toEqual([method, JSON.stringify(theirs)])
  }
}

/** Mines a block on a fork of block `number`: its fees and limits follow from its parent, as those of upstream's block did. */
async function expectSameSuccessor(fork: Asking, upstream: Asking, number: number): Promise<void> {
  await fork.ask('evm_mine')
  const block = async (node: Asking): Promise<Json> => (await node.ask('eth_getBlockByNumber', quantity(number + 1), false)) as Json
  const [ours, theirs] = [await block(fork), await block(upstream)]
  for (const name of ['number', 'parentHash', 'baseFeePerGas', 'excessBlobGas', 'blobGasUsed', 'withdrawalsRoot', 'requestsHash']) {
    expect([name, ours[name]]).toEqual([name, theirs[name]])
  }
}

async function expectSameState(
  a: Asking,
  b: Asking,
  accounts: readonly string[],
  slots: readonly (readonly [address: string, slot: string])[],
) {
  for (const method of ['eth_getTransactionCount', 'eth_getCode']) {
    for (const address of accounts)
      expect([method, await a.ask(method, address, 'latest')]).toEqual([method, await b.ask(method, address, 'latest')])
  }
  for (const [address, slot] of slots) {
    expect(await a.ask('eth_getStorageAt', address, slot, 'latest')).toBe(await b.ask('eth_getStorageAt', address, slot, 'latest'))
  }
}

describe.skipIf(ANVIL === null)('a fork of an anvil', () => {
  let anvil: RunningAnvil
  let fork: RunningNode
  let ledger: string
  let blobBlock: number
  let forkNumber: number

  beforeAll(async () => {
    anvil = await startAnvil('--hardfork', 'prague')
    const created = await alice.signTransaction({
      chainId: 31_337,
      nonce: 0,
      type: 'legacy',
      gas: 500_000n,
      gasPrice: 10_000_000_000n,
      data: `0x60${LEDGER_BYTES}600c60003960${LEDGER_BYTES}6000f3${LEDGER}`,
    })
    ledger = (await sent(anvil, created))['contractAddress'] as string
    await sent(anvil, await signed(1, { to: ledger, data: `0x${word(1)}${word(10)}` }))
    const receipt = await sent(anvil, await blobTransaction(2))
    expect(receipt).toMatchObject({ status: '0x1', type: '0x3', blobGasUsed: '0x20000' })
    blobBlock = Number(receipt['blockNumber'])
    await anvil.ask('anvil_mine', '0x2')
    forkNumber = Number(await anvil.ask('eth_blockNumber'))
    fork = await startNode({ cadence: 'instant', ...PRODUCTS, fork: { url: anvil.url, blockNumber: forkNumber, storageCaching: false } })
  })

  afterAll(async () => {
    await fork?.[Symbol.asyncDispose]()
    await anvil?.stop()
  })

  it('returns its blocks, with blob transactions and withdrawals, as they are there', async () => {
    for (let number = 0; number <= forkNumber; number++) await expectSameBlock(fork, anvil, number)
    expect(await fork.ask('eth_getBlockByNumber', quantity(blobBlock), true)).toMatchObject({
      withdrawals: [],
      blobGasUsed: '0x20000',
      transactions: [{ type: '0x3', blobVersionedHashes: [EMPTY_BLOB_HASH] }],
    })
  })

  it('continues the blob gas of a fork block with a blob transaction', async () => {
    await using other = await startNode({
      cadence: 'manual',
      ...PRODUCTS,
      fork: { url: anvil.url, blockNumber: blobBlock, storageCaching: false },
    })
    await expectSameSuccessor(other, anvil, blobBlock)
  })

  it('has the rules of L1: no deposits and no L1 fee, and the gas and balances of anvil', async () => {
    const raws = [
      await signed(3, { to: ledger, data: `0x${word(1)}${word(5)}` }),
      await signed(4, { to: BOB, value: 12n }),
      await signed(5, { to: ledger, data: `0x${word(9)}${word(5)}` }),
    ]
    for (const raw of raws) {
      const [ours, theirs] = [await sent(fork, raw), await sent(anvil, raw)]
      for (const name of [
        'status',
        'gasUsed',
        'cumulativeGasUsed',
        'effectiveGasPrice',
        'transactionIndex',
        'blockNumber',
        'logsBloom',
        'type',
      ]) {
        expect([name, ours[name]]).toEqual([name, theirs[name]])
      }
      expect(Object.keys(ours).filter((name) => /^l1|deposit/i.test(name))).toEqual([])
      const block = (await fork.ask('eth_getBlockByNumber', 'latest', true)) as { transactions: Json[]; baseFeePerGas: string }
      const same = (await anvil.ask('eth_getBlockByNumber', 'latest', false)) as { baseFeePerGas: string }
      expect(block.transactions.map(({ hash }) => hash)).toEqual([ours['transactionHash']])
      expect(block.baseFeePerGas).toBe(same.baseFeePerGas)
    }
    // Funded again at the start of the fork: the difference is what the transactions cost.
    const start = quantity(10n ** 22n)
    expect(await fork.ask('eth_getBalance', ALICE, quantity(forkNumber))).toBe(start)
    const spent = async (node: Asking) =>
      BigInt((await node.ask('eth_getBalance', ALICE, quantity(forkNumber))) as string) -
      BigInt((await node.ask('eth_getBalance', ALICE, 'latest')) as string)
    expect(await spent(fork)).toBe(await spent(anvil))
    await expectSameState(fork, anvil, [ALICE, BOB, ledger], [])
    const filter = { address: ledger, fromBlock: '0x0', toBlock: 'latest' }
    const data = async (node: Asking) => ((await node.ask('eth_getLogs', filter)) as Json[]).map((log) => log['data'])
    expect(await data(fork)).toEqual([10, 15, 5].map((value) => `0x${word(value)}`))
    expect(await data(fork)).toEqual(await data(anvil))
  })
})

describe.skipIf(!existsSync(CONFORMANCE))('a fork of an L1 chain with blob transactions and withdrawals', () => {
  it('returns its blocks as they are there, and continues it', async () => {
    const genesis = readFileSync(`${CONFORMANCE}genesis.json`, 'utf8')
    const importedChain = readFileSync(`${CONFORMANCE}chain.rlp`)
    await using chain = await ForkedChain.start({ genesis, importedChain, compat: 'geth' })
    const head = Number(await chain.upstream.ask('eth_blockNumber'))
    const fork = await chain.fork()
    const found = { blobs: 0, withdrawals: 0 }
    const origins = new Set<number>()
    for (let number = head; number >= 0; number--) {
      const { transactions, withdrawals = [] } = (await chain.upstream.ask('eth_getBlockByNumber', quantity(number), true)) as {
        transactions: { type: string }[]
        withdrawals?: unknown[]
      }
      const hasBlobs = transactions.some(({ type }) => type === '0x3')
      if (!hasBlobs && withdrawals.length === 0) continue
      found.blobs += Number(hasBlobs)
      found.withdrawals += Number(withdrawals.length > 0)
      await expectSameBlock(fork, chain.upstream, number)
      if (number < head && (found.blobs === 1 || found.withdrawals === 1)) origins.add(number)
    }
    for (const blockNumber of origins)
      await expectSameSuccessor(await chain.fork({ cadence: 'manual' }, { blockNumber }), chain.upstream, blockNumber)
    expect(found.blobs).toBeGreaterThan(0)
    expect(found.withdrawals).toBeGreaterThan(0)
    const hash = await fork.ask('eth_sendTransaction', { from: ALICE, to: BOB, value: '0x1' })
    expect(await fork.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', gasUsed: '0x5208', transactionIndex: '0x0' })
    expect(await fork.ask('eth_getBlockByNumber', 'latest', false)).toMatchObject({
      number: quantity(head + 1),
      withdrawals: [],
      transactions: [hash],
    })
  })
})

describe.skipIf(ANVIL === null).each(['op', 'l1'] as const)(
  'a fork of an %s chain, beside an anvil that forks the same block',
  (chainType) => {
    let chain: ForkedChain
    let fork: RunningNode
    let anvil: RunningAnvil
    let ledger: string
    let pointer: string
    let forkNumber: number

    beforeAll(async () => {
      chain = await ForkedChain.start({ chainType })
      ledger = await deploy(chain.upstream, LEDGER)
      pointer = await deploy(chain.upstream, POINTER)
      for (const [nonce, data] of [`${word(1)}${word(10)}`, `${word(2)}${word(20)}`].entries()) {
        await sent(chain.upstream, await signed(2 + nonce, { to: ledger, data: `0x${data}` }))
      }
      await sent(chain.upstream, await signed(4, { to: pointer, data: `0x${word(7)}` }))
      forkNumber = Number(await chain.upstream.ask('eth_blockNumber'))
      ;[fork, anvil] = await Promise.all([
        chain.fork({ chainType }),
        startAnvil('--fork-url', chain.upstream.url, '--fork-block-number', String(forkNumber), '--no-storage-caching'),
      ])
    })

    afterAll(async () => {
      await anvil?.stop()
      await chain?.[Symbol.asyncDispose]()
    })

    const both = async (method: string, ...params: readonly unknown[]): Promise<readonly [ours: unknown, anvils: unknown]> => [
      await fork.ask(method, ...params),
      await anvil.ask(method, ...params),
    ]
    const same = async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
      const [ours, anvils] = await both(method, ...params)
      expect([method, params, ours]).toEqual([method, params, anvils])
      return ours
    }

    it('answers calls and estimates alike before a change', async () => {
      await same('eth_chainId')
      await same('eth_blockNumber')
      await same('eth_call', { to: ledger, data: `0x${word(1)}${word(3)}` }, 'latest')
      await same('eth_call', { to: ledger, data: `0x${word(5)}${word(3)}` }, 'latest', { [ledger]: { code: '0x60015f5260205ff3' } })
      await same('eth_call', { to: pointer }, 'latest')
      await same('eth_estimateGas', { from: ALICE, to: BOB, value: '0x1' })
      for (const address of [ALICE, BOB, ledger, pointer]) await same('eth_getCode', address, 'latest')
    })

    it('has the same gas, logs, slots, codes and nonces after the same transactions', async () => {
      const steps = [
        { to: ledger, data: `0x${word(1)}${word(5)}` },
        { to: pointer },
        { to: ledger, data: `0x${word(3)}${word(30)}` },
        { to: BOB, value: 7n },
        { to: pointer, data: `0x${word(8)}` },
        { to: pointer },
      ]
      for (const [i, step] of steps.entries()) {
        const call = { from: ALICE, to: step.to, data: step.data ?? '0x', value: quantity(step.value ?? 0n) }
        const [estimate, anvils] = (await both('eth_estimateGas', call)).map(Number)
        const raw = await signed(5 + i, step)
        const [ours, theirs] = [await sent(fork, raw), await sent(anvil, raw)]
        for (const name of ['status', 'gasUsed', 'transactionHash', 'blockNumber', 'from', 'to', 'contractAddress', 'logsBloom', 'type']) {
          expect([i, name, ours[name]]).toEqual([i, name, theirs[name]])
        }
        // The search of pocketchain ends, as geth's, within 1.5 % of the least sufficient gas.
        expect(estimate).toBeGreaterThanOrEqual(anvils!)
        expect(estimate).toBeLessThanOrEqual(anvils! * 1.015)
        expect(anvils).toBeGreaterThanOrEqual(Number(ours['gasUsed']))
      }
      const slots = [0, 1, 7, 8].map((slot) => [pointer, quantity(slot)] as const)
      await expectSameState(fork, anvil, [ALICE, BOB, ledger, pointer], slots)
      await same('eth_getBalance', BOB, 'latest')
      const shown = (log: Json): Json => ({ ...log, blockHash: null, blockTimestamp: null, transactionIndex: null })
      const filter = { address: ledger, fromBlock: '0x0', toBlock: 'latest' }
      const [ours, theirs] = (await both('eth_getLogs', filter)) as readonly [Json[], Json[]]
      expect(ours.map(shown)).toEqual(theirs.map(shown))
      expect(ours.map((log) => Number(log['blockNumber']) - forkNumber)).toEqual([-2, -1, 1, 3])
      expect(ours.slice(0, 2)).toEqual(theirs.slice(0, 2))
    })
  },
)

/** Of a blob of zeros: the commitment and the proof are the point at infinity. */
const EMPTY_BLOB_HASH = '0x010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014'

function blobTransaction(nonce: number): Promise<string> {
  const infinity = `0xc0${'00'.repeat(47)}` as const
  return alice.signTransaction({
    chainId: 31_337,
    nonce,
    type: 'eip4844',
    gas: 21_000n,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1n,
    maxFeePerBlobGas: 10n ** 10n,
    to: BOB,
    blobVersionedHashes: [EMPTY_BLOB_HASH],
    sidecars: [{ blob: `0x${'00'.repeat(131_072)}`, commitment: infinity, proof: infinity }],
  })
}
