import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { begin, launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import { Random } from '../evm/fuzz/random.ts'
import { Ledger, Load, TRANSFER_TOPIC, edited, receiver, tokenOf } from './load.fixture.ts'
import type { WholeReceipt } from './load.fixture.ts'
import type { Call, HeaderJson, LogJson } from '../node.fixture.ts'

// Kills the process at random moments; everything it acknowledged must still hold after a restart.

/** `npm run test:crash` runs more rounds. */
const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 6)
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000)
/** Rounds after which a new directory is used. */
const ROUNDS_PER_DIRECTORY = 10
/** Time in which a loaded node opens a promise, also on a starved machine. */
const PROMISE_MS = 60_000
/** Requests per batch. */
const CALLS = 500

const FLAGS = ['--block-time', '1', '--flashblock-time', '100']

let data: string
let command: Command | null = null

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'pocketchain-crash-'))
})

afterEach(async () => {
  await command?.kill()
  rmSync(data, { recursive: true, force: true })
})

describe('a node that is killed under load', () => {
  it(`retains everything that it acknowledged after a restart (seed ${SEED})`, { timeout: 30_000 + ROUNDS * 30_000 }, async () => {
    const startsMs: number[] = []
    const totals = { blocks: 0, sent: 0, promises: 0, kept: 0, retracted: 0 }
    for (let first = 0; first < ROUNDS; first += ROUNDS_PER_DIRECTORY) {
      const directory = join(data, String(first))
      const life = new Life(directory)
      for (let round = first; round < Math.min(ROUNDS, first + ROUNDS_PER_DIRECTORY); round++) {
        const random = new Random(SEED, round)
        startsMs.push(await life.round(random, `round ${round} of seed ${SEED}`))
      }
      for (const [key, count] of Object.entries(life.totals)) totals[key as keyof typeof totals] += count // they have the same keys
      rmSync(directory, { recursive: true, force: true })
    }
    expect(totals.kept, 'promises that were open').toBeGreaterThan(0)
    if (ROUNDS <= ROUNDS_PER_DIRECTORY) return
    startsMs.sort((a, b) => a - b)
    const [median, last] = [startsMs[ROUNDS >> 1]!, startsMs.at(-1)!].map(Math.round)
    process.stdout.write(
      `${ROUNDS} rounds of seed ${SEED}: ${JSON.stringify(totals)}; first answer after ${median} ms, at most ${last} ms\n`,
    )
  })
})

/** A data directory across the kills of its process. */
class Life {
  readonly #data: string
  readonly #ledger = new Ledger()
  /** All sealed blocks read so far, by number. */
  readonly #blocks: SeenBlock[] = []
  readonly totals = { blocks: 0, sent: 0, promises: 0, kept: 0, retracted: 0 }

  constructor(data: string) {
    this.#data = data
  }

  /** Starts the node, checks its data, loads and kills it. Returns the start time. */
  async round(random: Random, name: string): Promise<number> {
    if (random.chance(0.25)) await this.#killedAtStart(random)
    command = await launch('--data', this.#data, ...FLAGS)
    const { startMs } = command
    await this.#check(command, name)
    const load = new Load(command, this.#ledger, random, { rate: 300, mischief: true })
    await delay(random.between(100, 3_000))
    // Edits and `anvil_mine` seal blocks, so about half of random moments have no open promise.
    if (random.chance(0.8)) await this.#openPromises(load, command)
    const { signal } = await command.kill()
    await load.stop()
    this.totals.sent += load.sent
    this.totals.promises += this.#ledger.promised.size
    expect({ signal, err: command.err().replaceAll(EXPECTED, '') }, name).toEqual({ signal: 'SIGKILL', err: '' })
    command = null
    return startMs
  }

  /** Waits until promises are open. */
  async #openPromises(load: Load, { askAll }: Command): Promise<void> {
    const endMs = performance.now() + PROMISE_MS
    while (this.#ledger.openPromises < 2) {
      if (load.failure !== null) throw new Error('the load ended before the kill', { cause: load.failure })
      if (performance.now() > endMs) {
        const asked = askAll([['eth_blockNumber'], ['eth_getBlockTransactionCountByNumber', 'pending'], ['txpool_status']])
        const node = await Promise.race([asked, delay(5_000, 'no answer')])
        throw new Error(`no promise is open: ${JSON.stringify({ node, height: this.#ledger.height, load: load.doing() })}`)
      }
      await delay(5)
    }
  }

  async #killedAtStart(random: Random): Promise<void> {
    const start = begin('--data', this.#data, ...FLAGS)
    await delay(random.between(50, 800))
    await start.kill()
  }

  async #check(node: Command, name: string): Promise<void> {
    const ledger = this.#ledger
    const { blockNumber: height } = node.ready
    expect(height, name).toBeGreaterThanOrEqual(ledger.height)
    const heads = [...ledger.heads]
    const found = await all(
      node,
      heads.map(([number]): Call => ['eth_getBlockByNumber', hex(number), false]),
    )
    expect(
      found.map((block) => (block as HeaderJson | null)?.hash),
      name,
    ).toEqual(heads.map(([, hash]) => hash))
    await this.#readBlocks(node, height, name)
    await this.#checkPromises(node, name)
    await this.#checkLogs(node, height, name)
    await this.#checkState(node, height, name)
    await this.#goesOn(node, height)
  }

  /** Reads the new blocks, and checks that the old ones are unchanged. */
  async #readBlocks(node: Command, height: number, name: string): Promise<void> {
    const numbers = Array.from({ length: height + 1 }, (_, number) => number)
    const headers = (await all(
      node,
      numbers.map((number): Call => ['eth_getBlockByNumber', hex(number), false]),
    )) as BlockJson[] // all are sealed
    const first = headers.findIndex(({ hash }, number) => this.#blocks[number]?.hash !== hash)
    this.#blocks.length = first < 0 ? headers.length : first
    const added = headers.slice(this.#blocks.length)
    const receipts = await all(
      node,
      added.map(({ number }): Call => ['eth_getBlockReceipts', number]),
    )
    for (const [index, header] of added.entries()) {
      const own = receipts[index] as WholeReceipt[] // of a sealed block
      expect(header.parentHash, `${name}, block ${header.number}`).toBe(this.#blocks.at(-1)?.hash ?? header.parentHash)
      expect(
        own.map(({ transactionHash }) => transactionHash),
        `${name}, block ${header.number}`,
      ).toEqual(header.transactions)
      this.#blocks.push({ hash: header.hash, receipts: own })
    }
    this.totals.blocks += added.length
    const fresh = this.#blocks.slice(this.#blocks.length - added.length).flatMap((block) => block.receipts)
    const byHash = await all(
      node,
      fresh.map(({ transactionHash }): Call => ['eth_getTransactionReceipt', transactionHash]),
    )
    expect(byHash, `${name}, receipts by hash`).toEqual(fresh)
    const old = this.#blocks.flatMap(({ receipts: [receipt] }) => receipt ?? [])
    expect(
      await all(
        node,
        old.map(({ transactionHash }): Call => ['eth_getTransactionReceipt', transactionHash]),
      ),
    ).toEqual(old)
    const blocks = await all(
      node,
      headers.map(({ hash }): Call => ['eth_getBlockByHash', hash, false]),
    )
    expect(blocks, `${name}, blocks by hash`).toEqual(headers)
  }

  /** Each pre-confirmation is sealed unchanged, or was reported as retracted. */
  async #checkPromises(node: Command, name: string): Promise<void> {
    const { recovered } = node.ready
    const retracted = new Set(recovered.retracted)
    const promised = [...this.#ledger.promised.values()].filter(({ transactionHash }) => !retracted.has(transactionHash))
    const sealed = await all(
      node,
      promised.map(({ transactionHash }): Call => ['eth_getTransactionReceipt', transactionHash]),
    )
    expect(
      sealed.map((receipt) => withoutHash(receipt as WholeReceipt | null)),
      `${name}, pre-confirmations`,
    ).toEqual(promised.map(withoutHash))
    for (const hash of retracted) expect(node.err(), name).toContain(hash)
    this.totals.kept += recovered.kept.length
    this.totals.retracted += retracted.size
    this.#ledger.promised.clear()
  }

  async #checkLogs(node: Command, height: number, name: string): Promise<void> {
    const logs = this.#blocks.flatMap(({ receipts }) => receipts).flatMap((receipt) => receipt.logs)
    const range = { fromBlock: '0x0', toBlock: hex(height) }
    expect(await node.ask('eth_getLogs', range), `${name}, logs of the whole chain`).toEqual(logs)
    const topics = [TRANSFER_TOPIC, null, wordOf(receiver(7))]
    const some = logs.filter((log) => log.topics[0] === topics[0] && log.topics[2] === topics[2])
    expect(await node.ask('eth_getLogs', { ...range, topics }), `${name}, some logs`).toEqual(some)
  }

  /** The token's slots equal the sums of its logs; edited values equal the last edit, or the one in flight. */
  async #checkState(node: Command, height: number, name: string): Promise<void> {
    const number = hex(height)
    const token = tokenOf(node.ready.accounts)
    const sums = new Map<string, bigint>()
    for (const { receipts } of this.#blocks)
      for (const { logs } of receipts) for (const log of logs) if (log.address === token) add(sums, log)
    const slots = [...sums.keys()]
    const held = await all(
      node,
      slots.map((slot): Call => ['eth_getStorageAt', token, slot, number]),
    )
    expect(
      held.map((word) => BigInt(String(word))),
      `${name}, slots`,
    ).toEqual(slots.map((slot) => sums.get(slot)))
    const { edits } = this.#ledger
    if (edits !== null) expect(edits, `${name}, edits`).toContain(BigInt(String(await node.ask('eth_getBalance', edited(), number))))
  }

  async #goesOn(node: Command, height: number): Promise<void> {
    while (Number(await node.ask('eth_blockNumber')) <= height) await delay(20)
  }
}

interface SeenBlock {
  readonly hash: string
  readonly receipts: readonly WholeReceipt[]
}

type BlockJson = HeaderJson & { readonly transactions: readonly string[] }

/** Lines on stderr that are no fault: on promises of the last run, and the progress of mining that takes longer than a second. */
const EXPECTED = /pocketchain: (?:Warning: (?:kept|retracted) \d+ promises of the last run|mining: block \d+ of \d+).*\n/g

async function all(node: Command, calls: readonly Call[]): Promise<unknown[]> {
  const answers: unknown[] = []
  for (let at = 0; at < calls.length; at += CALLS) answers.push(...(await node.askAll(calls.slice(at, at + CALLS))))
  return answers
}

function withoutHash(receipt: WholeReceipt | null): unknown {
  if (receipt === null) return null
  const logs = receipt.logs.map((log) => ({ ...log, blockHash: null }))
  return { ...receipt, blockHash: null, logs }
}

function add(sums: Map<string, bigint>, { topics, data }: LogJson): void {
  const slot = topics[2]!
  sums.set(slot, (sums.get(slot) ?? 0n) + BigInt(data))
}

function wordOf(address: string): string {
  return `0x${address.slice(2).padStart(64, '0')}`
}

function hex(number: number): string {
  return `0x${number.toString(16)}`
}
