import { STACK_POPS, STACK_PUSHES } from '../opcodes.ts'
import { dataSize, type OpcodeRules } from './opcodes.ts'

/**
 * An extended basic block: straight-line code with one entry and possibly several exits (JUMPI does not end it). It starts at the first
 * byte, at a JUMPDEST, or where the previous block reaches the size limit.
 */
export interface BasicBlock {
  readonly pc: number
  readonly isDestination: boolean
  readonly ops: readonly Op[]
  /** stack words required at entry, and the maximum growth within the block */
  readonly stackRequired: number
  readonly stackGrowth: number
  /** true: continues in the next block; false: the last op ends it */
  readonly fallsThrough: boolean
}

export interface Op {
  readonly pc: number
  readonly code: number
  /** target of a JUMP whose ops follow in the same superblock */
  readonly to?: number
}

const JUMPDEST = 0x5b
const STOP: Op = { pc: -1, code: 0 }
/** STOP, JUMP, RETURN, REVERT, SELFDESTRUCT; undefined opcodes end a block too */
const ENDS = new Set([0x00, 0x56, 0xf3, 0xfd, 0xff])

/**
 * Returns the reachable blocks of a code in order. Code that runs off its end gets a STOP.
 * @param operationsMax maximum operations of a block
 */
export function basicBlocks(code: Uint8Array, rules: OpcodeRules, operationsMax: number): BasicBlock[] {
  const blocks: BasicBlock[] = []
  let pc = 0
  let isReached = true
  while (pc < code.length) {
    if (!isReached && code[pc] !== JUMPDEST) {
      pc += 1 + dataSize(code[pc] as number) // within the code, like the others
      continue
    }
    const { block, end } = basicBlockAt(pc, code, rules, operationsMax)
    blocks.push(block)
    isReached = block.fallsThrough
    pc = end
  }
  const last = blocks.at(-1)
  if (last?.fallsThrough === true)
    blocks[blocks.length - 1] = { ...last, ops: [...last.ops, { ...STOP, pc: code.length }], fallsThrough: false }
  return blocks
}

function basicBlockAt(start: number, code: Uint8Array, rules: OpcodeRules, operationsMax: number): { block: BasicBlock; end: number } {
  const ops: Op[] = []
  let [pc, height, stackRequired, stackGrowth, fallsThrough] = [start, 0, 0, 0, true]
  while (fallsThrough && pc < code.length && ops.length < operationsMax && (pc === start || code[pc] !== JUMPDEST)) {
    const opcode = code[pc] as number
    ops.push({ pc, code: opcode })
    fallsThrough = rules.isDefined(opcode) && !ENDS.has(opcode)
    const [pops, pushes] = [STACK_POPS[opcode] as number, STACK_PUSHES[opcode] as number]
    if (rules.isDefined(opcode)) {
      stackRequired = Math.max(stackRequired, pops - height)
      height += pushes - pops
      stackGrowth = Math.max(stackGrowth, height)
    }
    pc += 1 + dataSize(opcode)
  }
  return { block: { pc: start, isDestination: code[start] === JUMPDEST, ops, stackRequired, stackGrowth, fallsThrough }, end: pc }
}
