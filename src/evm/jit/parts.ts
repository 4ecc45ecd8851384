import { dataSize, GIVES, type OpcodeRules, TAKES } from './opcodes.ts'

/**
 * Straight code that becomes one function: entered at its beginning only, left in several places. One begins at the first
 * byte, at each JUMPDEST, and where the one before has grown too long.
 */
export interface Part {
  readonly pc: number
  readonly isDestination: boolean
  readonly ops: readonly Op[]
  /** words that must lie on the stack, and how many more it grows by, wherever in the part that is */
  readonly needs: number
  readonly grows: number
  /** false: the last op ends it; true: it runs on into the next part */
  readonly continues: boolean
}

export interface Op {
  readonly pc: number
  readonly code: number
  /** of a JUMP: where it goes; the ops from there follow in this same part */
  readonly to?: number
}

const JUMPDEST = 0x5b
const STOP: Op = { pc: -1, code: 0 }
/** STOP, JUMP, RETURN, REVERT, SELFDESTRUCT; what is not defined ends a part too */
const ENDS = new Set([0x00, 0x56, 0xf3, 0xfd, 0xff])

/**
 * All parts of a code, in order. What no jump reaches is left out. A code that does not end by itself ends with STOP.
 * @param opsMax operations of a part
 */
export function partsOf(code: Uint8Array, rules: OpcodeRules, opsMax: number): Part[] {
  const parts: Part[] = []
  let pc = 0
  let isReached = true
  while (pc < code.length) {
    if (!isReached && code[pc] !== JUMPDEST) {
      pc += 1 + dataSize(code[pc] as number) // inside of the code, like the others
      continue
    }
    const { part, end } = partAt(pc, code, rules, opsMax)
    parts.push(part)
    isReached = part.continues
    pc = end
  }
  const last = parts.at(-1)
  if (last?.continues === true) parts[parts.length - 1] = { ...last, ops: [...last.ops, { ...STOP, pc: code.length }], continues: false }
  return parts
}

function partAt(start: number, code: Uint8Array, rules: OpcodeRules, opsMax: number): { part: Part; end: number } {
  const ops: Op[] = []
  let [pc, height, needs, grows, continues] = [start, 0, 0, 0, true]
  while (continues && pc < code.length && ops.length < opsMax && (pc === start || code[pc] !== JUMPDEST)) {
    const opcode = code[pc] as number
    ops.push({ pc, code: opcode })
    continues = rules.isDefined(opcode) && !ENDS.has(opcode)
    const [takes, gives] = [TAKES[opcode] as number, GIVES[opcode] as number]
    if (rules.isDefined(opcode)) {
      needs = Math.max(needs, takes - height)
      height += gives - takes
      grows = Math.max(grows, height)
    }
    pc += 1 + dataSize(opcode)
  }
  return { part: { pc: start, isDestination: code[start] === JUMPDEST, ops, needs, grows, continues }, end: pc }
}
