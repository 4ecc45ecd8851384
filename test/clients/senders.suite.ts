import { describe, expect, it } from 'vitest'
import { ALICE, REFERENCE, SEQUENTIAL, command, timed } from './peer.fixture.ts'
import { SENDERS } from './sender.fixture.ts'

// Client libraries with local accounts. A library that reads its nonce at `pending` works under every cadence with any `--latest`.

const TIMES = 20
const PRECONF = command('preconf')

describe.each(SENDERS)('$client sends twenty transactions one after another', ({ noncesAt, send }) => {
  const nodes = [...SEQUENTIAL, REFERENCE, ...(noncesAt === 'pending' ? [PRECONF] : [])]
  it.for(nodes)('with $title', async ({ start }, { annotate }) => {
    await using peer = await start()
    const { took } = await timed(() => send(peer.url, TIMES))
    await annotate(`${TIMES} transactions: ${took}`)
    expect(await peer.ask('eth_getTransactionCount', ALICE, 'pending')).toBe('0x14')
  })
})

describe.each(SENDERS.filter(({ noncesAt }) => noncesAt === 'latest'))('$client under preconf without --latest promised', ({ send }) => {
  it('sends one transaction a block', async () => {
    await using peer = await command('', '--block-time', '60').start()
    await send(peer.url, 1)
    await expect(send(peer.url, 1)).rejects.toThrow('nonce too low')
  })
})
