import { isObject } from '../eth/index.ts'
import type { Hash } from '../eth/index.ts'
import type { RpcRequest } from '../jsonrpc/index.ts'
import { Durations } from './durations.ts'
import { KEPT_BLOCKS, LISTED_REORGS } from './limits.ts'
import type { Problems } from './problems.ts'
import { hashOf, integer } from './receiptjson.ts'

/** Sealed blocks that were replaced by others. */
export interface Reorg {
  readonly atMs: number
  /** number of the first replaced block */
  readonly number: number
  readonly depth: number
  /** hash of the first replaced block, and of the block in its place */
  readonly from: Hash
  readonly to: Hash | null
}

interface HeadsDeps {
  readonly request: (request: RpcRequest) => Promise<unknown>
  readonly problems: Problems
  readonly nowMs: () => number
  readonly onSealed: (number: number, hash: Hash, nowMs: number) => void
  readonly onReplaced: (hashes: ReadonlySet<Hash>, nowMs: number) => void
}

/** Follows the sealed chain by its heads: intervals and reorganisations. */
export class Heads {
  /** between two heads in a row */
  readonly intervals = new Durations()
  readonly reorgs: Reorg[] = []
  reorgCount = 0
  count = 0
  #deps: HeadsDeps
  readonly #known = new Map<number, Hash>()
  #tip: { readonly number: number; readonly atMs: number } | null = null
  #checking: Promise<void> | null = null

  constructor(deps: HeadsDeps) {
    this.#deps = deps
  }

  get tip(): number | null {
    return this.#tip?.number ?? null
  }

  /** Accepts a header of any node. */
  accept(header: unknown): void {
    const { problems, nowMs, onSealed } = this.#deps
    const read = headOf(header)
    if (read === null) return problems.add('a head is not a header', JSON.stringify(header)?.slice(0, 200) ?? '')
    const { number, hash, parentHash } = read
    if (this.#known.get(number) === hash) return
    const atMs = nowMs()
    const parent = this.#known.get(number - 1)
    const isReplaced = this.#known.has(number) || (this.#tip !== null && number < this.#tip.number)
    if (isReplaced) this.#replace(number, hash, atMs)
    if (parent !== undefined && parent !== parentHash) {
      this.#replace(number - 1, parentHash, atMs)
      this.#check(number - 2)
    } else if (this.#tip !== null && number > this.#tip.number + 1) this.#check(this.#tip.number)
    if (this.#tip !== null && number === this.#tip.number + 1) this.intervals.add(atMs - this.#tip.atMs)
    this.#known.set(number, hash)
    if (this.#known.size > KEPT_BLOCKS) this.#known.delete(this.#known.keys().next().value!) // it is not empty
    this.#tip = { number, atMs }
    this.count++
    onSealed(number, hash, atMs)
  }

  /** Compares the known heads with the node's, because heads may have been missed. */
  interrupt(): void {
    if (this.#tip !== null) this.#check(this.#tip.number)
  }

  /** Resolves when all comparisons with the node have ended. */
  async idle(): Promise<void> {
    await this.#checking
  }

  /** Compares known hashes with the node, downward until one is equal. */
  #check(from: number): void {
    this.#checking = (this.#checking ?? Promise.resolve()).then(() => this.#compare(from)).catch(() => undefined) // unreachable: nothing is known
  }

  async #compare(from: number): Promise<void> {
    const { request, nowMs } = this.#deps
    for (let number = from; this.#known.has(number); number--) {
      const known = this.#known.get(number)
      const block = await request({ method: 'eth_getBlockByNumber', params: [`0x${number.toString(16)}`, false] })
      const hash = isObject(block) ? (hashOf(block['hash']) ?? null) : null
      if (hash === known || this.#known.get(number) !== known) return
      this.#replace(number, hash, nowMs())
    }
  }

  /** The known blocks from `number` on do not exist any more. Replacements that belong together are one reorganisation. */
  #replace(number: number, to: Hash | null, atMs: number): void {
    const gone = [...this.#known].filter(([each]) => each >= number)
    const from = this.#known.get(number)
    for (const [each] of gone) this.#known.delete(each)
    if (from === undefined) return
    const last = this.reorgs.at(-1)
    if (last !== undefined && last.number === number + 1 && gone.length === 1) {
      this.reorgs[this.reorgs.length - 1] = { ...last, number, depth: last.depth + 1, from, to }
    } else {
      this.reorgCount++
      if (this.reorgs.length < LISTED_REORGS) this.reorgs.push({ atMs, number, depth: gone.length, from, to })
    }
    this.#deps.onReplaced(new Set(gone.map(([, hash]) => hash)), atMs)
  }
}

function headOf(header: unknown): { readonly number: number; readonly hash: Hash; readonly parentHash: Hash } | null {
  if (!isObject(header)) return null
  const [number, hash, parentHash] = [integer(header['number']), hashOf(header['hash']), hashOf(header['parentHash'])]
  return number === undefined || hash === undefined || parentHash === undefined ? null : { number, hash, parentHash }
}
