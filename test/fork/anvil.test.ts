import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import type { RunningAnvil } from '../anvil.fixture.ts'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, BOB, ForkedChain, LEDGER, POINTER, deploy, quantity, send, word } from './upstream.fixture.ts'

const SMALL = { sponsor: false, wallet: false, bundler: false, cadence: 'instant', onNote: () => undefined } as const
const VECTORS = fileURLToPath(new URL('../../../shared/vectors/rpc-compat/', import.meta.url))

interface Asker {
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
}

type Fields = Readonly<Record<string, unknown>>

/** Sends from an unlocked account and returns the receipt. anvil mines after it has returned the hash. */
async function sent({ ask }: Asker, transaction: Fields): Promise<Fields> {
  const hash = await ask('eth_sendTransaction', { from: ALICE, gas: '0x493e0', ...transaction })
  for (;;) {
    const receipt = await ask('eth_getTransactionReceipt', hash)
    if (receipt !== null) return receipt as Fields
  }
}

describe.skipIf(ANVIL === null)('a fork of an anvil', () => {
  let anvil: RunningAnvil
  let fork: RunningNode
  let ledger: string
  let height: number

  beforeAll(async () => {
    anvil = await startAnvil()
    const { contractAddress } = await sent(anvil, { data: `0x610022600e6000396100226000f3${LEDGER.padEnd(68, '0')}` })
    ledger = contractAddress as string
    await sent(anvil, { to: ledger, data: `0x${word(1)}${word(10)}` })
    await sent(anvil, { to: BOB, value: '0x7' })
    height = Number(await anvil.ask('eth_blockNumber'))
    fork = await startNode({ ...SMALL, fork: { url: anvil.url, blockNumber: height, storageCaching: false } })
  })

  afterAll(async () => {
    await fork[Symbol.asyncDispose]()
    await anvil.stop()
  })

  it('has the rules of Ethereum: no deposits, no L1 fee, and the sum that a transfer costs', async () => {
    const before = BigInt(String(await fork.ask('eth_getBalance', ALICE, 'latest')))
    const receipt = await sent(fork, { to: BOB, value: '0x1', gas: '0x5208' })
    for (const field of ['l1Fee', 'l1GasUsed', 'l1GasPrice', 'depositNonce']) expect(receipt).not.toHaveProperty(field)
    const { transactions, baseFeePerGas, gasLimit } = (await fork.ask('eth_getBlockByNumber', 'latest', false)) as Fields
    expect(transactions).toEqual([receipt['transactionHash']])
    expect(gasLimit).toBe((await anvil.ask<Fields>('eth_getBlockByNumber', quantity(height), false))['gasLimit'])
    const cost = 21_000n * BigInt(String(receipt['effectiveGasPrice'])) + 1n
    expect(before - BigInt(String(await fork.ask('eth_getBalance', ALICE, 'latest')))).toBe(cost)
    expect(BigInt(String(baseFeePerGas))).toBeGreaterThan(0n)
  })

  it('returns the blocks, transactions and receipts of anvil unchanged', async () => {
    for (let number = 0; number <= height; number++) {
      for (const [method, ...params] of [
        ['eth_getBlockByNumber', quantity(number), true],
        ['eth_getBlockReceipts', quantity(number)],
        ['eth_getTransactionByBlockNumberAndIndex', quantity(number), '0x0'],
      ] as const) {
        expect(await fork.ask(method, ...params)).toEqual(await anvil.ask(method, ...params))
      }
    }
  })

  it('continues the contracts of anvil', async () => {
    const receipt = await sent(fork, { to: ledger, data: `0x${word(1)}${word(5)}` })
    expect(receipt).toMatchObject({ status: '0x1', logs: [{ address: ledger, data: `0x${word(15)}` }] })
    expect(await fork.ask('eth_call', { to: ledger, data: `0x${word(1)}${word(0)}` }, quantity(height))).toBe(`0x${word(10)}`)
  })
})

describe.skipIf(!existsSync(VECTORS))('a fork of an Ethereum chain with every type of transaction', () => {
  it('returns blob transactions and withdrawals unchanged', async () => {
    const genesis = readFileSync(`${VECTORS}genesis.json`, 'utf8')
    const importedChain = readFileSync(`${VECTORS}chain.rlp`)
    await using upstream = await startNode({ ...SMALL, genesis, importedChain, cadence: 'manual' })
    const height = Number(await upstream.ask('eth_blockNumber'))
    await using fork = await startNode({ ...SMALL, fork: { url: upstream.url, blockNumber: height, storageCaching: false } })
    const types = new Set<string>()
    let withdrawals = 0
    for (let number = 0; number <= height; number++) {
      const calls = [
        ['eth_getBlockByNumber', quantity(number), true],
        ['eth_getBlockReceipts', quantity(number)],
      ] as const
      const ours = await fork.askAll(calls)
      expect(ours).toEqual(await upstream.askAll(calls))
      const [block] = ours as [{ readonly transactions: readonly { readonly type: string }[]; readonly withdrawals?: readonly unknown[] }]
      for (const { type } of block.transactions) types.add(type)
      withdrawals += block.withdrawals?.length ?? 0
    }
    expect([...types].sort()).toEqual(expect.arrayContaining(['0x0', '0x1', '0x2', '0x3']))
    expect(withdrawals).toBeGreaterThan(0)
    const receipt = await sent(fork, { to: BOB, value: '0x1' })
    expect(receipt).toMatchObject({ status: '0x1', gasUsed: '0x5208' })
  })
})

describe.skipIf(ANVIL === null).each(['op', 'l1'] as const)('beside an anvil that forks the same %s chain', (chainType) => {
  let chain: ForkedChain
  let ours: RunningNode
  let anvil: RunningAnvil
  let ledger: string
  let pointer: string
  let forkNumber: number

  beforeAll(async () => {
    chain = await ForkedChain.start({ chainType })
    ledger = await deploy(chain.upstream, LEDGER)
    pointer = await deploy(chain.upstream, POINTER)
    for (const key of [1, 2, 3]) await send(chain.upstream, { to: ledger, data: `0x${word(key)}${word(key * 10)}` })
    forkNumber = Number(await chain.upstream.ask('eth_blockNumber'))
    ours = await chain.fork()
    anvil = await startAnvil('--fork-url', chain.upstream.url, '--fork-block-number', String(forkNumber))
  })

  afterAll(async () => {
    await anvil.stop()
    await chain[Symbol.asyncDispose]()
  })

  const same = async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
    const [first, second] = await Promise.all([ours.ask(method, ...params), anvil.ask(method, ...params)])
    expect([method, first]).toEqual([method, second])
    return first
  }

  it('executes the same transactions with the same status, gas, logs, slots, codes and nonces', async () => {
    const transactions = [
      { to: ledger, data: `0x${word(1)}${word(1)}` },
      { to: ledger, data: `0x${word(9)}${word(7)}` },
      { to: pointer, data: `0x${word(5)}` },
      { to: pointer },
      { to: BOB, value: '0x5' },
      { data: '0x600a600c600039600a6000f3602a60005260206000f3' },
      { to: ledger, data: '0x', gas: '0x5300' },
    ]
    const created: string[] = []
    for (const transaction of transactions) {
      const [first, second] = [await sent(ours, transaction), await sent(anvil, transaction)]
      for (const field of ['status', 'gasUsed', 'contractAddress', 'to', 'from', 'blockNumber']) {
        expect([field, first[field]]).toEqual([field, second[field]])
      }
      expect(logsOf(first)).toEqual(logsOf(second))
      const { contractAddress } = first
      if (typeof contractAddress === 'string') created.push(contractAddress)
    }
    for (const address of [ALICE, BOB, ledger, pointer, ...created]) {
      await same('eth_getTransactionCount', address, 'latest')
      await same('eth_getCode', address, 'latest')
      for (let slot = 0; slot < 6; slot++) await same('eth_getStorageAt', address, quantity(slot), 'latest')
    }
  })

  it('answers calls, estimates and logs over the border alike', async () => {
    for (const key of [1, 2, 3, 9]) await same('eth_call', { to: ledger, data: `0x${word(key)}${word(0)}` }, 'latest')
    for (const key of [1, 2, 3]) await same('eth_call', { to: ledger, data: `0x${word(key)}${word(0)}` }, quantity(forkNumber))
    await same('eth_getBalance', ALICE, quantity(forkNumber))
    await same('eth_getTransactionCount', ALICE, quantity(forkNumber - 1))
    const estimate = { from: ALICE, to: ledger, data: `0x${word(4)}${word(4)}` }
    const [first, second] = [await ours.ask('eth_estimateGas', estimate), await anvil.ask('eth_estimateGas', estimate)]
    expect(Math.abs(Number(first) / Number(second) - 1)).toBeLessThan(0.02)
    const filter = { fromBlock: '0x0', toBlock: 'latest', address: ledger }
    const [logs, others] = (await Promise.all([ours.ask('eth_getLogs', filter), anvil.ask('eth_getLogs', filter)])) as [Fields[], Fields[]]
    expect(logs.map(identity)).toEqual(others.map(identity))
    expect(new Set(logs.map(({ blockNumber }) => Number(blockNumber) > forkNumber))).toEqual(new Set([false, true]))
  })
})

function logsOf(receipt: Fields): readonly Fields[] {
  return (receipt['logs'] as Fields[]).map(identity)
}

/** Without what depends on hashes of blocks and transactions, and on the index after a deposit. */
function identity({ address, topics, data, blockNumber }: Fields): Fields {
  return { address, topics, data, blockNumber }
}
