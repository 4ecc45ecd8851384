import { expect, test } from 'vitest'
import { Operations } from '../../bench/operations.mjs'
import * as eth from '../../src/eth/index.ts'
import * as rpc from '../../src/rpc/index.ts'
import { startNode } from '../node.fixture.ts'

/** the bundler's limit */
const WAITING_ESTIMATES = 1_000
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

test('postOp is estimated after the call, also if that needs more than the measured gas', async () => {
  await using node = await startNode({ cadence: 'instant' })
  const operations = new Operations({ eth, rpc }, { ask: node.ask, sponsor: () => Promise.reject(new Error('not used')) })
  const sender = operations.sender('sponsored')
  const [dev] = node.node.accounts
  const [target, paymaster] = [`0x${'7a'.repeat(20)}`, `0x${'9b'.repeat(20)}`]
  // With call data: 10,000 rounds of 26 gas, of which the caller must keep a 64th, then sets slot 0. Without: returns slot 0.
  await node.ask('anvil_setCode', target, '0x36600c575f545f5260205ff35b6127105b600190038060105760015f5500')
  // Returns a context of one word. postOp reverts unless slot 0 of the target is set.
  const postOp = `5b60205f5f5f73${target.slice(2)}5afa505f516041575f5ffd5b00`
  await node.ask('anvil_setCode', paymaster, `0x5f3560e01c637c627b2114601b5760405f52602060405260805ff3${postOp}`)
  const depositTo = `0xb760faf9${paymaster.slice(2).padStart(64, '0')}`
  const entryPoint = eth.ENTRY_POINTS['0.8']
  await node.ask('eth_sendTransaction', { from: dev?.address, to: entryPoint, data: depositTo, value: `0x${(10n ** 18n).toString(16)}` })
  await node.ask('pocketchain_bundlerRules', { rules: 'off' })
  const begun = await operations.begin(sender, operations.callData([{ to: target, data: '0x01' }]))
  const paid = { ...begun, paymaster, paymasterData: '0x', paymasterVerificationGasLimit: '0x0', paymasterPostOpGasLimit: '0x0' }
  const limits = (await node.ask('eth_estimateUserOperationGas', paid, entryPoint)) as { callGasLimit: string }
  expect(Number(limits.callGasLimit)).toBeGreaterThan(260_000)
  const hash = await operations.send(operations.sign(sender, { ...paid, ...limits }))
  await node.ask('debug_bundler_sendBundleNow')
  expect(await node.ask('eth_getUserOperationReceipt', hash)).toMatchObject({ success: true })
  expect(await node.ask('eth_getStorageAt', target, '0x0')).toBe(`0x${'1'.padStart(64, '0')}`)
})

test.each(['strict', 'off'])('an account that returns nothing is refused with the same words under rules %s', async (rules) => {
  await using node = await startNode({ cadence: 'instant' })
  const sender = `0x${'5e'.repeat(20)}`
  await node.ask('anvil_setBalance', sender, `0x${(10n ** 18n).toString(16)}`)
  await node.ask('anvil_setCode', sender, '0x00')
  await node.ask('pocketchain_bundlerRules', { rules })
  const limits = { callGasLimit: '0x186a0', verificationGasLimit: '0x249f0', preVerificationGas: '0x249f0' }
  const { standard } = (await node.ask('pimlico_getUserOperationGasPrice')) as { standard: object }
  const operation = { sender, nonce: '0x0', callData: '0x', signature: '0x', ...limits, ...standard }
  const sent = node.ask('eth_sendUserOperation', operation, eth.ENTRY_POINTS['0.7'])
  await expect(sent).rejects.toThrow('the EntryPoint reverted without naming an operation')
})

test('the event loop turns between the estimates of a burst', async () => {
  await using node = await startNode({ cadence: 'manual' })
  const operations = new Operations({ eth, rpc }, { ask: node.ask, sponsor: () => Promise.reject(new Error('not used')) })
  const sender = operations.sender('busy')
  await node.ask('anvil_setBalance', sender.address, `0x${(10n ** 18n).toString(16)}`)
  const begun = await operations.begin(sender, operations.callData([{ to: WETH }]))
  let [turns, isOver] = [0, false]
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const estimate = () => node.node.request({ method: 'eth_estimateUserOperationGas', params: [begun, eth.ENTRY_POINTS['0.8']] })
  await Promise.all(Array.from({ length: 30 }, estimate))
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(30)
})

test('an estimate beyond the limit of waiting ones is refused, and those that wait are answered', async () => {
  await using node = await startNode({ cadence: 'manual' })
  const limits = { callGasLimit: '0x0', verificationGasLimit: '0x0', preVerificationGas: '0x0' }
  const fees = { maxFeePerGas: '0x0', maxPriorityFeePerGas: '0x0' }
  const operation = { sender: `0x${'5f'.repeat(20)}`, nonce: '0x0', callData: '0x', signature: '0x', ...limits, ...fees }
  const params = [operation, eth.ENTRY_POINTS['0.8']]
  const estimate = () => node.node.request({ method: 'eth_estimateUserOperationGas', params }).catch((error: Error) => error.message)
  await estimate()
  const answers = await Promise.all(Array.from({ length: WAITING_ESTIMATES + 2 }, estimate))
  const refused = `${WAITING_ESTIMATES} estimates wait already, which is the limit; try again later`
  expect(answers.slice(0, WAITING_ESTIMATES)).toEqual(Array(WAITING_ESTIMATES).fill(expect.stringContaining('AA20')))
  expect(answers.slice(WAITING_ESTIMATES)).toEqual([refused, refused])
  expect(await estimate()).toContain('AA20')
})

test('an estimate has the limits of a paymaster only for an operation with one', async () => {
  await using node = await startNode({ cadence: 'instant' })
  const operations = new Operations({ eth, rpc }, { ask: node.ask, sponsor: () => Promise.reject(new Error('not used')) })
  const sender = operations.sender('pays itself')
  const paymaster = `0x${'9a'.repeat(20)}`
  await node.ask('anvil_setCode', paymaster, '0x60405f5260605ff3') // an empty context, and valid
  const begun = {
    ...(await operations.begin(sender, operations.callData([{ to: WETH }]))),
    maxFeePerGas: '0x0',
    maxPriorityFeePerGas: '0x0',
  }
  const estimate = async (fields: object) =>
    Object.keys((await node.ask('eth_estimateUserOperationGas', { ...begun, ...fields }, eth.ENTRY_POINTS['0.8'])) as object).toSorted()
  const own = ['callGasLimit', 'preVerificationGas', 'verificationGasLimit']
  expect(await estimate({})).toEqual(own)
  const paid = { paymaster, paymasterData: '0x', paymasterVerificationGasLimit: '0x0', paymasterPostOpGasLimit: '0x0' }
  expect(await estimate(paid)).toEqual([...own, 'paymasterPostOpGasLimit', 'paymasterVerificationGasLimit'].toSorted())
})

test('placeholders for fees that are below the base fee have the overhead of an operation without a price', async () => {
  await using node = await startNode({ cadence: 'manual', chainType: 'op' })
  const operations = new Operations({ eth, rpc }, { ask: node.ask, sponsor: () => Promise.reject(new Error('not used')) })
  const sender = operations.sender('placeholder')
  await node.ask('anvil_setBalance', sender.address, `0x${(10n ** 18n).toString(16)}`)
  const begun = await operations.begin(sender, operations.callData([{ to: WETH }]))
  const overhead = async (fee: string) => {
    const fees = { maxFeePerGas: fee, maxPriorityFeePerGas: '0x0' }
    const answer = await node.ask('eth_estimateUserOperationGas', { ...begun, ...fees }, eth.ENTRY_POINTS['0.8'])
    return Number((answer as { preVerificationGas: string }).preVerificationGas)
  }
  const least = await overhead('0x0')
  for (const fee of ['0x1', '0x64']) {
    expect(await overhead(fee)).toBeGreaterThan(least * 0.9)
    expect(await overhead(fee)).toBeLessThan(least * 1.1)
  }
})
