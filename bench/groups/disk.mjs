// Disk usage of a chain, and how fast it reopens. Only for builds with --data.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sizeOf } from '../files.mjs'
import { History, LOGS_PER_BLOCK, MARK } from '../history.mjs'
import { bodyOf } from '../compare.mjs'
import { ask } from '../load.mjs'
import { helpOf } from '../peers.mjs'

const BLOCKS = 8_000
const QUICK_BLOCKS = 500
const LIMIT_MS = 120_000

export async function disk(participants) {
  if (!/^\s+--data\b/m.test(helpOf(participants.options.dist))) {
    participants.report.note('disk: this build has no --data.')
    return
  }
  const blocks = participants.options.quick ? QUICK_BLOCKS : BLOCKS
  const folder = mkdtempSync(join(tmpdir(), 'pocketchain-bench-'))
  try {
    await measure(participants, blocks, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(participants, blocks, folder) {
  const group = 'disk'
  const logs = blocks * LOGS_PER_BLOCK
  const where = `${blocks.toLocaleString('en-US')} blocks of ${LOGS_PER_BLOCK} logs with --data`
  const ours = await participants.start('ours', 'held', ['--data', join(folder, 'chain')])
  const history = await History.begin(participants, ours, [blocks])
  await history.grow(participants, blocks, LIMIT_MS)
  if (history.stopped !== null) participants.report.note(`disk: ${history.stopped}; fewer were measured.`)
  const filter = { fromBlock: '0x0', toBlock: 'latest', topics: [MARK, History.mark([blocks], blocks)] }
  const before = await ours.rpc('eth_getLogs', [filter])
  participants.report.value({
    group,
    name: `building ${where}`,
    unit: 'blocks/s',
    better: 'more',
    cells: { ours: blocks / (history.builtMs / 1_000) },
  })
  participants.report.value({
    group: 'memory',
    name: `RssAnon after ${where}`,
    unit: 'MB',
    better: 'less',
    cells: { ours: ours.anonymousMb },
  })
  await participants.stop(ours)
  const bytes = sizeOf(folder)
  participants.report.value({ group, name: where, unit: 'MB', better: 'less', cells: { ours: bytes / 2 ** 20 } })
  participants.report.value({ group, name: 'the same per log', unit: 'bytes', better: 'less', cells: { ours: bytes / logs } })
  const again = await participants.start('ours', 'held', ['--data', join(folder, 'chain')])
  const startMs = performance.now()
  const after = JSON.parse(await ask(again, bodyOf({ method: 'eth_getLogs', params: [filter] }))).result
  const firstMs = performance.now() - startMs
  if (JSON.stringify(after) !== JSON.stringify(before)) participants.report.complain('disk: after the reopening the logs are others')
  participants.report.value({
    group,
    name: 'reopening: spawn to first response',
    unit: 'ms',
    better: 'less',
    cells: { ours: again.startedMs },
  })
  participants.report.value({
    group,
    name: '10 hits by topic, first query',
    unit: 'ms',
    better: 'less',
    cells: { ours: firstMs },
  })
  await participants.stop(again)
}
