import { expect, it } from 'vitest'
import { createPocketchain } from '../../index.ts'
import { Progress, miningText } from './progress.ts'

it('prints a line per interval, none in the first second', () => {
  const lines: string[] = []
  let nowMs = 0
  const progress = new Progress({ line: (text) => lines.push(text), rewrite: null, intervalMs: 5_000, now: () => nowMs })
  for (; nowMs < 12_000; nowMs += 500) progress.update(() => String(nowMs))
  expect(lines).toEqual(['1000', '6000', '11000'])
  progress.end()
  for (let i = 0; i < 2; i++, nowMs += 900) progress.update(() => String(nowMs))
  expect(lines).toHaveLength(3)
})

it('rewrites one line on a terminal and removes it at the end', () => {
  let [text, nowMs] = ['', 0]
  const progress = new Progress({ line: () => expect.unreachable(), rewrite: (written) => (text += written), now: () => nowMs })
  for (; nowMs < 1_200; nowMs += 50) progress.update(() => String(nowMs))
  progress.end()
  progress.hide()
  expect(text).toBe('\r\u001b[2K1000\r\u001b[2K1100\r\u001b[2K')
})

it('a node reports how far bulk mining is, and its end', async () => {
  const reports: (readonly [number, number])[] = []
  await using node = await createPocketchain({ cadence: 'manual', onMining: (mined, count) => reports.push([mined, count]) })
  await node.request({ method: 'anvil_mine', params: ['0x1'] })
  expect(reports).toEqual([])
  await node.request({ method: 'anvil_mine', params: ['0x1388'] })
  expect(reports.at(-1)).toEqual([5_000, 5_000])
  expect(reports.length).toBeGreaterThan(2)
  expect(reports).toEqual(reports.toSorted(([a], [b]) => a - b))
  expect(miningText(1_234, 5_000)).toBe('mining: block 1,234 of 5,000')
})
