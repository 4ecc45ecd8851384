import { expect, it } from 'vitest'
import { COMPAT } from '../compat.ts'
import { textOf } from './body.ts'
import { DevAccounts } from './accounts.ts'
import { createRpc } from './dispatch.ts'
import { DEDICATED, testNode } from './node.fixture.ts'

it('escapes what a neighbour answers, though its row says that it is hex', async () => {
  const { chain } = await testNode()
  const text = '0x"},{"a":"'
  const rpc = createRpc({
    chain,
    accounts: new DevAccounts([]),
    compat: COMPAT.default,
    clientVersion: 'pocketchain/test',
    onBug: (error) => {
      throw error
    },
    bundler: { request: async () => text },
  })
  const { body } = await rpc.handle('{"jsonrpc":"2.0","id":1,"method":"eth_sendUserOperation","params":[{},"0x0"]}', DEDICATED)
  expect(JSON.parse(textOf(body!))).toEqual({ jsonrpc: '2.0', id: 1, result: text })
})
