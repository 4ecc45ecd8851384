import { expect, it } from 'vitest'
import { Hash } from '../../eth/index.ts'
import { createPocketchain } from '../../index.ts'
import { GENESIS_SECONDS, PUBLIC, testNode } from '../node.fixture.ts'

it('anvil_nodeInfo has the form of anvil', async () => {
  const { ask, chain } = await testNode()
  await ask('evm_mine')
  await ask('anvil_setNextBlockBaseFeePerGas', 5_000_000_000)
  await ask('anvil_setMinGasPrice', 77_000_000_000)
  expect(await ask('anvil_nodeInfo')).toEqual({
    currentBlockNumber: '0x1',
    currentBlockTimestamp: GENESIS_SECONDS + 1,
    currentBlockHash: chain.head.view.head.hash,
    hardFork: 'azul',
    transactionOrder: 'fees',
    environment: { baseFee: await ask('eth_baseFee'), chainId: 31_337, gasLimit: '0x3938700', gasPrice: await ask('eth_gasPrice') },
    forkConfig: { forkUrl: null, forkBlockNumber: null, forkRetryBackoff: null },
    network: 'optimism',
  })
})

it.each(['anvil_metadata', 'hardhat_metadata'])('%s names the run, the head and the snapshots', async (name) => {
  const { ask, chain } = await testNode()
  await ask('evm_mine')
  const id = await ask('evm_snapshot')
  const { hash } = chain.head.view.head
  await ask('evm_mine')
  expect(await ask(name)).toEqual({
    clientVersion: 'anvil/test',
    clientSemver: 'test',
    clientCommitSha: null,
    chainId: 31_337,
    instanceId: Hash.zero,
    latestBlockNumber: 2,
    latestBlockHash: chain.head.view.head.hash,
    forkedNetwork: null,
    snapshots: { [String(id)]: [1, hash] },
  })
})

it('another instance begins with a reset, but not with the revert of a snapshot', async () => {
  const { ask } = await testNode()
  const instance = async () => ((await ask('anvil_metadata')) as { readonly instanceId: string }).instanceId
  const first = await instance()
  await ask('evm_revert', await ask('evm_snapshot'))
  expect(await instance()).toBe(first)
  const seen = new Set([first])
  for (const name of ['hardhat_reset', 'anvil_reset']) {
    await ask(name)
    seen.add(await instance())
  }
  expect(seen.size).toBe(3)
})

it('setLoggingEnabled is accepted', async () => {
  const { ask } = await testNode()
  expect(await ask('anvil_setLoggingEnabled', false)).toBeNull()
  expect(await ask('hardhat_setLoggingEnabled', false)).toBe(true)
})

it('web3_clientVersion names a dev node on the dedicated tier and pocketchain on the public one', async () => {
  const { rpc } = await testNode()
  const request = { method: 'web3_clientVersion' }
  expect(await rpc.request(request)).toBe('anvil/test')
  expect(await rpc.request(request, PUBLIC)).toBe('pocketchain/test')
})

it('the client version starts as hardhat-network-helpers require, and an option replaces it', async () => {
  await using node = await createPocketchain()
  expect(await node.request({ method: 'web3_clientVersion' })).toMatch(/^anvil\/v1\.7\.1\/pocketchain\/\d/)
  expect(node.clientVersion).toMatch(/^pocketchain\/\d/)
  await using named = await createPocketchain({ clientVersion: 'HardhatNetwork/2.29.1' })
  expect(await named.request({ method: 'web3_clientVersion' })).toBe('HardhatNetwork/2.29.1')
})

it('anvil_nodeInfo names the network type', async () => {
  await using node = await createPocketchain({ chainType: 'l1' })
  expect(await node.request({ method: 'anvil_nodeInfo' })).toMatchObject({ network: 'ethereum', hardFork: 'osaka' })
})

it('eth_config lists the system contracts that exist: an L1 without a deposit contract has four', async () => {
  await using node = await createPocketchain({ chainType: 'l1' })
  const { current } = (await node.request({ method: 'eth_config' })) as { current: { systemContracts: object } }
  const addresses = Object.values(current.systemContracts)
  expect(addresses).toEqual(Array(4).fill(expect.stringMatching(/^0x[0-9a-f]{40}$/)))
  for (const address of addresses) expect(await node.request({ method: 'eth_getCode', params: [address] })).toMatch(/^0x[0-9a-f]{100}/)
})
