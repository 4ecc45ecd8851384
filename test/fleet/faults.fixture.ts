import { setTimeout as delay } from 'node:timers/promises'
import { launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import type { Random } from '../evm/fuzz/random.ts'
import { startProxy, until } from './fleet.fixture.ts'
import { startNatsCluster, startPostgres } from './servers.fixture.ts'
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
] as const
export type Fault = (typeof FAULTS)[number]

const RECEIVER = '0x000000000000000000000000000000000000bEEF'
/** Milliseconds between two transactions. */
const SEND_MS = 40
/** Accounts that send; each waits for its former transaction. */
const SENDERS = 8

export interface Outcome {
  readonly sent: number
  readonly refused: number
  readonly promised: number
  readonly retracted: number
  readonly blocks: number
  /** milliseconds from each loss of the sequencer to the next flashblock or block at a replica */
  readonly takeoversMs: readonly number[]
}

/** A process that may be the sequencer. Its connections can be cut. */
interface Leader {
  readonly command: Command
  readonly proxies: readonly Awaited<ReturnType<typeof startProxy>>[]
}

type NatsCluster = Awaited<ReturnType<typeof startNatsCluster>>

/** A fleet of processes under load: two that may be the sequencer, two replicas. */
export class FaultRun {
  readonly #random: Random
  readonly #nats: NatsCluster
  readonly #postgres: TestServer
  readonly #database: string
  #leaders: Leader[] = []
  readonly #replicas: (Command | null)[] = []
  readonly #watchers: Watcher[] = []
  readonly #takeoversMs: number[] = []
  #sent = 0
  #refused = 0
  #isOver = false

  private constructor(random: Random, nats: NatsCluster, postgres: TestServer, database: string) {
    this.#random = random
    this.#nats = nats
    this.#postgres = postgres
    this.#database = database
  }

  static async begin(random: Random): Promise<FaultRun> {
    const [nats, postgres] = await Promise.all([startNatsCluster(), startPostgres()])
    const run = new FaultRun(random, nats, postgres, await postgres.createDatabase('chain'))
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
    for (const watcher of this.#watchers) watcher.close()
    const commands = [...this.#leaders.map(({ command }) => command), ...this.#replicas]
    await Promise.all(commands.flatMap((command) => (command === null ? [] : [command.kill()])))
    for (const { proxies } of this.#leaders) await end(proxies)
    await this.#nats[Symbol.asyncDispose]()
    await this.#postgres[Symbol.asyncDispose]()
  }

  /** Behind proxies, so that it can be cut off from all servers at once. */
  async #lead(role: 'sequencer' | 'standby'): Promise<Leader> {
    const proxies = await Promise.all([...this.#nats.servers, this.#postgres].map(({ port }) => startProxy(port)))
    const [postgres, ...nats] = proxies.toReversed()
    const url = nats.map(({ port }) => `nats://127.0.0.1:${port}`).join(',')
    const database = this.#database.replace(`:${this.#postgres.port}/`, `:${postgres?.port ?? 0}/`)
    return { command: await launch('--fleet', url, '--database', database, '--role', role), proxies }
  }

  #launch(role: string): Promise<Command> {
    return launch('--fleet', this.#nats.url, '--database', this.#database, '--role', role)
  }

  async #load(): Promise<void> {
    const accounts = this.#leaders[0]?.command.ready.accounts.slice(0, SENDERS) ?? []
    const busy = new Set<string>()
    for (let turn = 0; !this.#isOver; turn++) {
      const from = accounts[turn % accounts.length] ?? ''
      const replica = this.#replicas[turn % this.#replicas.length]
      if (!busy.has(from) && replica !== null && replica !== undefined) {
        busy.add(from)
        void this.#send(replica, from).finally(() => busy.delete(from))
      }
      await delay(SEND_MS)
    }
  }

  async #send(replica: Command, from: string): Promise<void> {
    try {
      await replica.ask('eth_sendTransaction', { from, to: RECEIVER, value: '0x1', gas: '0x5208' })
      this.#sent++
    } catch {
      // No sequencer, or a replica that was killed; the transaction may have been taken.
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
        return this.#suspendSequencer(
          ({ command }) => process.kill(command.pid, 'SIGSTOP'),
          ({ command }) => process.kill(command.pid, 'SIGCONT'),
        )
      case 'cut the sequencer off':
        return this.#suspendSequencer(
          ({ proxies }) => proxies.forEach((proxy) => proxy.cut()),
          ({ proxies }) => proxies.forEach((proxy) => proxy.mend()),
        )
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
  async #suspendSequencer(suspend: (leader: Leader) => unknown, resume: (leader: Leader) => unknown): Promise<void> {
    const [sequencer, standby] = await this.#roles()
    const lostMs = performance.now()
    suspend(sequencer)
    await this.#takeover(lostMs, standby)
    resume(sequencer)
    await sequencer.command.ended
    await this.#replace(sequencer, standby)
  }

  async #replace(former: Leader, standby: Leader): Promise<void> {
    await end(former.proxies)
    this.#leaders = [standby, await this.#lead('standby')]
  }

  /** Waits until the standby is the sequencer and a replica has news of it. */
  async #takeover(lostMs: number, { command }: Leader): Promise<void> {
    await until('the standby is the sequencer', () => isSequencer(command))
    const takenMs = performance.now()
    const next = () => this.#watchers.flatMap(({ newsMs }) => newsMs.filter((timeMs) => timeMs > takenMs))
    await until('a flashblock of the next sequencer', () => next().length > 0)
    this.#takeoversMs.push(Math.round(Math.min(...next()) - lostMs))
  }

  async #restartReplica(index: number): Promise<void> {
    const replica = this.#replicas[index]
    this.#replicas[index] = null
    await replica?.kill()
    this.#replicas[index] = await this.#launch('replica')
  }

  /** A sequencer whose lease ended while PostgreSQL was away has stopped; another standby takes its place. */
  async #roles(): Promise<readonly [sequencer: Leader, standby: Leader]> {
    const [first, second] = (this.#leaders = await Promise.all(
      this.#leaders.map(async (leader) => ((await hasEnded(leader.command)) ? this.#lead('standby') : leader)),
    )) as [Leader, Leader]
    await until('one is the sequencer', async () => (await isSequencer(first.command)) || (await isSequencer(second.command)))
    return (await isSequencer(first.command)) ? [first, second] : [second, first]
  }

  /** Every process has the same blocks, no sealed block is lost, and each promise was kept or announced as retracted. */
  async #check(): Promise<Outcome> {
    const [{ command: sequencer }] = await this.#roles()
    const processes = [...this.#leaders.map(({ command }) => command), ...this.#replicas.filter((replica) => replica !== null)]
    const start = Number(await sequencer.ask('eth_blockNumber'))
    await until('two blocks after the faults, everywhere', async () => {
      const numbers = await Promise.all(processes.map((each) => each.ask('eth_blockNumber')))
      return numbers.every((number) => Number(number) >= start + 2)
    })
    const head = start + 1
    const chains = await Promise.all(processes.map((each) => hashesOf(each, head)))
    for (const chain of chains) if (chain.join() !== chains[0]?.join()) throw new Error('two processes have different blocks')
    const hashes = chains[0] ?? []
    for (const { connections } of this.#watchers) {
      for (const blocks of connections) {
        for (const [index, { number, hash }] of blocks.entries()) {
          if (number <= head && hashes[number] !== hash)
            throw new Error(`block ${number} was announced as ${hash} and is ${hashes[number]}`)
          const before = blocks[index - 1]
          if (before !== undefined && before.number !== number - 1) throw new Error(`head ${number} was announced after ${before.number}`)
        }
      }
    }
    const promised = new Set(this.#watchers.flatMap((watcher) => [...watcher.promised]))
    const retracted = new Set(this.#watchers.flatMap((watcher) => [...watcher.retracted]))
    for (const hash of promised) {
      if (retracted.has(hash)) continue
      const receipt = (await sequencer.ask('eth_getTransactionReceipt', hash)) as { blockNumber: string } | null
      if (receipt === null) throw new Error(`the promise of ${hash} was neither kept nor announced as retracted`)
    }
    return {
      sent: this.#sent,
      refused: this.#refused,
      promised: promised.size,
      retracted: retracted.size,
      blocks: head,
      takeoversMs: this.#takeoversMs,
    }
  }
}

async function end(proxies: Leader['proxies']): Promise<void> {
  await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()))
}

async function hasEnded({ ended }: Command): Promise<boolean> {
  return Promise.race([ended.then(() => true), delay(0).then(() => false)])
}

async function isSequencer({ url }: Command): Promise<boolean> {
  const metrics = await (await fetch(new URL('/metrics', url))).text()
  return /pocketchain_fleet_sequencer 1\b/.test(metrics)
}

async function hashesOf(command: Command, head: number): Promise<readonly string[]> {
  const calls = Array.from({ length: head + 1 }, (_, number) => ['eth_getBlockByNumber', `0x${number.toString(16)}`, false] as const)
  return (await command.askAll(calls)).map((block) => (block as { hash: string }).hash)
}
