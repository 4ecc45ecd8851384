// The compared nodes, each in its own process on a free port.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { anonymousMb, ask, residentMb } from './load.mjs'

const require = createRequire(import.meta.url)
const START_LIMIT_MS = 30_000
const STOP_LIMIT_MS = 10_000
/** Gas limit of every node: room for thousands of transfers per block. */
export const GAS_LIMIT = 300_000_000
const CHAIN_ID = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })

/**
 * Mining mode: the node's default; held; one block per transaction; one per second.
 * @typedef {'default' | 'held' | 'each' | 'second'} Mining
 */

/**
 * @typedef {object} Program
 * @property {string} name
 * @property {string} version
 * @property {string} command
 * @property {(port: number) => string[]} args
 * @property {string} [cwd]
 * @property {Record<string, string>} [env]
 * @property {boolean} [isSilent] stderr is ignored
 * @property {(message: any) => void} [onMessage] receives messages of the process
 * @property {readonly (readonly [method: string, ...params: unknown[]])[]} [first] requests sent first
 */

/** @returns {Program} ours, from a build */
export function pocketchain(
  /** @type {string} folder of the build */ dist,
  /** @type {Mining} */ mining = 'default',
  /** @type {readonly string[]} */ more = [],
) {
  const main = `${dist}/cli/main.js`
  if (!existsSync(main)) throw new Error(`${main} does not exist: npm run build`)
  const modes = { default: [], held: ['--cadence', 'manual'], each: ['--cadence', 'instant'], second: ['--block-time', '1'] }
  const limit = mining === 'default' ? [] : ['--gas-limit', String(GAS_LIMIT)]
  return {
    name: 'ours',
    version: JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version,
    command: process.execPath,
    args: (port) => [main, '--port', String(port), '--quiet', ...modes[mining], ...limit, ...more],
  }
}

/** @returns {Program} the native binary, without the package's JavaScript launcher */
export function anvil(/** @type {Mining} */ mining = 'default', /** @type {readonly string[]} */ more = []) {
  const binary = process.platform === 'win32' ? 'anvil.exe' : 'anvil'
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const command = require.resolve(`@foundry-rs/anvil-${process.platform}-${arch}/bin/${binary}`)
  const modes = { default: [], held: ['--no-mining'], each: [], second: ['--block-time', '1'] }
  const limit = mining === 'default' ? [] : ['--gas-limit', String(GAS_LIMIT)]
  return {
    name: 'anvil',
    version: require('@foundry-rs/anvil/package.json').version,
    command,
    args: (port) => ['--port', String(port), '--quiet', ...modes[mining], ...limit, ...more],
  }
}

/** @returns {Program} Hardhat 2, installed in peers/; see hardhat.mjs */
export function hardhat(
  /** @type {string} */ folder,
  /** @type {Mining} */ mining = 'default',
  /** @type {readonly string[]} */ more = [],
) {
  const installed = join(folder, 'node_modules', 'hardhat')
  return {
    name: 'hardhat',
    version: JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).version,
    command: process.execPath,
    args: (port) => [
      join(installed, 'internal', 'cli', 'cli.js'),
      '--config',
      join(folder, 'hardhat.config.cjs'),
      ...['node', '--hostname', '127.0.0.1', '--port', String(port), ...more],
    ],
    cwd: folder,
    // Disables the telemetry prompt.
    env: {
      HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true',
      BENCH_MINING: mining,
      ...(mining === 'default' ? {} : { BENCH_GAS_LIMIT: String(GAS_LIMIT) }),
    },
    isSilent: true,
    // Hardhat logs each request, which would count as request time.
    first: [
      ['hardhat_setLoggingEnabled', false],
      ...(mining === 'second'
        ? [
            ['evm_setAutomine', false],
            ['evm_setIntervalMining', 1_000],
          ]
        : []),
    ],
  }
}

/** Options of a build. @returns {string} its help page */
export function helpOf(/** @type {string} */ dist) {
  return spawnSync(process.execPath, [`${dist}/cli/main.js`, '--help'], { encoding: 'utf8' }).stdout
}

/** A running node. */
export class Peer {
  name
  port
  pid
  /** from the spawn to its first response */
  startedMs
  /** RssAnon at its first response */
  startedMb = 0
  #child
  #ended

  /** Starts a node and waits for its first response. */
  static async start(/** @type {Program} */ program) {
    const port = await freePort()
    const startMs = performance.now()
    const child = spawn(program.command, program.args(port), {
      stdio: ['ignore', 'ignore', program.isSilent === true ? 'ignore' : 'inherit', ...(program.onMessage === undefined ? [] : ['ipc'])],
      cwd: program.cwd,
      env: { ...process.env, ...program.env },
    })
    if (program.onMessage !== undefined) child.on('message', program.onMessage)
    const peer = new Peer(program.name, port, child)
    endWithUs(child)
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`${program.name} ended with ${child.exitCode}`)
      if (performance.now() - startMs > START_LIMIT_MS) {
        await peer.stop()
        throw new Error(`${program.name} gave no answer in ${START_LIMIT_MS} ms`)
      }
    }
    peer.startedMs = performance.now() - startMs
    peer.startedMb = peer.anonymousMb
    for (const [method, ...params] of program.first ?? []) await peer.rpc(method, params)
    return peer
  }

  constructor(name, port, child) {
    this.name = name
    this.port = port
    this.pid = child.pid
    this.startedMs = 0
    this.#child = child
    this.#ended = new Promise((resolve) => child.once('exit', resolve))
  }

  /** @returns {Promise<any>} the result @throws {Refused} an error response */
  rpc = async (method, params = [], /** @type {number | undefined} */ silenceMs) => {
    const { result, error } = JSON.parse(await ask(this, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), silenceMs))
    if (error !== undefined) throw new Refused(`${this.name}, ${method}: ${JSON.stringify(error).slice(0, 1_000)}`)
    return result
  }

  get residentMb() {
    return residentMb(this.pid)
  }

  get anonymousMb() {
    return anonymousMb(this.pid)
  }

  async stop() {
    const timer = setTimeout(() => this.kill(), STOP_LIMIT_MS)
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGTERM')
    await this.#ended
    clearTimeout(timer)
    running.delete(this.#child)
  }

  /** SIGKILL. */
  kill() {
    this.#child.kill('SIGKILL')
  }
}

/** An error response of a node. */
export class Refused extends Error {
  /** @override */
  name = 'Refused'
}

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

/** Kills the nodes when this process is interrupted. */
function endWithUs(/** @type {import('node:child_process').ChildProcess} */ child) {
  if (!isWatching) {
    process.once('exit', () => {
      for (const each of running) each.kill('SIGKILL')
    })
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  }
  isWatching = true
  running.add(child)
}

let isWatching = false

async function answers(port) {
  try {
    await ask({ port }, CHAIN_ID)
    return true
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 2))
    return false
  }
}

/** A port that the system just released. If another process takes it first, the node reports it. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
