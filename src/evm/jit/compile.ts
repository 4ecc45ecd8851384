import { superblocks } from './superblocks.ts'
import { Code, encodeModule } from './encoder.ts'
import { generateFunction } from './codegen.ts'
import { CODE_BYTES_MAX, FUNCTIONS_MAX, MODULE_BYTES_MAX, OPERATIONS_PER_FUNCTION, STRAIGHT_OPERATIONS_MAX } from './limits.ts'
import { OpcodeRules } from './opcodes.ts'
import { type BasicBlock, basicBlocks } from './basicblocks.ts'
import { FUNCTION_TYPE, HELPERS, IMPORTS } from './imports.ts'

/** A compiled code. */
export interface Compiled {
  readonly wasm: Uint8Array<ArrayBuffer>
  /** number of jump destinations before every 64th byte of the code */
  readonly ranks: Uint16Array
}

/** Compiles a code for the prices and opcodes of a rules block. Returns null if compiling or keeping it would cost too much. */
export function compile(code: Uint8Array, rulesBlock: Uint8Array, operationsMax = OPERATIONS_PER_FUNCTION): Compiled | null {
  const steps = compileSteps(code, rulesBlock, operationsMax)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** As `compile`, with a step for each function. */
export function* compileSteps(code: Uint8Array, rulesBlock: Uint8Array, operationsMax: number): Generator<void, Compiled | null> {
  if (code.length > CODE_BYTES_MAX) return null
  const rules = new OpcodeRules(rulesBlock)
  const blocks = basicBlocks(code, rules, operationsMax)
  if (isBomb(blocks, operationsMax)) return null
  const blockIndices = new Map(blocks.map(({ pc }, index) => [pc, index]))
  const unit = { code, rules, blockIndices, scratch: new Code(16_384) }
  const bodies: Uint8Array[] = []
  let bytes = 0
  for (const superblock of superblocks(blocks, code)) {
    const body = generateFunction(superblock, unit)
    bodies.push(body)
    bytes += body.length
    if (bytes > MODULE_BYTES_MAX) return null
    yield
  }
  const destinations = blocks.flatMap(({ isDestination }, index) => (isDestination ? [index] : []))
  const wasm = encodeModule({ imports: IMPORTS, helpers: HELPERS, signature: FUNCTION_TYPE, bodies, table: destinations, entry: 0 })
  return { wasm, ranks: ranksOf(blocks, code.length) }
}

function isBomb(blocks: readonly BasicBlock[], operationsMax: number): boolean {
  if (blocks.filter(({ isDestination }) => isDestination).length > FUNCTIONS_MAX) return true
  let [straight, longest] = [0, 0]
  for (const { isDestination, ops } of blocks) {
    straight = isDestination ? ops.length : straight + ops.length
    longest = Math.max(longest, straight)
  }
  return longest > STRAIGHT_OPERATIONS_MAX || (operationsMax === OPERATIONS_PER_FUNCTION && blocks.length > FUNCTIONS_MAX)
}

function ranksOf(blocks: readonly BasicBlock[], size: number): Uint16Array {
  const counts = new Uint16Array((size + 63) >> 6)
  for (const { pc, isDestination } of blocks) if (isDestination) counts[pc >> 6] = (counts[pc >> 6] ?? 0) + 1
  let before = 0
  return counts.map((count) => {
    before += count
    return before - count
  })
}
