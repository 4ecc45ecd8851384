import { chainsOf } from './chains.ts'
import { Code, encodeModule } from './encoder.ts'
import { generate } from './generate.ts'
import { CODE_BYTES_MAX, FUNCTIONS_MAX, MODULE_BYTES_MAX, OPERATIONS_PER_FUNCTION, STRAIGHT_OPERATIONS_MAX } from './limits.ts'
import { OpcodeRules } from './opcodes.ts'
import { type Part, partsOf } from './parts.ts'
import { FUNCTION, IMPORTS } from './surface.ts'

/** EVM code as a WebAssembly module. */
export interface Compiled {
  readonly wasm: Uint8Array<ArrayBuffer>
  /** how many jump destinations lie before every 64th byte of the code */
  readonly ranks: Uint16Array
}

/**
 * Compiles a code for the prices and opcodes of a rules block. null: it is refused, for the time or the memory that it would cost later.
 */
export function compile(code: Uint8Array, rulesBlock: Uint8Array, operationsMax = OPERATIONS_PER_FUNCTION): Compiled | null {
  if (code.length > CODE_BYTES_MAX) return null
  const rules = new OpcodeRules(rulesBlock)
  const parts = partsOf(code, rules, operationsMax)
  if (isBomb(parts, operationsMax)) return null
  const places = new Map(parts.map(({ pc }, index) => [pc, index]))
  const unit = { code, rules, parts: places, scratch: new Code(16_384) }
  const bodies: Uint8Array[] = []
  let bytes = 0
  for (const chain of chainsOf(parts, code)) {
    const body = generate(chain, unit)
    bodies.push(body)
    bytes += body.length
    if (bytes > MODULE_BYTES_MAX) return null
  }
  const destinations = parts.flatMap(({ isDestination }, index) => (isDestination ? [index] : []))
  const wasm = encodeModule({ imports: IMPORTS, signature: FUNCTION, bodies, table: destinations, entry: 0 })
  return { wasm, ranks: ranksOf(parts, code.length) }
}

function isBomb(parts: readonly Part[], operationsMax: number): boolean {
  if (parts.filter(({ isDestination }) => isDestination).length > FUNCTIONS_MAX) return true
  let [straight, longest] = [0, 0]
  for (const { isDestination, ops } of parts) {
    straight = isDestination ? ops.length : straight + ops.length
    longest = Math.max(longest, straight)
  }
  return longest > STRAIGHT_OPERATIONS_MAX || (operationsMax === OPERATIONS_PER_FUNCTION && parts.length > FUNCTIONS_MAX)
}

function ranksOf(parts: readonly Part[], size: number): Uint16Array {
  const counts = new Uint16Array((size + 63) >> 6)
  for (const { pc, isDestination } of parts) if (isDestination) counts[pc >> 6] = (counts[pc >> 6] ?? 0) + 1
  let before = 0
  return counts.map((count) => {
    before += count
    return before - count
  })
}
