// node bench/soak.mjs [--minutes 60] [--rate 500] [--memory] [--data folder] [--dist folder] [--csv file]: a node with --data under steady
// ERC-20 transfers between the dev accounts; samples memory and disk usage every 10 s. Memory should not grow with the chain.
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from '../scripts/setup.mjs'
import { historyContracts } from './contracts.mjs'
import { sizeOf } from './files.mjs'
import { Line, cpuOf } from './load.mjs'
import { GAS_LIMIT, Peer, pocketchain } from './peers.mjs'
import { bodyOf } from './compare.mjs'
import { median } from './table.mjs'
import { dealToken } from './tokens.mjs'
import { openWallet } from './wallet.mjs'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '500' },
    data: { type: 'string' },
    memory: { type: 'boolean', default: false },
    dist: { type: 'string' },
    csv: { type: 'string' },
  },
})
const MINUTES = Number(values.minutes)
const RATE = Number(values.rate)
const SAMPLE_MS = 10_000
/** Transactions are signed and sent in batches of this length. */
const SEND_INTERVAL_MS = 20
/** Memory counts as settled after ten minutes, in short runs after a fifth of them. */
const SETTLED_MS = Math.min(10, MINUTES / 5) * 60_000
/** Samples per median: major garbage collections are minutes apart. */
const WINDOW = 18
/** Maximum growth. */
const GOAL_MB = 50

if (values.dist === undefined) build()
const dist = values.dist ?? fileURLToPath(new URL('../dist', import.meta.url))
const folder = values.data ?? mkdtempSync(join(tmpdir(), 'pocketchain-soak-'))
let heap = { heapMb: NaN, externalMb: NaN }
const peer = await Peer.start(program())
const samples = []
let [sent, refused, lastHash] = [0, 0, '']
try {
  await run()
  await report()
} finally {
  await peer.stop()
  if (values.data === undefined) rmSync(folder, { recursive: true, force: true })
}

function program() {
  const more = ['--gas-limit', String(GAS_LIMIT), ...(values.memory ? [] : ['--data', join(folder, 'chain')])]
  const ours = pocketchain(dist, 'default', more)
  const spy = new URL('heapreport.mjs', import.meta.url).href
  return { ...ours, args: (port) => ['--import', spy, ...ours.args(port)], onMessage: (message) => (heap = message) }
}

async function run() {
  const { among } = await dealToken({ wallet: await openWallet(dist), contracts: historyContracts() }, peer)
  const line = await Line.open(peer, 8)
  if (values.csv !== undefined) writeFileSync(values.csv, 'second,rssAnonMb,heapMb,externalMb,diskMb,block,sent,cpuPercent\n')
  const startMs = performance.now()
  const endMs = startMs + MINUTES * 60_000
  let [nextSampleMs, cpuUs, cpuMs] = [startMs, cpuOf(peer.pid), startMs]
  /** @type {Set<Promise<void>>} */
  const waiting = new Set()
  for (let nowMs = startMs; nowMs < endMs; nowMs = performance.now()) {
    const due = Math.floor(((nowMs - startMs) / 1_000) * RATE)
    // A node that cannot keep up results in fewer transactions, not in an unbounded queue.
    for (; sent < due && waiting.size < RATE; sent++) {
      const { raw, hash } = among()
      lastHash = hash
      const answered = send(line, raw)
      waiting.add(answered)
      void answered.finally(() => waiting.delete(answered))
    }
    if (nowMs >= nextSampleMs) {
      const used = (cpuOf(peer.pid) - cpuUs) / 10 / (nowMs - cpuMs)
      await sample((nowMs - startMs) / 1_000, used)
      ;[cpuUs, cpuMs] = [cpuOf(peer.pid), nowMs]
      nextSampleMs += SAMPLE_MS
    }
    await new Promise((resolve) => setTimeout(resolve, SEND_INTERVAL_MS))
  }
  await Promise.all(waiting)
  await sample(MINUTES * 60, NaN)
  line.close()
}

async function send(line, raw) {
  const answer = await line.ask(bodyOf({ method: 'eth_sendRawTransaction', params: [raw] }))
  if (answer.includes('"error"') && refused++ < 5) process.stderr.write(`refused: ${answer.toString('latin1', 0, 300)}\n`)
}

async function sample(second, cpuPercent) {
  const block = Number(await peer.rpc('eth_blockNumber'))
  const diskMb = values.memory ? 0 : sizeOf(folder) / 2 ** 20
  const found = { second: Math.round(second), rssMb: peer.anonymousMb, ...heap, diskMb, block, sent, cpuPercent }
  samples.push(found)
  const shown = [
    `${String(found.second).padStart(5)} s  RssAnon ${found.rssMb.toFixed(1)} MB  heap ${found.heapMb.toFixed(1)} MB  outside of it ${found.externalMb.toFixed(1)} MB`,
    `disk ${diskMb.toFixed(1)} MB  block ${block}  ${sent} sent  CPU ${Number.isFinite(cpuPercent) ? cpuPercent.toFixed(0) : '-'} %`,
  ]
  console.log(shown.join('  '))
  if (values.csv === undefined) return
  const cells = [found.second, found.rssMb.toFixed(2), found.heapMb.toFixed(2), found.externalMb.toFixed(2), diskMb.toFixed(2), block, sent]
  appendFileSync(values.csv, `${cells.join(',')},${Number.isFinite(cpuPercent) ? cpuPercent.toFixed(1) : ''}\n`)
}

async function report() {
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  const isIn = (await peer.rpc('eth_getTransactionReceipt', [lastHash])) !== null
  const settled = samples.filter(({ second }) => second * 1_000 >= SETTLED_MS)
  const window = Math.max(1, Math.min(WINDOW, settled.length >> 1))
  const [before, after] = [settled.slice(0, window), settled.slice(-window)]
  const level = (rows, field) => median(rows.map((row) => row[field]))
  const line = (name, field) => {
    const [from, to] = [level(before, field), level(after, field)]
    return `${name}: ${from.toFixed(1)} MB after ${Math.round(SETTLED_MS / 60_000)} min, ${to.toFixed(1)} MB at the end, ${to >= from ? '+' : ''}${(to - from).toFixed(1)} MB`
  }
  const growthMb = level(after, 'rssMb') - level(before, 'rssMb')
  const perSecond = sent / (MINUTES * 60)
  console.log(
    `\n${line('RssAnon', 'rssMb')} (goal: at most +${GOAL_MB})\n${line('heap', 'heapMb')}\n${line('buffers outside of the heap', 'externalMb')}`,
  )
  console.log(
    `${sent.toLocaleString('en-US')} transfers sent, ${perSecond.toFixed(0)} a second of ${RATE}; ${refused} refused; the last one ${isIn ? 'is' : 'IS NOT'} in a block`,
  )
  if (!values.memory) console.log(`disk: ${((samples.at(-1).diskMb * 2 ** 20) / sent).toFixed(0)} bytes for each`)
  process.exitCode = growthMb <= GOAL_MB && isIn && refused === 0 ? 0 : 1
}
