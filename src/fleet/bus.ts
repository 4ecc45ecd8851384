import type { JetStreamManager } from '@nats-io/jetstream'
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { FleetError } from './errors.ts'
import { BUS_BYTES, CONNECT_MS, CAPTURED_BYTES, CAPTURED_MS, REPAIR_MS } from './limits.ts'
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

/** What a process asks the sequencer for. */
export type Service = 'rpc' | 'paymaster' | 'status' | 'hand-over'

type OnFrame = (epoch: number, number: number, frame: Uint8Array) => void

/**
 * The messages between the processes of a fleet, over NATS. Frames go over a core subject, which has no leader and therefore no pause, and a JetStream
 * stream captures them for receivers that missed some. Nothing is known of their content. Methods that return a Promise reject with FleetError.
 */
export class Bus {
  readonly #nats: NatsConnection
  readonly #chain: string
  readonly #library: Libraries
  readonly #serverCount: number
  readonly #parts = new Map<string, Parts>()
  #stream: JetStreamManager | null = null
  #isConnected = true
  /** Each ends a request that waits for its answer. */
  readonly #requests = new Set<(error: FleetError) => void>()

  private constructor(nats: NatsConnection, chain: string, library: Libraries, serverCount: number) {
    this.#serverCount = serverCount
    this.#nats = nats
    this.#chain = chain
    this.#library = library
  }

  static async connect({ url, chain, onNote }: BusOptions): Promise<Bus> {
    const library = await loadLibraries()
    const { servers, ...credentials } = serversOf(url)
    let nats: NatsConnection
    try {
      nats = await library.connect({
        servers: [...servers],
        ...credentials,
        timeout: CONNECT_MS,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_MS,
        name: 'pocketchain',
      })
    } catch (error) {
      throw busError(error, servers.join(', '))
    }
    const bus = new Bus(nats, chain, library, servers.length)
    void bus.#watch(servers.join(', '), onNote)
    return bus
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Makes the stream that captures frames, on one server or three of a cluster. Returns false if JetStream is off. */
  async captureFrames(): Promise<boolean> {
    try {
      const manager = await this.#library.jetstreamManager(this.#nats, { timeout: CONNECT_MS })
      const replicas = Math.max(this.#serverCount, this.#nats.info?.connect_urls?.length ?? 1) >= CLUSTER ? CLUSTER : 1
      const config = {
        name: this.#streamName,
        subjects: [`${this.#prefix}.frames.>`],
        max_age: CAPTURED_MS * NANOSECONDS,
        max_bytes: CAPTURED_BYTES,
        num_replicas: replicas,
        allow_direct: true,
      }
      try {
        await manager.streams.add({ ...config, storage: 'file', retention: 'limits', discard: 'old' })
      } catch {
        await manager.streams.update(this.#streamName, config)
      }
      this.#stream = manager
      return true
    } catch {
      return false
    }
  }

  /** Sends a frame to all receivers. Does not wait: numbers show a receiver what it missed. */
  publish(epoch: number, number: number, frame: Uint8Array): void {
    const subject = `${this.#prefix}.frames.${epoch}.${number}`
    for (const [part, headers] of this.#split(frame))
      if (!this.#nats.isClosed()) this.#nats.publish(subject, part, headers === null ? {} : { headers })
  }

  /** Returns the function that ends it. */
  subscribe(onFrame: OnFrame): () => void {
    const subscription = this.#nats.subscribe(`${this.#prefix}.frames.>`, {
      callback: (error, message) => {
        if (error !== null) return
        const frame = this.#joined(message)
        const [number, epoch] = message.subject.split('.').toReversed().map(Number)
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
    return Promise.all(
      Array.from({ length: count }, (_, index) => this.#captured(manager, `${this.#prefix}.frames.${epoch}.${from + index}`)),
    )
  }

  /** Asks the process that serves. Rejects at once when nobody does, when the connection is lost, and when `signal` is aborted, with its reason. */
  async request(service: Service, body: Uint8Array, timeoutMs: number, signal?: AbortSignal): Promise<Uint8Array> {
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
          const reply = this.#joined(message)
          if (reply !== null) end(() => resolve(reply))
        },
      })
      this.#requests.add(fail)
      signal?.addEventListener('abort', onAbort)
      for (const [part, headers] of this.#split(body, inbox)) {
        this.#nats.publish(subject, part, headers === null ? { reply: inbox } : { reply: inbox, headers })
      }
    })
  }

  /** Asks all processes that serve, and returns what came within the time. */
  async requestAll(service: Service, timeMs: number): Promise<readonly Uint8Array[]> {
    const inbox = this.#library.createInbox()
    const replies: Uint8Array[] = []
    const subscription = this.#nats.subscribe(inbox, {
      callback: (error, message) => {
        const reply = error === null && message.headers?.code !== NO_RESPONDERS ? this.#joined(message) : null
        if (reply !== null) replies.push(reply)
      },
    })
    this.#nats.publish(`${this.#prefix}.${service}`, new Uint8Array(0), { reply: inbox })
    await new Promise((resolve) => setTimeout(resolve, timeMs))
    subscription.unsubscribe()
    return replies
  }

  /** Answers requests of other processes, those of one service. Returns the function that ends it. */
  serve(service: Service, handle: (body: Uint8Array) => Promise<Uint8Array>): () => void {
    const subscription = this.#nats.subscribe(`${this.#prefix}.${service}`, {
      callback: (error, message) => {
        if (error !== null || message.reply === undefined) return
        const body = this.#joined(message)
        if (body !== null) void this.#answer(message.reply, handle(body))
      },
    })
    // What is on its way is still answered.
    return () => void subscription.drain().catch(() => undefined)
  }

  /** Resolves when everything that was published has left this process. */
  async flush(): Promise<void> {
    if (!this.#nats.isClosed()) await this.#nats.flush()
  }

  async close(): Promise<void> {
    if (this.#nats.isClosed()) return
    // A connection that is lost cannot be drained.
    await this.#nats.drain().catch(() => this.#nats.close())
  }

  async #watch(servers: string, onNote: (line: string) => void): Promise<void> {
    for await (const { type } of this.#nats.status()) {
      if (type === 'disconnect') {
        this.#isConnected = false
        for (const fail of [...this.#requests])
          fail(new FleetError('unavailable', `the connection to NATS was lost during the request; ${UNCERTAIN}`))
        onNote(`the connection to NATS at ${servers} is lost; it is tried again`)
      } else if (type === 'reconnect') {
        this.#isConnected = true
        onNote(`connected to NATS at ${this.#nats.getServer()} again`)
      }
    }
    this.#isConnected = false
  }

  get #prefix(): string {
    return `pocketchain.${this.#chain}`
  }

  get #streamName(): string {
    return `pocketchain-${this.#chain}`
  }

  async #answer(reply: string, answer: Promise<Uint8Array>): Promise<void> {
    const bytes = await answer
    for (const [part, headers] of this.#split(bytes, reply))
      if (!this.#nats.isClosed()) this.#nats.publish(reply, part, headers === null ? {} : { headers })
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
    const count = partCount(last.header)
    if (count === 1) return last.data
    // The parts of a frame follow each other, with others of other subjects in between at most if two sequencers send.
    const parts = await Promise.all(
      Array.from({ length: count - 1 }, (_, index) => this.#stored(manager, { seq: last.seq - count + 1 + index })),
    )
    const all = [...parts, last]
    if (all.some((part) => part === null || part.subject !== subject)) return null
    return Buffer.concat(all.map((part) => part!.data)) // none is null
  }

  async #stored(manager: JetStreamManager, query: { last_by_subj: string } | { seq: number }) {
    try {
      return await withTimeout(manager.direct.getMessage(this.#streamName, query), REPAIR_MS)
    } catch {
      return null
    }
  }

  /** The message itself, or parts with headers if it is larger than the server accepts. */
  *#split(bytes: Uint8Array, id?: string): Generator<readonly [Uint8Array, MsgHdrs | null]> {
    const most = (this.#nats.info?.max_payload ?? DEFAULT_PAYLOAD) - HEADER_BYTES
    const count = Math.ceil(bytes.length / most)
    if (count <= 1) {
      yield [bytes, null]
      return
    }
    if (bytes.length > BUS_BYTES)
      throw new FleetError('unavailable', `a message of ${bytes.length} bytes exceeds the limit of ${BUS_BYTES}`)
    for (let index = 0; index < count; index++) {
      const headers = this.#library.headers()
      headers.set(PART, `${index}/${count}`)
      if (id !== undefined) headers.set(PART_OF, id)
      yield [bytes.subarray(index * most, (index + 1) * most), headers]
    }
  }

  /** Returns the whole message with its last part; null until then, and for parts of a message whose others are missing. */
  #joined(message: Msg): Uint8Array | null {
    const place = message.headers?.get(PART) ?? ''
    if (place === '') return message.data
    const [index = 0, count = 0] = place.split('/').map(Number)
    const key = message.headers?.get(PART_OF) || message.subject
    const parts = index === 0 ? { bytes: [], sizeBytes: 0 } : this.#parts.get(key)
    if (parts === undefined || parts.bytes.length !== index || parts.sizeBytes + message.data.length > BUS_BYTES) {
      this.#parts.delete(key)
      return null
    }
    parts.bytes.push(message.data)
    parts.sizeBytes += message.data.length
    if (parts.bytes.length < count) {
      if (this.#parts.size >= JOINED_MESSAGES) this.#parts.clear()
      this.#parts.set(key, parts)
      return null
    }
    this.#parts.delete(key)
    return Buffer.concat(parts.bytes)
  }
}

/** A message whose other parts are still to come. */
interface Parts {
  readonly bytes: Uint8Array[]
  sizeBytes: number
}

/** How a client goes on after a request whose answer was lost. */
export const UNCERTAIN = 'it may have been executed: look for its effect before you repeat it'
const PART = 'Pocketchain-Part'
const PART_OF = 'Pocketchain-Part-Of'
/** Room for the headers of a part. */
const HEADER_BYTES = 512
/** Of a NATS server without another setting. */
const DEFAULT_PAYLOAD = 2 ** 20
/** Messages in parts at a time; beyond it those of crashed senders are dropped with the others. */
const JOINED_MESSAGES = 64
const NO_RESPONDERS = 503
const CLUSTER = 3
const NANOSECONDS = 1_000_000
/** Milliseconds between two attempts to connect again. */
const RECONNECT_MS = 250

function partCount(header: MsgHdrs): number {
  return Number(header.get(PART).split('/')[1] ?? 1) || 1
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
      throw new FleetError('options', 'the URL of NATS cannot be read; it has the form nats://user:password@host:4222')
    }
    if (parsed.protocol !== 'nats:' && parsed.protocol !== 'tls:')
      throw new FleetError('options', `the URL of NATS begins with ${parsed.protocol}//, not with nats://`)
    if (parsed.username !== '') [user, pass] = [decodeURIComponent(parsed.username), decodeURIComponent(parsed.password)]
    return `${parsed.protocol}//${parsed.host}`
  })
  if (user === '') return { servers }
  return pass === '' ? { servers, token: user } : { servers, user, pass }
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
