// What a chain of ours takes on disk, and how soon it is back. Only for builds that have --data.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sizeOf } from '../files.mjs'
import { History, LOGS_PER_BLOCK, MARK } from '../history.mjs'
import { bodyOf } from '../race.mjs'
import { ask } from '../load.mjs'
import { helpOf } from '../peers.mjs'

const BLOCKS = 8_000
const QUICK_BLOCKS = 500
const LIMIT_MS = 120_000

export async function disk(field) {
  if (!/^\s+--data\b/m.test(helpOf(field.options.dist))) {
    field.report.note('disk: this build has no --data.')
    return
  }
  const blocks = field.options.quick ? QUICK_BLOCKS : BLOCKS
  const folder = mkdtempSync(join(tmpdir(), 'pocketchain-bench-'))
  try {
    await measure(field, blocks, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(field, blocks, folder) {
  const group = 'disk'
  const logs = blocks * LOGS_PER_BLOCK
  const where = `${blocks.toLocaleString('en-US')} blocks of ${LOGS_PER_BLOCK} logs with --data`
  const ours = await field.start('ours', 'held', ['--data', join(folder, 'chain')])
  const history = await History.begin(field, ours, [blocks])
  await history.grow(field, blocks, LIMIT_MS)
  if (history.stopped !== null) field.report.note(`disk: ${history.stopped}; fewer were measured.`)
  const filter = { fromBlock: '0x0', toBlock: 'latest', topics: [MARK, History.mark([blocks], blocks)] }
  const before = await ours.rpc('eth_getLogs', [filter])
  field.report.value({
    group,
    name: `building ${where}`,
    unit: 'blocks/s',
    better: 'more',
    cells: { ours: blocks / (history.builtMs / 1_000) },
  })
  field.report.value({ group: 'memory', name: `RssAnon after ${where}`, unit: 'MB', better: 'less', cells: { ours: ours.anonymousMb } })
  await field.stop(ours)
  const bytes = sizeOf(folder)
  field.report.value({ group, name: where, unit: 'MB', better: 'less', cells: { ours: bytes / 2 ** 20 } })
  field.report.value({ group, name: 'the same for each log', unit: 'bytes', better: 'less', cells: { ours: bytes / logs } })
  const again = await field.start('ours', 'held', ['--data', join(folder, 'chain')])
  const startMs = performance.now()
  const after = JSON.parse(await ask(again, bodyOf({ method: 'eth_getLogs', params: [filter] }))).result
  const firstMs = performance.now() - startMs
  if (JSON.stringify(after) !== JSON.stringify(before)) field.report.complain('disk: after the reopening the logs are others')
  field.report.value({ group, name: 'reopening: spawn to first answer', unit: 'ms', better: 'less', cells: { ours: again.startedMs } })
  field.report.value({ group, name: '10 hits by topic, the first question of all', unit: 'ms', better: 'less', cells: { ours: firstMs } })
  await field.stop(again)
}
