import type { BlockStore, KeptState, Location, LogFilter, Payment, Place, PlacedLog } from '../chain/index.ts'
import { Address, Hash } from '../eth/index.ts'
import type { Block, Header } from '../eth/index.ts'
import type { WriteSet } from '../evm/index.ts'
import { ItemIndex } from './index/index.ts'
import type { Candidates, Role, TransactionPlace } from './index/index.ts'
import { jsonWriter, logText } from './json/index.ts'
import type { LogPart } from './json/index.ts'
import { DECODED_BLOCKS, DECODED_BYTES, KNOWN_HEADS, SCANNED_SHARE } from './limits.ts'
import {
  BlockRecord,
  byteFilter,
  checkRecord,
  CorruptRecord,
  RecordArena,
  encodeBlock,
  encodeBlockInto,
  logCountOf,
} from './record/index.ts'
import type { ByteFilter } from './record/index.ts'
import { SHELF_FORMAT, ShelfError } from './shelf/index.ts'
import type { Records, Shelf, ShelfBlock, ShelfChange, ShelfMeta } from './shelf/index.ts'

export interface StoreOptions {
  /** the state of older blocks is forgotten; null: it all stays */
  readonly stateBlocks?: number | null
}

/** What waits for `flush`. */
interface Staged {
  cut: number | null
  readonly blocks: (ShelfBlock & { readonly block: Block })[]
  edits: WriteSet | null
  stateRoot: (() => Hash) | null
  promises: Uint8Array | null | undefined
}

/**
 * The sealed blocks of a chain, as records on a shelf, with an index over their hashes and logs. What leaves as JSON is printed from the
 * records; only who wants a whole block as a value has it decoded.
 */
export class Store implements BlockStore {
  readonly kept: KeptState | null
  readonly promised: Uint8Array | null
  readonly #shelf: Shelf
  readonly #options: StoreOptions
  readonly #index: ItemIndex
  readonly #decoded = new DecodedBlocks()
  readonly #heads = new Map<number, Head>()
  #staged = nothing()
  /** where staged records lie; a shelf in memory keeps those that it is given */
  readonly #draft: RecordArena | null

  /** Throws CorruptSection, CorruptRecord and ShelfError when the shelf is damaged. */
  constructor(shelf: Shelf, options: StoreOptions = {}) {
    this.#shelf = shelf
    this.#options = options
    this.#draft = shelf.isVolatile ? null : new RecordArena()
    this.kept = keptOf(shelf)
    this.promised = shelf.promises
    this.#index = new ItemIndex(shelf, shelf.sections())
    if (this.#index.next > this.height + 1) throw aheadOf(this.height, this.#index.next - 1)
    this.#indexRest()
  }

  get height(): number {
    return this.#shelf.height
  }

  get records(): Records {
    return this.#shelf.records
  }

  /** bytes on the disk, or in memory */
  get sizeBytes(): number {
    return this.#shelf.sizeBytes()
  }

  close(): Promise<void> {
    return this.#shelf.close()
  }

  // --- changes --------------------------------------------------------------------------------------------------------------------------

  append(block: Block, writes: WriteSet): void {
    const { cut, blocks } = this.#staged
    const { number } = block.header
    const next = (cut ?? this.height) + 1 + blocks.length
    if (number !== next) throw new RangeError(`block ${number} is not the next one, ${next}`)
    const record = this.#draft === null ? encodeBlock(block) : encodeBlockInto(this.#draft, block)
    blocks.push({ block, number, record, writes })
    this.#staged.stateRoot = null
  }

  edit(writes: WriteSet, stateRoot: () => Hash): void {
    this.#staged.edits = writes
    this.#staged.stateRoot = stateRoot
  }

  promise(journal: Uint8Array | null): void {
    this.#staged.promises = journal
  }

  truncate(number: number): void {
    const staged = this.#staged
    while ((staged.blocks.at(-1)?.number ?? -1) > number) staged.blocks.pop()
    if (staged.blocks.length === 0) this.#draft?.clear()
    if (number < (staged.cut ?? this.height)) staged.cut = number
  }

  flush(): void {
    const staged = this.#staged
    this.#staged = nothing()
    const { cut, blocks, edits, promises } = staged
    if (cut === null && blocks.length === 0 && edits === null) {
      if (promises !== undefined) this.#shelf.journal(promises)
      return
    }
    try {
      if (cut !== null) this.#forget(cut)
      this.#shelf.commit(this.#changeOf(staged))
    } catch (error) {
      this.#draft?.clear()
      this.#indexRest()
      throw error
    }
    this.#index.saved()
    for (const { block, record } of blocks) this.#keep(block, record)
    this.#draft?.clear()
  }

  /** The index lags one commit behind: what is missing is made anew from the records. But what is cut off leaves both at once. */
  #changeOf({ cut, blocks, edits, stateRoot, promises }: Staged): ShelfChange {
    const newest = blocks.at(-1)?.block
    const root = stateRoot?.() ?? newest?.header.stateRoot
    return {
      ...this.#metaChange(newest),
      ...(cut === null ? undefined : { truncateTo: cut }),
      blocks,
      ...(edits === null ? undefined : { edits }),
      ...(root === undefined ? undefined : { stateRoot: root }),
      sections: this.#index.changes(),
      ...(promises === undefined ? undefined : { promises }),
      ...this.#floorAt(newest),
    }
  }

  /** From the first change on a shelf of an older format is one of ours, which an older program then refuses by that name. */
  #metaChange(genesis: Block | undefined): { meta?: ShelfMeta } {
    const { meta } = this.#shelf
    if (meta?.format === SHELF_FORMAT) return {}
    return { meta: { format: SHELF_FORMAT, genesisHash: meta?.genesisHash ?? genesis?.hash ?? Hash.zero } }
  }

  #floorAt(newest: Block | undefined): { floor?: number } {
    const { stateBlocks = null } = this.#options
    return stateBlocks === null || newest === undefined ? {} : { floor: Math.max(0, newest.header.number - stateBlocks) }
  }

  #keep(block: Block, record: Uint8Array): void {
    try {
      this.#index.append(record)
    } catch (error) {
      if (this.#index.next <= block.header.number) throw error
      // A merge could not read what it merges. The block is in the index and durable; who searches the unreadable part is told.
    }
    this.#decoded.add(block, record.length)
    this.#know(block.header.number, { hash: block.hash, timestamp: block.header.timestamp })
  }

  #forget(cut: number): void {
    this.#index.truncate(cut)
    this.#decoded.truncate(cut)
    for (const number of this.#heads.keys()) if (number > cut) this.#heads.delete(number)
  }

  #indexRest(): void {
    for (let number = this.#index.next; number <= this.height; number++) this.#index.append(this.#bytes(number))
  }

  // --- blocks as values -----------------------------------------------------------------------------------------------------------------

  byNumber(number: number): Block | null {
    const known = this.#decoded.get(number)
    if (known !== null) return known
    const record = this.#recordOrNull(number)
    if (record === null) return null
    const block = record.decode()
    this.#decoded.add(block, record.bytes.length)
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

  locate(transactionHash: Hash): Location | null {
    const place = this.placeOf(transactionHash)
    if (place === null) return null
    const block = this.byNumber(place.number)
    return block === null ? null : { block, index: place.index }
  }

  placeOf(transactionHash: Hash): Place | null {
    for (const { block, index } of this.#index.transactions(Hash.toBytes(transactionHash))) {
      if (this.#record(block).transactionHash(index) === transactionHash) return { number: block, index }
    }
    return null
  }

  headerOf(number: number): Header | null {
    return this.#decoded.get(number)?.header ?? this.#recordOrNull(number)?.header() ?? null
  }

  transactionsBefore(address: Address, block: number): Iterable<Place> {
    const bytes = Address.toBytes(address)
    return this.#ofParty(bytes, this.#index.transactionsBefore(bytes, PARTIES, block))
  }

  transactionsFrom(address: Address, block: number): Iterable<Place> {
    const bytes = Address.toBytes(address)
    return this.#ofParty(bytes, this.#index.transactionsFrom(bytes, PARTIES, block))
  }

  /** Looks for the first block at and above which the sender has only later nonces: the one before has the transaction, if any has. */
  sentWith(sender: Address, nonce: bigint): Place | null {
    const bytes = Address.toBytes(sender)
    let [low, high] = [0, this.height + 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      const next = this.#sentFrom(bytes, middle).next().value
      if (next === undefined || this.#record(next.number).nonceOf(next.index) > nonce) high = middle
      else low = next.number + 1
    }
    for (const place of this.#sentFrom(bytes, low - 1)) {
      if (place.number >= low) break
      if (this.#record(place.number).nonceOf(place.index) === nonce) return place
    }
    return null
  }

  *#sentFrom(sender: Uint8Array, block: number): Generator<Place, undefined> {
    for (const { block: number, index } of this.#index.transactionsFrom(sender, SENDERS, block)) {
      if (this.#record(number).isSender(sender, index)) yield { number, index }
    }
  }

  *#ofParty(address: Uint8Array, candidates: Iterable<TransactionPlace>): Iterable<Place> {
    let record: BlockRecord | null = null
    for (const { block, index } of candidates) {
      if (record?.number !== block) record = this.#record(block)
      if (record.isSender(address, index) || record.isReceiver(address, index)) yield { number: block, index }
    }
  }

  paymentsOf(number: number): readonly Payment[] {
    return this.#record(number).payments()
  }

  hashOf(number: number): Hash | null {
    return this.#head(number)?.hash ?? null
  }

  timestampOf(number: number): number | null {
    return this.#head(number)?.timestamp ?? null
  }

  *logs(filter: LogFilter, from: number, to: number): Iterable<PlacedLog> {
    const bytes = byteFilter(filter)
    for (const { block: number, logs } of this.#candidates(bytes, from, to)) {
      const record = this.#record(number)
      const matching = (logs ?? everyLog(record)).filter((index) => record.matches(bytes, index))
      if (matching.length === 0) continue
      const block = this.byNumber(number)!
      for (const index of matching) yield { block, ...record.log(index) }
    }
  }

  /** A block as it rests. */
  recordOf(number: number): Uint8Array {
    return this.#bytes(number)
  }

  // --- blocks as JSON -------------------------------------------------------------------------------------------------------------------

  blockText(number: number, full: boolean): Uint8Array {
    return jsonWriter().block(this.#bytes(number), full)
  }

  receiptsText(number: number): Uint8Array {
    return jsonWriter().receipts(this.#bytes(number))
  }

  transactionText({ number, index }: Place): Uint8Array {
    return jsonWriter().transaction(this.#bytes(number), index)
  }

  receiptText({ number, index }: Place): Uint8Array {
    return jsonWriter().receipt(this.#bytes(number), index)
  }

  countLogs(filter: LogFilter, from: number, to: number): number {
    return this.#index.count(byteFilter(filter), from, Math.min(to, this.height))
  }

  *logsText(filter: LogFilter, from: number, to: number): Iterable<Uint8Array> {
    const end = Math.min(to, this.height)
    const last = this.hashOf(end)
    for (const chunk of logText(this.#parts(byteFilter(filter), from, end), jsonWriter())) {
      yield chunk
      // Blocks are linked: while the last one is the same, all are.
      if (this.hashOf(end) !== last) throw new CutOff(end)
    }
  }

  *#parts(filter: ByteFilter, from: number, to: number): Generator<LogPart, void, undefined> {
    for (const { block, logs } of this.#candidates(filter, from, to)) {
      const record = this.#bytes(block)
      const isScanned = logs === null || logs.length * SCANNED_SHARE >= logCountOf(record)
      yield { record, filter, indices: isScanned ? null : logs }
    }
  }

  /** Blocks that may hold matching logs; null: any of its logs may match. */
  #candidates(filter: ByteFilter, from: number, to: number): Iterable<Candidates | { readonly block: number; readonly logs: null }> {
    const end = Math.min(to, this.height)
    const found = this.#index.find(filter, from, end)
    return found === 'scan' ? everyBlock(this.#index.blocksWithLogs(from, end)) : found
  }

  // --- records --------------------------------------------------------------------------------------------------------------------------

  #head(number: number): Head | null {
    const known = this.#heads.get(number)
    if (known !== undefined) return known
    const record = this.#recordOrNull(number)
    if (record === null) return null
    const head = { hash: record.hash, timestamp: record.timestamp }
    this.#know(number, head)
    return head
  }

  #know(number: number, head: Head): void {
    this.#heads.set(number, head)
    const oldest = this.#heads.keys().next().value
    if (this.#heads.size > KNOWN_HEADS && oldest !== undefined) this.#heads.delete(oldest)
  }

  #record(number: number): BlockRecord {
    return new BlockRecord(this.#bytes(number))
  }

  #recordOrNull(number: number): BlockRecord | null {
    const bytes = this.#bytesOrNull(number)
    return bytes === null ? null : new BlockRecord(bytes)
  }

  #bytes(number: number): Uint8Array {
    const bytes = this.#bytesOrNull(number)
    if (bytes === null) throw new Error(`block ${number} is missing from the store`)
    return bytes
  }

  /** Checked when they come from a disk. */
  #bytesOrNull(number: number): Uint8Array | null {
    const bytes = number < 0 ? null : this.#shelf.block(number)
    if (bytes === null && number >= 0 && number <= this.height) throw new CorruptRecord(number, 'it is missing')
    if (bytes !== null && !this.#shelf.isVolatile) checkRecord(bytes, number)
    return bytes
  }
}

interface Head {
  readonly hash: Hash
  /** seconds */
  readonly timestamp: number
}

/** Whole blocks that were asked for lately, at most DECODED_BLOCKS, and as many as their records fit into DECODED_BYTES. */
class DecodedBlocks {
  readonly #blocks = new Map<number, { readonly block: Block; readonly sizeBytes: number }>()
  #sizeBytes = 0

  get(number: number): Block | null {
    const known = this.#blocks.get(number)
    if (known === undefined) return null
    this.#blocks.delete(number)
    this.#blocks.set(number, known)
    return known.block
  }

  add(block: Block, sizeBytes: number): void {
    this.#delete(block.header.number)
    this.#blocks.set(block.header.number, { block, sizeBytes })
    this.#sizeBytes += sizeBytes
    for (const number of this.#blocks.keys()) {
      if (this.#blocks.size === 1 || (this.#sizeBytes <= DECODED_BYTES && this.#blocks.size <= DECODED_BLOCKS)) return
      this.#delete(number)
    }
  }

  truncate(height: number): void {
    for (const number of this.#blocks.keys()) if (number > height) this.#delete(number)
  }

  #delete(number: number): void {
    this.#sizeBytes -= this.#blocks.get(number)?.sizeBytes ?? 0
    this.#blocks.delete(number)
  }
}

const SENDERS: readonly Role[] = ['sender']
const PARTIES: readonly Role[] = ['sender', 'receiver']

function nothing(): Staged {
  return { cut: null, blocks: [], edits: null, stateRoot: null, promises: undefined }
}

function keptOf(shelf: Shelf): KeptState | null {
  const { state } = shelf
  if (state === null) return null
  return {
    get floor() {
      return state.floor
    },
    get stateRoot() {
      if (shelf.stateRoot === null) throw new Error('the store is empty: there is no state')
      return shelf.stateRoot
    },
    whole: () => state.whole(),
    at: (number) => state.at(number),
    writesBack: (number) => state.writesBack(number),
  }
}

function everyLog({ logCount }: BlockRecord): readonly number[] {
  return Array.from({ length: logCount }, (_, index) => index)
}

function* everyBlock(numbers: Iterable<number>): Generator<{ readonly block: number; readonly logs: null }, void, undefined> {
  for (const block of numbers) yield { block, logs: null }
}

function aheadOf(height: number, indexed: number): ShelfError {
  return new ShelfError(
    'corrupt',
    `the log index goes up to block ${indexed}, the chain only to ${height}; restore the directory from a copy, or choose another one`,
  )
}

/** A reader was in the middle of blocks that the chain has left. What it has got so far is no answer. */
export class CutOff extends Error {
  override readonly name = 'CutOff'

  constructor(number: number) {
    super(`block ${number} was cut off while it was being read`)
  }
}
