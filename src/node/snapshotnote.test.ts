import { expect, test } from 'vitest'
import { createPocketchain } from './index.ts'

test('a snapshot that is never reverted is reported once, with the remedy', async () => {
  const notes: string[] = []
  const onNote = (line: string) => void notes.push(line)
  await using node = await createPocketchain({ cadence: 'manual', wallet: false, bundler: false, sponsor: false, stateHistory: 64, onNote })
  await node.chain.mine(3)
  const id = await node.chain.snapshot()
  await node.chain.mine(2_048)
  expect(notes).toEqual([])
  await node.chain.mine(256)
  expect(notes).toEqual([
    `the snapshot ${id} of block 3 keeps the state of all 2301 blocks since then in memory; evm_revert to it, anvil_reset or a restart releases it`,
  ])
})
