// npm run bench: comparison with anvil, Hardhat 2 and a bare server, on one machine in one run. The end of the output explains the figures.
import { writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { setAsideExtraCertificates } from '../scripts/certificates.mjs'
import { build } from '../scripts/setup.mjs'
import { historyContracts } from './contracts.mjs'
import { Participants, Baseline } from './participants.mjs'
import { calls } from './groups/calls.mjs'
import { disk } from './groups/disk.mjs'
import { fork } from './groups/fork.mjs'
import { latency, notices } from './groups/latency.mjs'
import { logs } from './groups/logs.mjs'
import { mining } from './groups/mining.mjs'
import { receipts } from './groups/receipts.mjs'
import { scenario } from './groups/scenario.mjs'
import { starts } from './groups/starts.mjs'
import { store } from './groups/store.mjs'
import { transactions } from './groups/transactions.mjs'
import { installHardhat } from './hardhat.mjs'
import { Report } from './report.mjs'
import { openWallet } from './wallet.mjs'

/** In order of execution. */
const GROUPS = {
  start: starts,
  calls,
  logs,
  receipts,
  transactions,
  send: latency,
  subscribe: notices,
  mine: mining,
  scenario,
  fork,
  disk,
  store,
}
const PEERS = ['anvil', 'hardhat']
const RESULTS = fileURLToPath(new URL('RESULTS.md', import.meta.url))

const OPTIONS = {
  only: { type: 'string' },
  peers: { type: 'string' },
  quick: { type: 'boolean', default: false },
  blocks: { type: 'string' },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  json: { type: 'string' },
  out: { type: 'string' },
  dist: { type: 'string' },
  scenario: { type: 'string' },
  verbose: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
}

const HELP = `npm run bench -- [options]: comparison with anvil, Hardhat 2 and a bare node:http server

  --quick             shorter run, at most 2 minutes (default: at most 10)
  --only <groups>     ${Object.keys(GROUPS).join(', ')}
  --peers <names>     ${PEERS.join(', ')}, or none (all)
  --blocks <numbers>  chain lengths for log queries (500,2000,8000,80000)
  --rounds <number>   measurements of each, in turns (3)
  --seconds <number>  length of one measurement (0.25)
  --json <file>       all figures, including those omitted from the tables
  --out <file>        the report as markdown; a whole run writes bench/RESULTS.md
  --dist <folder>     another build of ours than dist/
  --scenario <file>   a captured test run of an app, replayed from cold (.jsonl.gz)
  --verbose           prints progress without a terminal
`

function settings({ only, peers, quick, blocks, rounds, seconds, json, out, dist, scenario: file, verbose }) {
  const isWhole = !quick && only === undefined && peers === undefined && blocks === undefined
  return {
    quick,
    verbose,
    only: chosen('only', only ?? Object.keys(GROUPS).join(','), Object.keys(GROUPS)),
    peers: peers === 'none' ? [] : chosen('peers', peers ?? PEERS.join(','), PEERS),
    blocks: (blocks ?? (quick ? '500,2000' : '500,2000,8000,80000')).split(',').map(Number),
    rounds: Number(rounds ?? (quick ? 1 : 3)),
    seconds: Number(seconds ?? (quick ? 0.1 : 0.25)),
    warmUpSeconds: quick ? 0.5 : 2,
    json,
    out: out ?? (isWhole ? RESULTS : undefined),
    dist: dist ?? fileURLToPath(new URL('../dist', import.meta.url)),
    foreign: dist !== undefined,
    scenario: file,
  }
}

function chosen(option, text, known) {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new TypeError(`--${option}: "${unknown}" is none of ${known.join(', ')}`)
  return known.filter((name) => names.includes(name))
}

async function main(options) {
  setAsideExtraCertificates()
  if (!options.foreign) build()
  const missing = options.peers.includes('hardhat') ? installHardhat() : null
  if (missing !== null) {
    process.stderr.write(`bench: ${missing}\n`)
    options = { ...options, peers: options.peers.filter((name) => name !== 'hardhat') }
  }
  const loadBefore = loadavg()
  const report = new Report(['ours', ...options.peers])
  report.note('All processes run without NODE_EXTRA_CA_CERTS, which Node 20 parses when it starts.')
  if (missing !== null) report.note(missing)
  const participants = new Participants({
    options,
    report,
    wallet: await openWallet(options.dist),
    contracts: historyContracts(),
    floor: await Baseline.start(),
  })
  try {
    for (const name of options.only) await attempt(name, participants)
  } finally {
    await participants.close()
  }
  publish(participants, loadBefore)
  if (report.complaints.length > 0) process.exitCode = 1
}

/** A failing group does not affect the results of others. */
async function attempt(name, participants) {
  // Without a terminal, prints the name of each group.
  if (!process.stderr.isTTY) process.stderr.write(`bench: ${name}, after ${Math.round(process.uptime())} s\n`)
  try {
    await GROUPS[name](participants)
  } catch (error) {
    participants.report.complain(`${name}: given up: ${error.message}`)
    process.stderr.write(`${error.stack}\n`)
    await participants.stopAll()
  }
}

function publish({ options, report, names, program }, loadBefore) {
  const head = headOf(
    options,
    names.map((name) => program(name)),
    loadBefore,
  )
  const complaints = report.complaints.map((line) => `WRONG: ${line}`)
  const remarks = [...complaints, ...report.notes, ...explanations(options, loadBefore, report)]
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  process.stdout.write(`${head.join('\n')}\n\n${report.text()}\n\n${remarks.map((line) => `- ${line}`).join('\n')}\n`)
  if (options.out !== undefined) {
    const title = '# Benchmark results\n\nWritten by `npm run bench`. Ratios transfer to other machines better than rates.'
    const lines = [...head, ...remarks].map((line) => `- ${line}`).join('\n')
    writeFileSync(options.out, `${title}\n\n${lines}\n\n${report.markdown()}\n`)
  }
  if (options.json === undefined) return
  const { rateRows, latencyRows, valueRows, goals, notes, complaints: wrong } = report
  writeFileSync(options.json, `${JSON.stringify({ head, rateRows, latencyRows, valueRows, goals, notes, wrong }, null, 2)}\n`)
}

function headOf(options, programs, loadBefore) {
  const model = cpus()[0]?.model ?? 'unknown processor'
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`
  const shown = (load) => load.map((value) => value.toFixed(1)).join(' ')
  return [
    `${new Date().toISOString()}, ${availableParallelism()} cores, ${model}, ${memory}, ${platform()} ${release()} ${arch()}, node ${process.versions.node}`,
    `${programs.map(({ name, version }) => `${name} ${version}`).join(', ')}; ${options.rounds} rounds of ${options.seconds} s${options.quick ? ', quick' : ''}`,
    `load average at the start ${shown(loadBefore)}, at the end ${shown(loadavg())}; ${Math.round(process.uptime())} s in total`,
  ]
}

function explanations({ only }, loadBefore, { rateRows }) {
  const samples = rateRows.flatMap(({ cells }) => Object.values(cells)).filter((cell) => 'loaderShare' in cell)
  const busy = samples.filter(({ loaderShare }) => loaderShare > 0.9).length
  const lines = []
  if (rateRows.length > 0) {
    lines.push(
      'All nodes have the same chain, built through plain RPC from the same signed transactions; responses were compared before timing.',
      'One process sends requests over keep-alive connections (lanes), one at a time on each; rates and p50 are medians of rounds, measured in turns.',
      'CPU is that of the server process with all its threads, in steps of 10 ms, over all rounds; 0 if below one step.',
      'floor: a bare node:http server in a separate process that sends exactly the bytes of our response (eth_chainId: reads and writes JSON).',
      `The load generator needs its own core: it used more than 0.9 of one in ${busy} of ${samples.length} measurements; there it limits the rate instead of the server.`,
    )
  }
  if (only.includes('send'))
    lines.push(
      'send to receipt: sent at a constant rate regardless of responses; every tenth is polled every 4 ms until its receipt exists.',
    )
  if (loadBefore[0] > availableParallelism() / 2)
    lines.push(`Other load at the start (load ${loadBefore[0].toFixed(1)}): trust ratios and CPU before rates.`)
  return lines
}

const options = parseOptions()
if (options !== null) await main(options)

/** null: help was printed, or the options are invalid. */
function parseOptions() {
  try {
    const { values } = parseArgs({ options: OPTIONS })
    if (!values.help) return settings(values)
    process.stdout.write(HELP)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    process.stderr.write(`${error.message}\n\n${HELP}`)
    process.exitCode = 2
  }
  return null
}
