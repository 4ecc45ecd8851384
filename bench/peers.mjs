// The nodes that are compared, each a process of its own on a free port.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { ask, residentMb } from './load.mjs'

const require = createRequire(import.meta.url)
const START_LIMIT_MS = 30_000
const CHAIN_ID = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })

/** @typedef {{ name: string, command: string, args: (port: number) => string[] }} Program */

/** @returns {Program} ours, from a build */
export function pocketchain(/** @type {string} folder of the build */ dist) {
  const main = `${dist}/cli/main.js`
  if (!existsSync(main)) throw new Error(`${main} does not exist: npm run build`)
  return { name: 'ours', command: process.execPath, args: (port) => [main, '--port', String(port), '--quiet'] }
}

/** @returns {Program} the native binary itself, without the package's launcher in JavaScript */
export function anvil() {
  const binary = process.platform === 'win32' ? 'anvil.exe' : 'anvil'
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const command = require.resolve(`@foundry-rs/anvil-${process.platform}-${arch}/bin/${binary}`)
  return { name: 'anvil', command, args: (port) => ['--port', String(port), '--quiet'] }
}

/** One running node. */
export class Peer {
  name
  port
  pid
  /** from the spawn to its first answer */
  startedMs
  #child
  #ended

  /** Starts it and waits for its first answer. */
  static async start(/** @type {Program} */ program) {
    const port = await freePort()
    const startMs = performance.now()
    const child = spawn(program.command, program.args(port), { stdio: ['ignore', 'ignore', 'inherit'] })
    const peer = new Peer(program.name, port, child)
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`${program.name} ended with ${child.exitCode}`)
      if (performance.now() - startMs > START_LIMIT_MS) throw new Error(`${program.name} gave no answer in ${START_LIMIT_MS} ms`)
    }
    peer.startedMs = performance.now() - startMs
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

  /** @returns {Promise<any>} the result. Throws what the node refuses. */
  rpc = async (method, params = []) => {
    const { result, error } = JSON.parse(await ask(this, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })))
    if (error !== undefined) throw new Error(`${this.name}, ${method}: ${JSON.stringify(error).slice(0, 1_000)}`)
    return result
  }

  get residentMb() {
    return residentMb(this.pid)
  }

  async stop() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGTERM')
    await this.#ended
  }
}

async function answers(port) {
  try {
    await ask({ port }, CHAIN_ID)
    return true
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 2))
    return false
  }
}

/** One that the system just gave away; somebody else may take it before the node does, which then says so. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
