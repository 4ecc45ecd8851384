// The participants: which nodes run, and where results go.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { PEERS } from './hardhat.mjs'
import { ask } from './load.mjs'
import { Peer, anvil, freePort, hardhat, pocketchain } from './peers.mjs'

export const FLOOR = 'floor'

/** Context of a group of measurements. */
export class Participants {
  options
  wallet
  contracts
  floor
  report
  #program
  /** @type {Set<Peer>} */
  #running = new Set()

  /** @param {{ options: any, wallet: any, contracts: any, floor: Baseline, report: import('./report.mjs').Report }} parts */
  constructor({ options, wallet, contracts, floor, report }) {
    this.options = options
    this.wallet = wallet
    this.contracts = contracts
    this.floor = floor
    this.report = report
    this.#program = {
      ours: (mining, more) => pocketchain(options.dist, mining, more),
      anvil,
      hardhat: (mining, more) => hardhat(PEERS, mining, more),
    }
  }

  /** Ours first. @returns {readonly string[]} */
  get names() {
    return ['ours', ...this.options.peers]
  }

  /**
   * @param {string} name
   * @param {import('./peers.mjs').Mining} mining
   * @param {readonly string[]} more
   * @returns {import('./peers.mjs').Program}
   */
  program = (name, mining = 'default', more = []) => this.#program[name](mining, more)

  async start(
    /** @type {string} */ name,
    /** @type {import('./peers.mjs').Mining} */ mining = 'default',
    /** @type {readonly string[]} */ more = [],
  ) {
    this.say(`starting ${name}`)
    const peer = await Peer.start(this.program(name, mining, more))
    this.#running.add(peer)
    return peer
  }

  /** Runs all nodes while `work` runs. */
  async withPeers(/** @type {import('./peers.mjs').Mining} */ mining, /** @type {(peers: Peer[]) => Promise<void>} */ work) {
    const peers = []
    for (const name of this.names) peers.push(await this.start(name, mining))
    await work(peers)
    for (const peer of peers) await this.stop(peer)
  }

  async stop(/** @type {Peer} */ peer) {
    this.#running.delete(peer)
    await peer.stop()
  }

  /** For a node that does not exit. */
  async kill(/** @type {Peer} */ peer) {
    peer.kill()
    await this.stop(peer)
  }

  async stopAll() {
    for (const peer of this.#running) await this.kill(peer)
  }

  async close() {
    await this.stopAll()
    await this.floor.stop()
  }

  /** Progress: one line, overwritten on a terminal. */
  say(/** @type {string} */ line) {
    const seconds = Math.round(process.uptime())
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${seconds} s  ${line.slice(0, 100)}`)
    else if (this.options.verbose) process.stderr.write(`${seconds} s  ${line}\n`)
  }
}

/** The server that only sends given bytes. */
export class Baseline {
  #server
  #child
  #count = 0

  static async start() {
    const port = await freePort()
    const child = spawn(process.execPath, [fileURLToPath(new URL('baseline.mjs', import.meta.url)), String(port)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    process.once('exit', () => child.kill('SIGKILL'))
    for (let left = 500; ; left--) {
      try {
        await ask({ port }, '{}')
        return new Baseline({ name: FLOOR, port, pid: child.pid }, child)
      } catch (error) {
        if (left === 0) throw error
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
  }

  constructor(server, child) {
    this.#server = server
    this.#child = child
  }

  /** @returns {Promise<import('./load.mjs').Server & { name: string }>} responds with `answer` to every request */
  async keep(/** @type {string} */ answer) {
    const path = `/${this.#count++}`
    const response = await fetch(`http://127.0.0.1:${this.#server.port}${path}`, { method: 'PUT', body: answer })
    await response.arrayBuffer()
    return { ...this.#server, path }
  }

  /** Reads and writes JSON, as an RPC server must. @returns {import('./load.mjs').Server & { name: string }} */
  get json() {
    return { ...this.#server, path: '/json' }
  }

  async stop() {
    this.#child.kill('SIGTERM')
  }
}
