import { setTimeout as delay } from 'node:timers/promises'
import { launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import type { Random } from '../evm/fuzz/random.ts'
import { until } from './fleet.fixture.ts'
import { startNats, startPostgres } from './servers.fixture.ts'
import type { TestServer } from './servers.fixture.ts'
import { Watcher } from './watcher.fixture.ts'

export const FAULTS = [
  'kill the sequencer',
  'kill a replica',
  'restart NATS',
  'restart PostgreSQL',
  'pause the sequencer',
  'stop the sequencer',
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

/** A fleet of processes under load: two that may be the sequencer, two replicas. */
export class FaultRun {
  readonly #random: Random
  readonly #nats: TestServer
  readonly #postgres: TestServer
  readonly #database: string
  #leaders: Command[] = []
  readonly #replicas: (Command | null)[] = []
  readonly #watchers: Watcher[] = []
  readonly #takeoversMs: number[] = []
  #sent = 0
  #refused = 0
  #isOver = false

  private constructor(random: Random, nats: TestServer, postgres: TestServer, database: string) {
    this.#random = random
    this.#nats = nats
    this.#postgres = postgres
    this.#database = database
  }

  static async begin(random: Random): Promise<FaultRun> {
    const [nats, postgres] = await Promise.all([startNats(), startPostgres()])
    const run = new FaultRun(random, nats, postgres, await postgres.createDatabase('chain'))
    run.#leaders = [await run.#launch('sequencer'), await run.#launch('standby')]
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
    await Promise.all([...this.#leaders, ...this.#replicas].flatMap((command) => (command === null ? [] : [command.kill()])))
    await this.#nats[Symbol.asyncDispose]()
    await this.#postgres[Symbol.asyncDispose]()
  }

  #launch(role: string): Promise<Command> {
    return launch('--fleet', this.#nats.url, '--database', this.#database, '--role', role)
  }

  async #load(): Promise<void> {
    const accounts = this.#leaders[0]?.ready.accounts.slice(0, SENDERS) ?? []
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
    if (fault === 'kill the sequencer' || fault === 'stop the sequencer')
      return this.#loseSequencer(fault === 'kill the sequencer' ? 'kill' : 'stop')
    if (fault === 'kill a replica') return this.#restartReplica(this.#random.below(this.#replicas.length))
    if (fault === 'pause the sequencer') return this.#pauseSequencer()
    const server = fault === 'restart NATS' ? this.#nats : this.#postgres
    await server.kill()
    await delay(this.#random.between(50, 1_500))
    await server.start()
  }

  /** The standby takes over, and another standby takes its place. */
  async #loseSequencer(how: 'kill' | 'stop'): Promise<void> {
    const [sequencer, standby] = await this.#roles()
    const lostMs = performance.now()
    await sequencer[how]()
    await this.#takeover(lostMs)
    this.#leaders = [standby, await this.#launch('standby')]
  }

  /** Longer than its lease: it finds that it was deposed, and stops. */
  async #pauseSequencer(): Promise<void> {
    const [sequencer, standby] = await this.#roles()
    const lostMs = performance.now()
    process.kill(sequencer.pid, 'SIGSTOP')
    await this.#takeover(lostMs)
    process.kill(sequencer.pid, 'SIGCONT')
    await sequencer.ended
    this.#leaders = [standby, await this.#launch('standby')]
  }

  async #takeover(lostMs: number): Promise<void> {
    await until('a flashblock of the next sequencer', () =>
      this.#watchers.some(({ newsMs }) => (newsMs.at(-1) ?? 0) > lostMs + IN_FLIGHT_MS),
    )
    const next = this.#watchers.flatMap(({ newsMs }) => newsMs.filter((timeMs) => timeMs > lostMs + IN_FLIGHT_MS))
    this.#takeoversMs.push(Math.round(Math.min(...next) - lostMs))
  }

  async #restartReplica(index: number): Promise<void> {
    const replica = this.#replicas[index]
    this.#replicas[index] = null
    await replica?.kill()
    this.#replicas[index] = await this.#launch('replica')
  }

  /** A sequencer whose lease ended while PostgreSQL was away has stopped; another standby takes its place. */
  async #roles(): Promise<readonly [sequencer: Command, standby: Command]> {
    const [first, second] = (this.#leaders = await Promise.all(
      this.#leaders.map(async (leader) => ((await hasEnded(leader)) ? this.#launch('standby') : leader)),
    )) as [Command, Command]
    await until('one is the sequencer', async () => (await isSequencer(first)) || (await isSequencer(second)))
    return (await isSequencer(first)) ? [first, second] : [second, first]
  }

  /** Every process has the same blocks, no sealed block is lost, and each promise was kept or announced as retracted. */
  async #check(): Promise<Outcome> {
    const [sequencer] = await this.#roles()
    const processes = [...this.#leaders, ...this.#replicas.filter((replica) => replica !== null)]
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

/** A notification may be on its way when the sequencer is lost. */
const IN_FLIGHT_MS = 100

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
