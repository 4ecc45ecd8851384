// A load generator with low CPU use: raw sockets, prepared requests, responses compared by length.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

/** @typedef {{ port: number, pid: number, path?: string }} Server */

/**
 * @typedef {object} Sample
 * @property {number} requests
 * @property {number} elapsedMs
 * @property {number} perSecond
 * @property {number} cpuUs what the server's process spent on a request
 * @property {number} p50Us
 * @property {number} p99Us
 * @property {number} minUs
 * @property {number} loaderShare how much of one core this process had
 * @property {number} bytes of a body, the mean
 */

/**
 * Sends the same request repeatedly over `lanes` keep-alive connections, one request at a time on each. Rejects if a response is not 200 or
 * differs in length from the first.
 * @param {Server} server
 * @param {string} body
 * @param {{ lanes: number, seconds: number }} options
 * @returns {Promise<Sample>}
 */
export async function load(server, body, { lanes, seconds }) {
  const request = message(server, body)
  const connections = await openLanes(server, lanes)
  await Promise.all(connections.map((lane) => lane.exchange(request)))
  const { length } = connections[0]
  const endMs = performance.now() + seconds * 1_000
  const next = () => (performance.now() < endMs ? request : null)
  return measured(server, connections, next, (lane) => lane.length === length)
}

/**
 * Sends each of `bodies` once, in order, over `lanes` connections. Rejects if a response is an error or has no result.
 * @param {Server} server
 * @param {readonly string[]} bodies
 * @param {{ lanes: number }} options
 * @returns {Promise<Sample>}
 */
export async function loadOnce(server, bodies, { lanes }) {
  const requests = bodies.map((body) => message(server, body))
  const connections = await openLanes(server, lanes)
  let at = 0
  return measured(
    server,
    connections,
    () => requests[at++] ?? null,
    (lane) => !lane.hasFailed,
  )
}

/** Keep-alive connections for sequential requests; requests wait while all are in use. */
export class Line {
  #server
  #lanes
  /** @type {Lane[]} */
  #free
  /** @type {((lane: Lane) => void)[]} */
  #waiting = []

  static async open(/** @type {Server} */ server, lanes = 1) {
    return new Line(server, await openLanes(server, lanes))
  }

  constructor(/** @type {Server} */ server, /** @type {Lane[]} */ lanes) {
    this.#server = server
    this.#lanes = lanes
    this.#free = [...lanes]
  }

  /** @returns {Promise<Buffer>} the body of the response */
  async ask(/** @type {string} */ body) {
    const lane = this.#free.pop() ?? (await new Promise((resolve) => this.#waiting.push(resolve)))
    try {
      return await lane.exchange(message(this.#server, body))
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free.push(lane)
      else next(lane)
    }
  }

  close() {
    for (const lane of this.#lanes) lane.close()
  }
}

/** One request on a new connection. @returns {Promise<string>} the body */
export async function ask(/** @type {{ port: number, path?: string }} */ server, /** @type {string} */ body, silenceMs = SILENCE_MS) {
  const lane = await Lane.open(server.port, silenceMs)
  try {
    return (await lane.exchange(message(server, body))).toString('utf8')
  } finally {
    lane.close()
  }
}

/** CPU microseconds used by a process and its threads; Linux counts in steps of 10 ms. 0 elsewhere. */
export function cpuOf(/** @type {number} */ pid) {
  const fields = procFile(pid, 'stat')?.split(') ')[1]?.split(' ')
  return fields === undefined ? 0 : (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** Resident megabytes of a process; 0 without /proc. */
export function residentMb(/** @type {number} */ pid) {
  return statusMb(pid, 'VmRSS')
}

/** Resident megabytes without mapped files. */
export function anonymousMb(/** @type {number} */ pid) {
  return statusMb(pid, 'RssAnon')
}

function statusMb(pid, field) {
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(procFile(pid, 'status') ?? '')?.[1] ?? 0) / 1_024
}

function procFile(/** @type {number} */ pid, /** @type {string} */ name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return undefined
  }
}

/** @returns {Promise<Lane[]>} */
function openLanes(/** @type {Server} */ { port }, /** @type {number} */ lanes) {
  return Promise.all(Array.from({ length: lanes }, () => Lane.open(port)))
}

/** Runs all connections until `next` is exhausted, and closes them. @returns {Promise<Sample>} */
async function measured(server, lanes, next, isRight) {
  const startMs = performance.now()
  const cpu = process.cpuUsage()
  const serverCpuUs = cpuOf(server.pid)
  const latencies = []
  let bytes = 0
  try {
    await Promise.all(
      lanes.map((lane) =>
        lane.run(next, (latencyMs) => {
          latencies.push(latencyMs)
          bytes += lane.length
          return isRight(lane)
        }),
      ),
    )
  } finally {
    for (const lane of lanes) lane.close()
  }
  const elapsedMs = performance.now() - startMs
  const spentUs = cpuOf(server.pid) - serverCpuUs
  const { user, system } = process.cpuUsage(cpu)
  const sorted = Float64Array.from(latencies).toSorted()
  const requests = sorted.length
  return {
    requests,
    elapsedMs,
    perSecond: (requests / elapsedMs) * 1_000,
    cpuUs: spentUs / requests,
    p50Us: (sorted[requests >> 1] ?? 0) * 1_000,
    p99Us: (sorted[Math.floor(requests * 0.99)] ?? 0) * 1_000,
    minUs: (sorted[0] ?? 0) * 1_000,
    loaderShare: (user + system) / (elapsedMs * 1_000),
    bytes: bytes / requests,
  }
}

function message(/** @type {{ port: number, path?: string }} */ { port, path = '/' }, /** @type {string} */ body) {
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`
  return Buffer.from(`${head}\r\n\r\n${body}`)
}

/** One connection, one request at a time. */
class Lane {
  /** body length of the last response */
  length = 0
  /** the last response is an error or empty */
  hasFailed = false
  #socket
  #sentMs = 0
  #state = HEAD
  /** no part of the body has arrived */
  #isFresh = true
  /** bytes to come: of the body, or of a chunk with its line end */
  #left = 0
  /** partial chunk size line */
  #line = ''
  /** body so far; null: only counted @type {Buffer[] | null} */
  #kept = null
  /** @type {() => void} */
  #done = () => {}
  /** @type {(reason: Error) => void} */
  #fail = () => {}
  /** @type {Error | null} */
  #broken = null

  /** @returns {Promise<Lane>} */
  static open(/** @type {number} */ port, silenceMs = SILENCE_MS) {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new Lane(socket, silenceMs)))
    })
  }

  constructor(/** @type {import('node:net').Socket} */ socket, /** @type {number} */ silenceMs) {
    this.#socket = socket
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('error', (error) => this.#break(error))
    socket.setTimeout(silenceMs, () => this.#break(new NoAnswer(silenceMs)))
    socket.on('close', () => this.#break(new Error('the server closed the connection')))
  }

  /** @returns {Promise<Buffer>} the body of the response */
  exchange(/** @type {Buffer} */ request) {
    return new Promise((resolve, reject) => {
      this.#kept = []
      this.#fail = reject
      this.#done = () => {
        const body = Buffer.concat(this.#kept ?? [])
        this.#kept = null
        resolve(body)
      }
      this.#send(request)
    })
  }

  /**
   * Sends requests from `next` until it returns null. `answered` receives the latency of each and returns whether the response is valid.
   * @returns {Promise<void>}
   */
  run(/** @type {() => Buffer | null} */ next, /** @type {(latencyMs: number) => boolean} */ answered) {
    return new Promise((resolve, reject) => {
      this.#fail = reject
      this.#done = () => {
        if (!answered(performance.now() - this.#sentMs)) return reject(new Error(`not the answer that was expected: ${this.length} bytes`))
        step()
      }
      const step = () => {
        const request = next()
        if (request === null) resolve()
        else this.#send(request)
      }
      step()
    })
  }

  close() {
    this.#socket.destroy()
  }

  #send(/** @type {Buffer} */ request) {
    if (this.#broken !== null) return this.#fail(this.#broken)
    this.#sentMs = performance.now()
    this.#socket.write(request)
  }

  #break(/** @type {Error} */ error) {
    this.#broken ??= error
    this.#fail(error)
  }

  #receive(/** @type {Buffer} */ chunk) {
    let at = 0
    while (at < chunk.length) {
      if (this.#state === HEAD) at = this.#begin(chunk)
      else if (this.#state === SIZE) at = this.#chunkSize(chunk, at)
      else at = this.#body(chunk, at)
      if (at < 0) return
    }
  }

  /** @returns {number} start of the body, -1: not a response. Servers write the whole head in one call. */
  #begin(/** @type {Buffer} */ chunk) {
    const bodyAt = chunk.indexOf('\r\n\r\n') + 4
    const head = chunk.latin1Slice(0, bodyAt)
    const length = Number(CONTENT_LENGTH.exec(head)?.[1] ?? -1)
    const isChunked = length < 0 && CHUNKED.test(head)
    if (!head.startsWith('HTTP/1.1 200') || (length <= 0 && !isChunked)) {
      this.#fail(new Error(`not the answer that was expected: ${chunk.latin1Slice(0, 1_000)}`))
      return -1
    }
    this.length = isChunked ? 0 : length
    this.hasFailed = false
    this.#line = ''
    this.#left = length
    this.#state = isChunked ? SIZE : BODY
    this.#isFresh = true
    return bodyAt
  }

  /** @returns {number} start of the chunk */
  #chunkSize(/** @type {Buffer} */ chunk, /** @type {number} */ at) {
    const end = chunk.indexOf(10, at)
    this.#line += chunk.latin1Slice(at, end < 0 ? chunk.length : end)
    if (end < 0) return chunk.length
    const size = Number.parseInt(this.#line, 16)
    this.#line = ''
    this.length += size
    this.#left = size + 2
    this.#state = size === 0 ? LAST : CHUNK
    return end + 1
  }

  /** @returns {number} end of the body part */
  #body(/** @type {Buffer} */ chunk, /** @type {number} */ at) {
    const end = Math.min(chunk.length, at + this.#left)
    // Every node writes result or error near the start, so the response need not be parsed.
    if (this.#isFresh) this.hasFailed = FAILED.test(chunk.latin1Slice(at, Math.min(end, at + 60)))
    this.#isFresh = false
    this.#left -= end - at
    // Each chunk is followed by a line end.
    if (this.#state !== LAST)
      this.#kept?.push(chunk.subarray(at, this.#state === BODY ? end : end - Math.max(0, Math.min(end - at, 2 - this.#left))))
    if (this.#left > 0) return end
    if (this.#state === CHUNK) {
      this.#state = SIZE
      return end
    }
    this.#state = HEAD
    this.#done()
    return end
  }
}

const [HEAD, BODY, SIZE, CHUNK, LAST] = [0, 1, 2, 3, 4]

/** A server silent for this long has lost a request. */
const SILENCE_MS = 60_000

const CONTENT_LENGTH = /content-length: *(\d+)/i
const CHUNKED = /transfer-encoding: *chunked/i
const FAILED = /"error"|"result":null/

/** Thrown by `ask` after its timeout. */
export class NoAnswer extends Error {
  /** @override */
  name = 'NoAnswer'

  constructor(/** @type {number} */ silenceMs) {
    super(`no answer for ${silenceMs} ms`)
  }
}
