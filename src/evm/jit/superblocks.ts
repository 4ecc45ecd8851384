import { SUPERBLOCK_OPERATIONS_MAX, CODE_GROWTH_MAX } from './limits.ts'
import { STACK_POPS, STACK_PUSHES } from '../opcodes.ts'
import { dataSize } from './opcodes.ts'
import type { Op, BasicBlock } from './basicblocks.ts'

/** A sequence of blocks with one entry, compiled to one function that keeps the stack in locals. */
export interface Superblock extends BasicBlock {
  /** index of the block that follows when it `fallsThrough` */
  readonly next: number
}

const JUMP = 0x56

/**
 * Extends blocks across jumps to constant targets, mainly calls of internal functions and their returns. Tail duplication is bounded by
 * CODE_GROWTH_MAX; loops are not unrolled.
 */
export function superblocks(blocks: readonly BasicBlock[], code: Uint8Array, operationsMax = SUPERBLOCK_OPERATIONS_MAX): Superblock[] {
  const places = new Map(blocks.map(({ pc, isDestination }, index) => [isDestination ? pc : -1, index]))
  const all = blocks.reduce((sum, { ops }) => sum + ops.length, 0)
  let left = all * (CODE_GROWTH_MAX - 1)
  return blocks.map((block, index) => {
    const superblock = superblockFrom(index, blocks, places, code, Math.min(operationsMax, block.ops.length + left))
    left -= superblock.ops.length - block.ops.length
    return superblock
  })
}

function superblockFrom(
  start: number,
  blocks: readonly BasicBlock[],
  places: ReadonlyMap<number, number>,
  code: Uint8Array,
  operationsMax: number,
): Superblock {
  const seen = new Set<number>()
  const known = new KnownStack(code)
  const ops: Op[] = []
  const first = blocks[start] as BasicBlock // a valid index
  let [index, height, stackRequired, stackGrowth] = [start, 0, 0, 0]
  for (;;) {
    const block = blocks[index] as BasicBlock
    seen.add(index)
    stackRequired = Math.max(stackRequired, block.stackRequired - height)
    stackGrowth = Math.max(stackGrowth, height + block.stackGrowth)
    for (const op of block.ops) {
      height += (STACK_PUSHES[op.code] as number) - (STACK_POPS[op.code] as number)
      ops.push(op)
      known.run(op)
    }
    const last = block.ops.at(-1) as Op // blocks are not empty
    const to = block.fallsThrough ? index + 1 : last.code === JUMP ? places.get(known.target ?? -2) : undefined
    const next = to === undefined ? undefined : blocks[to]
    const isBack = to !== undefined && to <= index && seen.has(to)
    if (to === undefined || next === undefined || isBack || ops.length + next.ops.length > operationsMax) {
      return {
        pc: first.pc,
        isDestination: first.isDestination,
        ops,
        stackRequired,
        stackGrowth,
        fallsThrough: block.fallsThrough,
        next: index + 1,
      }
    }
    if (!block.fallsThrough) ops[ops.length - 1] = { ...last, to: next.pc }
    index = to
  }
}

/** The constants on the stack. */
class KnownStack {
  /** target of the last jump */
  target: number | undefined
  readonly #code: Uint8Array
  readonly #words: (number | undefined)[] = []

  constructor(code: Uint8Array) {
    this.#code = code
  }

  run({ pc, code }: Op): void {
    const words = this.#words
    if (code >= 0x5f && code <= 0x7f) words.push(this.#number(pc, code))
    else if (code >= 0x80 && code <= 0x8f) words.push(words[words.length - 1 - (code - 0x80)])
    else if (code >= 0x90 && code <= 0x9f) this.#swap(code - 0x8f)
    else {
      if (code === JUMP) this.target = words.at(-1)
      words.length = Math.max(0, words.length - (STACK_POPS[code] as number))
      for (let i = STACK_PUSHES[code] as number; i > 0; i--) words.push(undefined)
    }
  }

  #number(pc: number, code: number): number | undefined {
    const size = dataSize(code)
    if (size > 3) return undefined
    let number = 0
    for (let i = 1; i <= size; i++) number = (number << 8) | (this.#code[pc + i] ?? 0)
    return number
  }

  #swap(depth: number): void {
    const words = this.#words
    while (words.length <= depth) words.unshift(undefined)
    const other = words.length - 1 - depth
    ;[words[words.length - 1], words[other]] = [words[other], words[words.length - 1]]
  }
}
