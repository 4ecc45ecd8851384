import type { ByteFilter } from '../record/bytefilter.ts'
import * as layout from '../writer/layout.ts'
import { decodeHeader, encodeHeader } from './sectionheader.ts'
import { KIND, keyOfBytes } from './keys.ts'
import { LIMITS, MERGES } from './limits.ts'
import type { IndexLimits } from './limits.ts'
import { Merge } from './merge.ts'
import { CorruptSection } from './page.ts'
import { Pages } from './pages.ts'
import type { NewPage, PageSource } from './pages.ts'
import { blockAt, positionOf } from './indexpart.ts'
import type { IndexPart } from './indexpart.ts'
import { PositionList } from './positionlist.ts'
import { AddressTransactions } from './addresstransactions.ts'
import type { Role, TransactionPosition } from './addresstransactions.ts'
import { QueryPlan, termsOf } from './query.ts'
import type { Term } from './query.ts'
import { Section } from './section.ts'
import { SectionWriter } from './sectionwriter.ts'
import { Tail } from './tail.ts'

/** A section's stored header. Ids of removed sections are reused. */
export interface StoredSectionHeader {
  readonly id: number
  readonly head: Uint8Array
}

/** The changes to store, atomically. */
export interface IndexChanges {
  /** pages to put, also of sections without a header yet: a large section is written over several commits */
  readonly pages: readonly NewPage[]
  /** headers to put, replacing those of the same id: a truncated section has a new header and its old pages */
  readonly heads: readonly StoredSectionHeader[]
  /** sections whose header and pages are deleted before the others are put; some may not exist */
  readonly remove: readonly number[]
}

/** Logs of a block that may match a filter. */
export interface Candidates {
  readonly block: number
  /** ascending, at least one. Not a Uint32Array: there are usually few, and allocating one takes longer than writing them as JSON. */
  readonly logs: readonly number[]
}

/**
 * Finds blocks and transactions by hash, transactions by sender and receiver, and logs by address and topics. Results are candidates to
 * verify on the records.
 *
 * Every block, transaction and log is an item, numbered over the chain: in a block with T transactions whose first item is f, the block is f,
 * transaction i is f+1+i and log j is f+1+T+j.
 */
export class ItemIndex {
  readonly #limits: IndexLimits
  /** number of the chain's first block */
  readonly #firstBlock: number
  readonly #pages: Pages
  /** contiguous from item 0, levels descending */
  #sections: Section[]
  readonly #tail = new Tail()
  /** writes the tail as a section */
  readonly #writer: SectionWriter
  #merges: Merge[] = []
  /** sections that are stored, wholly or in part, and those of them to delete */
  readonly #saved = new Set<number>()
  readonly #gone = new Set<number>()
  /** sections whose header is not stored */
  readonly #changed = new Set<number>()
  #lastId = -1
  #isDamaged = false
  /** number of truncations: a generator restarts its window after one */
  #cuts = 0

  /** Opens the stored sections; blocks from `next` on must be appended again. Throws CorruptSection. */
  constructor(source: PageSource, heads: Iterable<StoredSectionHeader>, { limits = LIMITS, firstBlock = 0 }: IndexOptions = {}) {
    this.#limits = limits
    this.#firstBlock = firstBlock
    this.#pages = new Pages(source, limits.cachedPages)
    this.#writer = new SectionWriter(limits, (page) => this.#pages.add(page))
    const sections = Array.from(heads, ({ id, head }) => new Section(id, decodeHeader(head, id), this.#pages))
    this.#sections = sections.sort((a, b) => a.firstItem - b.firstItem)
    checkRow(this.#sections, firstBlock)
    for (const { id } of this.#sections) this.#saved.add(id)
    this.#removeStrangers()
    this.#resetTail()
  }

  /** The number of the block to append. */
  get next(): number {
    return this.#tail.firstBlock + this.#tail.blocks
  }

  /** The number of items, which is the number of the next one. */
  get items(): number {
    return this.#tail.firstItem + this.#tail.items
  }

  /** Appends the next block's record. Throws RangeError for another block. */
  append(record: Uint8Array): void {
    const view = new DataView(record.buffer, record.byteOffset, record.length)
    const number = Number(view.getBigUint64(layout.RECORD_NUMBER_OFFSET, true))
    if (number !== this.next) throw new RangeError(`block ${number} is not the next one, ${this.next}`)
    const items = 1 + view.getUint32(layout.RECORD_TX_COUNT_OFFSET, true) + view.getUint32(layout.RECORD_LOG_COUNT_OFFSET, true)
    if (items > this.#limits.sectionItems)
      throw new RangeError(`block ${number} has ${items} items, at most ${this.#limits.sectionItems} are indexed`)
    if (this.#tail.items > 0 && this.#tail.items + items > this.#limits.tailItems) this.#freeze()
    this.#tail.append(view)
    this.#advance(items)
  }

  /**
   * Does one step of merging, about 0.1 ms, without a block to append. Sections that wait for more of their level are merged too.
   * @returns false if there was nothing to do
   */
  mergeIdle(): boolean {
    if (this.#merges.length === 0) this.#beginMerges(this.#limits.idleFanOut)
    const [merge] = this.#merges
    if (merge === undefined) return false
    this.#run(merge, () => merge.step())
    return true
  }

  /** Whether sections have changed since `saved`, or many pages are in memory only. */
  get isWorthSaving(): boolean {
    return this.#changed.size > 0 || this.#pages.unsavedCount >= this.#limits.unsavedPages
  }

  /** Removes all blocks above `toBlock`; below the first block: all. */
  truncate(toBlock: number): void {
    const blocks = toBlock + 1
    if (blocks >= this.next) return
    this.#cuts++
    if (blocks >= this.#tail.firstBlock) return this.#tail.truncate(blocks - this.#tail.firstBlock)
    const kept = this.#sections.filter((section) => section.firstBlock < blocks)
    const gone = this.#sections.slice(kept.length)
    const last = kept.at(-1)
    if (last !== undefined && last.firstBlock + last.blocks > blocks) {
      kept[kept.length - 1] = last.cut(blocks - last.firstBlock)
      this.#changed.add(last.id)
    }
    this.#sections = kept
    const valid = new Set<Section>(kept)
    const broken = this.#merges.filter(({ inputs }) => !inputs.every((section) => valid.has(section)))
    this.#merges = this.#merges.filter((merge) => !broken.includes(merge))
    this.#drop([...gone, ...broken].map(({ id }) => id))
    this.#resetTail()
  }

  /** Returns the changes since the last `saved`. Until that call new pages are read from memory. */
  changes(): IndexChanges {
    const heads = this.#sections.filter(({ id }) => this.#changed.has(id))
    return {
      pages: this.#pages.unsaved(),
      heads: heads.map(({ id, head }) => ({ id, head: encodeHeader(head, id) })),
      remove: [...this.#gone],
    }
  }

  /** Called when the result of `changes` is stored, without a change in between. */
  saved(): void {
    for (const { section } of this.#pages.unsaved()) this.#saved.add(section)
    for (const id of this.#changed) this.#saved.add(id)
    for (const id of this.#gone) this.#saved.delete(id)
    this.#pages.saved()
    this.#changed.clear()
    this.#gone.clear()
  }

  /** Yields blocks that may have this hash, newest first; usually none or one. */
  *blocks(hash: Uint8Array): Generator<number> {
    for (const { part, positions } of this.#newestFirst(keyOfBytes(KIND.block, hash))) {
      for (const position of positions) {
        const block = blockAt(part, position)
        if (part.starts[block] === position) yield part.firstBlock + block
      }
    }
  }

  /** Yields transactions that may have this hash, newest first; usually none or one. */
  *transactions(hash: Uint8Array): Generator<TransactionPosition> {
    for (const { part, positions } of this.#newestFirst(keyOfBytes(KIND.transaction, hash))) {
      for (const position of positions) {
        const block = blockAt(part, position)
        const index = position - (part.starts[block] as number) - 1 // in range
        if (index >= 0 && position < (part.logStarts[block] as number)) yield { block: part.firstBlock + block, index }
      }
    }
  }

  /** Yields transactions in blocks below `block` in which the address may have one of the roles, newest first, on demand. */
  *transactionsBefore(address: Uint8Array, roles: readonly Role[], block: number): Generator<TransactionPosition> {
    for (let end = Math.min(block, this.next); end > this.#firstBlock;) {
      const part = this.#partOf(end - 1)
      const party = new AddressTransactions(part, address, roles, this.#limits.windowPositions)
      const start = party.windowStart(end - part.firstBlock)
      const found = party.within(start, end - part.firstBlock)
      end = part.firstBlock + start
      yield* found.reverse()
    }
  }

  /** As `transactionsBefore`, in blocks from `block` on, oldest first. */
  *transactionsFrom(address: Uint8Array, roles: readonly Role[], block: number): Generator<TransactionPosition> {
    for (let start = Math.max(this.#firstBlock, block); start < this.next;) {
      const part = this.#partOf(start)
      const party = new AddressTransactions(part, address, roles, this.#limits.windowPositions)
      const end = party.windowEnd(start - part.firstBlock)
      const found = party.within(start - part.firstBlock, end)
      start = part.firstBlock + end
      yield* found
    }
  }

  /** Returns an upper bound of the matching logs in blocks from…to. */
  count(filter: ByteFilter, from: number, to: number): number {
    const terms = termsOf(filter)
    let count = 0
    for (const { part, start, end } of this.#pieces(from, to)) {
      count += terms.length === 0 ? logsWithin(part, start, end) : (QueryPlan.of(part, terms, this.#limits)?.countWithin(start, end) ?? 0)
    }
    return count
  }

  /**
   * Yields the logs of blocks from…to (inclusive) that may match, in chain order, on demand: blocks appended or removed meanwhile are seen as
   * they are then. Returns 'scan' if scanning every log of the range costs less.
   */
  find(filter: ByteFilter, from: number, to: number): Iterable<Candidates> | 'scan' {
    const terms = termsOf(filter)
    const pieces = this.#pieces(from, to)
    const items = pieces.reduce((sum, { start, end }) => sum + end - start, 0)
    const { scanItems, probeCost, candidateCost } = this.#limits
    const [first] = terms
    if (first === undefined || items < scanItems || first.length * probeCost * pieces.length > items) return 'scan'
    const plans = new Map<IndexPart, QueryPlan | null>()
    let cost = 0
    for (const { part, start, end } of pieces) {
      const plan = QueryPlan.of(part, terms, this.#limits)
      cost += plan === null ? first.length * probeCost : plan.cost + plan.countWithin(start, end) * candidateCost
      if (cost > items) return 'scan'
      if (part !== this.#tail) plans.set(part, plan)
    }
    return this.#candidates(terms, plans, from, to)
  }

  /** Yields the blocks from…to (inclusive) that have logs, on demand. */
  *blocksWithLogs(from: number, to: number): Generator<number> {
    for (let block = Math.max(this.#firstBlock, from); block <= to && block < this.next; block++) {
      const part = this.#partOf(block)
      const position = block - part.firstBlock
      if (positionOf(part, position + 1) > (part.logStarts[position] as number)) yield block // in range
    }
  }

  /** Throws RangeError if there is no such block. */
  firstItem(block: number): number {
    const part = this.#partOf(block)
    return part.firstItem + positionOf(part, block - part.firstBlock)
  }

  /** Returns the block that contains an item. Throws RangeError if there is no such item. */
  blockOf(item: number): number {
    if (!(item >= 0 && item < this.items)) throw new RangeError(`there is no item ${item}, only ${this.items}`)
    const part = item >= this.#tail.firstItem ? this.#tail : lastStarting(this.#sections, ({ firstItem }) => firstItem, item)
    return part.firstBlock + blockAt(part, item - part.firstItem)
  }

  *#newestFirst(key: number): Generator<{ readonly part: IndexPart; readonly positions: Uint32Array }> {
    for (let i = this.#sections.length; i >= 0; i--) {
      const part = this.#sections[i] ?? this.#tail
      const postings = part.probe(key)
      if (postings === null) continue
      const positions = new PositionList()
      part.read(postings, 0, part.items, positions)
      yield { part, positions: positions.view().reverse() }
    }
  }

  /** Each window reads the index as it is then. */
  *#candidates(terms: readonly Term[], plans: ReadonlyMap<IndexPart, QueryPlan | null>, from: number, to: number): Generator<Candidates> {
    let block = Math.max(this.#firstBlock, from)
    while (block <= to && block < this.next) {
      const part = this.#partOf(block)
      const known = plans.get(part)
      const plan = known === undefined ? QueryPlan.of(part, terms, this.#limits) : known
      if (plan === null) {
        block = part.firstBlock + part.blocks
        continue
      }
      const end = windowEnd(part, block - part.firstBlock, to + 1 - part.firstBlock, this.#limits.windowItems)
      const positions = plan.candidates(positionOf(part, block - part.firstBlock), positionOf(part, end))
      const cuts = this.#cuts
      block = part.firstBlock + end
      // The tail may change while the generator is suspended.
      for (const group of part === this.#tail ? [...groups(part, positions)] : groups(part, positions)) {
        yield group
        if (cuts === this.#cuts) continue
        block = group.block + 1
        break
      }
    }
  }

  /** The parts of blocks from…to, with the positions in each. */
  #pieces(from: number, to: number): readonly Piece[] {
    const [first, end] = [Math.max(this.#firstBlock, from), Math.min(this.next, to + 1)]
    if (first >= end) return []
    const parts = [...this.#sections, this.#tail].filter((part) => part.firstBlock < end && part.firstBlock + part.blocks > first)
    return parts.map((part) => ({
      part,
      start: positionOf(part, Math.max(0, first - part.firstBlock)),
      end: positionOf(part, end - part.firstBlock),
    }))
  }

  #partOf(block: number): IndexPart {
    if (!(block >= this.#firstBlock && block < this.next))
      throw new RangeError(`there is no block ${block}, only ${this.#firstBlock} to ${this.next - 1}`)
    return block >= this.#tail.firstBlock ? this.#tail : lastStarting(this.#sections, ({ firstBlock }) => firstBlock, block)
  }

  /** Turns the tail into a section. */
  #freeze(): void {
    const id = this.#freeId()
    const head = this.#tail.freeze(id, this.#writer)
    this.#sections.push(new Section(id, head, this.#pages))
    this.#changed.add(id)
    this.#resetTail()
    this.#beginMerges()
  }

  #resetTail(): void {
    const last = this.#sections.at(-1)
    if (last === undefined) this.#tail.reset(this.#firstBlock, 0)
    else this.#tail.reset(last.firstBlock + last.blocks, last.firstItem + last.items)
  }

  /** Advances every merge in proportion to the appended items. */
  #advance(items: number): void {
    for (const merge of this.#merges) this.#run(merge, () => merge.advance(items))
  }

  /** Abandons a merge that reads a damaged page, and starts no other. Reads of the damaged page throw; appending continues. */
  #run(merge: Merge, work: () => Section | null): void {
    let section: Section | null
    try {
      section = work()
    } catch (error) {
      this.#merges = this.#merges.filter((other) => other !== merge)
      this.#drop([merge.id])
      this.#isDamaged = true
      if (error instanceof CorruptSection) return
      throw error
    }
    if (section !== null) this.#finish(merge, section)
  }

  #finish(merge: Merge, section: Section): void {
    this.#merges = this.#merges.filter((other) => other !== merge)
    this.#sections.splice(this.#sections.indexOf(merge.inputs[0] as Section), merge.inputs.length, section) // a merge has inputs
    this.#changed.add(section.id)
    this.#drop(merge.inputs.map(({ id }) => id))
    this.#beginMerges()
  }

  #drop(ids: readonly number[]): void {
    for (const id of ids) {
      this.#changed.delete(id)
      if (this.#saved.has(id)) this.#gone.add(id)
    }
    this.#pages.forget(new Set(ids))
  }

  /** Starts at most one merge per level, of its oldest sections, if it has `sections` of them. */
  #beginMerges(sections = this.#limits.fanOut): void {
    const { fanOut } = this.#limits
    if (this.#isDamaged) return
    for (let level = 0; level <= (this.#sections[0]?.head.level ?? -1); level++) {
      const first = this.#sections.findIndex(({ head }) => head.level === level)
      const run = this.#sections.filter(({ head }) => head.level === level)
      if (run.length < sections || this.#merges.some(({ inputs }) => inputs[0]?.head.level === level)) continue
      const inputs = fitting(run.slice(0, fanOut), this.#limits)
      if (inputs.length > 1) this.#merges.push(new Merge(this.#freeId(), inputs, level + 1, this.#pages, this.#limits))
      else if (run.length >= fanOut) {
        this.#sections[first] = this.#sections[first]!.raised()
        this.#changed.add(run[0]!.id)
      }
    }
  }

  /** Ids rotate, so that they stay small and the pages of a removed section are deleted before its id is reused. */
  #freeId(): number {
    const { sectionIds } = this.#limits
    const used = new Set([...this.#sections, ...this.#merges].map(({ id }) => id))
    for (let i = 1; ; i++) {
      const id = i < sectionIds ? (this.#lastId + i) % sectionIds : i
      if (used.has(id) || this.#saved.has(id) || this.#gone.has(id)) continue
      this.#lastId = id
      return id
    }
  }

  /** Pages of unfinished merges have no header: deletes every id that no section has. */
  #removeStrangers(): void {
    const known = this.#sections.map(({ id }) => id)
    const end = known.length === 0 ? 0 : Math.max(this.#limits.sectionIds, ...known) + MERGES
    for (let id = 0; id < end; id++) if (!this.#saved.has(id)) this.#gone.add(id)
    this.#lastId = Math.max(-1, ...known)
  }
}

interface IndexOptions {
  readonly limits?: IndexLimits
  /** number of the chain's first block */
  readonly firstBlock?: number
}

interface Piece {
  readonly part: IndexPart
  /** positions */
  readonly start: number
  readonly end: number
}

/** The longest prefix that fits one section. */
function fitting(sections: readonly Section[], { sectionItems, sectionBlocks }: IndexLimits): readonly Section[] {
  let [items, blocks] = [0, 0]
  const end = sections.findIndex((section) => (items += section.items) > sectionItems || (blocks += section.blocks) > sectionBlocks)
  return end < 0 ? sections : sections.slice(0, end)
}

/** Groups the candidates that are logs by block. */
function* groups(part: IndexPart, positions: Uint32Array): Generator<Candidates> {
  let block = 0
  for (let i = 0; i < positions.length;) {
    block = blockAt(part, positions[i] as number, block) // in range, as below
    const [logStart, end] = [part.logStarts[block] as number, positionOf(part, block + 1)]
    // A block or a transaction may have the same key by collision.
    while (i < positions.length && (positions[i] as number) < logStart) i++
    const logs: number[] = []
    for (; i < positions.length && (positions[i] as number) < end; i++) logs.push((positions[i] as number) - logStart)
    if (logs.length > 0) yield { block: part.firstBlock + block, logs }
  }
}

/** Returns the block before which the window from `block` on ends. */
function windowEnd(part: IndexPart, block: number, end: number, items: number): number {
  const last = Math.min(end, part.blocks)
  const start = positionOf(part, block)
  return positionOf(part, last) - start <= items ? last : Math.max(block + 1, blockAt(part, start + items))
}

function logsWithin(part: IndexPart, start: number, end: number): number {
  let count = 0
  for (let block = start < end ? blockAt(part, start) : part.blocks; block < part.blocks && positionOf(part, block) < end; block++) {
    count += positionOf(part, block + 1) - (part.logStarts[block] as number) // in range
  }
  return count
}

/** Returns the last section that begins at or below `value`. The first section begins at 0. */
function lastStarting(sections: readonly Section[], of: (section: Section) => number, value: number): Section {
  let [low, high] = [0, sections.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (of(sections[middle] as Section) <= value) low = middle // in range
    else high = middle - 1
  }
  return sections[low] as Section // callers look up only what precedes the tail
}

/** Throws CorruptSection unless the sections are contiguous. */
function checkRow(sections: readonly Section[], firstBlock: number): void {
  let [block, item] = [firstBlock, 0]
  for (const { id, firstBlock, firstItem, blocks, items } of sections) {
    if (firstBlock !== block || firstItem !== item) throw new CorruptSection(id, `it begins at block ${firstBlock}, not ${block}`)
    block += blocks
    item += items
  }
}
