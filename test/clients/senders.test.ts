import { expect, it } from 'vitest'
import { startNode } from '../node.fixture.ts'
import { ALICE } from './peer.fixture.ts'
import { SENDERS } from './sender.fixture.ts'

it.each(SENDERS)('$client, which reads its nonce at $noncesAt, sends three transactions one after another', async ({ noncesAt, send }) => {
  await using running = await startNode(noncesAt === 'latest' ? { latest: 'promised' } : {})
  await send(running.url, 3)
  expect(await running.ask('eth_getTransactionCount', ALICE, 'pending')).toBe('0x3')
})
