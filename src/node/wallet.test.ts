import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { createPocketchain } from './index.ts'
import type { Pocketchain } from './index.ts'

function outcomeOf({ wallet }: Pocketchain): string | undefined {
  return wallet?.activities.page({}).activities.find(({ outcome }) => outcome !== null)?.outcome?.state
}

test('a wallet that starts again finds out that a reorg before the stop has removed a block', async () => {
  const data = mkdtempSync(join(tmpdir(), 'pocketchain-'))
  const options = { data, cadence: 'manual', bundler: false, sponsor: false, wallet: { policy: 'approve' } } as const
  try {
    const first = await createPocketchain(options)
    const provider = first.wallet.provider('https://app.example')
    const [from] = (await provider.request({ method: 'eth_requestAccounts' })) as string[] // result of the method
    await provider.request({ method: 'eth_sendTransaction', params: [{ from, to: from, value: '0x1' }] })
    await first.chain.mine(2)
    await vi.waitFor(() => expect(outcomeOf(first)).toBe('sealed'))
    // As in a process that stops while the blocks are replaced.
    await first.wallet.close()
    await first.chain.reorg(2)
    await first.close()

    await using second = await createPocketchain(options)
    await vi.waitFor(() => expect(outcomeOf(second)).toBe('not-included'))
  } finally {
    rmSync(data, { recursive: true })
  }
})
