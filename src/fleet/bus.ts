import type { JetStreamManager } from '@nats-io/jetstream'
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { FleetError } from './errors.ts'
import {
  BUS_BYTES,
  CAPTURE_RETRY_MS,
  CAPTURED_BYTES,
  CAPTURED_MS,
  CLOSE_MS,
  CONNECT_MS,
  JOINED_BYTES,
  MIN_PAYLOAD_BYTES,
  PING_MS,
  RECONNECT_MS,
  REPAIR_MS,
} from './limits.ts'
import { loadLibraries } from './libraries.ts'
import type { Libraries } from './libraries.ts'

export interface BusOptions {
  /** `nats://user:password@host:port`, or `nats://token@host:port`; several servers of one cluster are separated by commas */
  readonly url: string
  /** part of all subjects: letters, digits and dashes */
  readonly chain: string
  /** receives a line when the connection is lost or found again */
  readonly onNote: (line: string) => void
}

/** The kinds of requests between processes. */
export type Service = 'rpc' | 'paymaster' | 'status' | 'hand-over'

type OnFrame = (epoch: number, number: number, frame: Uint8Array) => void

/**
 * The messages between the processes of a fleet, over NATS. Frames go over a core subject, which has no leader and therefore no pause, and a JetStream
 * stream captures them for receivers that missed some. Their content is opaque here. Methods that return a Promise reject with FleetError.
 */
export class Bus {
  readonly #nats: NatsConnection
  readonly #chain: string
  readonly #library: Libraries
  readonly #serverCount: number
  readonly #onNote: (line: string) => void
  /** Messages whose other parts are still to come, oldest first. */
  readonly #parts = new Map<string, Parts>()
  /** Names this process in the parts that it sends. */
  readonly #sender: string
  #sent = 0
  #stream: JetStreamManager | null = null
  #capturesFrames = false
  #retry: NodeJS.Timeout | undefined
  #isConnected = true
  /** Each ends a request that waits for its answer. */
  readonly #requests = new Set<(error: FleetError) => void>()

  private constructor(nats: NatsConnection, library: Libraries, serverCount: number, { chain, onNote }: BusOptions) {
    this.#serverCount = serverCount
    this.#nats = nats
    this.#chain = chain
    this.#library = library
    this.#onNote = onNote
    this.#sender = library.createInbox()
  }

  static async connect(options: BusOptions): Promise<Bus> {
    const library = await loadLibraries()
    const { servers, ...credentials } = serversOf(options.url)
    const names = servers.join(', ')
    let nats: NatsConnection
    try {
      nats = await library.connect({
        servers: [...servers],
        ...credentials,
        timeout: CONNECT_MS,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_MS,
        pingInterval: PING_MS,
        // A server whose credentials are being changed refuses them for a while.
        ignoreAuthErrorAbort: true,
        name: 'pocketchain',
      })
    } catch (error) {
      throw busError(error, names)
    }
    const payloadBytes = nats.info?.max_payload ?? DEFAULT_PAYLOAD
    if (payloadBytes < MIN_PAYLOAD_BYTES) {
      await nats.close()
      throw new FleetError(
        'options',
        `NATS at ${names} accepts messages of ${payloadBytes} bytes; set max_payload of nats-server to at least ${MIN_PAYLOAD_BYTES}`,
      )
    }
    const bus = new Bus(nats, library, servers.length, options)
    void bus.#watch(names)
    return bus
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /**
   * Makes the stream that captures frames, on one server or three of a cluster, and again after each reconnection: a server may have lost its disk. Resolves
   * to null, or to the reason why frames are not captured; then it is tried again.
   */
  async captureFrames(): Promise<string | null> {
    clearTimeout(this.#retry)
    const reason = await this.#makeStream()
    clearTimeout(this.#retry)
    this.#retry = reason === null ? undefined : setTimeout(() => void this.captureFrames(), CAPTURE_RETRY_MS).unref()
    this.#capturesFrames = true
    return reason
  }

  /** Sends a frame to all receivers. Does not wait: numbers show a receiver what it missed. */
  publish(epoch: number, number: number, frame: Uint8Array): void {
    if (frame.length > BUS_BYTES) {
      this.#onNote(`${tooLarge('a frame', frame)}: it is not sent, and replicas read the chain from PostgreSQL`)
      return
    }
    const subject = this.#subjectOf(epoch, number)
    const parts = [...this.#split('a frame', frame)]
    for (const [index, part] of parts.entries()) this.#send(index === parts.length - 1 ? subject : partSubject(subject, index), part)
  }

  /** Returns the function that ends it. */
  subscribe(onFrame: OnFrame): () => void {
    const subscription = this.#nats.subscribe(`${this.#prefix}.frames.>`, {
      callback: (error, message) => {
        if (error !== null) return
        const frame = this.#joined(message)
        const [epoch, number] = message.subject.slice(`${this.#prefix}.frames.`.length).split('.').map(Number)
        if (frame !== null && number !== undefined && epoch !== undefined) onFrame(epoch, number, frame)
      },
    })
    return () => subscription.unsubscribe()
  }

  /** Returns captured frames; null for one that is not held, or held in part. */
  async fetch(epoch: number, from: number, to: number): Promise<readonly (Uint8Array | null)[]> {
    this.#stream ??= await this.#managerOrNull()
    const manager = this.#stream
    const count = Math.max(0, to - from + 1)
    if (manager === null) return Array.from({ length: count }, () => null)
    return Promise.all(Array.from({ length: count }, (_, index) => this.#captured(manager, this.#subjectOf(epoch, from + index))))
  }

  /**
   * Sends a request to the process that serves. Rejects immediately when none does, when there is no connection or it is lost, and with the reason of
   * `signal`. After `no-sequencer` the request was not received, after `unavailable` it may have been.
   */
  async request(service: Service, body: Uint8Array, timeoutMs: number, signal?: AbortSignal): Promise<Uint8Array> {
    signal?.throwIfAborted()
    // The client drops what is published without a connection.
    if (!this.#isConnected) throw new FleetError('no-sequencer', 'this process is not connected to NATS now; repeat the request')
    const parts = [...this.#split('the request', body)]
    const inbox = this.#library.createInbox()
    const subject = `${this.#prefix}.${service}`
    return new Promise<Uint8Array>((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        subscription.unsubscribe()
        this.#requests.delete(fail)
        signal?.removeEventListener('abort', onAbort)
        settle()
      }
      const fail = (error: FleetError) => end(() => reject(error))
      const onAbort = () => fail(signal?.reason as FleetError) // the caller aborts with one
      const timer = setTimeout(
        () => fail(new FleetError('unavailable', `the sequencer did not answer within ${timeoutMs} ms; ${UNCERTAIN}`)),
        timeoutMs,
      )
      const subscription = this.#nats.subscribe(inbox, {
        callback: (error, message) => {
          if (error !== null) return fail(busError(error, this.#nats.getServer()))
          if (message.headers?.code === NO_RESPONDERS) {
            return fail(
              new FleetError('no-sequencer', 'no sequencer is running; start one, or repeat the request when a standby has taken over'),
            )
          }
          if (isFailure(message)) return fail(new FleetError('unavailable', message.string()))
          const reply = this.#joined(message)
          if (reply !== null) end(() => resolve(reply))
        },
      })
      this.#requests.add(fail)
      signal?.addEventListener('abort', onAbort)
      for (const part of parts) this.#send(subject, part, inbox)
    })
  }

  /** Requests from all processes that serve, and returns the responses that arrived in time. */
  async requestAll(service: Service, timeMs: number): Promise<readonly Uint8Array[]> {
    const inbox = this.#library.createInbox()
    const replies: Uint8Array[] = []
    const subscription = this.#nats.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null || message.headers?.code === NO_RESPONDERS || isFailure(message)) return
        const reply = this.#joined(message)
        if (reply !== null) replies.push(reply)
      },
    })
    this.#send(`${this.#prefix}.${service}`, [new Uint8Array(0), null], inbox)
    await new Promise((resolve) => setTimeout(resolve, timeMs))
    subscription.unsubscribe()
    return replies
  }

  /** Answers requests of other processes, those of one service; the requester gets a failure of `handle` as FleetError. Returns the function that ends it. */
  serve(service: Service, handle: (body: Uint8Array) => Promise<Uint8Array>): () => void {
    const subscription = this.#nats.subscribe(`${this.#prefix}.${service}`, {
      callback: (error, message) => {
        if (error !== null || message.reply === undefined) return
        const body = this.#joined(message)
        if (body !== null) void this.#answer(message.reply, () => handle(body))
      },
    })
    // Requests in flight are still answered.
    return () => void subscription.drain().catch(() => undefined)
  }

  /** Resolves when everything that was published has left this process. */
  async flush(): Promise<void> {
    if (!this.#nats.isClosed()) await this.#nats.flush()
  }

  async close(): Promise<void> {
    this.#capturesFrames = false
    clearTimeout(this.#retry)
    // The client sets no limit for the answer of a server that has vanished.
    if (this.#isConnected) await atMost(CLOSE_MS, this.#nats.drain())
    await atMost(CLOSE_MS, this.#nats.close())
  }

  async #watch(servers: string): Promise<void> {
    for await (const { type } of this.#nats.status()) {
      if (type === 'disconnect') {
        this.#loseConnection()
        this.#onNote(`the connection to NATS at ${servers} is lost; it is tried again`)
      } else if (type === 'reconnect') {
        this.#isConnected = true
        if (this.#capturesFrames) void this.captureFrames()
        this.#onNote(`connected to NATS at ${this.#nats.getServer()} again`)
      }
    }
    this.#loseConnection()
  }

  #loseConnection(): void {
    this.#isConnected = false
    // Their other parts were sent to a connection that is gone.
    this.#parts.clear()
    for (const fail of [...this.#requests])
      fail(new FleetError('unavailable', `the connection to NATS was lost during the request; ${UNCERTAIN}`))
  }

  get #prefix(): string {
    return `pocketchain.${this.#chain}`
  }

  get #streamName(): string {
    return `pocketchain-${this.#chain}`
  }

  #subjectOf(epoch: number, number: number): string {
    return `${this.#prefix}.frames.${epoch}.${number}`
  }

  async #answer(reply: string, handle: () => Promise<Uint8Array>): Promise<void> {
    let parts: readonly Part[]
    try {
      parts = [...this.#split('the answer', await handle())]
    } catch (error) {
      const headers = this.#library.headers()
      headers.set(FAILURE, '1')
      parts = [[Buffer.from(error instanceof FleetError ? error.message : `the sequencer failed: ${String(error)}; ${UNCERTAIN}`), headers]]
    }
    for (const part of parts) this.#send(reply, part)
  }

  #send(subject: string, [bytes, headers]: Part, reply?: string): void {
    if (this.#nats.isClosed()) return
    this.#nats.publish(subject, bytes, { ...(reply === undefined ? {} : { reply }), ...(headers === null ? {} : { headers }) })
  }

  async #makeStream(): Promise<string | null> {
    this.#stream ??= await this.#managerOrNull()
    const manager = this.#stream
    if (manager === null) return 'NATS has no JetStream now (nats-server -js)'
    const { connect_urls, cluster } = this.#nats.info ?? {}
    const isCluster = cluster !== undefined && Math.max(this.#serverCount, connect_urls?.length ?? 1) >= CLUSTER
    const config = {
      subjects: [`${this.#prefix}.frames.>`],
      max_age: CAPTURED_MS * NANOSECONDS,
      max_bytes: CAPTURED_BYTES,
      // Without limits of another maker of the stream.
      max_msgs: -1,
      max_msgs_per_subject: -1,
      max_msg_size: -1,
      discard: 'old' as const,
      num_replicas: isCluster ? CLUSTER : 1,
      allow_direct: true,
    }
    const name = this.#streamName
    try {
      const exists = await manager.streams.info(name).catch(() => null)
      if (exists !== null) await manager.streams.update(name, config)
      else await manager.streams.add({ ...config, name, storage: 'file', retention: 'limits' })
      return null
    } catch (error) {
      return `JetStream does not keep the stream ${name} (${error instanceof Error ? error.message : String(error)})`
    }
  }

  async #managerOrNull(): Promise<JetStreamManager | null> {
    try {
      return await this.#library.jetstreamManager(this.#nats, { timeout: CONNECT_MS })
    } catch {
      return null
    }
  }

  async #captured(manager: JetStreamManager, subject: string): Promise<Uint8Array | null> {
    const last = await this.#stored(manager, { last_by_subj: subject })
    if (last === null) return null
    const place = last.header.get(PART)
    if (place === '') return last.data
    const count = Number(place.split('/')[1])
    if (!(count > 1 && count <= MAX_PARTS)) return null
    const others = await Promise.all(
      Array.from({ length: count - 1 }, (_, index) => this.#stored(manager, { last_by_subj: partSubject(subject, index) })),
    )
    const id = last.header.get(PART_OF)
    const parts = [...others, last].map((part) => (part?.header.get(PART_OF) === id ? part.data : null))
    return parts.includes(null) ? null : Buffer.concat(parts.filter((part) => part !== null))
  }

  async #stored(manager: JetStreamManager, query: { last_by_subj: string }) {
    try {
      return await withTimeout(manager.direct.getMessage(this.#streamName, query), REPAIR_MS)
    } catch {
      return null
    }
  }

  /** The message itself, or parts with headers if it is larger than the server accepts. Throws FleetError beyond the limit. */
  *#split(what: string, bytes: Uint8Array): Generator<Part> {
    if (bytes.length > BUS_BYTES) throw new FleetError('unavailable', `${tooLarge(what, bytes)}; ask for less`)
    const maxPartBytes = (this.#nats.info?.max_payload ?? DEFAULT_PAYLOAD) - HEADER_BYTES
    const count = Math.ceil(bytes.length / maxPartBytes)
    if (count <= 1) {
      yield [bytes, null]
      return
    }
    const id = `${this.#sender}.${this.#sent++}`
    for (let index = 0; index < count; index++) {
      const headers = this.#library.headers()
      headers.set(PART, `${index}/${count}`)
      headers.set(PART_OF, id)
      yield [bytes.subarray(index * maxPartBytes, (index + 1) * maxPartBytes), headers]
    }
  }

  /** Returns the whole message with its last part; null until then, and for parts of a message whose others are missing. */
  #joined(message: Msg): Uint8Array | null {
    const place = message.headers?.get(PART) ?? ''
    if (place === '') return message.data
    const [index = 0, count = 0] = place.split('/').map(Number)
    const key = `${message.sid} ${message.headers?.get(PART_OF)}`
    const parts: Parts | undefined = index === 0 ? { bytes: [], sizeBytes: 0 } : this.#parts.get(key)
    this.#parts.delete(key)
    if (parts === undefined || parts.bytes.length !== index || parts.sizeBytes + message.data.length > BUS_BYTES) return null
    parts.bytes.push(message.data)
    parts.sizeBytes += message.data.length
    if (parts.bytes.length === count) return Buffer.concat(parts.bytes)
    this.#parts.set(key, parts)
    this.#dropOldest()
    return null
  }

  /** The messages that have received no part for the longest time: their senders have ended. */
  #dropOldest(): void {
    let sizeBytes = 0
    for (const parts of this.#parts.values()) sizeBytes += parts.sizeBytes
    for (const [key, parts] of this.#parts) {
      if (sizeBytes <= JOINED_BYTES) return
      this.#parts.delete(key)
      sizeBytes -= parts.sizeBytes
    }
  }
}

/** A message, or a part of one. */
type Part = readonly [bytes: Uint8Array, headers: MsgHdrs | null]

/** Those of one message that have arrived. */
interface Parts {
  readonly bytes: Uint8Array[]
  sizeBytes: number
}

/** Advice to a client after a request whose response was lost. */
export const UNCERTAIN = 'it may have been executed: look for its effect before you repeat it'
const PART = 'Pocketchain-Part'
/** Key of one message of one sender: the parts of several messages can alternate. */
const PART_OF = 'Pocketchain-Part-Of'
/** In place of an answer: the message is the reason. */
const FAILURE = 'Pocketchain-Failure'
/** Room for the headers of a part. */
const HEADER_BYTES = 512
/** Parts of the largest message over a server with the smallest message size. */
const MAX_PARTS = Math.ceil(BUS_BYTES / (MIN_PAYLOAD_BYTES - HEADER_BYTES))
/** Default of NATS servers. */
const DEFAULT_PAYLOAD = 2 ** 20
const NO_RESPONDERS = 503
const CLUSTER = 3
const NANOSECONDS = 1_000_000

/** Suffix of the subject of all parts but the last, so that JetStream finds each by its subject. */
function partSubject(subject: string, index: number): string {
  return `${subject}.${index}`
}

function isFailure({ headers }: Msg): boolean {
  return headers?.has(FAILURE) === true
}

function tooLarge(what: string, { length }: Uint8Array): string {
  return `${what} has ${length} bytes, above the limit of ${BUS_BYTES}`
}

function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('timed out')), timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function serversOf(url: string): {
  readonly servers: readonly string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
} {
  const urls = url.split(',').map((each) => each.trim())
  let [user, pass] = ['', '']
  const servers = urls.map((each) => {
    let parsed: URL
    try {
      parsed = new URL(each)
    } catch {
      throw unreadable()
    }
    if (parsed.protocol !== 'nats:' && parsed.protocol !== 'tls:')
      throw new FleetError('options', `the URL of NATS begins with ${parsed.protocol}//, not with nats://`)
    if (parsed.username !== '') [user, pass] = [decoded(parsed.username), decoded(parsed.password)]
    return `${parsed.protocol}//${parsed.host}`
  })
  if (user === '') return { servers }
  return pass === '' ? { servers, token: user } : { servers, user, pass }
}

/** Resolves when `work` has settled, or after `timeMs`. */
async function atMost(timeMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeMs)))
  await Promise.race([work.catch(() => undefined), expired])
  clearTimeout(timer)
}

/** Throws FleetError, which does not contain the text. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw unreadable()
  }
}

function unreadable(): FleetError {
  return new FleetError('options', 'the URL of NATS cannot be read; it has the form nats://user:password@host:4222')
}

function busError(error: unknown, servers: string): FleetError {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  if (/authorization|authentication|permission/i.test(message)) {
    return new FleetError(
      'credentials',
      `NATS at ${servers} refuses the user; check the user and the password, or the token, in the URL`,
      error,
    )
  }
  return new FleetError(
    'unavailable',
    `NATS at ${servers} cannot be reached (${error instanceof Error ? error.message : message}); check that nats-server runs, and the host and port in the URL`,
    error,
  )
}
