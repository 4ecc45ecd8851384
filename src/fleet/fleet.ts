import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Chain, CommitPort } from '../chain/index.ts'
import type { Intercept } from '../jsonrpc/index.ts'
import type { Caller, NodeRpc } from '../rpc/index.ts'
import type { StorageBackend } from '../store/index.ts'
import { Bus } from './bus.ts'
import { Committer } from './committer.ts'
import { Database } from './database.ts'
import type { Position, StoreChange } from './database.ts'
import { Definition } from './definition.ts'
import type { ChainSettings } from './definition.ts'
import { FleetError } from './errors.ts'
import { answering, forwarding } from './forwarding.ts'
import { FrameFollower } from './framefollower.ts'
import type { FollowerCounts } from './framefollower.ts'
import { FramePublisher } from './framepublisher.ts'
import { LEASE_MS, LEASE_RENEWAL_MS, MAX_LAG_MS } from './limits.ts'
import { RecordingStorage } from './recordingstorage.ts'
import { synchronise } from './synchronise.ts'

/** `sequencer` makes blocks, one at a time in a fleet; `replica` follows it and answers reads. */
export type Role = 'sequencer' | 'replica'

export interface FleetOptions {
  /** URLs of NATS, separated by commas */
  readonly nats: string
  /** URL of PostgreSQL */
  readonly database: string
  readonly role: Role
  /** called when another process has become the sequencer: this one serves nothing any more */
  readonly onDeposed?: (error: Error) => void
}

interface FleetDeps {
  readonly storage: StorageBackend
  /** the chain that the options ask for; null: any */
  readonly chainId: number | null
  readonly onNote: (line: string) => void
  readonly onError: (error: unknown) => void
}

export interface FleetStatus {
  readonly role: Role
  readonly epoch: number
  /** null: the process is ready as far as the fleet is concerned; else a sentence */
  readonly problem: string | null
  /** of a replica, milliseconds */
  readonly lagMs: number
  readonly counts: FollowerCounts
}

const NO_COUNTS: FollowerCounts = { frames: 0, gaps: 0, repairedFrames: 0, resyncs: 0, staleFrames: 0 }

/** One process's part in a fleet. */
export class Fleet {
  readonly role: Role
  readonly storage: RecordingStorage
  readonly #options: FleetOptions
  readonly #deps: FleetDeps
  readonly #database: Database
  /** Where the database stood when its blocks were read. */
  #position: Position
  #definition: Definition | null
  #bus: Bus | null = null
  #committer: Committer | null = null
  #publisher: FramePublisher | null = null
  #follower: FrameFollower | null = null
  #renewal: NodeJS.Timeout | null = null
  #problem: string | null = null
  #early: StoreChange[] = []
  readonly #ends: (() => void)[] = []

  private constructor(options: FleetOptions, deps: FleetDeps, database: Database, position: Position, definition: Definition | null) {
    this.role = options.role
    this.storage = new RecordingStorage(deps.storage)
    this.#options = options
    this.#deps = deps
    this.#database = database
    this.#position = position
    this.#definition = definition
  }

  /** Connects, and brings the storage to the database's blocks. A sequencer waits for the lease. Rejects with FleetError. */
  static async join(options: FleetOptions, deps: FleetDeps): Promise<Fleet> {
    const database = await Database.connect(options.database)
    try {
      const fleet = await Fleet.#joinChain(options, deps, database)
      return fleet
    } catch (error) {
      await database.close()
      throw error
    }
  }

  static async #joinChain(options: FleetOptions, deps: FleetDeps, database: Database): Promise<Fleet> {
    const chain = await database.chain()
    if (chain === null) {
      if (options.role === 'replica')
        throw new FleetError('database', 'the database holds no chain yet; start a sequencer first (--role sequencer)')
      if (deps.storage.height >= 0) {
        throw new FleetError(
          'options',
          'the data directory holds a chain, and the database none; start the first sequencer with an empty directory',
        )
      }
      return new Fleet(options, deps, database, NOWHERE, null).#recordEarly()
    }
    if (deps.chainId !== null && deps.chainId !== chain.chainId) {
      throw new FleetError(
        'database',
        `the database holds the chain ${chain.chainId}, not ${deps.chainId}; use another database, or start with --chain-id ${chain.chainId}`,
      )
    }
    const definition = Definition.decode(chain.definition)
    const fleet = new Fleet(options, deps, database, NOWHERE, definition)
    await fleet.#connect(definition)
    await (options.role === 'sequencer' ? fleet.#lead() : fleet.#follow())
    return fleet
  }

  /** The chain of the database; null: `define` has to be called. */
  get definition(): Definition | null {
    return this.#definition
  }

  /** Of a sequencer: commits before announcements. Null for a replica. */
  get commits(): CommitPort | null {
    if (this.role === 'replica') return null
    const committer = (): Committer | null => this.#committer
    return {
      get isPending() {
        return committer()?.isPending ?? false
      },
      commit: async () => committer()?.commit(),
    }
  }

  /** Writes the chain into an empty database and takes its lease. Call before the chain starts. */
  async define(chain: Chain, settings: ChainSettings): Promise<void> {
    const stored = await this.#database.createChain({ chainId: chain.config.chainId, definition: Definition.encode(chain, settings) })
    const definition = Definition.decode(stored.definition)
    await this.#connect(definition)
    await this.#takeLease()
    this.#definition = definition
    if (this.#position.head >= 0)
      throw new FleetError('database', 'another sequencer has begun a chain in this database at the same time; start this one again')
  }

  /** Publishes what the chain announces, or follows what another process does. */
  start(chain: Chain, rpc: NodeRpc): void {
    const bus = this.#requireBus()
    if (this.role === 'replica') {
      this.#follower?.start(chain, this.#position)
      return
    }
    const { epoch } = this.#position
    const publisher = new FramePublisher({ chain, bus, epoch, commit: () => this.#committer?.newest ?? 0 })
    this.#publisher = publisher
    this.#ends.push(
      bus.serve(
        'rpc',
        answering(rpc, () => ({ epoch, frame: publisher.newest })),
      ),
    )
  }

  /** Of a replica: what passes requests on. Null for a sequencer. */
  intercept(chain: Chain): Intercept<Caller> | null {
    const follower = this.#follower
    return follower === null ? null : forwarding({ bus: this.#requireBus(), follower, chain })
  }

  status(): FleetStatus {
    const follower = this.#follower
    return {
      role: this.role,
      epoch: follower?.epoch ?? this.#position.epoch,
      problem: this.#problem ?? this.#followerProblem(),
      lagMs: follower?.lagMs ?? 0,
      counts: follower === null ? NO_COUNTS : { ...follower.counts },
    }
  }

  /** A commit that waits for the database is given up, so that the chain can be stopped; the next sequencer has none of it. */
  giveUpWaiting(): void {
    this.#committer?.close()
  }

  /** Ends the lease, so that another sequencer need not wait. Call after the chain was stopped. */
  async close(): Promise<void> {
    if (this.#renewal !== null) clearInterval(this.#renewal)
    for (const end of this.#ends) end()
    this.#publisher?.close()
    this.#committer?.close()
    await this.#follower?.close()
    if (this.#committer !== null) await this.#database.endLease(this.#position.epoch).catch(() => undefined)
    await this.#bus?.close()
    await this.#database.close()
  }

  /** Keeps block 0, which is stored before there is a lease to commit it under. */
  #recordEarly(): this {
    this.storage.record((change) => this.#early.push(change))
    return this
  }

  async #connect({ id }: Definition): Promise<void> {
    const { onNote } = this.#deps
    this.#bus = await Bus.connect({ url: this.#options.nats, chain: id, onNote })
    if (this.role === 'sequencer' && !(await this.#bus.captureFrames())) {
      onNote('NATS has no JetStream (nats-server -js): a replica that misses a message reads the chain from PostgreSQL')
    }
  }

  async #lead(): Promise<void> {
    await this.#takeLease()
    await this.#read()
  }

  async #follow(): Promise<void> {
    const { onError } = this.#deps
    // Frames that come while the blocks are read wait.
    this.#follower = new FrameFollower({ bus: this.#requireBus(), database: this.#database, onError })
    await this.#read()
  }

  /** Reads until nothing was committed meanwhile. */
  async #read(): Promise<void> {
    const { onNote } = this.#deps
    let position = await this.#database.position()
    for (let lastNoteMs = performance.now(); ;) {
      await synchronise(this.#deps.storage, this.#database, position.head, (number, head) => {
        if (performance.now() - lastNoteMs < NOTE_MS || number === head) return
        lastNoteMs = performance.now()
        onNote(`reading the chain: block ${number.toLocaleString('en-US')} of ${head.toLocaleString('en-US')}`)
      })
      const now = await this.#database.position()
      const isSame = now.commit === position.commit
      position = now
      if (isSame) break
    }
    this.#position = this.role === 'sequencer' ? { ...position, epoch: this.#position.epoch } : position
  }

  async #takeLease(): Promise<void> {
    const holder = `${hostname()} ${process.pid} ${randomBytes(HOLDER_BYTES).toString('hex')}`
    for (let isWaiting = false; ; isWaiting = true) {
      const epoch = await this.#database.takeLease(holder, LEASE_MS)
      if (epoch !== null) {
        this.#position = { ...(await this.#database.position()), epoch }
        break
      }
      if (!isWaiting)
        this.#deps.onNote(
          `${(await this.#database.position()).holder ?? 'another process'} is the sequencer; this one waits for its lease to end`,
        )
      await new Promise((resolve) => setTimeout(resolve, LEASE_RENEWAL_MS))
    }
    const { onError } = this.#deps
    this.#committer = new Committer({
      database: this.#database,
      position: this.#position,
      nextFrame: () => (this.#publisher?.newest ?? 0) + 1,
      onDeposed: (error) => this.#onDeposed(error),
      onReachable: (isReachable, reason) => {
        this.#problem = isReachable ? null : reason
        this.#deps.onNote(
          isReachable ? 'PostgreSQL can be reached again; blocks are sealed' : `no block is sealed until it is mended: ${reason}`,
        )
      },
    })
    for (const change of this.#early.splice(0)) this.#committer.add(change)
    this.storage.record(this.#committer.add)
    this.#renewal = setInterval(() => void this.#renew().catch(onError), LEASE_RENEWAL_MS)
  }

  async #renew(): Promise<void> {
    try {
      if (await this.#database.renewLease(this.#position.epoch, LEASE_MS)) return
    } catch (error) {
      // The lease may end meanwhile; the next commit decides.
      if (error instanceof FleetError) return
      throw error
    }
    this.#onDeposed(new FleetError('deposed', 'another process is the sequencer now; this one stops'))
  }

  #onDeposed(error: FleetError): void {
    if (this.#problem === error.message) return
    this.#problem = error.message
    if (this.#renewal !== null) clearInterval(this.#renewal)
    for (const end of this.#ends.splice(0)) end()
    this.#publisher?.close()
    this.#options.onDeposed?.(error)
  }

  #followerProblem(): string | null {
    if (this.#follower === null) return null
    const { hasGap, silenceMs, lagMs } = this.#follower
    if (hasGap) return 'messages of the sequencer are missing and are being fetched'
    if (silenceMs > MAX_LAG_MS)
      return `nothing came from the sequencer for ${silenceMs === Infinity ? 'this long' : `${Math.round(silenceMs)} ms`}`
    return lagMs > MAX_LAG_MS ? `the newest message came ${lagMs} ms after it was sent` : null
  }

  #requireBus(): Bus {
    if (this.#bus === null) throw new Error('the fleet is not connected')
    return this.#bus
  }
}

const NOWHERE: Position = { epoch: 0, holder: null, leaseMs: null, commit: 0, frame: 1, head: -1 }
const HOLDER_BYTES = 3
/** Milliseconds between notes about the progress of a start. */
const NOTE_MS = 1_000
