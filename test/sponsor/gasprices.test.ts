// The fee methods of other bundlers, which client libraries request before each operation unless they are given fees.
import { describe, expect, it } from 'vitest'
import { Operations } from '../../bench/operations.mjs'
import * as eth from '../../src/eth/index.ts'
import * as rpc from '../../src/rpc/index.ts'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'

const { Hex } = eth
const WETH = '0x4200000000000000000000000000000000000006'

interface Fees {
  readonly maxFeePerGas: string
  readonly maxPriorityFeePerGas: string
}

/** How the client libraries of the providers derive the fees of an operation. */
const LIBRARIES: readonly [name: string, fees: (ask: RunningNode['ask']) => Promise<Fees>][] = [
  ['ZeroDev', async (ask) => ((await ask('zd_getUserOperationGasPrice')) as Record<'standard', Fees>).standard],
  ['Biconomy', async (ask) => ((await ask('biconomy_getGasFeeValues')) as Record<'fast', Fees>).fast],
  ['Etherspot', async (ask) => (await ask('skandha_getGasPrice')) as Fees],
  ['thirdweb', async (ask) => (await ask('thirdweb_getUserOperationGasPrice')) as Fees],
  ['Alchemy', async (ask) => ((await ask('rundler_getUserOperationGasPrice')) as Record<'suggested', Fees>).suggested],
  [
    'Alchemy, version 4',
    async (ask) => {
      const { baseFeePerGas } = (await ask('eth_getBlockByNumber', 'latest', false)) as { baseFeePerGas: string }
      const priority = BigInt((await ask('rundler_maxPriorityFeePerGas')) as string)
      const most = (BigInt(baseFeePerGas) * 3n) / 2n + priority
      return { maxFeePerGas: Hex.fromQuantity(most), maxPriorityFeePerGas: Hex.fromQuantity(priority) }
    },
  ],
]

describe.each(['preconf', 'instant'] as const)('operations with fees of other providers under %s', (cadence) => {
  it('are included', async () => {
    await using node = await startNode({ wallet: false, cadence })
    const { ask } = node
    const operations = new Operations({ eth, rpc }, { ask, sponsor: () => Promise.reject(new Error('not used')) })
    for (const [name, feesOf] of LIBRARIES) {
      const sender = operations.sender(name)
      await ask('anvil_setBalance', sender.address, `0x${(10n ** 18n).toString(16)}`)
      const { maxFeePerGas, maxPriorityFeePerGas } = await feesOf(ask)
      const fees = { maxFeePerGas, maxPriorityFeePerGas }
      const begun = { ...(await operations.begin(sender, operations.callData([{ to: WETH, value: 1n }]))), ...fees }
      const limits = (await ask('eth_estimateUserOperationGas', begun, eth.ENTRY_POINTS['0.8'])) as object
      const { json } = operations.sign(sender, { ...begun, ...limits })
      const receipt = await ask('pimlico_sendUserOperationNow', json, eth.ENTRY_POINTS['0.8'])
      expect({ name, receipt }).toMatchObject({ name, receipt: { success: true } })
    }
  })
})

it('all methods offer the same fees', async () => {
  await using node = await startNode({ wallet: false, cadence: 'manual' })
  const [offered, zerodev, biconomy, etherspot, thirdweb, alchemy, priority] = await node.askAll([
    ['pimlico_getUserOperationGasPrice'],
    ['zd_getUserOperationGasPrice'],
    ['biconomy_getGasFeeValues'],
    ['skandha_getGasPrice'],
    ['thirdweb_getUserOperationGasPrice'],
    ['rundler_getUserOperationGasPrice'],
    ['rundler_maxPriorityFeePerGas'],
  ])
  const { standard } = offered as { standard: Fees }
  expect(Object.keys(offered as object)).toEqual(['slow', 'standard', 'fast'])
  expect([zerodev, biconomy]).toEqual([offered, offered])
  expect([etherspot, thirdweb]).toEqual([standard, standard])
  const [number, block] = await node.askAll([['eth_blockNumber'], ['eth_getBlockByNumber', 'pending', false]])
  const { baseFeePerGas: baseFee } = block as { baseFeePerGas: string }
  expect(alchemy).toEqual({ priorityFee: priority, baseFee, blockNumber: number, suggested: standard })
  expect(priority).toBe(standard.maxPriorityFeePerGas)
})
