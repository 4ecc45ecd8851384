import { expect, it } from 'vitest'
import { Hash } from '../../eth/index.ts'
import { GENESIS_SECONDS, testNode } from '../node.fixture.ts'

it('anvil_nodeInfo has the form of anvil', async () => {
  const { ask, chain } = await testNode()
  await ask('evm_mine')
  await ask('anvil_setNextBlockBaseFeePerGas', 5_000_000_000)
  expect(await ask('anvil_nodeInfo')).toEqual({
    currentBlockNumber: '0x1',
    currentBlockTimestamp: GENESIS_SECONDS + 1,
    currentBlockHash: chain.head.view.head.hash,
    hardFork: 'azul',
    transactionOrder: 'fees',
    environment: { baseFee: await ask('eth_baseFee'), chainId: 31_337, gasLimit: '0x3938700', gasPrice: await ask('eth_gasPrice') },
    forkConfig: { forkUrl: null, forkBlockNumber: null, forkRetryBackoff: null },
  })
})

it.each(['anvil_metadata', 'hardhat_metadata'])('%s names the run, the head and the snapshots', async (name) => {
  const { ask, chain } = await testNode()
  await ask('evm_mine')
  const id = await ask('evm_snapshot')
  const { hash } = chain.head.view.head
  await ask('evm_mine')
  expect(await ask(name)).toEqual({
    clientVersion: 'pocketchain/test',
    chainId: 31_337,
    instanceId: Hash.zero,
    latestBlockNumber: 2,
    latestBlockHash: chain.head.view.head.hash,
    forkedNetwork: null,
    snapshots: { [String(id)]: [1, hash] },
  })
})

it('setLoggingEnabled is accepted', async () => {
  const { ask } = await testNode()
  expect(await ask('anvil_setLoggingEnabled', false)).toBeNull()
  expect(await ask('hardhat_setLoggingEnabled', false)).toBe(true)
})
