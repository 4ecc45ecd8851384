// A load generator that costs little beside the server: bare sockets, requests made in advance, answers told apart by their length alone.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

/**
 * Asks the same thing again and again over `lanes` keep-alive connections, one request at a time on each. Rejects when an
 * answer is not 200 or has another length than the first: who answers something else is not measured.
 * @param {{ port: number, pid: number, path?: string }} server
 * @param {string} body
 * @param {{ lanes: number, seconds: number }} options
 * @returns {Promise<{ requests: number, perSecond: number, cpuUs: number, p50Us: number, minUs: number, loaderShare: number }>} `cpuUs`
 *   is what the server's process spent on a request; `loaderShare` how much of one core this process had
 */
export async function load(server, body, { lanes, seconds }) {
  const request = message(server, body)
  const connections = await Promise.all(Array.from({ length: lanes }, () => Lane.open(server.port, request)))
  await Promise.all(connections.map((lane) => lane.exchange()))
  for (const lane of connections) lane.latencies = []
  const startMs = performance.now()
  const cpu = process.cpuUsage()
  const serverCpuUs = cpuOf(server.pid)
  const endMs = startMs + seconds * 1_000
  await Promise.all(connections.map((lane) => lane.run(endMs)))
  const elapsedMs = performance.now() - startMs
  const spentUs = cpuOf(server.pid) - serverCpuUs
  const { user, system } = process.cpuUsage(cpu)
  for (const lane of connections) lane.close()
  const latencies = Float64Array.from(connections.flatMap(({ latencies }) => latencies)).toSorted()
  const requests = latencies.length
  return {
    requests,
    perSecond: (requests / elapsedMs) * 1_000,
    cpuUs: spentUs / requests,
    p50Us: (latencies[requests >> 1] ?? 0) * 1_000,
    minUs: (latencies[0] ?? 0) * 1_000,
    loaderShare: (user + system) / (elapsedMs * 1_000),
  }
}

/** One request on a connection of its own. @returns {Promise<string>} the body */
export async function ask(/** @type {{ port: number, path?: string }} */ server, /** @type {string} */ body) {
  const lane = await Lane.open(server.port, message(server, body))
  try {
    return (await lane.exchange()).toString('utf8')
  } finally {
    lane.close()
  }
}

/** CPU microseconds that a process and its threads have used; Linux counts them in hundredths of a second. 0 elsewhere. */
export function cpuOf(/** @type {number} */ pid) {
  const fields = procFile(pid, 'stat')?.split(') ')[1]?.split(' ')
  return fields === undefined ? 0 : (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** Resident megabytes of a process, 0 where /proc does not exist. */
export function residentMb(/** @type {number} */ pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(procFile(pid, 'status') ?? '')?.[1] ?? 0) / 1_024
}

function procFile(/** @type {number} */ pid, /** @type {string} */ name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return undefined
  }
}

function message(/** @type {{ port: number, path?: string }} */ { port, path = '/' }, /** @type {string} */ body) {
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`
  return Buffer.from(`${head}\r\n\r\n${body}`)
}

/** One connection, one request at a time. */
class Lane {
  /** milliseconds, one a request @type {number[]} */
  latencies = []
  #socket
  #request
  #endMs = 0
  #sentMs = 0
  /** bytes of the answer that are still to come */
  #left = 0
  /** of the body; -1 before the first answer */
  #length = -1
  /** the first answer @type {Buffer[]} */
  #chunks = []
  #kept = false
  /** @type {() => void} */
  #resolve = () => {}
  /** @type {(reason: Error) => void} */
  #reject = () => {}

  /** @returns {Promise<Lane>} */
  static open(/** @type {number} */ port, /** @type {Buffer} */ request) {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new Lane(socket, request)))
    })
  }

  constructor(/** @type {import('node:net').Socket} */ socket, /** @type {Buffer} */ request) {
    this.#socket = socket
    this.#request = request
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('error', (error) => this.#reject(error))
    socket.setTimeout(SILENCE_MS, () => this.#reject(new Error(`no answer for ${SILENCE_MS} ms`)))
    socket.on('close', () => this.#reject(new Error('the server closed the connection')))
  }

  /** @returns {Promise<Buffer>} the body of the first answer */
  async exchange() {
    await this.run(0)
    return Buffer.concat(this.#chunks).subarray(-this.#length)
  }

  /** Asks at least once, and until `endMs` of performance.now(). @returns {Promise<void>} */
  run(/** @type {number} */ endMs) {
    this.#endMs = endMs
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#send()
    })
  }

  close() {
    this.#socket.destroy()
  }

  #send() {
    this.#sentMs = performance.now()
    this.#socket.write(this.#request)
  }

  #receive(/** @type {Buffer} */ chunk) {
    if (this.#left === 0 && !this.#begin(chunk)) return
    if (!this.#kept) this.#chunks.push(chunk)
    this.#left -= chunk.length
    if (this.#left > 0) return
    const now = performance.now()
    this.latencies.push(now - this.#sentMs)
    this.#kept = true
    if (now < this.#endMs) this.#send()
    else this.#resolve()
  }

  /** False: not an answer as the first one was. A server writes all of a head at once. */
  #begin(/** @type {Buffer} */ chunk) {
    const bodyAt = chunk.indexOf('\r\n\r\n') + 4
    const head = chunk.latin1Slice(0, bodyAt)
    const length = Number(CONTENT_LENGTH.exec(head)?.[1] ?? -1)
    if (!head.startsWith('HTTP/1.1 200') || length <= 0 || (this.#length >= 0 && length !== this.#length)) {
      this.#reject(new Error(`not the answer that was expected: ${chunk.latin1Slice(0, 1_000)}`))
      return false
    }
    this.#length = length
    this.#left = bodyAt + length
    return true
  }
}

/** A server that says nothing for so long has lost a request. */
const SILENCE_MS = 30_000

const CONTENT_LENGTH = /content-length: *(\d+)/i
