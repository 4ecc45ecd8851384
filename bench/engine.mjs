// node bench/engine.mjs [--quick]: our engine and our node beside anvil and @ethereumjs/evm, on one machine in one run. What the figures
// are and how they come about is said at the end of the output.
import { writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, release } from 'node:os'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build, ROOT } from '../scripts/setup.mjs'
import { prepare } from './cases.mjs'
import { contracts } from './contracts.mjs'
import { inProcess, time } from './inprocess.mjs'
import { load } from './load.mjs'
import { Peer, anvil, pocketchain } from './peers.mjs'
import { figure, median, ratio, table } from './table.mjs'

const OPTIONS = {
  cases: { type: 'string' },
  lanes: { type: 'string' },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
  dist: { type: 'string' },
  help: { type: 'boolean', default: false },
}

const HELP = `node bench/engine.mjs [options]: ours beside anvil and @ethereumjs/evm

  --cases <names>     parts of names, separated by commas (all)
  --lanes <numbers>   connections at once over HTTP (1,8,64)
  --rounds <number>   times each peer is measured, in turns (3)
  --seconds <number>  length of one measurement (0.3)
  --quick             one short round at 1 and 64 lanes, below 40 s
  --json <file>       all figures, also those that the tables leave out
  --dist <folder>     another build of ours than dist/
`

/** Calls in a batch. */
const BATCH = 100
/** A case whose lanes would need longer than this for one call each is left out. */
const PATIENCE_MS = 2_000
const CHAIN_ID = { name: 'eth_chainId', method: 'eth_chainId', params: [], batch: true }

function settings({ cases, lanes, rounds, seconds, quick, json, dist }) {
  return {
    wanted: cases?.split(',').map((part) => part.trim().toLowerCase()) ?? [''],
    lanes: (lanes ?? (quick ? '1,64' : '1,8,64')).split(',').map(Number),
    rounds: Number(rounds ?? (quick ? 1 : 3)),
    seconds: Number(seconds ?? (quick ? 0.1 : 0.3)),
    starts: quick ? 3 : 10,
    warmUpSeconds: quick ? 1 : 2,
    json,
    dist: dist ?? fileURLToPath(new URL('../dist', import.meta.url)),
    foreign: dist !== undefined,
  }
}

async function main(options) {
  if (!options.foreign) build()
  const loadBefore = loadavg()
  const compiled = contracts()
  const node = await inProcess(options.dist)
  const peers = []
  try {
    peers.push(await Peer.start(pocketchain(options.dist)), await Peer.start(anvil()))
    const cases = await prepareAll(node, peers, compiled)
    const runners = await node.runners()
    const gas = await requireAgreement(cases, runners, peers)
    const works = cases.filter(({ name }) => isWanted(name, options))
    const alone = await measureAlone(works, runners, options)
    await node.close()
    const served = await measureServed(works, peers, alone, options)
    const residentMb = peers.map((peer) => peer.residentMb)
    for (const peer of peers) await peer.stop()
    const startMs = await measureStarts([pocketchain(options.dist), anvil()], options)
    report({ options, loadBefore, works, gas, alone, served, residentMb, startMs })
  } finally {
    await node.close()
    for (const peer of peers) await peer.stop()
  }
}

function isWanted(name, { wanted }) {
  return wanted.some((part) => name.toLowerCase().includes(part))
}

/** The same chain on all of them. @returns {Promise<import('./cases.mjs').Case[]>} */
async function prepareAll(node, peers, compiled) {
  say('deploying')
  const multicall = await node.rpc('eth_getCode', ['0xcA11bde05977b3631167028862bE2a173976CA11', 'latest'])
  const cases = []
  for (const { rpc } of [node, ...peers]) cases.push(await prepare(rpc, compiled, multicall))
  const texts = new Set(cases.map((each) => JSON.stringify(each)))
  if (texts.size !== 1) throw new Error('the nodes came to different addresses or signatures')
  return cases[0]
}

/** Every answer of everybody, byte for byte. @returns {Promise<Map<string, number>>} gas of each case, with a transaction's own */
async function requireAgreement(cases, runners, peers) {
  say('comparing the answers')
  const gas = new Map()
  for (const work of cases) {
    const answers = new Map()
    for (const runner of runners) answers.set(runner.name, outputOf(await runner.ready(work)(), work, gas))
    for (const peer of peers) answers.set(peer.name, await peer.rpc('eth_call', [work.request, 'latest']))
    if (new Set(answers.values()).size === 1) continue
    const [first, ...others] = answers.values()
    const same = [...first].findIndex((digit, i) => others.some((other) => other[i] !== digit))
    const lines = [...answers].map(([name, answer]) => `  ${name}: … ${answer.slice(Math.max(0, same - 40), same + 80)}`)
    throw new Error(`${work.name}: not everybody answers the same, from digit ${same} on\n${lines.join('\n')}`)
  }
  return gas
}

/** Hex, or what our executor reports. */
function outputOf(result, { name }, gas) {
  if (typeof result === 'string') return result
  if (result.outcome.kind !== 'success') throw new Error(`${name}: ${JSON.stringify(result.outcome)}`)
  gas.set(name, Number(result.gasUsed))
  return `0x${Buffer.from(result.output).toString('hex')}`
}

/** @returns {Promise<Map<string, Record<string, { minUs: number, medianUs: number }>>>} by case, by runner */
async function measureAlone(works, runners, { rounds, seconds }) {
  const figures = new Map()
  for (const work of works) {
    say(`in process: ${work.name}`)
    const samples = runners.map(() => [])
    const runs = runners.map((runner) => runner.ready(work))
    for (let round = 0; round < rounds; round++) {
      for (const [i, run] of runs.entries()) samples[i].push(await time(run, seconds / 2))
    }
    const rows = runners.map(({ name }, i) => {
      const minUs = Math.min(...samples[i].map((sample) => sample.minUs))
      return [name, { minUs, medianUs: median(samples[i].map((sample) => sample.medianUs)) }]
    })
    figures.set(work.name, Object.fromEntries(rows))
  }
  return figures
}

async function measureServed(works, peers, alone, options) {
  const calls = works.map(({ name, request, batch }) => ({ name, method: 'eth_call', params: [request, 'latest'], batch }))
  if (isWanted(CHAIN_ID.name, options)) calls.unshift(CHAIN_ID)
  const figures = []
  // A node that was never asked anything is compiled by V8 as it goes: that is start-up and not what is measured here.
  for (const peer of peers) await load(peer, bodyOf(CHAIN_ID), { lanes: 8, seconds: options.warmUpSeconds })
  for (const call of calls) {
    const callMs = (alone.get(call.name)?.request.medianUs ?? 0) / 1_000
    for (const lanes of options.lanes) {
      if (callMs * lanes > PATIENCE_MS) continue
      figures.push({ name: call.name, lanes, batch: 1, ...(await compare(peers, bodyOf(call), lanes, options)) })
    }
    if (call.batch !== true) continue
    const body = `[${Array.from({ length: BATCH }, (_, i) => bodyOf(call, i + 1)).join(',')}]`
    figures.push({ name: call.name, lanes: 1, batch: BATCH, ...(await compare(peers, body, 1, options)) })
  }
  return figures
}

function bodyOf({ method, params }, id = 1) {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** Ours, anvil, ours, anvil …: what else the machine does falls on both. @returns {Promise<{ peers: object[] }>} */
async function compare(peers, body, lanes, { rounds, seconds }) {
  say(`over HTTP, ${lanes} lanes: ${body.slice(0, 60)}`)
  const samples = peers.map(() => [])
  for (const peer of peers) await load(peer, body, { lanes, seconds: seconds / 3 })
  for (let round = 0; round < rounds; round++) {
    for (const [i, peer] of peers.entries()) samples[i].push(await load(peer, body, { lanes, seconds }))
  }
  return { peers: samples.map(summary) }
}

function summary(samples) {
  const requests = samples.reduce((sum, sample) => sum + sample.requests, 0)
  return {
    perSecond: median(samples.map((sample) => sample.perSecond)),
    bestPerSecond: Math.max(...samples.map((sample) => sample.perSecond)),
    p50Us: median(samples.map((sample) => sample.p50Us)),
    minUs: Math.min(...samples.map((sample) => sample.minUs)),
    // Of all rounds together: the system counts it in steps of 10 ms.
    cpuUs: samples.reduce((sum, sample) => sum + sample.cpuUs * sample.requests, 0) / requests,
    loaderShare: median(samples.map((sample) => sample.loaderShare)),
    requests,
  }
}

/** @returns {Promise<number[]>} median milliseconds from the spawn to the first answer, by program */
async function measureStarts(programs, { starts }) {
  const samples = programs.map(() => [])
  for (let i = 0; i < starts; i++) {
    say(`starting, ${i + 1} of ${starts}`)
    for (const [at, program] of programs.entries()) {
      const peer = await Peer.start(program)
      samples[at].push(peer.startedMs)
      await peer.stop()
    }
  }
  return samples.map(median)
}

// --- what is printed ------------------------------------------------------------------------------------------------

function report({ options, loadBefore, works, gas, alone, served, residentMb, startMs }) {
  const loadAfter = loadavg()
  const model = cpus()[0]?.model ?? 'unknown processor'
  const machine = `${availableParallelism()} cores, ${model}, ${platform()} ${release()} ${arch()}, node ${process.versions.node}`
  const parts = [
    `${new Date().toISOString()}  ${machine}`,
    `ours: ${options.foreign ? options.dist : `dist/ of ${relative(process.cwd(), ROOT) || 'this folder'}`}`,
    `load average at the start ${shown(loadBefore)}, at the end ${shown(loadAfter)}; ${options.rounds} rounds of ${options.seconds} s`,
    '',
    'One call, without a socket; microseconds',
    aloneTable(works, gas, alone, served),
    '',
    'Over HTTP; requests (or batches) a second, CPU of the server for each in microseconds, median latency in microseconds',
    servedTable(served),
    '',
    `From the spawn to the first answer: ours ${figure(startMs[0])} ms, anvil ${figure(startMs[1])} ms (${ratio(startMs[0], startMs[1])})`,
    `Resident after the run:             ours ${figure(residentMb[0])} MB, anvil ${figure(residentMb[1])} MB (${ratio(residentMb[0], residentMb[1])})`,
    '',
    notes(served, loadBefore, loadAfter),
  ]
  process.stdout.write(`${parts.join('\n')}\n`)
  if (options.json === undefined) return
  const figures = {
    machine,
    loadBefore,
    loadAfter,
    gas: Object.fromEntries(gas),
    alone: Object.fromEntries(alone),
    served,
    residentMb,
    startMs,
  }
  writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`)
}

const ALONE = [
  'case',
  'gas',
  'request',
  'median',
  'engine',
  'median',
  'ethereumjs',
  'ethereumjs/engine',
  'anvil beyond empty',
  'anvil/engine',
]

function aloneTable(works, gas, alone, served) {
  const rows = works.map(({ name }) => {
    const { request, engine, '@ethereumjs/evm': ethereumjs } = alone.get(name)
    const beyondUs = anvilBeyondEmpty(name, served)
    return [
      name,
      (gas.get(name) ?? 0).toLocaleString('en-US'),
      ...[request, engine].flatMap(({ minUs, medianUs }) => [figure(minUs), figure(medianUs)]),
      figure(ethereumjs.minUs),
      ratio(ethereumjs.minUs, engine.minUs),
      figure(beyondUs),
      ratio(beyondUs, engine.minUs),
    ]
  })
  return table(ALONE, rows)
}

/** What a call costs anvil more than one that does nothing: the nearest to its engine that can be seen from outside. NaN when not measured. */
function anvilBeyondEmpty(name, served) {
  const leastUs = (wanted) => served.find((row) => row.name === wanted && row.lanes === 1 && row.batch === 1)?.peers[1].minUs ?? NaN
  const beyondUs = leastUs(name) - leastUs('empty call')
  return beyondUs > 0 ? beyondUs : NaN
}

const SERVED = ['case', 'lanes', 'ours/s', 'anvil/s', 'ours/anvil', 'ours CPU', 'anvil CPU', 'ours/anvil', 'ours p50', 'anvil p50']

function servedTable(served) {
  const rows = served.map(({ name, lanes, batch, peers: [ours, theirs] }) => [
    batch === 1 ? name : `${name}, batch of ${batch}`,
    String(lanes),
    figure(ours.perSecond),
    figure(theirs.perSecond),
    ratio(ours.perSecond, theirs.perSecond),
    figure(ours.cpuUs),
    figure(theirs.cpuUs),
    ratio(ours.cpuUs, theirs.cpuUs),
    figure(ours.p50Us),
    figure(theirs.p50Us),
  ])
  return table(SERVED, rows)
}

function notes(served, loadBefore, loadAfter) {
  const cores = availableParallelism()
  const busy = served.flatMap(({ peers }) => peers).filter(({ loaderShare }) => loaderShare > 0.9).length
  const lines = [
    'Every answer of everybody was compared byte for byte before anything was timed.',
    'request: the node in this process, parameters checked, the answer as hex. engine: the transaction rules and the bytecode on a prepared state.',
    'ethereumjs: @ethereumjs/evm runCall on a lean journalled state. These three are the least of many samples, and medians beside them.',
    'anvil beyond empty: its shortest eth_call over HTTP minus its shortest empty one; call data and answers count there, so it flatters the engine a little.',
    'HTTP: one process asks over keep-alive connections, one request at a time on each; rates and p50 are medians of rounds, taken in turns.',
    'Both nodes run as they start by default; ours makes a flashblock every 200 ms meanwhile, anvil mines nothing.',
    `CPU is that of the server's process with all threads, as the system counts it (steps of 10 ms), summed over the rounds.`,
    `The asking process needs a core of its own: it was above 0.9 of one in ${busy} of ${served.length * 2} measurements; there it limits the rate, not the server.`,
  ]
  const busiest = Math.max(loadBefore[0], loadAfter[0])
  if (loadBefore[0] > cores / 2)
    lines.push(`Something else ran at the start (load ${loadBefore[0].toFixed(1)} on ${cores} cores): trust ratios and CPU before rates.`)
  else if (busiest > cores * 2)
    lines.push(`The machine was crowded (load ${busiest.toFixed(1)} on ${cores} cores): trust ratios and CPU before rates.`)
  return lines.map((line) => `- ${line}`).join('\n')
}

function shown(load) {
  return load.map((value) => value.toFixed(1)).join(' ')
}

function say(line) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
}

const { values } = parseArgs({ options: OPTIONS })
if (values.help) process.stdout.write(HELP)
else await main(settings(values))
