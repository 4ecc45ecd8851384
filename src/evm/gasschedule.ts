import { L1_FORKS } from './forks.ts'
import type { ChainConfig, L1Fork, Rules } from './forks.ts'
import { STACK_POPS, STACK_PUSHES } from './opcodes.ts'
import { activePrecompiles } from './precompiles/addresses.ts'
import { CODE_SIZE_MAX, COST_COLD_ACCOUNT, FORK, INIT_CODE_SIZE_MAX, PRECOMPILES, RULES } from './runtime/layout.ts'

/** Bytes of the rules block: from RULES to the last flag of PRECOMPILES. */
const RULES_SIZE = PRECOMPILES - RULES + 257

/** Static gas of an opcode and the fork that introduced it. */
interface Opcode {
  readonly gas: number
  readonly since: L1Fork
  /** later changes of the static gas, in order */
  readonly repriced?: readonly (readonly [L1Fork, number])[]
}

const OPCODES: ReadonlyMap<number, Opcode> = new Map([
  [0x00, op(0)],
  ...each([0x01, 0x03, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a], op(3)),
  ...each([0x02, 0x04, 0x05, 0x06, 0x07, 0x0b], op(5)),
  ...each([0x08, 0x09], op(8)),
  [0x0a, op(10)],
  ...each([0x15, 0x19], op(3)),
  ...each([0x1b, 0x1c, 0x1d], op(3, 'constantinople')),
  [0x1e, op(5, 'osaka')],
  [0x20, op(30)],
  ...each([0x30, 0x32, 0x33, 0x34, 0x36, 0x38, 0x3a, 0x41, 0x42, 0x43, 0x44, 0x45, 0x58, 0x59, 0x5a], op(2)),
  [
    0x31,
    op(20, 'frontier', [
      ['tangerine', 400],
      ['istanbul', 700],
      ['berlin', 100],
    ]),
  ],
  [0x35, op(3)],
  ...each([0x37, 0x39], op(3)),
  [
    0x3b,
    op(20, 'frontier', [
      ['tangerine', 700],
      ['berlin', 100],
    ]),
  ],
  [
    0x3c,
    op(20, 'frontier', [
      ['tangerine', 700],
      ['berlin', 100],
    ]),
  ],
  [0x3d, op(2, 'byzantium')],
  [0x3e, op(3, 'byzantium')],
  [
    0x3f,
    op(400, 'constantinople', [
      ['istanbul', 700],
      ['berlin', 100],
    ]),
  ],
  [0x40, op(20)],
  [0x46, op(2, 'istanbul')],
  [0x47, op(5, 'istanbul')],
  [0x48, op(2, 'london')],
  [0x49, op(3, 'cancun')],
  [0x4a, op(2, 'cancun')],
  [0x50, op(2)],
  [0x51, op(3)],
  ...each([0x52, 0x53], op(3)),
  [
    0x54,
    op(50, 'frontier', [
      ['tangerine', 200],
      ['istanbul', 800],
      ['berlin', 100],
    ]),
  ],
  [0x55, op(0)],
  [0x56, op(8)],
  [0x57, op(10)],
  [0x5b, op(1)],
  [0x5c, op(100, 'cancun')],
  [0x5d, op(100, 'cancun')],
  [0x5e, op(3, 'cancun')],
  [0x5f, op(2, 'shanghai')],
  ...numbered(0x60, 32, () => op(3)),
  ...numbered(0x80, 16, () => op(3)),
  ...numbered(0x90, 16, () => op(3)),
  ...numbered(0xa0, 5, (n) => op(375 * (n + 1))),
  [0xf0, op(32_000)],
  [
    0xf1,
    op(40, 'frontier', [
      ['tangerine', 700],
      ['berlin', 100],
    ]),
  ],
  [
    0xf2,
    op(40, 'frontier', [
      ['tangerine', 700],
      ['berlin', 100],
    ]),
  ],
  [0xf3, op(0)],
  [
    0xf4,
    op(40, 'homestead', [
      ['tangerine', 700],
      ['berlin', 100],
    ]),
  ],
  [0xf5, op(32_000, 'constantinople')],
  [0xfa, op(700, 'byzantium', [['berlin', 100]])],
  [0xfd, op(0, 'byzantium')],
  [0xff, op(0, 'frontier', [['tangerine', 5_000]])],
])

/** Dynamic gas. `coldAccount` and `coldSlot` are total costs; 0: no cold accesses yet (EIP-2929). */
interface Prices {
  readonly coldAccount: number
  readonly coldSlot: number
  readonly warm: number
  readonly expByte: number
  readonly sstoreReset: number
  readonly sstoreNoop: number
  readonly refundClear: number
  readonly refundSelfDestruct: number
}

/** Changes per fork. */
const PRICES: readonly (readonly [L1Fork, Partial<Prices>])[] = [
  ['frontier', { expByte: 10, sstoreReset: 5_000, sstoreNoop: 200, refundClear: 15_000, refundSelfDestruct: 24_000 }],
  ['spurious', { expByte: 50 }],
  ['istanbul', { sstoreNoop: 800 }],
  ['berlin', { coldAccount: 2_600, coldSlot: 2_100, warm: 100, sstoreReset: 2_900, sstoreNoop: 100 }],
  ['london', { refundClear: 4_800, refundSelfDestruct: 0 }],
]

const NO_PRICES: Prices = {
  coldAccount: 0,
  coldSlot: 0,
  warm: 0,
  expByte: 0,
  sstoreReset: 0,
  sstoreNoop: 0,
  refundClear: 0,
  refundSelfDestruct: 0,
}

/** words */
const STACK_MAX = 1_024
/** Marks an undefined opcode: an impossible minimum of stack bytes. */
const UNDEFINED = 0xffff
const NO_LIMIT = 0xffff_ffff

const known = new WeakMap<ChainConfig, WeakMap<Rules, Uint8Array>>()

/** Returns the rules of a chain's block in the layout of the runtime: the same bytes for the same rules. */
export function rulesBlock(config: ChainConfig, rules: Rules): Uint8Array {
  let blocks = known.get(config)
  if (blocks === undefined) known.set(config, (blocks = new WeakMap()))
  let block = blocks.get(rules)
  if (block === undefined) blocks.set(rules, (block = encodeRules(config, rules)))
  return block
}

function encodeRules({ codeSizeLimit }: ChainConfig, rules: Rules): Uint8Array {
  const block = new Uint8Array(RULES_SIZE)
  const view = new DataView(block.buffer)
  for (let code = 0; code < 256; code++) writeOpcode(view, code, rules)
  view.setUint32(FORK - RULES, L1_FORKS.indexOf(rules.l1), true)
  const prices = pricesOf(rules)
  const row = [
    prices.coldAccount,
    prices.coldSlot,
    prices.warm,
    prices.expByte,
    prices.sstoreReset,
    prices.sstoreNoop,
    prices.refundClear,
    prices.refundSelfDestruct,
  ]
  row.forEach((price, index) => view.setUint32(COST_COLD_ACCOUNT - RULES + 4 * index, price, true))
  view.setUint32(CODE_SIZE_MAX - RULES, codeSizeLimit ?? NO_LIMIT, true)
  view.setUint32(INIT_CODE_SIZE_MAX - RULES, codeSizeLimit === null ? NO_LIMIT : 2 * codeSizeLimit, true)
  for (const address of activePrecompiles(rules)) block[PRECOMPILES - RULES + Number(address)] = 1
  return block
}

/** u16 gas, u16 minimum stack bytes, u32 maximum stack bytes above the minimum. */
function writeOpcode(view: DataView, code: number, rules: Rules): void {
  const opcode = OPCODES.get(code)
  if (opcode === undefined || !rules.has(opcode.since)) return view.setUint16(8 * code + 2, UNDEFINED, true)
  const [pops, pushes] = [STACK_POPS[code] as number, STACK_PUSHES[code] as number] // 256 entries
  const maxHeight = STACK_MAX - Math.max(0, pushes - pops)
  view.setUint16(8 * code, gasOf(opcode, rules), true)
  view.setUint16(8 * code + 2, 32 * pops, true)
  view.setUint32(8 * code + 4, 32 * (maxHeight - pops), true)
}

function gasOf(opcode: Opcode, rules: Rules): number {
  return opcode.repriced?.findLast(([fork]) => rules.has(fork))?.[1] ?? opcode.gas
}

function pricesOf(rules: Rules): Prices {
  return PRICES.filter(([fork]) => rules.has(fork)).reduce((prices, [, changes]) => ({ ...prices, ...changes }), NO_PRICES)
}

function op(gas: number, since: L1Fork = 'frontier', repriced: Opcode['repriced'] = []): Opcode {
  return { gas, since, repriced }
}

function each(codes: readonly number[], opcode: Opcode): [number, Opcode][] {
  return codes.map((code) => [code, opcode])
}

function numbered(first: number, count: number, make: (index: number) => Opcode): [number, Opcode][] {
  return Array.from({ length: count }, (_, index) => [first + index, make(index)])
}
