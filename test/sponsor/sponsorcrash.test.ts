import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Operations, chargesOf, differences, ledgerOf, sumOf } from '../../bench/operations.mjs'
import type { Entry } from '../../bench/operations.mjs'
import * as eth from '../../src/eth/index.ts'
import * as rpc from '../../src/rpc/index.ts'
import { begin, launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import { Random } from '../evm/fuzz/random.ts'

// The sponsor's process is killed at random moments: the ledger must contain all signed operations and all charges afterwards.

/** `CRASH_ROUNDS=50 npx vitest run test/sponsorcrash.test.ts` runs more rounds. */
const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 4)
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000)
/** Each begins with a new directory. */
const ROUNDS_PER_DIRECTORY = 10

const FLAGS = ['--block-time', '1', '--flashblock-time', '100']
const LANES = 8
const ETHER = 10n ** 18n
const WETH = '0x4200000000000000000000000000000000000006'
/** About thirty operations: exhausted within a few rounds. */
const TIGHT = 10n ** 16n
const POLICIES = [{ name: 'plenty' }, { name: 'tight', total: `0x${TIGHT.toString(16)}` }] as const
const REFUSED = -32001
const ROOMS = { eth, rpc }

let data: string
let command: Command | null = null

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'pocketchain-sponsor-'))
})

afterEach(async () => {
  await command?.kill()
  command = null
  rmSync(data, { recursive: true, force: true })
})

async function start(directory: string): Promise<Command> {
  command = await launch('--data', directory, ...FLAGS)
  return command
}

async function kill({ kill: now }: Command, name: string): Promise<void> {
  const { signal, err } = await now()
  command = null
  expect({ signal, err: err.replaceAll(RECOVERY, '') }, name).toEqual({ signal: 'SIGKILL', err: '' })
}

const RECOVERY = /pocketchain: Warning: (?:kept|retracted) \d+ promises of the last run.*\n/g

describe('a sponsor that is killed under load', () => {
  it(`loses no reservation and no charge (seed ${SEED})`, { timeout: 60_000 + ROUNDS * 30_000 }, async () => {
    const totals = { granted: 0, refused: 0, included: 0, settled: 0, abandoned: 0 }
    for (let first = 0; first < ROUNDS; first += ROUNDS_PER_DIRECTORY) {
      const life = new Life(join(data, String(first)))
      for (let round = first; round < Math.min(ROUNDS, first + ROUNDS_PER_DIRECTORY); round++)
        await life.round(new Random(SEED, round), `round ${round} of seed ${SEED}`)
      await life.end()
      for (const [key, count] of Object.entries(life.totals)) totals[key as keyof typeof totals] += count // they have the same keys
    }
    expect(totals.granted).toBeGreaterThan(0)
    expect(totals.included).toBeGreaterThan(0)
    if (ROUNDS > ROUNDS_PER_DIRECTORY) process.stdout.write(`${ROUNDS} rounds of seed ${SEED}: ${JSON.stringify(totals)}\n`)
  })
})

/** A data directory over many processes. */
class Life {
  readonly #data: string
  readonly #promises = new Promises()
  readonly totals = { granted: 0, refused: 0, included: 0, settled: 0, abandoned: 0 }

  constructor(directory: string) {
    this.#data = directory
  }

  /** Starts, checks the ledger, runs under load, and is killed. */
  async round(random: Random, name: string): Promise<void> {
    if (random.chance(0.25)) await this.#killedAtStart(random)
    const node = await this.#begin(name)
    const load = new Load(node, this.#promises, random, this.totals)
    await delay(random.between(300, 3_000))
    await kill(node, name)
    await load.stop()
  }

  /** The final check. */
  async end(): Promise<void> {
    const node = await this.#begin('at the end')
    await kill(node, 'at the end')
  }

  async #killedAtStart(random: Random): Promise<void> {
    const starting = begin('--data', this.#data, ...FLAGS)
    await delay(random.between(50, 900))
    await starting.kill()
  }

  async #begin(name: string): Promise<Command> {
    const node = await start(this.#data)
    await node.ask('pocketchain_sponsorPolicies', POLICIES)
    await this.#check(node, name)
    await included(node, name)
    return node
  }

  async #check(node: Command, name: string): Promise<void> {
    const { entries, charges } = await agreed(node, name)
    this.totals.settled = charges.length
    const byGrant = new Map(entries.filter(({ state }) => state !== 'refused').map((entry) => [grantOf(entry), entry]))
    for (const [key, maxCost] of this.#promises.granted) {
      const entry = byGrant.get(key)
      const isUsedUp = entry?.state === 'expired' && entry.reason === 'nonce-used' // by an operation that another policy signed
      if (!isUsedUp) expect(['reserved', 'included', 'settled'], `${name}, what was signed for ${key}`).toContain(entry?.state)
      expect(BigInt(entry?.maxCost ?? 0), `${name}, what was signed for ${key}`).toBeGreaterThanOrEqual(maxCost)
    }
    const settled = new Map(entries.filter(({ state }) => state === 'settled').map(({ id, cost }) => [id, cost]))
    for (const [id, cost] of this.#promises.settled) expect(settled.get(id), `${name}, settled ${id}`).toBe(cost)
    const used = usedOf(entries, 'tight')
    expect(used <= TIGHT, `${name}, ${used} of ${TIGHT} wei`).toBe(true)
  }
}

/** The responses that clients received and may rely on. */
class Promises {
  /** sender, nonce and policy → the highest signed cost */
  readonly granted = new Map<string, bigint>()
  /** id of a settled entry → its cost */
  readonly settled = new Map<string, string | null>()

  grant(key: string, maxCost: bigint): void {
    const before = this.granted.get(key) ?? 0n
    if (maxCost > before) this.granted.set(key, maxCost)
  }
}

function grantOf({
  sender,
  nonce,
  policy,
}: {
  readonly sender: string
  readonly nonce: bigint | string
  readonly policy: string | null
}): string {
  return `${sender.toLowerCase()} ${BigInt(nonce)} ${policy}`
}

/** Clients that sponsor and send operations continuously, until the process ends. */
class Load {
  readonly #node: Command
  readonly #promises: Promises
  readonly #random: Random
  readonly #totals: Life['totals']
  readonly #operations: Operations
  readonly #running: readonly Promise<unknown>[]
  #isStopped = false

  constructor(node: Command, promises: Promises, random: Random, totals: Life['totals']) {
    this.#node = node
    this.#promises = promises
    this.#random = random
    this.#totals = totals
    this.#operations = new Operations(ROOMS, { ask: asking(node.url), sponsor: asking(`${node.url}/paymaster`) })
    const lanes = Array.from({ length: LANES }, (_, lane) => this.#lane(`lane ${lane}`))
    this.#running = [...lanes, this.#watch()].map((task) => task.catch(this.#dead))
  }

  /** Resolves when all requests have ended. Rejects with the first wrong response of a running node. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  /** Errors of a killed node are expected. */
  readonly #dead = (error: unknown): void => {
    const isGone = error instanceof TypeError || error instanceof SyntaxError || (error instanceof Error && 'cause' in error)
    if (!isGone) throw error
  }

  async #lane(name: string): Promise<void> {
    const sender = this.#operations.sender(name)
    while (!this.#isStopped) {
      const policy = this.#random.pick(POLICIES).name
      try {
        await this.#one(sender, { policy })
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== REFUSED) throw error
        this.#totals.refused++
      }
    }
  }

  async #one(sender: ReturnType<Operations['sender']>, context: { readonly policy: string }): Promise<void> {
    const operations = this.#operations
    const ask = async () => {
      const prepared = await operations.prepare(sender, this.#calls(), context)
      this.#promises.grant(grantOf({ ...prepared, policy: context.policy }), operations.maxCost(prepared.json))
      this.#totals.granted++
      return prepared
    }
    const prepared = await ask()
    const fate = this.#random.below(10)
    if (fate === 0) {
      this.#totals.abandoned++
      return
    }
    // A client with two signatures for one nonce may send either.
    if (fate === 1) await ask()
    await operations.send(prepared)
    await this.#included(prepared.hash)
  }

  /** approve(address,uint256), once or more often */
  #calls(): ReturnType<Operations['callData']> {
    const words = [0xb0b0, this.#random.below(1_000_000)].map((word) => word.toString(16).padStart(64, '0'))
    const call = { to: WETH, data: `0x095ea7b3${words.join('')}` }
    return this.#operations.callData(Array.from({ length: this.#random.between(1, 3) }, () => call))
  }

  async #included(hash: string): Promise<void> {
    while (!this.#isStopped) {
      if ((await this.#node.ask('eth_getUserOperationReceipt', hash)) === null) await delay(20)
      else {
        this.#totals.included++
        return
      }
    }
  }

  /** Records settled entries and checks that no budget is exceeded. */
  async #watch(): Promise<void> {
    while (!this.#isStopped) {
      const entries = await ledgerOf(this.#node.ask, { state: 'settled' })
      for (const { id, cost } of entries) this.#promises.settled.set(id, cost)
      const used = (await usesOf(this.#node.ask)).get('tight') ?? 0n
      expect(used <= TIGHT, `${used} of ${TIGHT} wei`).toBe(true)
      await delay(100)
    }
  }
}

/** A refusal of the service or the bundler. */
class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data: more }: { readonly code: number; readonly message: string; readonly data?: unknown }) {
    super(`${code} ${message}`)
    this.code = code
    this.data = more
  }
}

function asking(url: string) {
  return async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result, error } = (await response.json()) as { result?: unknown; error?: ConstructorParameters<typeof Refusal>[0] } // JSON-RPC
    if (error !== undefined) throw new Refusal(error)
    return result
  }
}

/** Waits until no operation of the process before is in the pool: a client that prepares the same nonce would be refused. */
async function included({ ask }: Command, name: string): Promise<void> {
  const ends = performance.now() + 10_000
  for (;;) {
    const { operations } = (await ask('pocketchain_userOperationPool', {})) as {
      readonly operations: readonly { readonly status: string }[]
    }
    const waiting = operations.filter(({ status }) => status !== 'rejected')
    if (waiting.length === 0) return
    if (performance.now() > ends) expect(waiting, name).toEqual([])
    await delay(50)
  }
}

/** Compares the ledger with the chain after the settlement of all blocks. */
async function agreed({ ask }: Command, name: string) {
  const paymaster = await paymaster08(ask)
  const ends = performance.now() + 10_000
  for (;;) {
    const charges = await chargesOf(ROOMS, ask, { paymaster, entryPoint: eth.ENTRY_POINTS['0.8'] })
    const entries = await ledgerOf(ask)
    const [uses, deposit] = [await usesOf(ask), await depositOf(ask, paymaster)]
    const wrong = [
      ...differences(entries, charges),
      ...(deposit === 100n * ETHER - sumOf(charges) ? [] : [`the deposit is ${deposit} wei, ${sumOf(charges)} were charged`]),
      ...POLICIES.filter((policy) => uses.get(policy.name) !== usedOf(entries, policy.name)).map(
        (policy) => `${policy.name} counts ${uses.get(policy.name)} wei, its entries ${usedOf(entries, policy.name)}`,
      ),
    ]
    if (wrong.length === 0) return { entries, charges }
    if (performance.now() > ends) expect(wrong, name).toEqual([])
    await delay(100)
  }
}

interface Status {
  readonly paymasters: readonly { readonly version: string; readonly address: string }[]
  readonly policies: readonly { readonly name: string; readonly use: { readonly reserved: string; readonly settled: string } }[]
}

async function paymaster08(ask: Command['ask']): Promise<string> {
  const { paymasters } = (await ask('pocketchain_sponsorStatus')) as Status
  return paymasters.find(({ version }) => version === '0.8')!.address
}

async function depositOf(ask: Command['ask'], paymaster: string): Promise<bigint> {
  const data = `0x70a08231${paymaster.slice(2).padStart(64, '0')}` // balanceOf(address)
  return BigInt(String(await ask('eth_call', { to: eth.ENTRY_POINTS['0.8'], data }, 'pending')))
}

/** Spent and reserved wei by policy. */
async function usesOf(ask: Command['ask']): Promise<ReadonlyMap<string, bigint>> {
  const { policies } = (await ask('pocketchain_sponsorStatus')) as Status
  return new Map(policies.map(({ name, use }) => [name, BigInt(use.reserved) + BigInt(use.settled)]))
}

/** Operations that are not sealed count with their highest cost. */
function usedOf(entries: readonly Entry[], policy: string): bigint {
  const own = entries.filter((entry) => entry.policy === policy && ['reserved', 'included', 'settled'].includes(entry.state))
  return own.reduce((sum, { state, cost, maxCost }) => sum + BigInt((state === 'settled' ? cost : maxCost) ?? 0), 0n)
}

describe('100 final calls at once against a budget for 10', () => {
  it('are granted 10 times, also when the process is killed and restarted', async () => {
    const node = await start(data)
    const form = await Form.of(node)
    await form.allow(node, 10n)
    const first = await Promise.all(people('first').map((who) => form.ask(node, who)))
    expect(first.filter((granted) => granted)).toHaveLength(10)
    await kill(node, 'after the first hundred')
    const again = await start(data)
    await form.allow(again, 10n)
    expect(await reserved(again)).toHaveLength(10)
    const second = await Promise.all(people('second').map((who) => form.ask(again, who)))
    expect(second.filter((granted) => granted)).toHaveLength(0)
    // One wei less than the cost of two more grants one more.
    await form.allow(again, 12n, -1n)
    const third = await Promise.all(people('third').map((who) => form.ask(again, who)))
    expect(third.filter((granted) => granted)).toHaveLength(1)
    // A second request for a granted nonce spends nothing.
    expect(await form.ask(again, people('first')[first.indexOf(true)]!)).toBe(true)
    expect(await reserved(again)).toHaveLength(11)
    await kill(again, 'at the end')
  })

  it.each([1, 2])('are not granted more often when the process is killed during the calls (%i)', async (turn) => {
    const random = new Random(SEED, 1_000 + turn)
    const node = await start(data)
    const form = await Form.of(node)
    await form.allow(node, 10n)
    const answers = people('first').map((who) => form.ask(node, who).catch(() => null))
    await Promise.race([Promise.all(answers), delay(random.between(1, 60))])
    await kill(node, `in the middle, seed ${SEED}`)
    const granted = (await Promise.all(answers)).filter((answer) => answer === true).length
    const again = await start(data)
    await form.allow(again, 10n)
    const kept = (await reserved(again)).length
    expect(kept, `seed ${SEED}`).toBeGreaterThanOrEqual(granted)
    const second = await Promise.all(people('second').map((who) => form.ask(again, who)))
    expect(second.filter((answer) => answer).length, `seed ${SEED}`).toBe(10 - kept)
    await kill(again, 'at the end')
  })
})

const PEOPLE = 100

function people(group: string): readonly string[] {
  return Array.from({ length: PEOPLE }, (_, i) => eth.Secp256k1.address(eth.Hash.toBytes(eth.Hash.ofText(`${group} ${i}`))))
}

/** Of the form's policy. */
async function reserved({ ask }: Command): Promise<readonly Entry[]> {
  return (await ledgerOf(ask, { state: 'reserved' })).filter(({ policy }) => policy === 'ten')
}

/** One operation per sender, all with the same highest cost. */
class Form {
  readonly #fields: Readonly<Record<string, unknown>>
  readonly #maxCost: bigint

  static async of(node: Command): Promise<Form> {
    const operations = new Operations(ROOMS, { ask: asking(node.url), sponsor: asking(`${node.url}/paymaster`) })
    const callData = operations.callData([{ to: WETH }])
    const { json } = await operations.prepare(operations.sender('first sender'), callData)
    const { eip7702Auth: _, factory: __, factoryData: ___, signature: ____, ...fields } = json
    return new Form(fields, operations.maxCost(json))
  }

  private constructor(fields: Readonly<Record<string, unknown>>, maxCost: bigint) {
    this.#fields = fields
    this.#maxCost = maxCost
  }

  /** Sets a budget for this number of operations. */
  async allow({ ask }: Command, count: bigint, moreWei = 0n): Promise<void> {
    const total = `0x${(count * this.#maxCost + moreWei).toString(16)}`
    await ask('pocketchain_sponsorPolicies', [{ name: 'ten', total }])
  }

  /** Returns whether the operation is sponsored. Rejects when the service has ended. */
  async ask({ url }: Command, sender: string): Promise<boolean> {
    try {
      await asking(`${url}/paymaster`)('pm_getPaymasterData', { ...this.#fields, sender }, eth.ENTRY_POINTS['0.8'], '0x7a69', {})
      return true
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      expect({ code: error.code, data: error.data }).toMatchObject({ code: REFUSED, data: { reason: 'total' } })
      return false
    }
  }
}
