import { setTimeout as delay } from 'node:timers/promises'
import { beginUnder } from '../command.fixture.ts'
import type { Command, Start } from '../command.fixture.ts'
import { Hash, Hex } from '../../src/eth/index.ts'
import { verifyFleet } from '../../src/fleet/index.ts'
import type { Random } from '../evm/fuzz/random.ts'
import { startProxy, until } from './fleet.fixture.ts'
import { startNetwork } from './network.fixture.ts'
import type { Direction, TestNetwork } from './network.fixture.ts'
import { startNatsCluster, startPostgres, statement } from './servers.fixture.ts'
import type { TestServer } from './servers.fixture.ts'
import { Watcher } from './watcher.fixture.ts'

export const FAULTS = [
  'kill the sequencer',
  'kill a replica',
  'restart NATS',
  'restart PostgreSQL',
  'pause the sequencer',
  'stop the sequencer',
  'kill one NATS server',
  'cut the sequencer off',
  'cut the sequencer off for a moment',
  'drop what the sequencer sends',
  'drop what the sequencer receives',
] as const
export type Fault = (typeof FAULTS)[number]

const RECEIVER = '0x000000000000000000000000000000000000bEEF'
/** Milliseconds between two transactions. */
const SEND_MS = 40
/** Accounts that send: two to each of the four processes. Each waits for its former transaction. */
const SENDERS = 8
/** Milliseconds that the sequencer is cut off: less than a lease, and more. */
const SHORT_CUT_MS = [200, 1_900] as const
const LONG_CUT_MS = [2_500, 12_000] as const
/** Requests of one batch. */
const BATCH = 200
/** Milliseconds after a cut within which the lease is renewed. */
const SETTLED_MS = 1_500
/** Milliseconds within which a sequencer that was cut off detects that it was deposed. */
const NOTICE_MS = 8_000

export interface Outcome {
  readonly sent: number
  readonly refused: number
  readonly promised: number
  readonly retracted: number
  readonly blocks: number
  /** milliseconds from each loss of the sequencer to the next flashblock or block at a replica */
  readonly takeoversMs: readonly number[]
  /** milliseconds of the longest silence at the replicas after each cut */
  readonly silencesMs: readonly number[]
  /** milliseconds from the end of each cut until the former sequencer has stopped */
  readonly noticesMs: readonly number[]
}

/** What lies between a process and the servers. */
interface Isolation extends AsyncDisposable {
  /** The words before the command. */
  readonly prefix: readonly string[]
  readonly options: readonly string[]
  readonly cut: (direction: Direction) => void
  readonly mend: () => void
}

/** A process that may be the sequencer. It can be cut off from the servers, but not from its own clients. */
interface Leader {
  readonly command: Command
  readonly isolation: Isolation
  readonly watcher: Watcher
}

type NatsCluster = Awaited<ReturnType<typeof startNatsCluster>>

/** A fleet of processes under load: two that may be the sequencer, two replicas. */
export class FaultRun {
  readonly #random: Random
  readonly #nats: NatsCluster
  readonly #postgres: TestServer
  readonly #database: string
  /** null: partitions are played by proxies */
  readonly #network: TestNetwork | null
  /** Every process of the run. */
  readonly #starts: Start[] = []
  #leaders: Leader[] = []
  readonly #replicas: (Command | null)[] = []
  readonly #watchers: Watcher[] = []
  /** Of processes that may have been the sequencer, and were not killed. */
  readonly #leaderWatchers: Watcher[] = []
  readonly #takeoversMs: number[] = []
  readonly #silencesMs: number[] = []
  readonly #noticesMs: number[] = []
  #sent = 0
  #refused = 0
  #isOver = false
  #hasEnded = false

  private constructor(random: Random, network: TestNetwork | null, nats: NatsCluster, postgres: TestServer, database: string) {
    this.#random = random
    this.#network = network
    this.#nats = nats
    this.#postgres = postgres
    this.#database = database
  }

  /** `hasNetwork`: partitions are real ones between network namespaces; else proxies cut the connections. */
  static async begin(random: Random, hasNetwork: boolean): Promise<FaultRun> {
    const network = hasNetwork ? startNetwork() : null
    const access = network === null ? [] : [`host all postgres ${network.subnet} trust`]
    const place = network === null ? {} : { host: network.host }
    const [nats, postgres] = await Promise.all([startNatsCluster(place.host), startPostgres({ ...place, access })])
    const run = new FaultRun(random, network, nats, postgres, await postgres.createDatabase('chain'))
    run.#leaders = [await run.#lead('sequencer'), await run.#lead('standby')]
    for (const index of [0, 1]) {
      run.#replicas.push(await run.#launch('replica'))
      run.#watchers.push(new Watcher(() => run.#replicas[index]?.wsUrl ?? null))
    }
    return run
  }

  /** Sends transactions through the replicas, and lets the faults happen, each after a while. Throws an Error for a broken promise of the fleet. */
  async play(faults: readonly Fault[]): Promise<Outcome> {
    const load = this.#load()
    await delay(1_000)
    for (const fault of faults) {
      await this.#fault(fault)
      await delay(this.#random.between(1_500, 3_500))
    }
    this.#isOver = true
    await load
    return this.#check()
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.#hasEnded = true
    for (const watcher of [...this.#watchers, ...this.#leaders.map(({ watcher: each }) => each)]) watcher.close()
    // Also those that were still starting when the test gave up.
    await Promise.all(this.#starts.map((start) => start.kill()))
    for (const { isolation } of this.#leaders) await isolation[Symbol.asyncDispose]()
    await this.#nats[Symbol.asyncDispose]()
    await this.#postgres[Symbol.asyncDispose]()
    this.#network?.[Symbol.dispose]()
  }

  async #lead(role: 'sequencer' | 'standby'): Promise<Leader> {
    const isolation = this.#network === null ? await this.#behindProxies() : this.#inNamespace(this.#network)
    const command = await this.#start(isolation.prefix, ...isolation.options, '--role', role)
    return { command, isolation, watcher: new Watcher(() => command.wsUrl) }
  }

  #inNamespace(network: TestNetwork): Isolation {
    const { prefix, host, cut, mend, ...namespace } = network.join()
    return {
      prefix,
      options: ['--host', host, '--fleet', this.#nats.url, '--database', this.#database],
      cut,
      mend,
      [Symbol.asyncDispose]: async () => namespace[Symbol.dispose](),
    }
  }

  /** A cut drops both directions, and closes the connections. */
  async #behindProxies(): Promise<Isolation> {
    const proxies = await Promise.all([...this.#nats.servers, this.#postgres].map(({ port }) => startProxy(port)))
    const [postgres, ...nats] = proxies.toReversed()
    const url = nats.map(({ port }) => `nats://127.0.0.1:${port}`).join(',')
    const database = this.#database.replace(`:${this.#postgres.port}/`, `:${postgres?.port ?? 0}/`)
    return {
      prefix: [],
      options: ['--fleet', url, '--database', database],
      cut: () => proxies.forEach((proxy) => proxy.cut()),
      mend: () => proxies.forEach((proxy) => proxy.mend()),
      [Symbol.asyncDispose]: async () => {
        await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()))
      },
    }
  }

  #launch(role: string): Promise<Command> {
    return this.#start([], '--fleet', this.#nats.url, '--database', this.#database, '--role', role)
  }

  async #start(prefix: readonly string[], ...argv: readonly string[]): Promise<Command> {
    if (this.#hasEnded) throw new Error('the run has ended')
    const start = beginUnder(prefix, ...argv)
    this.#starts.push(start)
    return start.answers()
  }

  /** To each process, so that a sequencer that is cut off goes on to promise. Accounts of their own, because one waits for its former transaction. */
  async #load(): Promise<void> {
    const accounts = this.#leaders[0]?.command.ready.accounts ?? []
    const busy = new Set<string>()
    for (let turn = 0; !this.#isOver; turn++) {
      const from = accounts[turn % SENDERS] ?? ''
      const processes = [...this.#replicas, ...this.#leaders.map(({ command }) => command)]
      const process = processes[turn % processes.length]
      if (!busy.has(from) && process !== null && process !== undefined) {
        busy.add(from)
        void this.#send(process, from).finally(() => busy.delete(from))
      }
      await delay(SEND_MS)
    }
  }

  async #send(process: Command, from: string): Promise<void> {
    try {
      await process.ask('eth_sendTransaction', { from, to: RECEIVER, value: '0x1', gas: '0x5208' })
      this.#sent++
    } catch {
      // No sequencer, or a process that was killed; the transaction may have been taken.
      this.#refused++
    }
  }

  async #fault(fault: Fault): Promise<void> {
    switch (fault) {
      case 'kill the sequencer':
        return this.#loseSequencer(({ command }) => command.kill())
      case 'stop the sequencer':
        return this.#loseSequencer(({ command }) => command.stop())
      case 'pause the sequencer':
        return this.#pauseSequencer()
      case 'cut the sequencer off':
        return this.#cutSequencer('both', this.#random.between(LONG_CUT_MS[0], LONG_CUT_MS[1]))
      case 'cut the sequencer off for a moment':
        return this.#cutSequencer('both', this.#random.between(SHORT_CUT_MS[0], SHORT_CUT_MS[1]))
      case 'drop what the sequencer sends':
        return this.#cutSequencer('sends', this.#random.between(SHORT_CUT_MS[0], LONG_CUT_MS[1]))
      case 'drop what the sequencer receives':
        return this.#cutSequencer('receives', this.#random.between(SHORT_CUT_MS[0], LONG_CUT_MS[1]))
      case 'kill a replica':
        return this.#restartReplica(this.#random.below(this.#replicas.length))
      case 'kill one NATS server':
        return this.#restart([this.#nats.servers[this.#random.below(this.#nats.servers.length)]!])
      case 'restart NATS':
        return this.#restart(this.#nats.servers)
      case 'restart PostgreSQL':
        return this.#restart([this.#postgres])
    }
  }

  async #restart(servers: readonly TestServer[]): Promise<void> {
    await Promise.all(servers.map((server) => server.kill()))
    await delay(this.#random.between(50, 1_500))
    await Promise.all(servers.map((server) => server.start()))
    // A process that is started while PostgreSQL recovers is refused.
    if (servers.includes(this.#postgres)) await statement(this.#postgres.url, 'SELECT 1')
  }

  /** The standby takes over, and another standby takes its place. */
  async #loseSequencer(lose: (leader: Leader) => Promise<unknown>): Promise<void> {
    const [sequencer, standby] = await this.#roles()
    const lostMs = performance.now()
    await lose(sequencer)
    await this.#takeover(lostMs, standby)
    await this.#replace(sequencer, standby)
  }

  /** For longer than its lease: it finds that it was deposed, and stops. */
  async #pauseSequencer(): Promise<void> {
    const [sequencer, standby] = await this.#roles()
    const { pid, ended } = sequencer.command
    const lostMs = performance.now()
    process.kill(pid, 'SIGSTOP')
    await this.#takeover(lostMs, standby)
    process.kill(pid, 'SIGCONT')
    await ended
    await this.#replace(sequencer, standby)
  }

  /** Its packets vanish for a time. Beyond its lease the standby takes over, and the former sequencer stops when it is joined again. */
  async #cutSequencer(direction: Direction, timeMs: number): Promise<void> {
    const [sequencer, standby] = await this.#roles()
    const lostMs = performance.now()
    const mended = delay(timeMs).then(() => {
      sequencer.isolation.mend()
      return performance.now()
    })
    sequencer.isolation.cut(direction)
    const takeover = this.#takeover(lostMs, standby, () => goesOn(sequencer.command, lostMs + timeMs))
    const mendedMs = await mended
    if (await takeover) {
      await within('the former sequencer stops', sequencer.command.ended)
      this.#noticesMs.push(Math.round(performance.now() - mendedMs))
      await this.#replace(sequencer, standby)
    }
    const times = this.#newsMs().filter((each) => each > lostMs)
    this.#silencesMs.push(Math.round(Math.max(...times.map((each, index) => each - (times[index - 1] ?? lostMs)))))
  }

  /** Of all replicas, in their order. */
  #newsMs(): readonly number[] {
    return this.#watchers.flatMap(({ newsMs }) => newsMs).toSorted((a, b) => a - b)
  }

  async #replace(former: Leader, standby: Leader): Promise<void> {
    await this.#retire(former)
    this.#leaders = [standby, await this.#lead('standby')]
  }

  async #retire({ watcher, isolation, command }: Leader): Promise<void> {
    watcher.close()
    // A process that is killed announces nothing more to its clients.
    if ((await command.ended).signal !== 'SIGKILL') this.#leaderWatchers.push(watcher)
    await isolation[Symbol.asyncDispose]()
  }

  /** Waits until the standby is the sequencer and a replica has news of it. Returns false if the former sequencer goes on instead. */
  async #takeover(lostMs: number, { command }: Leader, goesOn: () => Promise<boolean> = async () => false): Promise<boolean> {
    let isTaken = false
    await until('there is a sequencer', async () => (isTaken = await isSequencer(command)) || (await goesOn()), LONG_CUT_MS[1] + 15_000)
    const sinceMs = performance.now()
    const next = () => this.#newsMs().find((timeMs) => timeMs > sinceMs)
    await until('a flashblock of the next sequencer', () => next() !== undefined)
    if (isTaken) this.#takeoversMs.push(Math.round(next()! - lostMs))
    return isTaken
  }

  async #restartReplica(index: number): Promise<void> {
    const replica = this.#replicas[index]
    this.#replicas[index] = null
    await replica?.kill()
    this.#replicas[index] = await this.#launch('replica')
  }

  /** A sequencer whose lease ended while it could not reach PostgreSQL has stopped, or will; another standby takes its place. */
  async #roles(): Promise<readonly [sequencer: Leader, standby: Leader]> {
    let sequencers: readonly Leader[] = []
    await until('one is the sequencer', async () => {
      for (const leader of this.#leaders) if (await hasEnded(leader.command)) await this.#replaceEnded(leader)
      const areSequencers = await Promise.all(this.#leaders.map(({ command }) => isSequencer(command)))
      sequencers = this.#leaders.filter((_, index) => areSequencers[index])
      return sequencers.length === 1
    })
    const [sequencer] = sequencers
    const standby = this.#leaders.find((leader) => leader !== sequencer)
    return [sequencer!, standby!] // two leaders, one of them the sequencer
  }

  async #replaceEnded(former: Leader): Promise<void> {
    await this.#retire(former)
    const next = await this.#lead('standby')
    this.#leaders = this.#leaders.map((leader) => (leader === former ? next : leader))
  }

  /** Every process has the same blocks and states, no sealed block is lost, and each promise was kept or announced as retracted. */
  async #check(): Promise<Outcome> {
    let processes: readonly Command[] = []
    let start = -1
    await until(
      'two blocks after the faults, everywhere',
      async () => {
        // A sequencer whose lease ended during the last fault may stop now.
        await this.#roles()
        processes = [...this.#leaders.map(({ command }) => command), ...this.#replicas.filter((replica) => replica !== null)]
        const numbers = (await Promise.all(processes.map(heightOf))).filter((number) => number !== null)
        if (start < 0) start = Math.max(...numbers)
        return numbers.length === processes.length && numbers.every((number) => number >= start + 2)
      },
      LONG_CUT_MS[1] + 15_000,
    )
    const [{ command: sequencer }] = await this.#roles()
    const head = start + 1
    const chains = await Promise.all(processes.map((each) => hashesOf(each, head)))
    for (const chain of chains) if (chain.join() !== chains[0]?.join()) throw new Error('two processes have different blocks')
    for (const each of processes) await assertState(each, head)
    await verifyFleet(this.#database)
    const hashes = chains[0] ?? []
    const leaderWatchers = [...this.#leaderWatchers, ...this.#leaders.map(({ watcher }) => watcher)]
    for (const watcher of this.#watchers) assertStream('a replica', watcher, hashes, head)
    for (const watcher of leaderWatchers) assertStream('a sequencer or standby', watcher, hashes, head)
    // The clients of a replica that was killed did not receive what the others did.
    const promised = new Set(this.#watchers.flatMap((watcher) => [...watcher.promised]))
    const retracted = new Set(this.#watchers.flatMap((watcher) => [...watcher.retracted]))
    await assertKept(sequencer, 'a replica', promised, retracted)
    for (const watcher of leaderWatchers) await assertKept(sequencer, 'a sequencer or standby', watcher.promised, watcher.retracted)
    return {
      sent: this.#sent,
      refused: this.#refused,
      promised: promised.size,
      retracted: retracted.size,
      blocks: head,
      takeoversMs: this.#takeoversMs,
      silencesMs: this.#silencesMs,
      noticesMs: this.#noticesMs,
    }
  }
}

/** Each connection has every head once and in order, as it is in the chain, and no promise twice. */
function assertStream(who: string, { connections, repeated }: Watcher, hashes: readonly string[], head: number): void {
  for (const blocks of connections) {
    for (const [index, { number, hash }] of blocks.entries()) {
      if (number <= head && hashes[number] !== hash) throw new Error(`${who} announced block ${number} as ${hash} and is ${hashes[number]}`)
      const before = blocks[index - 1]
      if (before !== undefined && before.number !== number - 1) throw new Error(`${who} announced head ${number} after ${before.number}`)
    }
  }
  const [hash] = repeated
  if (hash !== undefined) throw new Error(`${who} promised ${hash} twice on one connection`)
}

/** The state after each block is the one that its header names: the first node of a proof hashes to the root. */
async function assertState(command: Command, head: number): Promise<void> {
  const numbers = Array.from({ length: head + 1 }, (_, number) => `0x${number.toString(16)}`)
  const blocks = await command.askAll(numbers.map((number) => ['eth_getBlockByNumber', number, false] as const))
  const proofs = await command.askAll(numbers.map((number) => ['eth_getProof', RECEIVER, [], number] as const))
  for (const [number, proof] of proofs.entries()) {
    const [node] = (proof as { accountProof: readonly Hex[] }).accountProof
    const { stateRoot } = blocks[number] as { stateRoot: string }
    if (Hash.keccak(Hex.toBytes(node ?? '0x')) !== stateRoot)
      throw new Error(`a process has another state after block ${number} than ${stateRoot}`)
  }
}

async function assertKept(sequencer: Command, who: string, promised: ReadonlySet<string>, retracted: ReadonlySet<string>): Promise<void> {
  const hashes = [...promised].filter((hash) => !retracted.has(hash))
  const receipts: unknown[] = []
  for (let start = 0; start < hashes.length; start += BATCH) {
    const calls = hashes.slice(start, start + BATCH).map((hash) => ['eth_getTransactionReceipt', hash] as const)
    receipts.push(...(await sequencer.askAll(calls)))
  }
  const broken = hashes.filter((_, index) => receipts[index] === null)
  if (broken.length > 0)
    throw new Error(`${broken.length} promises of ${who} were neither kept nor announced as retracted, the first for ${broken[0]}`)
}

/** Null for a process that does not answer, because it is ending. */
async function heightOf(command: Command): Promise<number | null> {
  try {
    return Number(await command.ask('eth_blockNumber'))
  } catch {
    return null
  }
}

async function hasEnded({ ended }: Pick<Command, 'ended'>): Promise<boolean> {
  return Promise.race([ended.then(() => true), delay(0).then(() => false)])
}

/** False also for a process that is ending, which closes its port first. */
async function isSequencer({ url }: Command): Promise<boolean> {
  const metrics = await fetch(new URL('/metrics', url)).then(
    (response) => response.text(),
    () => '',
  )
  return /pocketchain_fleet_sequencer 1\b/.test(metrics)
}

/** True once a sequencer that was cut off until then goes on: it is ready, and its lease was renewed meanwhile. */
async function goesOn({ url, ended }: Command, mendedMs: number): Promise<boolean> {
  if (performance.now() < mendedMs + SETTLED_MS || (await hasEnded({ ended }))) return false
  return fetch(new URL('/readyz', url)).then(
    ({ status }) => status === 200,
    () => false,
  )
}

async function within<T>(what: string, work: Promise<T>): Promise<T> {
  const tooLate = delay(NOTICE_MS, null, { ref: false }).then(() => Promise.reject(new Error(`not within ${NOTICE_MS} ms: ${what}`)))
  return Promise.race([work, tooLate])
}

async function hashesOf(command: Command, head: number): Promise<readonly string[]> {
  const calls = Array.from({ length: head + 1 }, (_, number) => ['eth_getBlockByNumber', `0x${number.toString(16)}`, false] as const)
  return (await command.askAll(calls)).map((block) => (block as { hash: string }).hash)
}
