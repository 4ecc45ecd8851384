import { describe, expect, it } from 'vitest'
import { Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { embeddedChain } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { feeView, feesFor, l1FeeOf, latestBlock } from './fees.ts'
import { answering } from './operations.fixture.ts'
import { startNode } from '../wallet.fixture.ts'

const node = await startNode()
const l1 = await startNode({ hardfork: 'prague' })
const chain = embeddedChain(node)
const GWEI = 10n ** 9n

/** The chain of a node that lacks these methods. */
function lacking(...methods: readonly string[]): WalletChain {
  const rpc = {
    subscribe: node.subscribe,
    request: async (request: { method: string; params?: readonly unknown[] }) => {
      if (methods.includes(request.method)) throw new RpcError(-32601, `the method ${request.method} does not exist`)
      return node.request(request)
    },
  }
  return { ...chain, rpc }
}

describe('fees', () => {
  it('are twice the next base fee plus the tip that the node suggests', async () => {
    const fees = await feesFor(chain, await latestBlock(chain))
    const tip = BigInt((await node.request({ method: 'eth_maxPriorityFeePerGas', params: [] })) as string) // a quantity
    expect(fees.type).toBe(2)
    expect(fees).toMatchObject({ maxFeePerGas: 2n * (fees.baseFee ?? 0n) + tip, maxPriorityFeePerGas: tip })
  })

  it('have at least the minimum price of the node', async () => {
    const block = await latestBlock(chain)
    const costly = { ...chain, rpc: answering(node, (method) => (method === 'eth_gasPrice' ? '0x2e90edd000' : undefined)) }
    expect(await feesFor(costly, block)).toMatchObject({ type: 2, maxFeePerGas: 200n * GWEI })
  })

  it('have defaults for nodes without eth_feeHistory and eth_maxPriorityFeePerGas', async () => {
    const bare = lacking('eth_feeHistory', 'eth_maxPriorityFeePerGas')
    const block = await latestBlock(bare)
    const latest = block.baseFee ?? 0n
    expect(await feesFor(bare, block)).toEqual({
      type: 2,
      baseFee: latest + latest / 8n + 1n,
      maxFeePerGas: 2n * (latest + latest / 8n + 1n) + GWEI,
      maxPriorityFeePerGas: GWEI,
    })
  })

  it('are those that the app requests', async () => {
    const block = await latestBlock(chain)
    expect(await feesFor(chain, block, { maxFeePerGas: 7n, maxPriorityFeePerGas: 3n })).toMatchObject({
      type: 2,
      maxFeePerGas: 7n,
      maxPriorityFeePerGas: 3n,
    })
    expect(await feesFor(chain, block, { maxFeePerGas: 7n })).toMatchObject({ maxFeePerGas: 7n, maxPriorityFeePerGas: 7n })
    expect(await feesFor(chain, block, { gasPrice: 9n })).toMatchObject({ type: 0, maxFeePerGas: 9n, maxPriorityFeePerGas: 9n })
    expect(await feesFor(chain, block, { gasPrice: 9n, type: 1 })).toMatchObject({ type: 1, maxFeePerGas: 9n, maxPriorityFeePerGas: 9n })
    await expect(feesFor(chain, block, { maxFeePerGas: 1n, maxPriorityFeePerGas: 2n })).rejects.toMatchObject({ code: -32602 })
    await expect(feesFor(chain, block, { gasPrice: 1n, maxFeePerGas: 2n })).rejects.toMatchObject({ code: -32602 })
  })

  it('are a gas price if blocks have no base fee', async () => {
    const { maxFeePerGas, ...fees } = await feesFor(chain, { gasLimit: 1n, baseFee: null })
    expect(fees).toMatchObject({ type: 0, baseFee: null, maxPriorityFeePerGas: maxFeePerGas })
    expect(maxFeePerGas).toBeGreaterThan(0n)
  })
})

describe('a suggestion of the node that is no quantity', () => {
  const suggesting = (method: string, answer: unknown): WalletChain => ({
    ...chain,
    rpc: answering(node, (sent) => (sent === method ? answer : undefined)),
  })

  it.each(['many', '0x', '0xzz', '12', 7, null])('is -32602 that names the field: %j as gas price', async (answer) => {
    const block = await latestBlock(chain)
    for (const type of [0, 1]) {
      await expect(feesFor(suggesting('eth_gasPrice', answer), block, { type })).rejects.toMatchObject({
        code: -32602,
        message: `gasPrice: the node answered eth_gasPrice with ${JSON.stringify(answer)}, which is not a quantity; set gasPrice in the request`,
      })
    }
  })

  it('is replaced by the default if it is a tip', async () => {
    const fees = await feesFor(suggesting('eth_maxPriorityFeePerGas', 'many'), await latestBlock(chain))
    expect(fees.maxPriorityFeePerGas).toBe(GWEI)
  })
})

describe('the view of fees', () => {
  it('has the expected and the maximum cost, with the L1 data fee', () => {
    const fees = { type: 2, baseFee: 10n, maxFeePerGas: 25n, maxPriorityFeePerGas: 5n } as const
    expect(feeView(fees, 200n, 100n, 7n)).toEqual({
      gas: '0xc8',
      maxFeePerGas: '0x19',
      maxPriorityFeePerGas: '0x5',
      l1Fee: '0x7',
      expected: `0x${(100 * 15 + 7).toString(16)}`,
      most: `0x${(200 * 25 + 7).toString(16)}`,
      sponsor: null,
    })
    expect(feeView({ ...fees, maxFeePerGas: 12n }, 200n, 100n, 0n).expected, 'no more than the cap').toBe(`0x${(100 * 12).toString(16)}`)
  })
})

describe('the L1 data fee', () => {
  it('is that of the oracle, for each transaction', async () => {
    // The first block sets the L1 attributes.
    await node.request({ method: 'evm_mine', params: [] })
    const fields = { type: 2, chainId: 31_337, to: Address.zero, data: new Uint8Array(500).map((_, i) => (i * 31) % 251) } as const
    const one = await l1FeeOf(chain, Address.zero, [fields])
    expect(one).toBeGreaterThan(0n)
    expect(await l1FeeOf(chain, Address.zero, [fields, fields])).toBe(2n * one)
  })

  it('is 0 without an oracle', async () => {
    expect(await l1FeeOf(embeddedChain(l1), Address.zero, [{ to: Address.zero }])).toBe(0n)
  })
})
