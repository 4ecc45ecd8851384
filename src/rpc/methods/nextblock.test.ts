import { describe, expect, it } from 'vitest'
import { ALICE, PRECONF, testNode } from '../node.fixture.ts'

const STRANGER = '0x00000000000000000000000000000000000a11ce'
const DEAR = 300_000_000_000
const CADENCES = [
  ['manual', { kind: 'manual' }],
  ['instant', { kind: 'instant' }],
  ['preconf', PRECONF],
] as const

describe.each(CADENCES)('the base fee of the next block under %s', (_, cadence) => {
  it('applies before the block to estimates and to sends', async () => {
    const { ask, clock } = await testNode({ cadence })
    expect(await ask('anvil_setNextBlockBaseFeePerGas', DEAR)).toBeNull()
    expect(await ask('eth_baseFee')).toBe(`0x${DEAR.toString(16)}`)
    expect(Number(await ask('eth_gasPrice'))).toBeGreaterThan(DEAR)
    const hash = await ask('eth_sendTransaction', { from: ALICE, to: STRANGER, value: '0x1' })
    await clock.advance(200)
    await ask('evm_mine')
    expect(await ask('eth_getBlockByNumber', '0x1', false)).toMatchObject({ baseFeePerGas: `0x${DEAR.toString(16)}` })
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', blockNumber: '0x1' })
  })

  it('applies to one block and is removed by a snapshot revert', async () => {
    const { ask, chain } = await testNode({ cadence })
    const usual = await ask('eth_baseFee')
    const id = await ask('evm_snapshot')
    await ask('anvil_setNextBlockBaseFeePerGas', 0)
    expect(await ask('eth_baseFee')).toBe('0x0')
    await ask('evm_revert', id)
    expect(await ask('eth_baseFee')).toBe(usual)
    await ask('anvil_setNextBlockBaseFeePerGas', DEAR)
    await ask('anvil_mine', 2)
    expect(chain.head.view.head.header.baseFeePerGas).toBeLessThan(BigInt(DEAR))
  })
})

describe('other settings of the next blocks', () => {
  it.each(['hardhat_setPrevRandao', 'anvil_setPrevRandao', 'anvil_setNextBlockPrevRandao'])('%s holds for one block', async (name) => {
    const { ask, chain } = await testNode()
    const chosen = `0x${'2a'.padStart(64, '0')}`
    expect(await ask(name, '0x2a')).toBe(name.startsWith('hardhat') ? true : null)
    await ask('evm_mine')
    expect(chain.head.view.head.header.mixHash).toBe(chosen)
    await ask('evm_mine')
    expect(chain.head.view.head.header.mixHash).not.toBe(chosen)
  })

  it('the gas limit may be as low as the deposits allow', async () => {
    const { ask, send, chain } = await testNode({ cadence: { kind: 'instant' } })
    expect(await ask('evm_setBlockGasLimit', 2_000_000)).toBe(true)
    await send({ to: ALICE, gas: 30_000n })
    expect(chain.head.view.head.header).toMatchObject({ number: 1, gasLimit: 2_000_000n })
    await ask('evm_setBlockGasLimit', 20_000_000)
    await send({ to: ALICE, gas: 30_000n })
    expect(chain.head.view.head.header.gasLimit).toBe(20_000_000n)
  })

  it('setCoinbase sets the recipient of the tips', async () => {
    const { ask, send } = await testNode()
    expect(await ask('hardhat_setCoinbase', STRANGER)).toBe(true)
    await send({ to: ALICE, maxPriorityFeePerGas: 1_000n, gas: 30_000n })
    await ask('evm_mine')
    expect(Number(await ask('eth_getBalance', STRANGER))).toBe(21_000 * 1_000)
  })

  it.each(CADENCES)('eth_coinbase is the recipient that was set, under %s', async (_, cadence) => {
    const { ask, clock } = await testNode({ cadence })
    const before = await ask('eth_coinbase')
    const snapshot = await ask('evm_snapshot')
    await ask('miner_setEtherbase', STRANGER)
    expect(await ask('eth_coinbase')).toBe(STRANGER)
    await clock.advance(200)
    expect(await ask('eth_coinbase')).toBe(STRANGER)
    await ask('evm_revert', snapshot)
    expect(await ask('eth_coinbase')).toBe(before)
  })
})
