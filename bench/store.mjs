// node bench/store.mjs [--blocks 200000] [--memory] [--dist folder] [--json]: ten million synthetic logs (synthetic.mjs) through the store
// with its index, and the cost of finding a few of them in process. Generating them is not counted.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sizeOf } from './files.mjs'
import { openTarget } from './storetarget.mjs'
import { LOGS, PLANTED, Synthetic } from './synthetic.mjs'
import { figure, table } from './table.mjs'

const { values } = parseArgs({
  options: {
    blocks: { type: 'string', default: '200000' },
    dist: { type: 'string', default: fileURLToPath(new URL('../dist', import.meta.url)) },
    json: { type: 'boolean', default: false },
    memory: { type: 'boolean', default: false },
  },
})
const BLOCKS = Number(values.blocks)
/** Blocks per import: one durable commit, as in an import of a file. */
const STEP = 500
/**
 * Blocks generated at a time. Their garbage is collected afterwards; each such collection discards optimised code of store classes without
 * instances, so one per commit cost a tenth of the import.
 */
const MADE = 4 * STEP
/** Duration of a background collection. */
const SWEEP_MS = 50
const RUNS = 200

// Garbage of the generator is not the store's.
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

const folder = mkdtempSync(join(tmpdir(), 'pocketchain-store-'))
try {
  const found = await measure()
  if (values.json) process.stdout.write(JSON.stringify(found))
  else print(found)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function measure() {
  const eth = await import(`${values.dist}/eth/index.js`)
  const target = await openTarget(values.dist, folder, values.memory)
  if (target === null) return { missing: 'this build has no store with an index.' }
  const source = new Synthetic(eth, BLOCKS)
  const rows = []
  const row = (name, unit, better, value) => rows.push({ name, unit, better, value })
  const { wallMs, cpuMs, pauseMs, hashes } = await importAll(target, source)
  const logs = BLOCKS * LOGS
  const what = `import of ${logs.toLocaleString('en-US')} logs with the index, ${target.kind}`
  row(`${what}, per core`, 'logs/s', 'more', (logs / cpuMs) * 1_000)
  row(`${what}, wall clock`, 'logs/s', 'more', (logs / wallMs) * 1_000)
  row(`longest step of ${STEP} blocks`, 'ms', 'less', pauseMs)
  collect()
  row('resident after the import', 'MB', 'less', process.memoryUsage().rss / 2 ** 20)
  const wrong = await search(target, source, hashes, row)
  await target.close()
  const bytes = sizeOf(folder)
  if (bytes > 0) row('on disk', 'MB', 'less', bytes / 2 ** 20)
  if (bytes > 0) row('on disk per log, with transactions and receipts', 'bytes', 'less', bytes / logs)
  return {
    rows,
    wrong,
    notes: [
      `${BLOCKS.toLocaleString('en-US')} blocks of ${LOGS} logs and 18 transactions, without state; generated, and their garbage collected, outside the measured time.`,
    ],
  }
}

async function importAll(target, source) {
  let [wallMs, cpuUs, pauseMs] = [0, 0, 0]
  const hashes = []
  let made = []
  for (let from = 0; from < BLOCKS; from += STEP) {
    if (from % MADE === 0) {
      made = Array.from({ length: Math.min(MADE, BLOCKS - from) }, (_, i) => source.block(from + i))
      collect()
      await setTimeout(SWEEP_MS)
    }
    const blocks = made.slice(from % MADE, (from % MADE) + STEP)
    hashes.push(blocks[0].transactions[3].hash)
    const startMs = performance.now()
    const cpu = process.cpuUsage()
    target.import(blocks)
    const { user, system } = process.cpuUsage(cpu)
    const elapsedMs = performance.now() - startMs
    wallMs += elapsedMs
    cpuUs += user + system
    pauseMs = Math.max(pauseMs, elapsedMs)
    if (process.stderr.isTTY)
      process.stderr.write(
        `\r\x1b[K${from + blocks.length} of ${BLOCKS} blocks, ${Math.round(((from + blocks.length) * LOGS) / (wallMs / 1_000)).toLocaleString('en-US')} logs/s`,
      )
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  return { wallMs, cpuMs: cpuUs / 1_000, pauseMs, hashes }
}

/** @returns {Promise<string[]>} problems */
async function search(target, source, hashes, row) {
  const wrong = []
  const set = (value) => new Set([value])
  const queries = [
    { name: 'ten planted logs by address', filter: { addresses: set(source.rareAddress), topics: [] }, hits: PLANTED.rare },
    {
      name: 'transfers to one address, busiest contract',
      filter: { addresses: set(source.base), topics: [set(source.transfer), null, set(source.me)] },
      hits: PLANTED.mine,
    },
    {
      name: 'transfers to one address, any contract',
      filter: { addresses: null, topics: [set(source.transfer), null, set(source.me)] },
      hits: PLANTED.mine + PLANTED.mineElsewhere,
    },
    { name: 'unknown address', filter: { addresses: set(`0x${'0b'.repeat(20)}`), topics: [] }, hits: 0 },
  ]
  for (const { name, filter, hits } of queries) {
    const firstMs = timed(() => target.logs(filter))
    const count = target.count(filter)
    if (count !== hits) wrong.push(`${name}: ${count} logs and not ${hits}`)
    const samples = Array.from({ length: RUNS }, () => timed(() => target.logs(filter)))
    row(name, 'ms', 'less', samples.toSorted((a, b) => a - b)[RUNS >> 1])
    row(`${name}: first query`, 'ms', 'less', firstMs)
  }
  const someMs = hashes.map((hash) => timed(() => target.hasTransaction(hash) || wrong.push(`the transaction ${hash} is not found`)))
  row('a transaction by its hash', 'ms', 'less', someMs.toSorted((a, b) => a - b)[someMs.length >> 1])
  return wrong.slice(0, 10)
}

function timed(work) {
  const startMs = performance.now()
  work()
  return performance.now() - startMs
}

function print({ missing, rows = [], wrong = [], notes = [] }) {
  if (missing !== undefined) {
    process.stdout.write(`${missing}\n`)
    return
  }
  const text = table(
    ['what', 'unit', 'ours'],
    rows.map(({ name, unit, value }) => [name, unit, figure(value)]),
  )
  process.stdout.write(`${text}\n\n${[...wrong.map((line) => `WRONG: ${line}`), ...notes].map((line) => `- ${line}`).join('\n')}\n`)
  if (wrong.length > 0) process.exitCode = 1
}
