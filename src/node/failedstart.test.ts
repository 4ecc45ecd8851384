import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { countingClock } from '../chain/chain.fixture.ts'
import { createPocketchain } from './index.ts'

test('a node whose faults have an impossible rate does not start its chain', async () => {
  const { clock, alarms } = countingClock()
  await expect(createPocketchain({ clock, chaos: { drop: 2 } })).rejects.toThrow('a rate is a number from 0 to 1, not 2')
  expect(alarms()).toBe(0)
})

test('a start that is aborted rejects with the reason, and a later abort changes nothing', async () => {
  const reason = new Error('stopped')
  await expect(createPocketchain({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  const stop = new AbortController()
  const start = createPocketchain({ signal: stop.signal })
  stop.abort(reason)
  await expect(start).rejects.toBe(reason)
  const later = new AbortController()
  await using node = await createPocketchain({ signal: later.signal })
  later.abort(reason)
  expect(await node.request({ method: 'eth_chainId' })).toBe('0x7a69')
})

test('a node that fails after the start of its chain stops it', async () => {
  const data = mkdtempSync(join(tmpdir(), 'pocketchain-'))
  try {
    const node = await createPocketchain({ data, cadence: 'manual' })
    node.store.records.put('bundler/operations/0x00', Buffer.from('damaged'))
    await node.close()
    const { clock, alarms } = countingClock()
    const onNote = () => {
      throw new Error('the log is closed')
    }
    await expect(createPocketchain({ data, clock, onNote })).rejects.toThrow('the log is closed')
    expect(alarms()).toBe(0)
  } finally {
    rmSync(data, { recursive: true })
  }
})
