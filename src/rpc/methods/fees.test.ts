import { describe, expect, it } from 'vitest'
import { Address, Hex } from '../../eth/index.ts'
import { createPocketchain } from '../../index.ts'
import { ALICE, PRECONF, testNode } from '../node.fixture.ts'

const GWEI = 10n ** 9n
const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')

interface FeeHistory {
  readonly oldestBlock: string
  readonly baseFeePerGas: readonly string[]
  readonly gasUsedRatio: readonly number[]
  readonly reward?: readonly (readonly string[])[]
}

describe('fee suggestions', () => {
  it('are the next base fee and at least the floor of an OP chain', async () => {
    const { ask, chain } = await testNode()
    const baseFee = BigInt((await ask('eth_baseFee')) as string)
    const [block] = await chain.mine(1)
    expect(block?.header.baseFeePerGas).toBe(baseFee)
    expect(await ask('eth_maxPriorityFeePerGas')).toBe('0xf4240')
    expect(BigInt((await ask('eth_gasPrice')) as string)).toBe(baseFee + 1_000_000n)
    expect(await ask('eth_blobBaseFee')).toBe('0x1')
  })

  it('return a gas price that also suffices for a call in the last block', async () => {
    const { ask } = await testNode()
    const gasPrice = await ask('eth_gasPrice')
    expect(await ask('eth_estimateGas', { from: ALICE, to: BOB, gasPrice })).toBe('0x5208')
  })

  it('return no price that the pool rejects', async () => {
    const { ask, chain } = await testNode()
    chain.setMinGasPrice(77_000_000_000n)
    expect(await ask('eth_gasPrice')).toBe(Hex.fromQuantity(77_000_000_000n))
  })

  it('are on an L1 a percentile of the tips in the last 20 blocks of the chain', async () => {
    await using node = await createPocketchain({ chainType: 'l1', cadence: 'instant' })
    const tip = async () => Number(await node.request({ method: 'eth_maxPriorityFeePerGas' })) / 1e9
    const send = async (gwei: number) => {
      const [from] = node.accounts
      const fees = { maxPriorityFeePerGas: Hex.fromQuantity(BigInt(gwei) * GWEI), maxFeePerGas: Hex.fromQuantity(100n * GWEI) }
      await node.request({ method: 'eth_sendTransaction', params: [{ from: from?.address, to: BOB, ...fees }] })
    }
    expect(await tip()).toBe(1)
    const snapshot = await node.request({ method: 'evm_snapshot' })
    const tips: number[] = []
    for (const gwei of [5, 7, 7]) {
      await send(gwei)
      tips.push(await tip())
    }
    expect(tips).toEqual([5, 5, 7])
    await node.request({ method: 'evm_revert', params: [snapshot] })
    expect(await tip()).toBe(1)
    await send(9)
    expect(await tip()).toBe(9)
    await node.request({ method: 'anvil_mine', params: ['0x13'] })
    expect(await tip()).toBe(9)
    await node.request({ method: 'anvil_mine', params: ['0x1'] })
    expect(await tip()).toBe(1)
  })

  it('take the base fee of the block under construction', async () => {
    const { ask, chain } = await testNode({ cadence: PRECONF })
    expect(await ask('eth_baseFee')).toBe(Hex.fromQuantity(chain.head.view.pending?.header.baseFeePerGas ?? 0n))
    await chain.stop()
  })
})

describe('eth_feeHistory', () => {
  it('returns the fees of the blocks, and one base fee more than blocks', async () => {
    const { ask, chain, send } = await testNode()
    await send({ to: BOB, maxPriorityFeePerGas: 5n })
    await send({ to: BOB, maxPriorityFeePerGas: 9n })
    const [block] = await chain.mine(1)
    const history = (await ask('eth_feeHistory', '0x2', 'latest', [25, 75])) as FeeHistory
    expect(history.oldestBlock).toBe('0x0')
    expect(history.reward).toEqual([
      ['0x0', '0x0'],
      ['0x5', '0x9'],
    ])
    expect(history.baseFeePerGas[1]).toBe(Hex.fromQuantity(block?.header.baseFeePerGas ?? 0n))
    const [next] = await chain.mine(1)
    expect(history.baseFeePerGas[2]).toBe(Hex.fromQuantity(next?.header.baseFeePerGas ?? 0n))
    expect(history.gasUsedRatio[1]).toBeCloseTo(Number(block?.header.gasUsed) / Number(block?.header.gasLimit))
  })

  it('accepts the count as a number too, and is shorter at the start of the chain', async () => {
    const { ask } = await testNode()
    const history = (await ask('eth_feeHistory', 10, 'latest')) as FeeHistory
    expect(history.gasUsedRatio).toHaveLength(1)
    expect(history).not.toHaveProperty('reward')
    expect(await ask('eth_feeHistory', '0x0', 'latest')).toMatchObject({ oldestBlock: '0x0', gasUsedRatio: [] })
  })

  it('ends with the base fee that a test chose for the next block', async () => {
    const { ask } = await testNode()
    await ask('anvil_setNextBlockBaseFeePerGas', '0x2a')
    expect(await ask('eth_feeHistory', 1, 'latest')).toMatchObject({ baseFeePerGas: [expect.any(String), '0x2a'] })
    await ask('anvil_mine', 2)
    expect(await ask('eth_feeHistory', 1, '0x0')).toMatchObject({ baseFeePerGas: [expect.any(String), '0x2a'] })
  })

  it('counts the pending block on request', async () => {
    const { ask, chain } = await testNode({ cadence: PRECONF })
    expect(await ask('eth_feeHistory', '0x1', 'pending')).toMatchObject({ oldestBlock: '0x1' })
    expect(await ask('eth_feeHistory', '0x1', 'latest')).toMatchObject({ oldestBlock: '0x0' })
    await chain.stop()
  })

  it('accepts equal percentiles', async () => {
    const { ask } = await testNode()
    await ask('evm_mine')
    expect(await ask('eth_feeHistory', '0x1', 'latest', [50, 50])).toMatchObject({ reward: [['0x0', '0x0']] })
  })

  it.each([
    ['a block that is not there', ['0x1', '0x63']],
    ['percentiles that fall', ['0x1', 'latest', [50, 10]]],
    ['a percentile above 100', ['0x1', 'latest', [101]]],
    ['a percentile that is no number', ['0x1', 'latest', ['50']]],
    ['too many percentiles', ['0x1', 'latest', Array.from({ length: 101 }, (_, i) => i * 0.5)]],
  ])('rejects %s', async (_, params) => {
    const { ask } = await testNode()
    await expect(ask('eth_feeHistory', ...params)).rejects.toMatchObject({ code: -32_602 })
  })
})
