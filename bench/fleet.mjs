// node bench/fleet.mjs [--seconds 10] [--rate 500] [--subscribers 100]: a fleet of one sequencer and three replicas behind HAProxy on this machine, with Debian's
// nats-server, postgresql and haproxy. Prints, as JSON: reads per CPU second of a replica and of a single process; the lag of replicas under load, from the sending
// of a frame to its application; and what subscribers on each replica received.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { WebSocket } from 'ws'
import { natsServer, postgresFolder } from '../scripts/servers.mjs'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '500' },
    subscribers: { type: 'string', default: '100' },
  },
})
const SECONDS = Number(values.seconds)
const RATE = Number(values.rate)
const SUBSCRIBERS = Number(values.subscribers)
const COMMAND = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const REPLICAS = 3
const CONNECTIONS = 16
/** Clock ticks per second of /proc. */
const TICKS = 100

const folder = mkdtempSync(join(tmpdir(), 'pocketchain-bench-'))
/** @type {import('node:child_process').ChildProcess[]} */
const children = []
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

function start(/** @type {string} */ command, /** @type {string[]} */ args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], ...options })
  children.push(child)
  return child
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      server.close(() => resolve(port))
    })
  })
}

/** @returns {Promise<{ url: string, wsUrl: string, pid: number, accounts: string[] }>} */
function node(/** @type {string[]} */ ...flags) {
  const child = start(process.execPath, [COMMAND, '--port', '0', '--json', '--workers', '0', ...flags])
  return new Promise((resolve) => {
    let out = ''
    child.stdout?.on('data', (data) => {
      out += data
      if (!out.includes('\n')) return
      child.stdout?.removeAllListeners('data').resume()
      const { urls, accounts } = JSON.parse(out.slice(0, out.indexOf('\n')))
      resolve({ url: urls.http, wsUrl: urls.ws, pid: child.pid ?? 0, accounts })
    })
  })
}

/** CPU seconds of a process so far. */
function cpuOf(/** @type {number} */ pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 })

/** @returns {Promise<any>} */
function ask(/** @type {string} */ url, /** @type {string} */ method, /** @type {unknown[]} */ ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', agent, headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } },
      (response) => {
        /** @type {Buffer[]} */
        const parts = []
        response.on('data', (part) => parts.push(part))
        response.on('end', () => {
          const { result, error } = JSON.parse(Buffer.concat(parts).toString())
          if (error === undefined) resolve(result)
          else reject(new Error(error.message))
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Reads over some connections for a while; returns requests and CPU seconds of the processes. */
async function read(/** @type {string} */ url, /** @type {number[]} */ pids, /** @type {string} */ to) {
  const before = pids.map(cpuOf)
  const endMs = performance.now() + SECONDS * 1_000
  let requests = 0
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < endMs) {
        await ask(url, 'eth_getBalance', to, 'latest')
        requests++
      }
    }),
  )
  const cpu = pids.reduce((sum, pid, index) => sum + cpuOf(pid) - (before[index] ?? 0), 0)
  return { requests, cpuSeconds: Number(cpu.toFixed(2)), perCpuSecond: Math.round(requests / cpu) }
}

function percentile(/** @type {number[]} */ sorted, /** @type {number} */ share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

// --- servers --------------------------------------------------------------------------------------------------------

const [natsPort, postgresPort, proxyPort] = [await freePort(), await freePort(), await freePort()]
start(natsServer() ?? 'nats-server', ['-a', '127.0.0.1', '-p', String(natsPort), '-js', '-sd', join(folder, 'nats')])
const owner =
  process.getuid?.() === 0
    ? { uid: Number(spawnSync('id', ['-u', 'postgres']).stdout), gid: Number(spawnSync('id', ['-g', 'postgres']).stdout) }
    : {}
if (owner.uid !== undefined) spawnSync('chown', [`${owner.uid}`, folder])
const bin = postgresFolder() ?? ''
spawnSync(join(bin, 'initdb'), ['-D', join(folder, 'data'), '-A', 'trust', '-U', 'postgres'], owner)
start(
  join(bin, 'postgres'),
  ['-D', join(folder, 'data'), '-p', String(postgresPort), '-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${folder}`],
  owner,
)
await delay(2_000)
const fleet = ['--fleet', `nats://127.0.0.1:${natsPort}`, '--database', `postgres://postgres@127.0.0.1:${postgresPort}/postgres`]

// --- reads ----------------------------------------------------------------------------------------------------------

const single = await node()
const [account = ''] = single.accounts
await read(single.url, [single.pid], account) // warm
const alone = await read(single.url, [single.pid], account)
process.kill(single.pid, 'SIGKILL')
const sequencer = await node(...fleet)
const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => node(...fleet, '--role', 'replica')))
const config = join(folder, 'haproxy.cfg')
const servers = replicas.map(({ url }, index) => `  server r${index} ${new URL(url).host} check inter 500`).join('\n')
writeFileSync(
  config,
  `defaults\n  mode http\n  timeout connect 1s\n  timeout client 1m\n  timeout server 1m\nfrontend f\n  bind 127.0.0.1:${proxyPort}\n  default_backend b\nbackend b\n  option httpchk GET /readyz\n${servers}\n`,
)
start('haproxy', ['-f', config, '-db'])
await delay(2_000)
const balanced = `http://127.0.0.1:${proxyPort}`
const pids = replicas.map(({ pid }) => pid)
await read(balanced, pids, account)
const spread = await read(balanced, pids, account)
const direct = await read(replicas[0]?.url ?? '', pids.slice(0, 1), account)

// --- lag and subscribers under load -----------------------------------------------------------------------------------

/** Emits one log for each call: LOG0 of no bytes. */
const EMITTER = '0x6006600c60003960066000f360006000a000'
const hash = await ask(sequencer.url, 'eth_sendTransaction', { from: account, data: EMITTER })
await ask(sequencer.url, 'evm_mine')
const { contractAddress } = await ask(sequencer.url, 'eth_getTransactionReceipt', hash)
const counts = replicas.flatMap(({ wsUrl }) => Array.from({ length: SUBSCRIBERS }, () => subscriber(wsUrl)))
await delay(2_000)
/** @type {number[]} */
const lags = []
const endMs = performance.now() + SECONDS * 1_000
let [sent, due] = [0, performance.now()]
const sampler = setInterval(() => void sample(), 100)
async function sample() {
  for (const { url } of replicas) {
    const metrics = await (await fetch(new URL('/metrics', url))).text()
    lags.push(Number(/^pocketchain_fleet_lag_seconds (\S+)/m.exec(metrics)?.[1]) * 1_000)
  }
}
/** @type {Promise<unknown>[]} */
const sends = []
for (; performance.now() < endMs; due += 20) {
  const batch = Array.from({ length: (RATE * 20) / 1_000 }, (_, index) => ({
    jsonrpc: '2.0',
    id: index,
    method: 'eth_sendTransaction',
    params: [{ from: sequencer.accounts[index % sequencer.accounts.length], to: contractAddress, gas: '0x7530' }],
  }))
  sends.push(
    fetch(sequencer.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(batch) }).then(
      (response) => response.text(),
    ),
  )
  sent += batch.length
  await delay(Math.max(0, due + 20 - performance.now()))
}
await Promise.all(sends)
await delay(5_000)
clearInterval(sampler)
lags.sort((a, b) => a - b)
const received = counts.map(({ logs }) => logs())
const rows = {
  readsAlone: alone,
  readsBehindHaproxy: spread,
  readsOfOneReplica: direct,
  ratio: Number((direct.perCpuSecond / alone.perCpuSecond).toFixed(2)),
  ratioBehindHaproxy: Number((spread.perCpuSecond / alone.perCpuSecond).toFixed(2)),
  sentPerSecond: Math.round(sent / SECONDS),
  lagMs: { samples: lags.length, p50: percentile(lags, 0.5), p99: percentile(lags, 0.99), max: lags.at(-1) },
  subscribers: counts.length,
  logsOfEach: { sent, least: Math.min(...received), most: Math.max(...received) },
}
process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`)
process.exit()

/** Counts the promised logs of one subscription, each once. */
function subscriber(/** @type {string} */ url) {
  const socket = new WebSocket(url)
  const seen = new Set()
  socket.on('open', () =>
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['pendingLogs', { address: contractAddress }] })),
  )
  socket.on('message', (data) => {
    const { params } = JSON.parse(/** @type {Buffer} */ (data).toString())
    if (params !== undefined) for (const log of [params.result].flat()) seen.add(`${log.transactionHash} ${log.logIndex}`)
  })
  return { logs: () => seen.size }
}
