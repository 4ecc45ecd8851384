import { CHAIN_OPERATIONS_MAX, CHAINED_OPERATIONS_FACTOR } from './limits.ts'
import { dataSize, GIVES, TAKES } from './opcodes.ts'
import type { Op, Part } from './parts.ts'

/** A part with those behind it that nothing but this way leads on to: one function does all of it, and the stack stays in its locals. */
export interface Chain extends Part {
  /** index of the part that it runs on into when it `continues` */
  readonly next: number
}

const JUMP = 0x56

/**
 * Parts made longer: a jump to a place that is known goes on in the same function, above all into a short function of the contract's own and
 * back from it. What is said twice that way is bounded; a loop goes round through its function.
 */
export function chainsOf(parts: readonly Part[], code: Uint8Array, operationsMax = CHAIN_OPERATIONS_MAX): Chain[] {
  const places = new Map(parts.map(({ pc, isDestination }, index) => [isDestination ? pc : -1, index]))
  const all = parts.reduce((sum, { ops }) => sum + ops.length, 0)
  let left = all * (CHAINED_OPERATIONS_FACTOR - 1)
  return parts.map((part, index) => {
    const chain = chainFrom(index, parts, places, code, Math.min(operationsMax, part.ops.length + left))
    left -= chain.ops.length - part.ops.length
    return chain
  })
}

function chainFrom(
  start: number,
  parts: readonly Part[],
  places: ReadonlyMap<number, number>,
  code: Uint8Array,
  operationsMax: number,
): Chain {
  const seen = new Set<number>()
  const known = new KnownStack(code)
  const ops: Op[] = []
  const first = parts[start] as Part // an index of theirs
  let [index, height, needs, grows] = [start, 0, 0, 0]
  for (;;) {
    const part = parts[index] as Part
    seen.add(index)
    needs = Math.max(needs, part.needs - height)
    grows = Math.max(grows, height + part.grows)
    for (const op of part.ops) {
      height += (GIVES[op.code] as number) - (TAKES[op.code] as number)
      ops.push(op)
      known.run(op)
    }
    const last = part.ops.at(-1) as Op // no part is empty
    const to = part.continues ? index + 1 : last.code === JUMP ? places.get(known.target ?? -2) : undefined
    const next = to === undefined ? undefined : parts[to]
    const isBack = to !== undefined && to <= index && seen.has(to)
    if (to === undefined || next === undefined || isBack || ops.length + next.ops.length > operationsMax) {
      return { pc: first.pc, isDestination: first.isDestination, ops, needs, grows, continues: part.continues, next: index + 1 }
    }
    if (!part.continues) ops[ops.length - 1] = { ...last, to: next.pc }
    index = to
  }
}

/** Which words on the stack are numbers that stand in the code. */
class KnownStack {
  /** what the last jump took */
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
      words.length = Math.max(0, words.length - (TAKES[code] as number))
      for (let i = GIVES[code] as number; i > 0; i--) words.push(undefined)
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
