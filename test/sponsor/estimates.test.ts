import { expect, test } from 'vitest'
import { Operations } from '../../bench/operations.mjs'
import * as eth from '../../src/eth/index.ts'
import * as rpc from '../../src/rpc/index.ts'
import { startNode } from '../node.fixture.ts'

const WETH = '0x4200000000000000000000000000000000000006'

test('the estimate suffices for an account that pays itself, also with a rest of its deposit', async () => {
  await using node = await startNode({ cadence: 'instant' })
  const operations = new Operations({ eth, rpc }, { ask: node.ask, sponsor: () => Promise.reject(new Error('not used')) })
  const sender = operations.sender('pays itself')
  await node.ask('anvil_setBalance', sender.address, `0x${(10n ** 18n).toString(16)}`)
  const callData = operations.callData([{ to: WETH, value: 1n }])
  for (let nonce = 0; nonce < 3; nonce++) {
    const begun = await operations.begin(sender, callData)
    const limits = (await node.ask('eth_estimateUserOperationGas', begun, eth.ENTRY_POINTS['0.8'])) as object
    const hash = await operations.send(operations.sign(sender, { ...begun, ...limits }))
    await node.ask('debug_bundler_sendBundleNow')
    expect(await node.ask('eth_getUserOperationReceipt', hash)).toMatchObject({ success: true, nonce: `0x${nonce}` })
  }
})

test('a call that sends more than the account has is refused', async () => {
  await using node = await startNode({ cadence: 'instant' })
  const operations = new Operations({ eth, rpc }, { ask: node.ask, sponsor: () => Promise.reject(new Error('not used')) })
  const sender = operations.sender('poor')
  await node.ask('anvil_setBalance', sender.address, `0x${(10n ** 18n).toString(16)}`)
  const begun = await operations.begin(sender, operations.callData([{ to: WETH, value: 5n * 10n ** 18n }]))
  await expect(node.ask('eth_estimateUserOperationGas', begun, eth.ENTRY_POINTS['0.8'])).rejects.toThrow('-32521')
})

test('an operation on which the EntryPoint halts is dropped, and the others are sent', async () => {
  await using node = await startNode({ cadence: 'instant' })
  const operations = new Operations({ eth, rpc }, { ask: node.ask, sponsor: () => Promise.reject(new Error('not used')) })
  const [honest, spoiled] = [operations.sender('honest'), operations.sender('spoiled')]
  const paymaster = `0x${'9a'.repeat(20)}`
  const entryPoint = eth.ENTRY_POINTS['0.8']
  for (const { address } of [honest, spoiled]) await node.ask('anvil_setBalance', address, `0x${(10n ** 18n).toString(16)}`)
  const [dev] = node.node.accounts
  const depositTo = `0xb760faf9${paymaster.slice(2).padStart(64, '0')}`
  await node.ask('eth_sendTransaction', { from: dev?.address, to: entryPoint, data: depositTo, value: `0x${(10n ** 18n).toString(16)}` })
  await node.ask('anvil_setCode', paymaster, '0x60405f5260605ff3') // an empty context, and valid
  await node.ask('debug_bundler_setBundlingMode', 'manual')
  await node.ask('pocketchain_bundlerRules', { rules: 'off' }) // else COD-010 drops it before
  const limits = { callGasLimit: '0x186a0', verificationGasLimit: '0x249f0', preVerificationGas: '0x249f0' }
  const paid = { paymaster, paymasterData: '0x', paymasterVerificationGasLimit: '0x4c4b40', paymasterPostOpGasLimit: '0x186a0' }
  const callData = operations.callData([{ to: WETH }])
  const bad = await operations.send(operations.sign(spoiled, { ...(await operations.begin(spoiled, callData)), ...limits, ...paid }))
  const good = await operations.send(operations.sign(honest, { ...(await operations.begin(honest, callData)), ...limits }))
  await node.ask('anvil_setCode', paymaster, '0x60405f5262155555604052621556005ff3') // a context of 1.4 MB
  for (let i = 0; i < 3; i++) await node.ask('debug_bundler_sendBundleNow')
  expect(await node.ask('eth_getUserOperationReceipt', good)).toMatchObject({ success: true })
  expect(await node.ask('pimlico_getUserOperationStatus', bad)).toMatchObject({
    status: 'rejected',
    reason: expect.stringContaining('the EntryPoint halted'),
  })
})
