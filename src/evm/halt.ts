import {
  CODE_LEFT_OUT,
  CODE_STORE_OUT_OF_GAS,
  CODE_TOO_LARGE,
  COLLISION,
  DEPTH_EXCEEDED,
  INIT_CODE_TOO_LARGE,
  INSUFFICIENT_BALANCE,
  INVALID_CODE,
  INVALID_JUMP,
  INVALID_OPCODE,
  NONCE_OVERFLOW,
  OUT_OF_GAS,
  PRECOMPILE_FAILED,
  RETURN_OUT_OF_BOUNDS,
  REVERT,
  STACK_OVERFLOW,
  STACK_UNDERFLOW,
  STIPEND_ONLY,
  WRITE_PROTECTION,
} from './runtime/layout.ts'

/** Where the outermost frame stood when it halted; null when no bytecode ran. */
export interface HaltPlace {
  readonly opcode: number
  readonly stackSize: number
}

/** What later forks or nobody defined has no name in geth, but for these. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [0x1b, 'SHL'],
  [0x1c, 'SHR'],
  [0x1d, 'SAR'],
  [0x1e, 'CLZ'],
  [0x3d, 'RETURNDATASIZE'],
  [0x3e, 'RETURNDATACOPY'],
  [0x3f, 'EXTCODEHASH'],
  [0x46, 'CHAINID'],
  [0x47, 'SELFBALANCE'],
  [0x48, 'BASEFEE'],
  [0x49, 'BLOBHASH'],
  [0x4a, 'BLOBBASEFEE'],
  [0x5c, 'TLOAD'],
  [0x5d, 'TSTORE'],
  [0x5e, 'MCOPY'],
  [0x5f, 'PUSH0'],
  [0xf4, 'DELEGATECALL'],
  [0xf5, 'CREATE2'],
  [0xfa, 'STATICCALL'],
  [0xfd, 'REVERT'],
  [0xfe, 'INVALID'],
])

/** Items that an opcode takes from the stack, by opcode; those of DUP, SWAP and LOG follow from their number. */
const TAKES: ReadonlyMap<number, number> = new Map([
  ...each(1, [0x15, 0x19, 0x1e, 0x31, 0x35, 0x3b, 0x3f, 0x40, 0x49, 0x50, 0x51, 0x54, 0x56, 0x5c, 0xff]),
  ...each(2, [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18]),
  ...each(2, [0x1a, 0x1b, 0x1c, 0x1d, 0x20, 0x52, 0x53, 0x55, 0x57, 0x5d, 0xf3, 0xfd]),
  ...each(3, [0x08, 0x09, 0x37, 0x39, 0x3e, 0x5e, 0xf0]),
  ...each(4, [0x3c, 0xf5]),
  ...each(6, [0xf4, 0xfa]),
  ...each(7, [0xf1, 0xf2]),
])

/** What a halt is called, each in geth's words (core/vm/errors.go). */
export const HALT = {
  outOfGas: () => 'out of gas',
  stipendOnly: () => 'out of gas: not enough gas for reentrancy sentry',
  codeStoreOutOfGas: () => 'contract creation code storage out of gas',
  codeSize: () => 'max code size exceeded',
  initCodeSize: () => 'max initcode size exceeded',
  invalidCode: () => 'invalid code: must not begin with 0xef',
  collision: () => 'contract address collision',
  invalidJump: () => 'invalid jump destination',
  writeProtection: () => 'write protection',
  insufficientBalance: () => 'insufficient balance for transfer',
  invalidOpcode: (place: HaltPlace | null) => `invalid opcode: ${opcodeName(place?.opcode ?? 0xfe)}`,
  stackUnderflow: (place: HaltPlace | null) => `stack underflow (${place?.stackSize ?? 0} <=> ${itemsTaken(place?.opcode ?? 0)})`,
  outOfBounds: () => 'return data out of bounds',
  depth: () => 'max call depth exceeded',
  nonce: () => 'nonce uint64 overflow',
  stackOverflow: (place: HaltPlace | null) => `stack limit reached ${place?.stackSize ?? 1024} (1023)`,
} as const

const BY_REASON: ReadonlyMap<number, (place: HaltPlace | null) => string> = new Map([
  [OUT_OF_GAS, HALT.outOfGas],
  [STIPEND_ONLY, HALT.stipendOnly],
  [INVALID_OPCODE, HALT.invalidOpcode],
  [STACK_UNDERFLOW, HALT.stackUnderflow],
  [STACK_OVERFLOW, HALT.stackOverflow],
  [INVALID_JUMP, HALT.invalidJump],
  [WRITE_PROTECTION, HALT.writeProtection],
  [RETURN_OUT_OF_BOUNDS, HALT.outOfBounds],
  [INIT_CODE_TOO_LARGE, HALT.initCodeSize],
  [CODE_TOO_LARGE, HALT.codeSize],
  [INVALID_CODE, HALT.invalidCode],
  [CODE_STORE_OUT_OF_GAS, HALT.codeStoreOutOfGas],
  [COLLISION, HALT.collision],
  [DEPTH_EXCEEDED, HALT.depth],
  [INSUFFICIENT_BALANCE, HALT.insufficientBalance],
  [NONCE_OVERFLOW, HALT.nonce],
  [CODE_LEFT_OUT, HALT.codeStoreOutOfGas],
  [REVERT, () => 'execution reverted'],
])

/** What a frame ended with, of runtime/layout.ts, in words. `precompile` is what a precompile said itself. */
export function failureOf(
  reason: number,
  place: { readonly op: number; readonly stackSize: number } | null,
  precompile: string | null,
): string {
  if (reason === PRECOMPILE_FAILED) return precompile ?? 'precompile failed'
  const halted = place === null ? null : { opcode: place.op, stackSize: place.stackSize }
  return BY_REASON.get(reason)?.(halted) ?? `halted for reason ${reason}`
}

function opcodeName(opcode: number): string {
  return NAMES.get(opcode) ?? `opcode 0x${opcode.toString(16)} not defined`
}

function itemsTaken(opcode: number): number {
  if (opcode >= 0x80 && opcode <= 0x8f) return opcode - 0x7f
  if (opcode >= 0x90 && opcode <= 0x9f) return opcode - 0x8e
  if (opcode >= 0xa0 && opcode <= 0xa4) return opcode - 0x9e
  return TAKES.get(opcode) ?? 0
}

function each(items: number, opcodes: readonly number[]): [number, number][] {
  return opcodes.map((opcode) => [opcode, items])
}
