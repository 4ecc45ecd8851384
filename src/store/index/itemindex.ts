import type { ByteFilter } from '../record/bytefilter.ts'
import * as layout from '../writer/layout.ts'
import { decodeHead, encodeHead } from './head.ts'
import { KIND, keyOfBytes } from './keys.ts'
import { LIMITS, MERGES } from './limits.ts'
import type { IndexLimits } from './limits.ts'
import { Merge } from './merge.ts'
import { CorruptSection } from './page.ts'
import { Pages } from './pages.ts'
import type { NewPage, PageSource } from './pages.ts'
import { blockAt, placeOf } from './part.ts'
import type { Part } from './part.ts'
import { Places } from './places.ts'
import { Party } from './party.ts'
import type { Role, TransactionPlace } from './party.ts'
import { PartPlan, termsOf } from './query.ts'
import type { Term } from './query.ts'
import { Section } from './section.ts'
import { SectionWriter } from './sectionwriter.ts'
import { Tail } from './tail.ts'

/** A section as it is saved: its number, which may be that of one that was removed before, and what it is. */
export interface SectionHead {
  readonly id: number
  readonly head: Uint8Array
}

/** What has to be saved, all of it or nothing. */
export interface IndexChanges {
  /** pages to put, also of sections that have no head yet: large ones are made little by little */
  readonly pages: readonly NewPage[]
  /** heads to put in place of those with the same number, if any: a section that was cut has a new head and its old pages */
  readonly heads: readonly SectionHead[]
  /** sections of which head and pages go, before the others are put; some may not be there */
  readonly remove: readonly number[]
}

/** Logs that may match: a filter has to look at them. */
export interface Candidates {
  readonly block: number
  /** indices in the block, rising; at least one. No Uint32Array: nearly always they are few, and one would take longer to make than to print them. */
  readonly logs: readonly number[]
}

/**
 * Finds blocks and transactions by hash, transactions by sender and receiver, and logs by address and topics. What it finds are candidates, to be looked at in the records.
 *
 * Every block, transaction and log is an item, counted over the chain: of a block with T transactions whose first item is f, the block is f,
 * its transaction i is f+1+i and its log j is f+1+T+j.
 */
export class ItemIndex {
  readonly #limits: IndexLimits
  readonly #pages: Pages
  /** one behind the other from item 0 on, levels falling */
  #sections: Section[]
  readonly #tail = new Tail()
  /** of what the tail becomes */
  readonly #writer: SectionWriter
  #merges: Merge[] = []
  /** sections that are saved, wholly or in part, and those of them that have to go */
  readonly #saved = new Set<number>()
  readonly #gone = new Set<number>()
  /** sections whose head is not saved */
  readonly #changed = new Set<number>()
  #lastId = -1
  #isDamaged = false
  /** how often something was cut off: who reads on then looks anew */
  #cuts = 0

  /** What was saved; the blocks from `next` on have to be appended again. Throws CorruptSection. */
  constructor(source: PageSource, heads: Iterable<SectionHead>, limits: IndexLimits = LIMITS) {
    this.#limits = limits
    this.#pages = new Pages(source, limits.cachedPages)
    this.#writer = new SectionWriter(limits, (page) => this.#pages.add(page))
    const sections = Array.from(heads, ({ id, head }) => new Section(id, decodeHead(head, id), this.#pages))
    this.#sections = sections.sort((a, b) => a.firstItem - b.firstItem)
    checkRow(this.#sections)
    for (const { id } of this.#sections) this.#saved.add(id)
    this.#removeStrangers()
    this.#resetTail()
  }

  /** The number of the block that `append` needs. */
  get next(): number {
    return this.#tail.firstBlock + this.#tail.blocks
  }

  /** How many there are: the number of the next one. */
  get items(): number {
    return this.#tail.firstItem + this.#tail.items
  }

  /** The record of the next block. Throws RangeError when it is another one. */
  append(record: Uint8Array): void {
    const view = new DataView(record.buffer, record.byteOffset, record.length)
    const number = Number(view.getBigUint64(layout.R_NUMBER, true))
    if (number !== this.next) throw new RangeError(`block ${number} is not the next one, ${this.next}`)
    const items = 1 + view.getUint32(layout.R_TRANSACTIONS, true) + view.getUint32(layout.R_LOGS, true)
    if (items > this.#limits.sectionItems)
      throw new RangeError(`block ${number} has ${items} items, at most ${this.#limits.sectionItems} are indexed`)
    if (this.#tail.items > 0 && this.#tail.items + items > this.#limits.tailItems) this.#freeze()
    this.#tail.append(view)
    this.#advance(items)
  }

  /** Forgets all blocks above; -1: all. */
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

  /** What has to be saved since `saved` was last called. Pages are read from memory until then. */
  changes(): IndexChanges {
    const heads = this.#sections.filter(({ id }) => this.#changed.has(id))
    return {
      pages: this.#pages.unsaved(),
      heads: heads.map(({ id, head }) => ({ id, head: encodeHead(head, id) })),
      remove: [...this.#gone],
    }
  }

  /** What `changes` said, with nothing in between, is saved. */
  saved(): void {
    for (const { section } of this.#pages.unsaved()) this.#saved.add(section)
    for (const id of this.#changed) this.#saved.add(id)
    for (const id of this.#gone) this.#saved.delete(id)
    this.#pages.saved()
    this.#changed.clear()
    this.#gone.clear()
  }

  /** Numbers of blocks that may have this hash, newest first; nearly always none or one. */
  *blocks(hash: Uint8Array): Generator<number> {
    for (const { part, places } of this.#newestFirst(keyOfBytes(KIND.block, hash))) {
      for (const place of places) {
        const block = blockAt(part, place)
        if (part.starts[block] === place) yield part.firstBlock + block
      }
    }
  }

  /** Places of transactions that may have this hash, newest first; nearly always none or one. */
  *transactions(hash: Uint8Array): Generator<TransactionPlace> {
    for (const { part, places } of this.#newestFirst(keyOfBytes(KIND.transaction, hash))) {
      for (const place of places) {
        const block = blockAt(part, place)
        const index = place - (part.starts[block] as number) - 1 // in range
        if (index >= 0 && place < (part.logStarts[block] as number)) yield { block: part.firstBlock + block, index }
      }
    }
  }

  /** Places of transactions in blocks below `block` in which the address may have one of the roles, newest first; read while they are asked for. */
  *transactionsBefore(address: Uint8Array, roles: readonly Role[], block: number): Generator<TransactionPlace> {
    for (let end = Math.min(block, this.next); end > 0;) {
      const part = this.#partOf(end - 1)
      const party = new Party(part, address, roles, this.#limits.windowPlaces)
      const start = party.windowStart(end - part.firstBlock)
      const found = party.within(start, end - part.firstBlock)
      end = part.firstBlock + start
      yield* found.reverse()
    }
  }

  /** The same in blocks from `block` on, oldest first. */
  *transactionsFrom(address: Uint8Array, roles: readonly Role[], block: number): Generator<TransactionPlace> {
    for (let start = Math.max(0, block); start < this.next;) {
      const part = this.#partOf(start)
      const party = new Party(part, address, roles, this.#limits.windowPlaces)
      const end = party.windowEnd(start - part.firstBlock)
      const found = party.within(start - part.firstBlock, end)
      start = part.firstBlock + end
      yield* found
    }
  }

  /** How many logs of the blocks from…to match, at most. */
  count(filter: ByteFilter, from: number, to: number): number {
    const terms = termsOf(filter)
    let count = 0
    for (const { part, start, end } of this.#pieces(from, to)) {
      count += terms.length === 0 ? logsWithin(part, start, end) : new PartPlan(part, terms, this.#limits).countWithin(start, end)
    }
    return count
  }

  /**
   * The logs of the blocks from…to (both included) that may match, in the order of the chain, read while they are asked for: blocks that
   * are appended or cut off in the meantime are seen as they are then. Or that to look at every log of the range costs less.
   */
  find(filter: ByteFilter, from: number, to: number): Iterable<Candidates> | 'scan' {
    const terms = termsOf(filter)
    const pieces = this.#pieces(from, to)
    const items = pieces.reduce((sum, { start, end }) => sum + end - start, 0)
    const { scanItems, probeCost, candidateCost } = this.#limits
    const [first] = terms
    if (first === undefined || items < scanItems || first.length * probeCost * pieces.length > items) return 'scan'
    const plans = new Map<Part, PartPlan>()
    let cost = 0
    for (const { part, start, end } of pieces) {
      const plan = new PartPlan(part, terms, this.#limits)
      cost += plan.cost + plan.countWithin(start, end) * candidateCost
      if (cost > items) return 'scan'
      if (part !== this.#tail) plans.set(part, plan)
    }
    return this.#candidates(terms, plans, from, to)
  }

  /** Numbers of the blocks from…to (both included) that hold logs, read while they are asked for. */
  *blocksWithLogs(from: number, to: number): Generator<number> {
    for (let block = Math.max(0, from); block <= to && block < this.next; block++) {
      const part = this.#partOf(block)
      const place = block - part.firstBlock
      if (placeOf(part, place + 1) > (part.logStarts[place] as number)) yield block // in range
    }
  }

  /** Number of the block's first item. Throws RangeError when there is no such block. */
  firstItem(block: number): number {
    const part = this.#partOf(block)
    return part.firstItem + placeOf(part, block - part.firstBlock)
  }

  /** Number of the block to which the item belongs. Throws RangeError when there is no such item. */
  blockOf(item: number): number {
    if (!(item >= 0 && item < this.items)) throw new RangeError(`there is no item ${item}, only ${this.items}`)
    const part = item >= this.#tail.firstItem ? this.#tail : lastStarting(this.#sections, ({ firstItem }) => firstItem, item)
    return part.firstBlock + blockAt(part, item - part.firstItem)
  }

  *#newestFirst(key: number): Generator<{ readonly part: Part; readonly places: Uint32Array }> {
    for (let i = this.#sections.length; i >= 0; i--) {
      const part = this.#sections[i] ?? this.#tail
      const postings = part.probe(key)
      if (postings === null) continue
      const places = new Places()
      part.read(postings, 0, part.items, places)
      yield { part, places: places.view().reverse() }
    }
  }

  /** Piece by piece, each as the index is then. */
  *#candidates(terms: readonly Term[], plans: ReadonlyMap<Part, PartPlan>, from: number, to: number): Generator<Candidates> {
    let block = Math.max(0, from)
    while (block <= to && block < this.next) {
      const part = this.#partOf(block)
      const plan = plans.get(part) ?? new PartPlan(part, terms, this.#limits)
      const end = windowEnd(part, block - part.firstBlock, to + 1 - part.firstBlock, this.#limits.windowItems)
      const places = plan.candidates(placeOf(part, block - part.firstBlock), placeOf(part, end))
      const cuts = this.#cuts
      block = part.firstBlock + end
      // The tail is another one when its reader comes back.
      for (const group of part === this.#tail ? [...groups(part, places)] : groups(part, places)) {
        yield group
        if (cuts === this.#cuts) continue
        block = group.block + 1
        break
      }
    }
  }

  /** The parts that the blocks from…to lie in, and where. */
  #pieces(from: number, to: number): readonly Piece[] {
    const [first, end] = [Math.max(0, from), Math.min(this.next, to + 1)]
    if (first >= end) return []
    const parts = [...this.#sections, this.#tail].filter((part) => part.firstBlock < end && part.firstBlock + part.blocks > first)
    return parts.map((part) => ({
      part,
      start: placeOf(part, Math.max(0, first - part.firstBlock)),
      end: placeOf(part, end - part.firstBlock),
    }))
  }

  #partOf(block: number): Part {
    if (!(block >= 0 && block < this.next)) throw new RangeError(`there is no block ${block}, only ${this.next}`)
    return block >= this.#tail.firstBlock ? this.#tail : lastStarting(this.#sections, ({ firstBlock }) => firstBlock, block)
  }

  /** The tail becomes a section. */
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
    if (last === undefined) this.#tail.reset(0, 0)
    else this.#tail.reset(last.firstBlock + last.blocks, last.firstItem + last.items)
  }

  /** Every merge does its share. */
  #advance(items: number): void {
    for (const merge of this.#merges) {
      const section = this.#step(merge, items)
      if (section !== null) this.#finish(merge, section)
    }
  }

  /** A merge that meets damage is given up, and none is begun again: who asks for what is damaged is told, and blocks are appended still. */
  #step(merge: Merge, items: number): Section | null {
    try {
      return merge.advance(items)
    } catch (error) {
      this.#merges = this.#merges.filter((other) => other !== merge)
      this.#drop([merge.id])
      this.#isDamaged = true
      if (error instanceof CorruptSection) return null
      throw error
    }
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

  /** At each level one merge at a time, of the oldest. */
  #beginMerges(): void {
    const { fanOut } = this.#limits
    if (this.#isDamaged) return
    for (let level = 0; level <= (this.#sections[0]?.head.level ?? -1); level++) {
      const first = this.#sections.findIndex(({ head }) => head.level === level)
      const run = this.#sections.filter(({ head }) => head.level === level)
      if (run.length < fanOut || this.#merges.some(({ inputs }) => inputs[0]?.head.level === level)) continue
      const inputs = fitting(run.slice(0, fanOut), this.#limits)
      if (inputs.length > 1) this.#merges.push(new Merge(this.#freeId(), inputs, level + 1, this.#pages, this.#limits))
      else {
        this.#sections[first] = this.#sections[first]!.raised()
        this.#changed.add(run[0]!.id)
      }
    }
  }

  /** Numbers go round, so that they stay few and there is time to clear away what had them before. */
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

  /** Pages of merges that had not ended have no head: any number that no section has may be theirs. */
  #removeStrangers(): void {
    const known = this.#sections.map(({ id }) => id)
    const end = known.length === 0 ? 0 : Math.max(this.#limits.sectionIds, ...known) + MERGES
    for (let id = 0; id < end; id++) if (!this.#saved.has(id)) this.#gone.add(id)
    this.#lastId = Math.max(-1, ...known)
  }
}

interface Piece {
  readonly part: Part
  /** places */
  readonly start: number
  readonly end: number
}

/** As many, from the first on, as one section may hold. */
function fitting(sections: readonly Section[], { sectionItems, sectionBlocks }: IndexLimits): readonly Section[] {
  let [items, blocks] = [0, 0]
  const end = sections.findIndex((section) => (items += section.items) > sectionItems || (blocks += section.blocks) > sectionBlocks)
  return end < 0 ? sections : sections.slice(0, end)
}

/** Candidates that are logs, by block. */
function* groups(part: Part, places: Uint32Array): Generator<Candidates> {
  let block = 0
  for (let i = 0; i < places.length;) {
    block = blockAt(part, places[i] as number, block) // in range, as below
    const [logStart, end] = [part.logStarts[block] as number, placeOf(part, block + 1)]
    // A block or a transaction may have the key of an address or a topic.
    while (i < places.length && (places[i] as number) < logStart) i++
    const logs: number[] = []
    for (; i < places.length && (places[i] as number) < end; i++) logs.push((places[i] as number) - logStart)
    if (logs.length > 0) yield { block: part.firstBlock + block, logs }
  }
}

/** The part's block before which the piece that begins at `block` ends. */
function windowEnd(part: Part, block: number, end: number, items: number): number {
  const last = Math.min(end, part.blocks)
  const start = placeOf(part, block)
  return placeOf(part, last) - start <= items ? last : Math.max(block + 1, blockAt(part, start + items))
}

function logsWithin(part: Part, start: number, end: number): number {
  let count = 0
  for (let block = start < end ? blockAt(part, start) : part.blocks; block < part.blocks && placeOf(part, block) < end; block++) {
    count += placeOf(part, block + 1) - (part.logStarts[block] as number) // in range
  }
  return count
}

/** The last section that does not begin above `value`; the first begins at 0. */
function lastStarting(sections: readonly Section[], of: (section: Section) => number, value: number): Section {
  let [low, high] = [0, sections.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (of(sections[middle] as Section) <= value) low = middle // in range
    else high = middle - 1
  }
  return sections[low] as Section // nobody asks for what is before the tail without one
}

/** Throws CorruptSection unless each begins where the one before ends. */
function checkRow(sections: readonly Section[]): void {
  let [block, item] = [0, 0]
  for (const { id, firstBlock, firstItem, blocks, items } of sections) {
    if (firstBlock !== block || firstItem !== item) throw new CorruptSection(id, `it begins at block ${firstBlock}, not ${block}`)
    block += blocks
    item += items
  }
}
