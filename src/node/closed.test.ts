import { expect, test } from 'vitest'
import type { Hash } from '../eth/index.ts'
import { createPocketchain } from './index.ts'

test('what waits for a block is refused when the node is closed', async () => {
  const node = await createPocketchain({ cadence: 'manual', wallet: false })
  const [from, to] = node.accounts.map(({ address }) => address)
  const hash = (await node.request({ method: 'eth_sendTransaction', params: [{ from, to }] })) as Hash
  const settled = node.promises.settled(hash)
  const receipt = node.request({ method: 'eth_sendTransactionSync', params: [{ from, to, value: '0x1' }] })
  const outcomes = Promise.allSettled([settled, receipt])
  while (node.chain.pool.size < 2) await new Promise((resolve) => setImmediate(resolve))
  await node.close()
  const reason = { message: 'the node is closed and its chain does not change any more' }
  expect(await outcomes).toMatchObject([{ reason }, { reason: { ...reason, code: -32_000 } }])
  await expect(node.promises.settled(hash)).rejects.toMatchObject(reason)
})
