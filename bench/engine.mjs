// node bench/engine.mjs [--quick]: the engine and the node compared with anvil and @ethereumjs/evm, on one machine in one run. The end of
// the output explains the figures.
import { writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, release } from 'node:os'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { setAsideExtraCertificates } from '../scripts/certificates.mjs'
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

const HELP = `node bench/engine.mjs [options]: comparison with anvil and @ethereumjs/evm

  --cases <names>     parts of names, separated by commas (all)
  --lanes <numbers>   connections at once over HTTP (1,8,64)
  --rounds <number>   times each peer is measured, in turns (3)
  --seconds <number>  length of one measurement (0.3)
  --quick             one short round at 1 and 64 lanes, below 40 s
  --json <file>       all figures, including those omitted from the tables
  --dist <folder>     another build of ours than dist/
`

/** Calls in a batch. */
const BATCH = 100
/** A case whose connections would need longer than this for one call each is skipped. */
const TIMEOUT_MS = 2_000
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
  setAsideExtraCertificates()
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

/** Builds the same chain on all nodes. @returns {Promise<import('./cases.mjs').Case[]>} */
async function prepareAll(node, peers, compiled) {
  say('deploying')
  const multicall = await node.rpc('eth_getCode', ['0xcA11bde05977b3631167028862bE2a173976CA11', 'latest'])
  const cases = []
  for (const { rpc } of [node, ...peers]) cases.push(await prepare(rpc, compiled, multicall))
  const texts = new Set(cases.map((each) => JSON.stringify(each)))
  if (texts.size !== 1) throw new Error('the nodes came to different addresses or signatures')
  return cases[0]
}

/**
 * Compares the responses of all participants byte by byte. @returns {Promise<Map<string, number>>} gas per case, including the intrinsic
 * gas
 */
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
    throw new Error(`${work.name}: responses differ from digit ${same} on\n${lines.join('\n')}`)
  }
  return gas
}

/** Hex, or the error of the engine. */
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
  // A node that has served no requests is not optimised by V8 yet; start-up is not measured here.
  for (const peer of peers) await load(peer, bodyOf(CHAIN_ID), { lanes: 8, seconds: options.warmUpSeconds })
  for (const call of calls) {
    const callMs = (alone.get(call.name)?.request.medianUs ?? 0) / 1_000
    for (const lanes of options.lanes) {
      if (callMs * lanes > TIMEOUT_MS) continue
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

/** Measures ours, anvil, ours, anvil …, so that other load of the machine affects both. @returns {Promise<{ peers: object[] }>} */
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
    // Over all rounds: the system counts in steps of 10 ms.
    cpuUs: samples.reduce((sum, sample) => sum + sample.cpuUs * sample.requests, 0) / requests,
    loaderShare: median(samples.map((sample) => sample.loaderShare)),
    requests,
  }
}

/** @returns {Promise<number[]>} median milliseconds from the spawn to the first response, by program */
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

// --- output ------------------------------------------------------------------------------------------------------------------------

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

/** Time of a call in anvil minus that of an empty call: the closest external measure of its engine. NaN if not measured. */
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
    'All responses were compared byte by byte before timing.',
    'request: the node in this process, with parameter validation and hex encoding. engine: transaction rules and bytecode on a prepared state.',
    'ethereumjs: @ethereumjs/evm runCall on a minimal journaled state. These three are minima of many samples, with medians beside them.',
    'anvil beyond empty: its shortest eth_call over HTTP minus its shortest empty one; this includes call data and responses, which slightly favours our engine.',
    'HTTP: one process sends requests over keep-alive connections, one at a time on each; rates and p50 are medians of rounds, measured in turns.',
    'Both nodes run with default options; ours produces a flashblock every 200 ms, anvil mines nothing.',
    `CPU is that of the server's process with all threads, as the system counts it (steps of 10 ms), summed over the rounds.`,
    `The load generator needs its own core: it used more than 0.9 of one in ${busy} of ${served.length * 2} measurements; there it limits the rate instead of the server.`,
  ]
  const busiest = Math.max(loadBefore[0], loadAfter[0])
  if (loadBefore[0] > cores / 2)
    lines.push(`Other load at the start (load ${loadBefore[0].toFixed(1)} on ${cores} cores): trust ratios and CPU before rates.`)
  else if (busiest > cores * 2) lines.push(`High load (load ${busiest.toFixed(1)} on ${cores} cores): trust ratios and CPU before rates.`)
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
