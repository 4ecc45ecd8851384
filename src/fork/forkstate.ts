import { MissingState } from '../chain/index.ts'
import type { AccessListCall, BaseState, ForkOrigin, MissingKey } from '../chain/index.ts'
import { Address, EMPTY_CODE_HASH, EMPTY_ROOT, Hash, Hex, isObject } from '../eth/index.ts'
import { L2_TO_L1_MESSAGE_PASSER } from '../evm/index.ts'
import type { Account } from '../evm/index.ts'
import type { UpstreamAnswer, UpstreamCall } from './endpoint.ts'
import { UpstreamError } from './errors.ts'
import { FetchedValues } from './fetchedvalues.ts'
import type { ForkBlock, JsonObject } from './forkblock.ts'
import type { ForkCache, ForkCacheFile } from './forkcache.ts'
import { blockCall, malformed, parseBytes, parseHash, parseQuantity, resultOf, shownHash } from './forkblock.ts'
import {
  ACCESS_LIST_KEYS,
  ACCOUNTS_IN_MEMORY,
  CODE_BYTES_IN_MEMORY,
  ROUNDS_IN_FLIGHT,
  ROUND_REPETITIONS,
  SLOTS_IN_MEMORY,
  SLOTS_PER_CALL,
} from './limits.ts'
import { NATIVE_CODE_HASH, nativePrecompile } from './natives.ts'
import { RecentSlots, RecentValues } from './recentvalues.ts'
import type { Upstream, UpstreamStats } from './upstream.ts'

export interface ForkStateOptions {
  readonly upstream: Upstream
  readonly block: ForkBlock
  /** null: fetched values stay in memory only */
  readonly cache?: ForkCache | null
  /** names the block by its number in requests; for upstreams that refuse hashes in a way that is not recognised */
  readonly byNumber?: boolean
  /** SLOTS_IN_MEMORY by default */
  readonly maxSlots?: number
}

export interface ForkStats extends UpstreamStats {
  /** accounts, slots and block hashes that were fetched */
  readonly keys: number
  /** accounts and slots of the disk cache that were read */
  readonly cacheHits: number
}

/**
 * State of the fork block, fetched on demand. A round is one HTTP request for all keys that were requested in the same turn of the event loop, or while
 * ROUNDS_IN_FLIGHT rounds ran, and a second one for the keys that access lists add.
 */
export class ForkState implements BaseState {
  readonly block: ForkBlock
  #upstream: Upstream
  readonly #file: ForkCacheFile | null
  readonly #accounts = new RecentValues<Address, Account | typeof ABSENT>(ACCOUNTS_IN_MEMORY)
  readonly #codes = new RecentValues<Hash, Uint8Array>(CODE_BYTES_IN_MEMORY, ({ length }) => length)
  /** An account with this code, for fetching it again. */
  readonly #codeOwners = new Map<Hash, Address>()
  readonly #slots: RecentSlots
  readonly #blockHashes = new Map<number, Hash>()
  readonly #inFlight = new Map<string, Promise<FailedKeys>>()
  #nextRound: { readonly keys: MissingKey[]; readonly calls: AccessListCall[]; readonly done: Promise<FailedKeys> } | null = null
  #roundsInFlight = 0
  #onRoundEnd: () => void = () => {}
  #isByNumber: boolean
  /** Methods that upstream lacks, and whether the form of the block parameter may be the reason. */
  readonly #lacks = new Map<string, { readonly mayBeBlockForm: boolean }>()
  #keys = 0
  /** totals of the upstreams before the current one */
  #formerStats: UpstreamStats = { requests: 0, retries: 0, rateLimits: 0 }

  /** Loads the block's cached values. */
  constructor({ upstream, block, cache = null, byNumber = false, maxSlots = SLOTS_IN_MEMORY }: ForkStateOptions) {
    this.block = block
    this.#upstream = upstream
    upstream.pin(block)
    this.#isByNumber = byNumber
    this.#slots = new RecentSlots(maxSlots)
    this.#blockHashes.set(block.number, block.hash)
    if (block.number > 0) this.#blockHashes.set(block.number - 1, block.parentHash)
    this.#file = cache?.open(block, (values) => this.#keep(values)) ?? null
    this.#accounts.endLoading()
    this.#codes.endLoading()
    this.#slots.endLoading()
  }

  get origin(): ForkOrigin {
    return this.block
  }

  get stateRoot(): Hash {
    return this.block.stateRoot
  }

  get stats(): ForkStats {
    const cacheHits = this.#accounts.diskHits + this.#slots.diskHits
    return { ...sumOf(this.#formerStats, this.#upstream.stats), keys: this.#keys, cacheHits }
  }

  storageRoot(address: Address): Hash {
    const { withdrawalsRoot } = this.block.block
    return address === L2_TO_L1_MESSAGE_PASSER && typeof withdrawalsRoot === 'string' ? Hash.from(withdrawalsRoot) : EMPTY_ROOT
  }

  account(address: Address): Account | null {
    const account = this.#accounts.get(address)
    if (account === undefined) throw new MissingState([{ kind: 'account', address }])
    return account === ABSENT ? null : account
  }

  code(codeHash: Hash, owner?: Address): Uint8Array {
    if (codeHash === EMPTY_CODE_HASH) return NO_CODE
    if (codeHash === NATIVE_CODE_HASH && owner !== undefined) throw nativePrecompile(owner)
    const code = this.#codes.get(codeHash)
    if (code !== undefined) return code
    const address = this.#codeOwners.get(codeHash)
    if (address === undefined) throw new Error(`no account of the fork block that was read has the code ${codeHash}`)
    throw new MissingState([{ kind: 'account', address }])
  }

  storage(address: Address, slot: Hash): bigint {
    const value = this.#slots.get(address, slot)
    if (value !== undefined) return value
    if (this.#hasNoStorage(address)) return 0n
    throw new MissingState([{ kind: 'slot', address, slot }])
  }

  blockHash(number: number): Hash | null {
    if (number < 0 || number > this.block.number) return null
    const hash = this.#blockHashes.get(number)
    if (hash === undefined) throw new MissingState([{ kind: 'blockHash', number }])
    return hash
  }

  async fetch(keys: readonly MissingKey[], call?: AccessListCall): Promise<void> {
    const rounds = new Map<string, Promise<FailedKeys>>()
    const wanted = new Map<string, MissingKey>()
    for (const key of keys) {
      if (this.#isLocal(key)) continue
      const inFlight = this.#inFlight.get(textOf(key))
      if (inFlight === undefined) wanted.set(textOf(key), key)
      else rounds.set(textOf(key), inFlight)
    }
    const missing = [...wanted.values()]
    if (missing.length > 0) {
      const round = this.#schedule(missing, call !== undefined && isWorthAList(missing, call) ? [call] : [])
      for (const key of wanted.keys()) rounds.set(key, round)
    }
    for (const failed of await Promise.all(new Set(rounds.values()))) {
      for (const [key, error] of failed) if (rounds.has(key)) throw error
    }
  }

  get upstream(): Upstream {
    return this.#upstream
  }

  /** Reads from another upstream, which must have the same chain id and fork block. Throws UpstreamError; the current one is then kept. */
  async setUpstream(upstream: Upstream): Promise<void> {
    await upstream.adopt(this.block)
    this.#formerStats = sumOf(this.#formerStats, this.#upstream.stats)
    this.#upstream = upstream
    this.#lacks.clear()
  }

  /**
   * Returns upstream's result about blocks up to the fork block, unchanged. Upstream may have replaced the fork block, whose header is therefore read in the
   * same request. Rejects with upstream's error as RpcError, with UpstreamError if the hash differs.
   */
  async forward(method: string, params: readonly unknown[]): Promise<unknown> {
    const { number, hash, block } = this.block
    const [place, isWhole] = params
    const isForkBlock = (method === BLOCK && place === Hex.fromQuantity(number)) || (method === BLOCK_BY_HASH && place === hash)
    if (isForkBlock) return isWhole === true ? block : withHashes(block)
    const [header, answer] = await this.#upstream.batch([blockCall(number, false), { method, params }])
    if (header === undefined || answer === undefined) throw malformed(this.#upstream.name, method, 'an answer')
    if ('error' in header) throw header.error
    this.#assertSameHash(hashOf(header.result))
    if ('error' in answer) throw answer.error
    return answer.result
  }

  /** Waits until the disk cache is written, and closes it. */
  async close(): Promise<void> {
    await this.#file?.close()
  }

  /** Joins the round of this turn of the event loop. */
  #schedule(keys: readonly MissingKey[], calls: readonly AccessListCall[]): Promise<FailedKeys> {
    const round = (this.#nextRound ??= this.#newRound())
    round.calls.push(...calls)
    for (const key of keys) {
      round.keys.push(key)
      this.#inFlight.set(textOf(key), round.done)
    }
    return round.done
  }

  #newRound(): { keys: MissingKey[]; calls: AccessListCall[]; done: Promise<FailedKeys> } {
    const keys: MissingKey[] = []
    const calls: AccessListCall[] = []
    return { keys, calls, done: this.#runNext(keys, calls) }
  }

  /** Callers add keys and calls until it is the round's turn. */
  async #runNext(keys: readonly MissingKey[], calls: readonly AccessListCall[]): Promise<FailedKeys> {
    await this.#turn()
    this.#nextRound = null
    this.#roundsInFlight += 1
    try {
      return await this.#run(keys, calls)
    } finally {
      this.#roundsInFlight -= 1
      this.#onRoundEnd()
    }
  }

  /** Resolves in a later turn, when fewer than ROUNDS_IN_FLIGHT rounds run. Only the next round waits here, so one listener is enough. */
  async #turn(): Promise<void> {
    await Promise.resolve()
    while (this.#roundsInFlight >= ROUNDS_IN_FLIGHT) await new Promise<void>((resolve) => (this.#onRoundEnd = resolve))
  }

  /** Returns the keys without a value. A listed key is a hint: it fails no other, and is requested again when it is read. */
  async #run(keys: readonly MissingKey[], calls: readonly AccessListCall[]): Promise<FailedKeys> {
    try {
      const { failed, listed } = await this.#request(keys, calls)
      if (listed.length > 0) await this.#request(listed, [])
      return failed
    } finally {
      for (const key of keys) this.#inFlight.delete(textOf(key))
    }
  }

  /** Fetches and keeps the keys. Returns those without a value, and the keys of the access lists that are not local then. */
  async #request(keys: readonly MissingKey[], calls: readonly AccessListCall[]): Promise<Requested> {
    const lists = new AccessLists(calls)
    const failed = new Map<string, UpstreamError>()
    let pending = keys.filter((key) => !this.#isLocal(key))
    for (let repetition = 0; repetition < ROUND_REPETITIONS; repetition++) {
      const tasks = this.#tasks(pending, lists)
      if (tasks.length === 0) return { failed, listed: lists.keys.filter((key) => !this.#isLocal(key) && !this.#inFlight.has(textOf(key))) }
      const isByNumber = this.#isByNumber
      const answers = await this.#send(tasks, pending)
      const values = new FetchedValues()
      const refused: Refused[] = []
      const errors = new Map<Task, UpstreamError>()
      for (const [i, task] of tasks.entries()) {
        const answer = answers[i]
        if (answer === undefined) continue
        const error = 'error' in answer ? null : taken(task, answer.result, values)
        if ('error' in answer) refused.push({ task, answer })
        else if (error !== null && task.isOptional) this.#lacks.set(task.call.method, { mayBeBlockForm: false })
        else if (error !== null) errors.set(task, error)
      }
      await this.#store(values)
      const pruned = refused.some(isPruned) ? await this.#prunedError() : null
      for (const each of refused) {
        const error = isPruned(each) ? pruned : this.#adapt(each, isByNumber)
        if (error !== null) errors.set(each.task, error)
      }
      for (const [task, error] of errors) for (const key of task.keys) failed.set(textOf(key), error)
      pending = pending.filter((key) => !values.has(key) && !failed.has(textOf(key)))
    }
    const message = `upstream ${this.#upstream.name} refuses the state of block ${this.block.number} in every form`
    for (const key of pending) failed.set(textOf(key), new UpstreamError('refused', message))
    return { failed, listed: [] }
  }

  async #send(tasks: readonly Task[], keys: readonly MissingKey[]): Promise<readonly UpstreamAnswer[]> {
    // A number may name another block, so each request by number also reads the header, whose hash is compared.
    const header = this.#isByNumber ? [blockCall(this.block.number, false)] : []
    try {
      const answers = await this.#upstream.batch([...header, ...tasks.map(({ call }) => call)])
      if (header.length > 0) this.#assertSameHash(hashOf(resultOf(answers[0], BLOCK, this.#upstream)))
      return answers.slice(header.length)
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.reason !== 'unreachable') throw error
      const [first] = keys
      const others = keys.length > 1 ? ` and ${keys.length - 1} more` : ''
      const shown = first === undefined ? 'values' : describe(first)
      throw new UpstreamError('unreachable', `${error.message}; missing: ${shown}${others} of block ${this.block.number}`)
    }
  }

  /** Switches off what upstream refuses, so that the repetition uses the fallback. Returns the error if there is none. */
  #adapt({ task: { call, isOptional }, answer: { error, verdict } }: Refused, wasByNumber: boolean): UpstreamError | null {
    if (isOptional) {
      const isOfTheCall = call.method === ACCESS_LIST && verdict !== 'unsupported' && verdict !== 'block-hash'
      if (!isOfTheCall) this.#lacks.set(call.method, { mayBeBlockForm: verdict === 'block-hash' && !wasByNumber })
      return null
    }
    if (verdict === 'block-hash' && !wasByNumber) {
      this.#switchToNumbers()
      return null
    }
    return new UpstreamError(
      'refused',
      `upstream ${this.#upstream.name} answered ${call.method} with error ${error.code}: ${error.message}`,
    )
  }

  /** Methods that were refused for the form of the block parameter are tried again. */
  #switchToNumbers(): void {
    this.#isByNumber = true
    for (const [method, { mayBeBlockForm }] of this.#lacks) if (mayBeBlockForm) this.#lacks.delete(method)
  }

  /** A missing state may be that of a block that was replaced. */
  async #prunedError(): Promise<UpstreamError> {
    try {
      const [answer] = await this.#upstream.batch([blockCall(this.block.number, false)])
      if (answer !== undefined && 'result' in answer && isObject(answer.result)) this.#assertSameHash(answer.result['hash'])
    } catch (error) {
      if (error instanceof UpstreamError) return error
      throw error
    }
    return new UpstreamError('pruned', `upstream has no state of block ${this.block.number}; ${PRUNED_REMEDY}`)
  }

  #assertSameHash(hash: unknown): void {
    const { number, hash: expected } = this.block
    if (typeof hash === 'string' && hash.toLowerCase() === expected) return
    const message = `upstream replaced the fork block: block ${number} was ${expected} and is now ${shownHash(hash)}; fork again, or use a lower --fork-block-number`
    throw new UpstreamError('reorganised', message)
  }

  // --- requests ------------------------------------------------------------------------------------------------------------------------

  #tasks(keys: readonly MissingKey[], lists: AccessLists): readonly Task[] {
    const slots = keys.filter((key) => key.kind === 'slot')
    const tasks = [
      ...this.#slotTasks(slots),
      ...keys.flatMap((key) => (key.kind === 'account' ? this.#accountTasks(key) : [])),
      ...keys.flatMap((key) => (key.kind === 'blockHash' ? [this.#blockHashTask(key)] : [])),
    ]
    if (tasks.length > 0 && !this.#lacks.has(ACCESS_LIST)) tasks.push(...lists.tasks(this.#blockParameter))
    return tasks
  }

  get #blockParameter(): unknown {
    return this.#isByNumber ? Hex.fromQuantity(this.block.number) : { blockHash: this.block.hash }
  }

  #slotTasks(keys: readonly SlotKey[]): readonly Task[] {
    if (keys.length === 0) return []
    if (!this.#lacks.has(STORAGE_VALUES)) return chunksOf(keys, SLOTS_PER_CALL).map((chunk) => this.#storageValuesTask(chunk))
    return keys.map((key) => this.#slotTask(key))
  }

  #slotTask(key: SlotKey): Task {
    const { address, slot } = key
    return {
      call: { method: STORAGE_AT, params: [address, slot, this.#blockParameter] },
      isOptional: false,
      keys: [key],
      take: (result, values) => values.setSlot(address, slot, parseQuantity(result, this.#upstream.name, STORAGE_AT)),
    }
  }

  #storageValuesTask(keys: readonly SlotKey[]): Task {
    const requested: Record<Address, Hash[]> = {}
    for (const { address, slot } of keys) (requested[address] ??= []).push(slot)
    const take = (result: unknown, values: FetchedValues): void => {
      const byAddress = lowerCased(result)
      for (const [address, slots] of Object.entries(requested) as [Address, Hash[]][]) {
        const list = byAddress?.[address]
        if (!Array.isArray(list) || list.length !== slots.length)
          throw malformed(this.#upstream.name, STORAGE_VALUES, 'one list of values per address')
        for (const [i, slot] of slots.entries()) values.setSlot(address, slot, parseQuantity(list[i], this.#upstream.name, STORAGE_VALUES))
      }
    }
    return { call: { method: STORAGE_VALUES, params: [requested, this.#blockParameter] }, isOptional: true, keys, take }
  }

  #accountTasks(key: AccountKey): readonly Task[] {
    const { address } = key
    const source = this.#upstream.name
    if (!this.#lacks.has(ACCOUNT_INFO)) {
      const take = (result: unknown, values: FetchedValues): void => {
        if (!isObject(result)) throw malformed(source, ACCOUNT_INFO, 'an account')
        const nonce = parseQuantity(result['nonce'], source, ACCOUNT_INFO)
        const balance = parseQuantity(result['balance'], source, ACCOUNT_INFO)
        addAccount(values, address, nonce, balance, parseBytes(result['code'], source, ACCOUNT_INFO))
      }
      return [{ call: { method: ACCOUNT_INFO, params: [address, this.#blockParameter] }, isOptional: true, keys: [key], take }]
    }
    let nonce: bigint | null = null
    let balance: bigint | null = null
    let code: Uint8Array | null = null
    const task = (method: string, take: (result: unknown) => void): Task => ({
      call: { method, params: [address, this.#blockParameter] },
      isOptional: false,
      keys: [key],
      take: (result, values) => {
        take(result)
        if (nonce !== null && balance !== null && code !== null) addAccount(values, address, nonce, balance, code)
      },
    })
    return [
      task('eth_getBalance', (result) => (balance = parseQuantity(result, source, 'eth_getBalance'))),
      task('eth_getTransactionCount', (result) => (nonce = parseQuantity(result, source, 'eth_getTransactionCount'))),
      task('eth_getCode', (result) => (code = parseBytes(result, source, 'eth_getCode'))),
    ]
  }

  #blockHashTask(key: BlockHashKey): Task {
    const { number } = key
    const take = (result: unknown, values: FetchedValues): void => {
      const source = this.#upstream.name
      if (result === null) throw new UpstreamError('pruned', `upstream has no block ${number}; ${PRUNED_REMEDY}`)
      if (!isObject(result)) throw malformed(source, BLOCK, 'a block')
      const hashes = new Map([[number, parseHash(result['hash'], source, BLOCK)]])
      if (number > 0) hashes.set(number - 1, parseHash(result['parentHash'], source, BLOCK))
      this.#assertLinked(hashes)
      for (const [of, hash] of hashes) values.blockHashes.set(of, hash)
    }
    return { call: blockCall(number, false), isOptional: false, keys: [key], take }
  }

  // --- values --------------------------------------------------------------------------------------------------------------------------

  async #store(values: FetchedValues): Promise<void> {
    if (values.keys === 0) return
    this.#keys += values.keys
    this.#keep(values)
    await this.#file?.append(values)
  }

  /** An ancestor that contradicts a known hash is one of another branch. */
  #assertLinked(hashes: ReadonlyMap<number, Hash>): void {
    for (const [number, hash] of hashes) {
      const known = this.#blockHashes.get(number)
      if (known === undefined || known === hash) continue
      const message = `upstream replaced block ${number}, an ancestor of the fork block: it was ${known} and is now ${hash}; fork again, or use a lower --fork-block-number`
      throw new UpstreamError('reorganised', message)
    }
  }

  #keep({ accounts, codes, slots, blockHashes }: FetchedValues): void {
    for (const [hash, code] of codes) this.#codes.set(hash, code)
    for (const [address, account] of accounts) {
      this.#accounts.set(address, account ?? ABSENT)
      if (account !== null && account.codeHash !== EMPTY_CODE_HASH) this.#codeOwners.set(account.codeHash, address)
    }
    for (const [address, values] of slots) for (const [slot, value] of values) this.#slots.set(address, slot, value)
    for (const [number, hash] of blockHashes) this.#blockHashes.set(number, hash)
  }

  #isLocal(key: MissingKey): boolean {
    if (key.kind === 'blockHash') return key.number < 0 || key.number > this.block.number || this.#blockHashes.has(key.number)
    if (key.kind === 'slot') return this.#slots.has(key.address, key.slot) || this.#hasNoStorage(key.address)
    const account = this.#accounts.get(key.address)
    if (account === undefined) return false
    return account === ABSENT || account.codeHash === EMPTY_CODE_HASH || this.#codes.has(account.codeHash)
  }

  /** Without code and nonce an account has never had storage. One with a nonce may have been delegated once (EIP-7702). */
  #hasNoStorage(address: Address): boolean {
    const account = this.#accounts.get(address)
    return account === ABSENT || (account !== undefined && account.nonce === 0n && account.codeHash === EMPTY_CODE_HASH)
  }
}

/** An account that does not exist at the fork block. */
const ABSENT = Symbol('absent')
const NO_CODE = new Uint8Array()

const PRUNED_REMEDY = 'use an archive endpoint or a newer --fork-block-number'

const ACCOUNT_INFO = 'eth_getAccountInfo'
const STORAGE_VALUES = 'eth_getStorageValues'
const STORAGE_AT = 'eth_getStorageAt'
const ACCESS_LIST = 'eth_createAccessList'
const BLOCK = 'eth_getBlockByNumber'
const BLOCK_BY_HASH = 'eth_getBlockByHash'

type SlotKey = Extract<MissingKey, { kind: 'slot' }>
type AccountKey = Extract<MissingKey, { kind: 'account' }>
type BlockHashKey = Extract<MissingKey, { kind: 'blockHash' }>
/** Keys (`textOf`) for which upstream gave no value. */
type FailedKeys = ReadonlyMap<string, UpstreamError>

interface Requested {
  readonly failed: FailedKeys
  readonly listed: readonly MissingKey[]
}

/** One call of a round, and what its result adds. */
interface Task {
  readonly call: UpstreamCall
  /** there is a fallback, or none is needed */
  readonly isOptional: boolean
  /** Keys that have no value if the call fails without a fallback. */
  readonly keys: readonly MissingKey[]
  /** Throws UpstreamError for a result of a wrong shape. */
  readonly take: (result: unknown, values: FetchedValues) => void
}

interface Refused {
  readonly task: Task
  readonly answer: Extract<UpstreamAnswer, { readonly error: unknown }>
}

/** An optional call is not needed, or has a fallback that shows whether the state is absent. */
function isPruned({ task, answer }: Refused): boolean {
  return !task.isOptional && answer.verdict === 'pruned'
}

/** Adds the values of a result. Returns the error of a result that has none. */
function taken({ take }: Task, result: unknown, values: FetchedValues): UpstreamError | null {
  try {
    take(result, values)
    return null
  } catch (error) {
    if (error instanceof UpstreamError) return error
    throw error
  }
}

/** Requests the access list of each call once; collects their keys. */
class AccessLists {
  readonly #calls: readonly AccessListCall[]
  readonly #keys = new Map<string, MissingKey>()
  #areAsked = false

  constructor(calls: readonly AccessListCall[]) {
    this.#calls = calls
  }

  get keys(): readonly MissingKey[] {
    return [...this.#keys.values()]
  }

  tasks(blockParameter: unknown): readonly Task[] {
    if (this.#areAsked) return []
    this.#areAsked = true
    return this.#calls.map((call) => ({
      call: { method: ACCESS_LIST, params: [callJson(call), blockParameter] },
      isOptional: true,
      keys: [],
      take: (result) => this.#take(result),
    }))
  }

  /** A list is a hint: malformed items are ignored. */
  #take(result: unknown): void {
    const list = isObject(result) ? result['accessList'] : null
    if (!Array.isArray(list)) return
    for (const item of list) {
      if (!isObject(item) || !Address.isAddress(item['address'])) continue
      const address = Address.from(item['address'])
      this.#add({ kind: 'account', address })
      const slots: readonly unknown[] = Array.isArray(item['storageKeys']) ? item['storageKeys'] : []
      for (const slot of slots) if (Hex.isHex(slot, 64)) this.#add({ kind: 'slot', address, slot: Hash.from(slot) })
    }
  }

  #add(key: MissingKey): void {
    if (this.#keys.size < ACCESS_LIST_KEYS) this.#keys.set(textOf(key), key)
  }
}

/** geth checks the sender's funds for the gas price, so it is 0. */
function callJson({ from, to, data, value, gas }: AccessListCall): object {
  const fixed = { from, data: Hex.fromBytes(data), value: Hex.fromQuantity(value), gasPrice: '0x0' }
  return { ...fixed, ...(to === null ? {} : { to }), ...(gas === null ? {} : { gas: Hex.fromQuantity(gas) }) }
}

/** A plain transfer reads nothing more, and a missing account implies missing slots only if it is the called one. */
function isWorthAList(keys: readonly MissingKey[], { to, data }: AccessListCall): boolean {
  return data.length > 0 && (keys.length > 1 || keys.some((key) => key.kind === 'slot' || (key.kind === 'account' && key.address === to)))
}

function addAccount(values: FetchedValues, address: Address, nonce: bigint, balance: bigint, code: Uint8Array): void {
  const codeHash = code.length === 0 ? EMPTY_CODE_HASH : Hash.keccak(code)
  if (code.length > 0) values.codes.set(codeHash, code)
  const isEmpty = nonce === 0n && balance === 0n && code.length === 0
  values.accounts.set(address, isEmpty ? null : { nonce, balance, codeHash })
}

function textOf(key: MissingKey): string {
  if (key.kind === 'blockHash') return String(key.number)
  return key.kind === 'slot' ? key.address + key.slot : key.address
}

function hashOf(block: unknown): unknown {
  return isObject(block) ? block['hash'] : null
}

function describe(key: MissingKey): string {
  if (key.kind === 'blockHash') return `the hash of block ${key.number}, an ancestor`
  return key.kind === 'slot' ? `slot ${key.slot} of ${key.address}` : `account ${key.address}`
}

/** Some nodes answer with checksummed addresses. */
function lowerCased(result: unknown): Readonly<Record<string, unknown>> | null {
  return isObject(result) ? Object.fromEntries(Object.entries(result).map(([address, values]) => [address.toLowerCase(), values])) : null
}

/** The block as eth_getBlockByNumber returns it without full transactions. */
function withHashes(block: JsonObject): JsonObject {
  const transactions: readonly unknown[] = Array.isArray(block['transactions']) ? block['transactions'] : []
  return { ...block, transactions: transactions.map((transaction) => (isObject(transaction) ? transaction['hash'] : transaction)) }
}

function sumOf(a: UpstreamStats, b: UpstreamStats): UpstreamStats {
  return { requests: a.requests + b.requests, retries: a.retries + b.retries, rateLimits: a.rateLimits + b.rateLimits }
}

function chunksOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}
