import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Chain, CommitPort } from '../chain/index.ts'
import { Fields, Hex, Rlp } from '../eth/index.ts'
import { CODE, Endpoint, JSON_WRITER, RpcError, toRpcErrorBy } from '../jsonrpc/index.ts'
import type { Intercept } from '../jsonrpc/index.ts'
import type { Caller, NodeRpc } from '../rpc/index.ts'
import type { StorageBackend } from '../store/index.ts'
import { Bus } from './bus.ts'
import { Committer } from './committer.ts'
import { Database, configOf } from './database.ts'
import type { FleetChain, Position, StoreChange } from './database.ts'
import { Definition } from './definition.ts'
import type { ChainSettings } from './definition.ts'
import { FleetError } from './errors.ts'
import { answering, forwarding, isLocal, notSequencer, poolPromised, requestSequencer } from './forwarding.ts'
import { FrameFollower } from './framefollower.ts'
import type { FollowerCounts } from './framefollower.ts'
import { FramePublisher } from './framepublisher.ts'
import { LeaseThread } from './leasethread.ts'
import { BLOCKS_IN_MEMORY, CLOSE_MS, LEASE_CHECK_MS, LEASE_MS, LEASE_RENEWAL_MS, MAX_LAG_MS, OUTAGE_MS } from './limits.ts'
import { readBlocks } from './readblocks.ts'
import { RecordCommitter } from './recordcommitter.ts'
import { RecordingStorage } from './recordingstorage.ts'
import { synchronise } from './synchronise.ts'

/**
 * `sequencer` builds blocks, one process of a fleet at a time; `replica` follows it and answers reads; `standby` is a replica that becomes the sequencer
 * when the lease of the former one ends.
 */
export type Role = 'sequencer' | 'standby' | 'replica'

export interface FleetOptions {
  /** URLs of NATS, separated by commas */
  readonly nats: string
  /** URL of PostgreSQL */
  readonly database: string
  readonly role: Role
  /** milliseconds for which a sequencer continues to promise transactions while PostgreSQL is unreachable; 2,000 by default */
  readonly outageMs?: number
  /** called when another process has become the sequencer: this one has to be closed */
  readonly onDeposed?: (error: Error) => void
}

interface FleetDeps {
  readonly storage: StorageBackend
  /** the chain of the options; null: any */
  readonly chainId: number | null
  /** aborted if the process ends before the chain is started */
  readonly signal: AbortSignal
  readonly onNote: (line: string) => void
  readonly onError: (error: unknown) => void
}

/** Answers requests to `/paymaster` (ERC-7677). */
interface PaymasterPort {
  readonly handle: (
    body: Uint8Array,
    caller: { readonly apiKey: string | null },
  ) => Promise<{ readonly status: number; readonly body: string }>
}

/** The node of this process. */
interface FleetNode {
  readonly chain: Chain
  readonly rpc: NodeRpc
  /** null: the node has no sponsor */
  readonly paymaster: PaymasterPort | null
  /** Continues wallet, sponsor and bundler from the records of the fleet. */
  readonly onLead: () => Promise<void>
  /** Closes wallet and bundler, and refuses their requests until `onLead`. The next sequencer continues the operations. */
  readonly onFollow: (refusal: () => RpcError) => Promise<void>
  /** The same for the sponsor, when its requests are forwarded already. */
  readonly endSponsor: (refusal: () => RpcError) => Promise<void>
}

export interface FleetStatus {
  readonly role: Role
  readonly isSequencer: boolean
  readonly epoch: number
  /** null: the process is ready; else the reason why it is not, one sentence */
  readonly problem: string | null
  /** lag of a replica */
  readonly lagMs: number
  readonly counts: FollowerCounts
}

const NO_COUNTS: FollowerCounts = { frames: 0, gaps: 0, repairedFrames: 0, resyncs: 0, staleFrames: 0 }

/** A process of the fleet, as it describes itself. */
export interface MemberStatus extends FleetStatus {
  /** host, process and a random part */
  readonly name: string
  readonly head: number
}

/** The parts of a process that exist while it is the sequencer. */
interface Lead {
  readonly epoch: number
  readonly committer: Committer
  readonly records: RecordCommitter
  /** null until the chain is announced */
  publisher: FramePublisher | null
  readonly ends: (() => void)[]
}

/** One process's part in a fleet. */
export class Fleet {
  readonly role: Role
  readonly storage: RecordingStorage
  readonly #options: FleetOptions
  readonly #deps: FleetDeps
  readonly #database: Database
  readonly #holder = `${hostname()} ${process.pid} ${randomBytes(HOLDER_BYTES).toString('hex')}`
  /** The position of the database when its blocks were read. */
  #position: Position = NOWHERE
  #definition: Definition | null
  #bus: Bus | null = null
  #lead: Lead | null = null
  #follower: FrameFollower | null = null
  #intercept: Intercept<Caller> | null = null
  /** The renewals of the lease. */
  #renewal: { readonly timer: NodeJS.Timeout; readonly thread: LeaseThread } | null = null
  /** The timer by which a standby checks the lease. */
  #leaseTimer: NodeJS.Timeout | null = null
  /** Milliseconds by the local clock at which the newest successful renewal was sent. */
  #renewedMs = 0
  /** Of the node of this process, once it is started. */
  #chain: Chain | null = null
  #isStandingIn = false
  /** Resolves at the end of a hand-over that has begun; null: there is none. */
  #handedOver: Promise<void> | null = null
  /** Milliseconds by the local clock: another process takes over first after a hand-over. */
  #mayStandAtMs = 0
  #problem: string | null = null
  #deposed: FleetError | null = null
  #early: StoreChange[] = []
  #isClosed = false
  #isLeaving = false
  /** The process ends, and its last changes may not be committed. */
  #hasUncommitted = false
  /** Timer that ends the last queries of a sequencer that is closed. */
  #abortTimer: NodeJS.Timeout | undefined
  readonly #ends: (() => void)[] = []

  private constructor(options: FleetOptions, deps: FleetDeps, database: Database, definition: Definition | null) {
    this.role = options.role
    this.storage = new RecordingStorage(deps.storage)
    this.#options = options
    this.#deps = deps
    this.#database = database
    this.#definition = definition
  }

  /** Connects, and brings the storage to the database's blocks. A sequencer waits for the lease. Rejects with FleetError. */
  static async join(options: FleetOptions, deps: FleetDeps): Promise<Fleet> {
    const database = await Database.connect(options.database)
    let fleet: Fleet | null = null
    try {
      const chain = await chainOf(database, options, deps)
      if (chain === null) assertEmpty(deps.storage)
      else if (deps.chainId !== null && deps.chainId !== chain.chainId) throw otherChain(chain.chainId, deps.chainId)
      fleet = new Fleet(options, deps, database, chain === null ? null : Definition.decode(chain.definition))
      await fleet.#join()
      return fleet
    } catch (error) {
      await (fleet === null ? database.close() : fleet.close())
      throw error
    }
  }

  /** The chain of the database; null: `define` has to be called. */
  get definition(): Definition | null {
    return this.#definition
  }

  get isSequencer(): boolean {
    return this.#lead !== null || (this.role === 'sequencer' && this.#follower === null)
  }

  /** Resolves when all records of the sequencer are in the database. Rejects with RpcError if they will not be. */
  readonly recordsSettled = async (): Promise<void> => {
    try {
      await this.#lead?.records.settled()
    } catch (error) {
      throw error instanceof FleetError ? notSequencer() : error
    }
  }

  /** Passes requests to the sequencer; null for the sequencer itself. */
  get intercept(): Intercept<Caller> | null {
    if (this.#handedOver !== null) return this.#afterHandOver(this.#handedOver)
    return this.#lead === null ? this.#intercept : null
  }

  /** Changes wait for the end of the hand-over, and go to the next sequencer then. */
  #afterHandOver(handedOver: Promise<void>): Intercept<Caller> {
    return (route, params, run) =>
      isLocal(route.name) ? run() : handedOver.then(() => (this.intercept === null ? run() : this.intercept(route, params, run)))
  }

  /** Commits before announcements; does nothing for a replica. A deposed sequencer announces nothing more. */
  readonly commits: CommitPort = ((fleet: Fleet): CommitPort => ({
    get isPending() {
      return fleet.#deposed !== null || (fleet.#lead?.committer.isPending ?? false)
    },
    get allowed() {
      return fleet.#deposed === null ? (fleet.#lead?.committer.allowed ?? 'blocks') : 'nothing'
    },
    commit: async () => {
      try {
        if (fleet.#deposed === null) await fleet.#lead?.committer.commit()
      } catch (error) {
        if (fleet.#deposed === null) fleet.#noteUncommitted(error)
      }
      // To a request that waited for the commit.
      if (fleet.#deposed !== null || fleet.#hasUncommitted) throw notSequencer()
    },
  }))(this)

  /**
   * Writes the chain into an empty database and takes its lease. Call before the chain starts. Rejects with FleetError `begun` if another process
   * did so since this one joined: join again.
   */
  async define(chain: Chain, settings: ChainSettings): Promise<void> {
    const definition = Definition.encode(chain, settings)
    if (!(await this.#database.createChain({ chainId: chain.config.chainId, definition }))) throw begunElsewhere()
    this.#definition = Definition.decode(definition)
    await this.#connect(this.#definition)
    const epoch = await this.#waitForLease()
    this.#position = await this.#database.position()
    if (this.#position.head >= 0) throw begunElsewhere()
    this.#beginLead(epoch)
    for (const change of this.#early.splice(0)) this.#lead?.committer.add(change)
  }

  /** The blocks up to the head came from a chain file. */
  async noteImported({ head }: Chain): Promise<void> {
    if (this.#lead !== null) await this.#database.noteImported(this.#lead.epoch, head.view.head.header.number)
  }

  /** Starts the chain and publishes what it announces; a replica follows another process in place of that. */
  async start(node: FleetNode): Promise<void> {
    const { chain } = node
    this.#chain = chain
    this.#ends.push(this.#requireBus().serve('status', async () => Buffer.from(JSON.stringify(this.#memberStatus(chain)))))
    const follower = this.#follower
    if (follower !== null) this.#position = await readBlocks(chain, this.#database)
    const { imported } = this.#position
    if (imported > 0) await chain.importBlocks(async ({ markKnown }) => markKnown(imported))
    if (follower === null) {
      this.#announce(node)
      await chain.start()
      await node.onLead()
      return
    }
    this.#follow(follower, chain, this.#position)
    if (this.role === 'standby') this.#watchLease(node)
  }

  /**
   * Ends the lease with every promise sealed, and follows the next sequencer, which receives the remaining pool. Rejects with FleetError for a process that
   * is not the sequencer.
   */
  async handOver(node: FleetNode): Promise<void> {
    const lead = this.#lead
    if (lead === null) throw new FleetError('options', 'this process is not the sequencer')
    await node.onFollow(notSequencer)
    if (this.#handedOver !== null) return
    let resolve: () => void = () => undefined
    this.#handedOver = new Promise((done) => (resolve = done))
    try {
      await this.#handOver(node, lead)
    } catch (error) {
      await this.#resign(lead.epoch, error)
      throw error
    } finally {
      this.#handedOver = null
      resolve()
    }
  }

  async #handOver(node: FleetNode, lead: Lead): Promise<void> {
    const { chain } = node
    await node.endSponsor(notSequencer)
    // The next sequencer does not have the transactions that only wait in this pool, so it lacks their nonces.
    await poolPromised(chain)
    await chain.stop()
    // Waiting changes are still committed; later ones are refused.
    const end = (): boolean => {
      if (lead.committer.isPending) return false
      this.#endLead(lead)
      this.#lead = null
      chain.beginFollowing(notSequencer)
      return true
    }
    while (!(await chain.readSealed(end)));
    await lead.records.settled()
    const follower = new FrameFollower({ bus: this.#requireBus(), database: this.#database, onError: this.#deps.onError })
    this.#follower = follower
    // Not the database's position, which the next sequencer may have changed.
    this.#follow(follower, chain, { epoch: lead.epoch, commit: lead.committer.newest, frame: (lead.publisher?.newest ?? 0) + 1 })
    // Before the lease ends: a process that was a standby already checks the lease.
    this.#mayStandAtMs = performance.now() + LEASE_MS
    // While PostgreSQL is away, the lease ends by itself.
    await this.#database.endLease(lead.epoch).catch((error: unknown) => {
      if (!(error instanceof FleetError)) throw error
    })
    this.#deps.onNote('the lease was handed over; this process is a standby now')
    this.#watchLease(node)
  }

  /** The sponsor of the sequencer. Its answers are in the database. */
  paymaster(own: PaymasterPort): PaymasterPort {
    return {
      handle: async (body, caller) => {
        await this.#handedOver
        try {
          const lead = this.#lead
          if (lead !== null) {
            const response = await own.handle(body, caller)
            await lead.records.settled()
            // The next sequencer may not count what was promised meanwhile.
            if (this.#lead !== lead || this.#handedOver !== null) throw new FleetError('no-sequencer', HANDED_OVER)
            return response
          }
          const request = Rlp.encode([Buffer.from(caller.apiKey ?? ''), body])
          const follower = this.#follower
          if (follower === null) throw new FleetError('no-sequencer', HANDED_OVER)
          return readResponse(await requestSequencer({ bus: this.#requireBus(), follower }, 'paymaster', request))
        } catch (error) {
          if (!(error instanceof FleetError)) throw error
          return { status: 503, body: await refusalOf(body, error, this.#deps.onError) }
        }
      },
    }
  }

  status(): FleetStatus {
    const follower = this.#lead === null ? this.#follower : null
    return {
      role: this.role,
      isSequencer: this.isSequencer,
      epoch: follower?.epoch ?? this.#lead?.epoch ?? 0,
      problem: this.#problem ?? followerProblem(follower),
      lagMs: follower?.lagMs ?? 0,
      counts: this.#follower === null ? NO_COUNTS : { ...this.#follower.counts },
    }
  }

  /** Refuses the changes that replicas forward, which repeat them, and promises the pool, which the next sequencer does not have. Call before `giveUpWaiting`. */
  async leave(): Promise<void> {
    this.#isLeaving = true
    if (this.#lead !== null && this.#deposed === null && this.#chain !== null) await poolPromised(this.#chain)
  }

  /** A commit that waits for the database is given up, so that the chain can be stopped; the next sequencer has none of it. */
  giveUpWaiting(): void {
    this.#isClosed = true
    this.#endRenewal()
    if (this.#lead === null) return this.#database.abort()
    const { committer, records } = this.#lead
    committer.close()
    records.close()
    const giveUp = () => {
      committer.giveUp(new FleetError('unavailable', 'PostgreSQL does not answer'))
      this.#database.abort()
    }
    if (committer.isAway || this.#deposed !== null) giveUp()
    // The last blocks are committed if the database responds in this time; the lease, which is not renewed any more, ends with it.
    else this.#abortTimer ??= setTimeout(giveUp, CLOSE_MS)
  }

  /** Ends the lease, so that another sequencer need not wait. Call after the chain was stopped. */
  async close(): Promise<void> {
    this.giveUpWaiting()
    if (this.#leaseTimer !== null) clearInterval(this.#leaseTimer)
    for (const end of this.#ends) end()
    const lead = this.#lead
    if (lead !== null) {
      await lead.records.settled().catch(() => undefined)
      this.#endLead(lead)
      // A connection that was idle until now may lead to a host that has vanished; the lease ends by itself then.
      await withTimeout((signal) => this.#database.endLease(lead.epoch, signal)).catch(() => undefined)
    }
    await this.#follower?.close()
    clearTimeout(this.#abortTimer)
    await Promise.all([this.#bus?.close(), this.#database.close()])
  }

  async #join(): Promise<void> {
    if (this.#definition === null) {
      // Block 0 is stored before there is a lease to commit it under.
      this.storage.record((change) => this.#early.push(change))
      return
    }
    await this.#connect(this.#definition)
    if (this.role === 'sequencer') {
      const epoch = await this.#waitForLease()
      await this.#read()
      this.storage.records.replace(await this.#database.records())
      this.#beginLead(epoch)
      return
    }
    // Frames that come while the blocks are read wait.
    this.#follower = new FrameFollower({ bus: this.#requireBus(), database: this.#database, onError: this.#deps.onError })
    await this.#read(BLOCKS_IN_MEMORY)
    if (this.role === 'standby') this.storage.records.replace(await this.#database.records())
  }

  async #connect({ id }: Definition): Promise<void> {
    const { onNote } = this.#deps
    this.#bus = await Bus.connect({ url: this.#options.nats, chain: id, onNote })
    if (this.role === 'replica') return
    const reason = await this.#bus.captureFrames()
    if (reason !== null) onNote(`${reason}: a replica that misses a message reads the chain from PostgreSQL`)
  }

  /** Reads all blocks but the newest `fewer`, and repeats this until nothing was committed during a read. */
  async #read(fewer = 0): Promise<void> {
    const { onNote, signal, storage } = this.#deps
    let position = await this.#database.position()
    for (let lastNoteMs = performance.now(); ;) {
      await synchronise(storage, this.#database, Math.max(0, position.head - fewer), (number, head) => {
        signal.throwIfAborted()
        if (performance.now() - lastNoteMs < NOTE_MS || number === head) return
        lastNoteMs = performance.now()
        onNote(`reading the chain: block ${number.toLocaleString('en-US')} of ${head.toLocaleString('en-US')}`)
      })
      const { commit } = position
      position = await this.#database.position()
      if (position.commit === commit) break
    }
    this.#position = position
  }

  /** Returns the epoch. */
  async #waitForLease(): Promise<number> {
    for (let isWaiting = false; ; isWaiting = true) {
      const epoch = await this.#takeLease()
      if (epoch !== null) return epoch
      if (!isWaiting) {
        const { holder } = await this.#database.position()
        this.#deps.onNote(`${holder ?? 'another process'} is the sequencer; this one waits until its lease ends`)
      }
      await delay(LEASE_CHECK_MS, undefined, { signal: this.#deps.signal })
    }
  }

  /** Renews the lease from then on. Returns the epoch, or null while another process has the lease. */
  async #takeLease(): Promise<number | null> {
    const sentMs = performance.now()
    const epoch = await this.#database.takeLease(this.#holder, LEASE_MS)
    this.#renewedMs = sentMs
    if (epoch !== null) this.#beginRenewal(epoch)
    return epoch
  }

  #beginRenewal(epoch: number): void {
    const thread = new LeaseThread({ config: configOf(this.#options.database), epoch })
    const timer = setInterval(() => {
      thread.beat()
      void this.#renew(epoch).catch(this.#deps.onError)
    }, LEASE_RENEWAL_MS)
    this.#renewal = { timer, thread }
  }

  #endRenewal(): void {
    clearInterval(this.#renewal?.timer)
    this.#renewal?.thread.end()
    this.#renewal = null
  }

  #beginLead(epoch: number): Lead {
    const database = this.#database
    const onDeposed = (error: FleetError) => this.#onDeposed(error)
    const committer = new Committer({
      database,
      position: { epoch, commit: this.#position.commit },
      nextFrame: () => (this.#lead?.publisher?.newest ?? 0) + 1,
      onDeposed,
      onReachable: (isReachable, reason) => this.#onReachable(isReachable, reason),
      renewedMs: () => this.#renewedMs,
      outageMs: this.#options.outageMs ?? OUTAGE_MS,
    })
    const records = new RecordCommitter({ database, epoch, onDeposed })
    this.storage.record(committer.add)
    this.storage.records.record(records.add)
    return (this.#lead = { epoch, committer, records, publisher: null, ends: [] })
  }

  #endLead({ publisher, ends }: Lead): void {
    this.#endRenewal()
    for (const end of ends.splice(0)) end()
    publisher?.close()
    this.storage.record(null)
    this.storage.records.record(null)
  }

  /** From now on the process answers and announces as the sequencer. */
  #announce(node: FleetNode): void {
    const { chain, rpc, paymaster } = node
    const lead = this.#lead
    if (lead === null) throw new Error('the process has no lease')
    const bus = this.#requireBus()
    const { epoch, committer } = lead
    lead.ends.push(
      bus.serve('hand-over', async () => {
        // The response is sent before the process stops being the sequencer.
        setImmediate(() => void this.handOver(node).catch(this.#deps.onError))
        return Buffer.from(this.#holder)
      }),
    )
    const publisher = new FramePublisher({ chain, bus, epoch, commit: () => committer.newest })
    lead.publisher = publisher
    chain.skipSnapshotIds((epoch - 1) * SNAPSHOT_IDS)
    lead.ends.push(
      bus.serve(
        'rpc',
        answering(rpc, () => ({ epoch, frame: publisher.newest, isHandedOver: this.#handedOver !== null || this.#isLeaving })),
      ),
    )
    if (paymaster === null) return
    const sponsor = this.paymaster(paymaster)
    const answer = async (request: Uint8Array): Promise<Uint8Array> => {
      const fields = new Fields(Rlp.decode(request, 'request'), 'request', 2)
      const apiKey = Buffer.from(fields.bytes('apiKey')).toString()
      const { status, body } = await sponsor.handle(fields.bytes('body'), { apiKey: apiKey === '' ? null : apiKey })
      return Rlp.encode([status, Buffer.from(body)])
    }
    lead.ends.push(bus.serve('paymaster', answer))
  }

  #follow(follower: FrameFollower, chain: Chain, position: Parameters<FrameFollower['start']>[1]): void {
    chain.beginFollowing(notSequencer)
    this.#intercept = forwarding({ bus: this.#requireBus(), follower, chain })
    follower.start(chain, position)
  }

  /** Checks the lease periodically from now on. */
  #watchLease(node: FleetNode): void {
    if (this.#isClosed) return
    this.#leaseTimer ??= setInterval(() => {
      void this.#standIn(node).catch(this.#deps.onError)
      this.#passOn(node)
    }, LEASE_CHECK_MS)
  }

  /** A transaction that arrived while the lease was handed over is sent to the next sequencer. */
  #passOn({ chain, rpc }: FleetNode): void {
    if (this.#lead !== null || this.#isStandingIn || chain.pool.size === 0) return
    const waiting = chain.pool.all()
    chain.pool.dropAll()
    for (const { raw } of waiting) {
      rpc.request({ method: 'eth_sendRawTransaction', params: [Hex.fromBytes(raw)] }).catch(this.#deps.onError)
    }
  }

  #memberStatus(chain: Chain): MemberStatus {
    return { ...this.status(), name: this.#holder, head: chain.head.view.head.header.number }
  }

  /** Becomes the sequencer if there is none. Nothing changes until the lease is taken. */
  async #standIn(node: FleetNode): Promise<void> {
    const { chain } = node
    const follower = this.#follower
    if (this.#isClosed || this.#isStandingIn || this.#lead !== null || follower === null || performance.now() < this.#mayStandAtMs) return
    this.#isStandingIn = true
    let lead: Lead | null = null
    try {
      const epoch = await this.#takeLease()
      if (epoch === null) return
      this.#deps.onNote(`the lease of the sequencer has ended; this process takes over (epoch ${epoch})`)
      this.storage.records.replace(await this.#database.records())
      this.#position = await follower.finish(epoch)
      lead = this.#beginLead(epoch)
      this.#announce(node)
      await chain.takeOver()
      await chain.start()
      await node.onLead()
    } catch (error) {
      // PostgreSQL is unreachable, for all members of the fleet; the next attempt follows when the lease has ended.
      if (lead === null) this.#endRenewal()
      else await this.#resign(lead.epoch, error)
      if (!(error instanceof FleetError) && this.#deposed === null) throw error
    } finally {
      this.#isStandingIn = false
    }
  }

  async #renew(epoch: number): Promise<void> {
    const committer = this.#lead?.committer ?? null
    if (this.#isClosed) return
    try {
      const sentMs = performance.now()
      const isRenewed = await withTimeout((signal) => this.#database.renewLease(epoch, LEASE_MS, signal))
      // A process that is still taking over continues as a standby.
      if (!isRenewed && this.#lead === null) return this.#endRenewal()
      if (!isRenewed) return this.#onDeposed(new FleetError('deposed', 'another process is the sequencer now; this one stops'))
      this.#renewedMs = sentMs
      committer?.noticeReachable(true, '')
    } catch (error) {
      if (!(error instanceof FleetError)) throw error
      committer?.noticeReachable(false, error.message)
    }
  }

  #onReachable(isReachable: boolean, reason: string): void {
    if (this.#isClosed) return
    this.#problem = isReachable ? null : `no block is sealed: ${reason}`
    this.#deps.onNote(
      isReachable ? 'PostgreSQL can be reached again; blocks are sealed' : `no block is sealed until this is mended: ${reason}`,
    )
  }

  /** Throws errors other than that of a commit that was given up at the end of the process. */
  #noteUncommitted(error: unknown): void {
    if (!this.#isClosed || !(error instanceof FleetError)) throw error
    if (!this.#hasUncommitted)
      this.#deps.onNote(`${error.message}: the last blocks may not be committed, and the next sequencer may lack them`)
    this.#hasUncommitted = true
  }

  #onDeposed(error: FleetError): void {
    if (this.#deposed !== null || this.#isClosed) return
    this.#deposed = error
    this.#problem = error.message
    this.giveUpWaiting()
    if (this.#lead !== null) this.#endLead(this.#lead)
    this.#chain?.beginFollowing(notSequencer)
    // The next sequencer has those flashblocks that reached it; this process cannot report to its clients which ones.
    this.#chain?.head.retractPending()
    this.#options.onDeposed?.(error)
  }

  /** The process has the lease and cannot build blocks: it stops, and another one takes over. */
  async #resign(epoch: number, error: unknown): Promise<void> {
    if (this.#deposed !== null || this.#isClosed) return
    const reason = error instanceof Error ? error.message : String(error)
    this.#onDeposed(new FleetError('deposed', `this process cannot build blocks (${reason}); it ends its lease and stops`, error))
    // While PostgreSQL is away, the lease ends by itself.
    await this.#database.endLease(epoch).catch(() => undefined)
  }

  #requireBus(): Bus {
    if (this.#bus === null) throw new Error('the fleet is not connected')
    return this.#bus
  }
}

/** The chain of the database; null for the sequencer that is to begin it. A standby or a replica waits until block 0 is there. */
async function chainOf(database: Database, { role }: FleetOptions, { signal, onNote }: FleetDeps): Promise<FleetChain | null> {
  for (let isWaiting = false; ; isWaiting = true) {
    const chain = await database.chain()
    if (role === 'sequencer' || (chain !== null && (await database.position()).head >= 0)) return chain
    if (!isWaiting) onNote('the database holds no chain yet; this process waits until a sequencer (--role sequencer) begins one')
    await delay(LEASE_CHECK_MS, undefined, { signal })
  }
}

function begunElsewhere(): FleetError {
  return new FleetError('begun', 'another sequencer has begun a chain in this database at the same time; start this one again')
}

function assertEmpty(storage: StorageBackend): void {
  if (storage.height >= 0) {
    throw new FleetError(
      'options',
      'the data directory holds a chain, and the database none; start the first sequencer with an empty directory',
    )
  }
}

function otherChain(stored: number, given: number): FleetError {
  return new FleetError(
    'database',
    `the database holds the chain ${stored}, not ${given}; use another database, or start with --chain-id ${stored}`,
  )
}

function followerProblem(follower: FrameFollower | null): string | null {
  if (follower === null) return null
  const { hasGap, silenceMs, lagMs } = follower
  if (hasGap) return 'messages of the sequencer are missing and are being fetched'
  if (silenceMs === Infinity) return 'nothing has come from the sequencer yet'
  if (silenceMs > MAX_LAG_MS) return `nothing has come from the sequencer for ${Math.round(silenceMs)} ms`
  return lagMs > MAX_LAG_MS ? `the newest message came ${lagMs} ms after it was sent` : null
}

/** The response to a call or a batch of which nothing is executed. */
async function refusalOf(body: Uint8Array, { message }: FleetError, onBug: (error: unknown) => void): Promise<string> {
  const call = () => {
    throw new RpcError(CODE.server, message)
  }
  return (await new Endpoint({ call, toRpcError: toRpcErrorBy({ onBug }), writer: JSON_WRITER }).handle(body, null)) ?? ''
}

function readResponse(bytes: Uint8Array): { readonly status: number; readonly body: string } {
  const fields = new Fields(Rlp.decode(bytes, 'response'), 'response', 2)
  return { status: fields.number('status'), body: Buffer.from(fields.bytes('body')).toString() }
}

/** A server that does not respond is unreachable, whatever the state of its connection. */
function withTimeout<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController()
    const timer = setTimeout(() => {
      reject(new FleetError('unavailable', `PostgreSQL does not answer within ${LEASE_RENEWAL_MS} ms`))
      controller.abort()
    }, LEASE_RENEWAL_MS)
    work(controller.signal)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })
}

const HANDED_OVER = 'this process is not the sequencer any more; repeat the request'
const NOWHERE: Position = { epoch: 0, holder: null, leaseMs: null, commit: 0, frame: 1, head: -1, imported: 0 }
const HOLDER_BYTES = 3
/** Ids of snapshots of one epoch: that of an earlier sequencer names none of the current one. */
const SNAPSHOT_IDS = 2 ** 32
/** Milliseconds between notes about the progress of a start. */
const NOTE_MS = 1_000
