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
