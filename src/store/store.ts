import type {
  BlockStore,
  PersistedState,
  LocatedTransaction,
  LogFilter,
  GasPayment,
  TransactionLocation,
  LocatedLog,
} from '../chain/index.ts'
import { Address, Hash } from '../eth/index.ts'
import type { Block, Header } from '../eth/index.ts'
import type { WriteSet } from '../evm/index.ts'
import { BlockCache } from './blockcache.ts'
import { IdleWork } from './idlework.ts'
import { ItemIndex } from './index/index.ts'
import type { Candidates, Role, TransactionPosition } from './index/index.ts'
import { jsonWriter, logArrayJson } from './json/index.ts'
import type { LogSelection } from './json/index.ts'
import { DECODED_BLOCKS, DECODED_BYTES, KNOWN_BLOCK_IDS, SCANNED_SHARE } from './limits.ts'
import {
  BlockRecord,
  acceptsAll,
  byteFilter,
  checkRecord,
  CorruptRecord,
  RecordArena,
  encodeBlockInto,
  logCountOf,
} from './record/index.ts'
import type { ByteFilter } from './record/index.ts'
import { STORAGE_FORMAT, StorageError } from './storage/index.ts'
import type { Records, StorageBackend, StorageBlock, StorageChange, ChainMetadata } from './storage/index.ts'

export interface StoreOptions {
  /** the number of blocks whose state is kept; `null`: all */
  readonly stateBlocks?: number | null
}

/** Changes until `flush`. */
interface Staged {
  cut: number | null
  readonly blocks: (StorageBlock & { readonly block: Block })[]
  edits: WriteSet | null
  stateRoot: (() => Hash) | null
  openBlockRecord: Uint8Array | null | undefined
}

/**
 * The sealed blocks of a chain: records in a storage backend, with an index of hashes, transactions and logs. JSON is written from the
 * records; only callers that need a block as a value decode it.
 */
export class Store implements BlockStore {
  readonly persistedState: PersistedState | null
  readonly openBlockRecord: Uint8Array | null
  readonly #storage: StorageBackend
  readonly #options: StoreOptions
  readonly #index: ItemIndex
  readonly #decoded = new BlockCache<Block>(DECODED_BLOCKS, DECODED_BYTES)
  readonly #ids = new BlockCache<BlockId>(KNOWN_BLOCK_IDS)
  #staged = noChanges()
  /** holds staged records; backends copy them */
  readonly #arena = new RecordArena()
  readonly #idleMerges = new IdleWork(() => this.#mergeIdle())

  /** Throws CorruptSection, CorruptRecord and StorageError for damaged storage. */
  constructor(storage: StorageBackend, options: StoreOptions = {}) {
    this.#storage = storage
    this.#options = options
    this.persistedState = keptState(storage)
    this.openBlockRecord = storage.openBlockRecord
    this.#index = new ItemIndex(storage, storage.sections(), { firstBlock: storage.firstBlock })
    if (this.#index.next > this.height + 1) throw indexAhead(this.height, this.#index.next - 1)
    this.#indexMissing()
  }

  get firstBlock(): number {
    return this.#storage.firstBlock
  }

  get height(): number {
    return this.#storage.height
  }

  get records(): Records {
    return this.#storage.records
  }

  /** size on disk, or in memory */
  get sizeBytes(): number {
    return this.#storage.sizeBytes()
  }

  close(): Promise<void> {
    this.#idleMerges.close()
    return this.#storage.close()
  }

  // --- changes --------------------------------------------------------------------------------------------------------------------------

  append(block: Block, writes: WriteSet): void {
    const { cut, blocks } = this.#staged
    const { number } = block.header
    const next = (cut ?? this.height) + 1 + blocks.length
    if (number !== next) throw new RangeError(`block ${number} is not the next one, ${next}`)
    const record = encodeBlockInto(this.#arena, block)
    blocks.push({ block, number, record, writes })
    this.#staged.stateRoot = null
  }

  edit(writes: WriteSet, stateRoot: () => Hash): void {
    this.#staged.edits = writes
    this.#staged.stateRoot = stateRoot
  }

  putOpenBlockRecord(record: Uint8Array | null): void {
    this.#staged.openBlockRecord = record
  }

  truncate(number: number): void {
    const staged = this.#staged
    while ((staged.blocks.at(-1)?.number ?? Number.NEGATIVE_INFINITY) > number) staged.blocks.pop()
    if (staged.blocks.length === 0) this.#arena.clear()
    if (number < (staged.cut ?? this.height)) staged.cut = number
  }

  flush(): void {
    const staged = this.#staged
    this.#staged = noChanges()
    const { cut, blocks, edits, openBlockRecord } = staged
    if (cut === null && blocks.length === 0 && edits === null) {
      if (openBlockRecord !== undefined) this.#storage.writeOpenBlockRecord(openBlockRecord)
      return
    }
    try {
      if (cut !== null) this.#truncateCaches(cut)
      this.#storage.commit(this.#changeOf(staged))
    } catch (error) {
      this.#arena.clear()
      this.#indexMissing()
      throw error
    }
    this.#index.saved()
    for (const { block, record } of blocks) this.#indexBlock(block, record)
    this.#arena.clear()
    this.#idleMerges.postpone()
  }

  /** Staged changes are not part of its commits: index and storage are as of the last flush. Returns false if nothing is left to merge. */
  #mergeIdle(): boolean {
    try {
      if (!this.#index.mergeIdle()) return false
      if (this.#index.isWorthSaving) {
        this.#storage.commit({ sections: this.#index.changes() })
        this.#index.saved()
      }
      return true
    } catch (error) {
      if (error instanceof StorageError) return false // the next flush meets the same full or damaged disk, and reports it
      throw error
    }
  }

  /** The index lags one commit behind and is rebuilt from the records at start; truncations apply to both in one commit. */
  #changeOf({ cut, blocks, edits, stateRoot, openBlockRecord }: Staged): StorageChange {
    const newest = blocks.at(-1)?.block
    const root = stateRoot?.() ?? newest?.header.stateRoot
    return {
      ...this.#metaChange(newest),
      ...(cut === null ? undefined : { truncateTo: cut }),
      blocks,
      ...(edits === null ? undefined : { edits }),
      ...(root === undefined ? undefined : { stateRoot: root }),
      sections: this.#index.changes(),
      ...(openBlockRecord === undefined ? undefined : { openBlockRecord }),
      ...this.#floorAt(newest),
    }
  }

  /** The first change to a storage of an older format upgrades it, so that an older program refuses it. */
  #metaChange(genesis: Block | undefined): { meta?: ChainMetadata } {
    const { meta } = this.#storage
    if (meta?.format === STORAGE_FORMAT) return {}
    return { meta: { format: STORAGE_FORMAT, genesisHash: meta?.genesisHash ?? genesis?.hash ?? Hash.zero } }
  }

  #floorAt(newest: Block | undefined): { floor?: number } {
    const { stateBlocks = null } = this.#options
    return stateBlocks === null || newest === undefined ? {} : { floor: Math.max(0, newest.header.number - stateBlocks) }
  }

  #indexBlock(block: Block, record: Uint8Array): void {
    try {
      this.#index.append(record)
    } catch (error) {
      if (this.#index.next <= block.header.number) throw error
      // A merge could not read its inputs. The block is indexed and durable; a search that reads the damaged part throws.
    }
    const { number, timestamp } = block.header
    this.#decoded.set(number, block, record.length)
    this.#ids.set(number, { hash: block.hash, timestamp })
  }

  #truncateCaches(cut: number): void {
    this.#index.truncate(cut)
    this.#decoded.truncate(cut)
    this.#ids.truncate(cut)
  }

  #indexMissing(): void {
    for (let number = this.#index.next; number <= this.height; number++) this.#index.append(this.#read(number))
  }

  // --- blocks as values -----------------------------------------------------------------------------------------------------------------

  byNumber(number: number): Block | null {
    const known = this.#decoded.get(number)
    if (known !== null) return known
    const record = this.#recordOrNull(number)
    if (record === null) return null
    const block = record.decode()
    this.#decoded.set(number, block, record.bytes.length)
    return block
  }

  byHash(hash: Hash): Block | null {
    const number = this.numberOf(hash)
    return number === null ? null : this.byNumber(number)
  }

  numberOf(hash: Hash): number | null {
    for (const number of this.#index.blocks(Hash.toBytes(hash))) if (this.hashOf(number) === hash) return number
    return null
  }

  locate(transactionHash: Hash): LocatedTransaction | null {
    const place = this.locationOf(transactionHash)
    if (place === null) return null
    const block = this.byNumber(place.number)
    return block === null ? null : { block, index: place.index }
  }

  locationOf(transactionHash: Hash): TransactionLocation | null {
    for (const { block, index } of this.#index.transactions(Hash.toBytes(transactionHash))) {
      if (this.#record(block).transactionHash(index) === transactionHash) return { number: block, index }
    }
    return null
  }

  headerOf(number: number): Header | null {
    return this.#decoded.get(number)?.header ?? this.#recordOrNull(number)?.header() ?? null
  }

  transactionsBefore(address: Address, block: number): Iterable<TransactionLocation> {
    const bytes = Address.toBytes(address)
    return this.#transactionsOf(bytes, this.#index.transactionsBefore(bytes, BOTH_ROLES, block))
  }

  transactionsFrom(address: Address, block: number): Iterable<TransactionLocation> {
    const bytes = Address.toBytes(address)
    return this.#transactionsOf(bytes, this.#index.transactionsFrom(bytes, BOTH_ROLES, block))
  }

  /**
   * Finds by binary search the first block from which on the sender has only higher nonces, then the transaction in the last of its blocks before that. Reads
   * each record once, because memory may keep it compressed.
   */
  bySenderAndNonce(sender: Address, nonce: bigint): TransactionLocation | null {
    const bytes = Address.toBytes(sender)
    let [low, high] = [this.firstBlock, this.height + 1]
    let last: SentInBlock | null = null
    while (low < high) {
      const middle = (low + high) >>> 1
      const sent = this.#sentFrom(bytes, middle)
      if (sent === null || sent.record.nonceOf(sent.indices[0]!) > nonce) high = middle // it has at least one
      else [low, last] = [sent.record.number + 1, sent]
    }
    if (last === null) return null
    const { record, indices } = last
    const index = indices[partition(indices, (each) => record.nonceOf(each) < nonce)]
    return index !== undefined && record.nonceOf(index) === nonce ? { number: record.number, index } : null
  }

  /** Returns what the sender sent in the first of its blocks from `block` on. */
  #sentFrom(sender: Uint8Array, block: number): SentInBlock | null {
    let found: { record: BlockRecord; indices: number[] } | null = null
    let record: BlockRecord | null = null
    for (const { block: number, index } of this.#index.transactionsFrom(sender, SENDER, block)) {
      if (found !== null && number !== found.record.number) break
      if (record?.number !== number) record = this.#record(number)
      if (!record.isSender(sender, index)) continue
      if (found === null) found = { record, indices: [index] }
      else found.indices.push(index)
    }
    return found
  }

  *#transactionsOf(address: Uint8Array, candidates: Iterable<TransactionPosition>): Iterable<TransactionLocation> {
    let record: BlockRecord | null = null
    for (const { block, index } of candidates) {
      if (record?.number !== block) record = this.#record(block)
      if (record.isSender(address, index) || record.isReceiver(address, index)) yield { number: block, index }
    }
  }

  gasPaymentsOf(number: number): readonly GasPayment[] {
    return this.#record(number).payments()
  }

  hashOf(number: number): Hash | null {
    return this.#idOf(number)?.hash ?? null
  }

  timestampOf(number: number): number | null {
    return this.#idOf(number)?.timestamp ?? null
  }

  *logs(filter: LogFilter, from: number, to: number): Iterable<LocatedLog> {
    const bytes = byteFilter(filter)
    for (const { block: number, logs } of this.#candidates(bytes, from, to)) {
      const record = this.#record(number)
      const matching = (logs ?? allLogs(record)).filter((index) => record.matches(bytes, index))
      if (matching.length === 0) continue
      const block = this.byNumber(number)!
      for (const index of matching) yield { block, ...record.log(index) }
    }
  }

  /** Returns the record of a block. */
  recordOf(number: number): Uint8Array {
    return this.#read(number)
  }

  // --- blocks as JSON -------------------------------------------------------------------------------------------------------------------

  blockJsonBytes(number: number, full: boolean): Uint8Array {
    return jsonWriter().block(this.#read(number), full)
  }

  receiptsJsonBytes(number: number): Uint8Array {
    return jsonWriter().receipts(this.#read(number))
  }

  transactionJsonBytes({ number, index }: TransactionLocation): Uint8Array {
    return jsonWriter().transaction(this.#read(number), index)
  }

  receiptJsonBytes({ number, index }: TransactionLocation): Uint8Array {
    return jsonWriter().receipt(this.#read(number), index)
  }

  countLogs(filter: LogFilter, from: number, to: number): number {
    return this.#index.count(byteFilter(filter), from, Math.min(to, this.height))
  }

  *logsJsonBytes(filter: LogFilter, from: number, to: number): Iterable<Uint8Array> {
    const end = Math.min(to, this.height)
    const last = this.hashOf(end)
    for (const chunk of logArrayJson(this.#parts(byteFilter(filter), from, end), jsonWriter())) {
      yield chunk
      // Blocks are linked by hash: if the last one is unchanged, all are.
      if (this.hashOf(end) !== last) throw new BlockRemoved(end)
    }
  }

  *#parts(filter: ByteFilter, from: number, to: number): Generator<LogSelection, void, undefined> {
    const condition = acceptsAll(filter) ? null : filter
    for (const { block, logs } of this.#candidates(filter, from, to)) {
      const record = this.#read(block)
      const isScanned = logs === null || logs.length * SCANNED_SHARE >= logCountOf(record)
      yield { record, filter: condition, indices: isScanned ? null : logs }
    }
  }

  /** Blocks that may hold matching logs; `logs` is `null` if any log may match. */
  #candidates(filter: ByteFilter, from: number, to: number): Iterable<Candidates | { readonly block: number; readonly logs: null }> {
    const end = Math.min(to, this.height)
    const found = this.#index.find(filter, from, end)
    return found === 'scan' ? allBlocks(this.#index.blocksWithLogs(from, end)) : found
  }

  // --- records --------------------------------------------------------------------------------------------------------------------------

  #idOf(number: number): BlockId | null {
    const known = this.#ids.get(number)
    if (known !== null) return known
    const record = this.#recordOrNull(number)
    if (record === null) return null
    const id = { hash: record.hash, timestamp: record.timestamp }
    this.#ids.set(number, id)
    return id
  }

  #record(number: number): BlockRecord {
    return new BlockRecord(this.#read(number))
  }

  #recordOrNull(number: number): BlockRecord | null {
    const bytes = this.#readOrNull(number)
    return bytes === null ? null : new BlockRecord(bytes)
  }

  #read(number: number): Uint8Array {
    const bytes = this.#readOrNull(number)
    if (bytes === null) throw new Error(`block ${number} is missing from the store`)
    return bytes
  }

  /** Verified if it comes from disk. */
  #readOrNull(number: number): Uint8Array | null {
    const bytes = number < this.firstBlock ? null : this.#storage.block(number)
    if (bytes === null && number >= this.firstBlock && number <= this.height) throw new CorruptRecord(number, 'it is missing')
    if (bytes !== null && !this.#storage.isVolatile) checkRecord(bytes, number)
    return bytes
  }
}

interface BlockId {
  readonly hash: Hash
  /** seconds */
  readonly timestamp: number
}

/** Transactions of one sender in one block. */
interface SentInBlock {
  readonly record: BlockRecord
  /** Ascending, at least one. */
  readonly indices: readonly number[]
}

/** Returns the place of the first value that does not pass; all before it do. */
function partition<T>(values: readonly T[], passes: (value: T) => boolean): number {
  let [low, high] = [0, values.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (passes(values[middle]!)) low = middle + 1 // in range
    else high = middle
  }
  return low
}

const SENDER: readonly Role[] = ['sender']
const BOTH_ROLES: readonly Role[] = ['sender', 'receiver']

function noChanges(): Staged {
  return { cut: null, blocks: [], edits: null, stateRoot: null, openBlockRecord: undefined }
}

function keptState(storage: StorageBackend): PersistedState | null {
  const { state } = storage
  if (state === null) return null
  return {
    get oldestBlock() {
      return state.floor
    },
    get stateRoot() {
      if (storage.stateRoot === null) throw new Error('the store is empty: there is no state')
      return storage.stateRoot
    },
    dump: () => state.whole(),
    at: (number) => state.at(number),
    writesToRevertTo: (number) => state.writesBack(number),
  }
}

function allLogs({ logCount }: BlockRecord): readonly number[] {
  return Array.from({ length: logCount }, (_, index) => index)
}

function* allBlocks(numbers: Iterable<number>): Generator<{ readonly block: number; readonly logs: null }, void, undefined> {
  for (const block of numbers) yield { block, logs: null }
}

function indexAhead(height: number, indexed: number): StorageError {
  return new StorageError(
    'corrupt',
    `the log index goes up to block ${indexed}, the chain only to ${height}; restore the directory from a copy, or choose another one`,
  )
}

/** A block was removed while its logs were read, so the chunks so far are not a valid result. */
export class BlockRemoved extends Error {
  override readonly name = 'BlockRemoved'

  constructor(number: number) {
    super(`block ${number} was removed while it was being read`)
  }
}
