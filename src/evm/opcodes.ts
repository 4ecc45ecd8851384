/** Opcodes by name. */
export const OP = {
  STOP: 0x00,
  KECCAK256: 0x20,
  BALANCE: 0x31,
  EXTCODESIZE: 0x3b,
  EXTCODECOPY: 0x3c,
  EXTCODEHASH: 0x3f,
  ISZERO: 0x15,
  SLOAD: 0x54,
  SSTORE: 0x55,
  GAS: 0x5a,
  TLOAD: 0x5c,
  TSTORE: 0x5d,
  PUSH0: 0x5f,
  SWAP16: 0x9f,
  CREATE: 0xf0,
  CALL: 0xf1,
  CALLCODE: 0xf2,
  RETURN: 0xf3,
  DELEGATECALL: 0xf4,
  CREATE2: 0xf5,
  STATICCALL: 0xfa,
  REVERT: 0xfd,
  SELFDESTRUCT: 0xff,
} as const

/** Returns geth's name of an opcode (core/vm/opcodes.go): `PUSH1`, `opcode 0xc not defined`. */
export function opcodeName(op: number): string {
  return NAMES[op] ?? `opcode 0x${op.toString(16)} not defined`
}

/** The first opcode of each row and the names from there. */
const ROWS: readonly (readonly [number, string])[] = [
  [0x00, 'STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND'],
  [0x10, 'LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ'],
  [0x20, 'KECCAK256'],
  [0x30, 'ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY GASPRICE'],
  [0x3b, 'EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH'],
  [0x40, 'BLOCKHASH COINBASE TIMESTAMP NUMBER DIFFICULTY GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE'],
  [0x50, 'POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0'],
  [0xf0, 'CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2'],
  [0xfa, 'STATICCALL'],
  [0xfd, 'REVERT INVALID SELFDESTRUCT'],
]

const NAMES: readonly (string | undefined)[] = names()

function names(): readonly (string | undefined)[] {
  const table: (string | undefined)[] = Array.from({ length: 256 })
  for (const [first, row] of ROWS) for (const [i, name] of row.split(' ').entries()) table[first + i] = name
  for (let i = 0; i < 32; i++) table[0x60 + i] = `PUSH${i + 1}`
  for (let i = 0; i < 16; i++) table[0x80 + i] = `DUP${i + 1}`
  for (let i = 0; i < 16; i++) table[0x90 + i] = `SWAP${i + 1}`
  for (let i = 0; i < 5; i++) table[0xa0 + i] = `LOG${i}`
  return table
}

/** Stack words that an opcode pops and pushes, by opcode; 0 for opcodes that no fork defines. */
export const STACK_POPS = new Uint8Array(256)
export const STACK_PUSHES = new Uint8Array(256)

fill(
  [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a, 0x1b, 0x1c, 0x1d, 0x20],
  2,
  1,
)
fill([0x08, 0x09], 3, 1)
fill([0x15, 0x19, 0x1e, 0x31, 0x35, 0x3b, 0x3f, 0x40, 0x49, 0x51, 0x54, 0x5c], 1, 1)
fill([0x30, 0x32, 0x33, 0x34, 0x36, 0x38, 0x3a, 0x3d, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x4a, 0x58, 0x59, 0x5a, 0x5f], 0, 1)
fill([0x37, 0x39, 0x3e, 0x5e], 3, 0)
fill([0x3c], 4, 0)
fill([0x50, 0x56, 0xff], 1, 0)
fill([0x52, 0x53, 0x55, 0x57, 0x5d, 0xf3, 0xfd], 2, 0)
for (let n = 0; n < 32; n++) fill([0x60 + n], 0, 1)
for (let n = 1; n <= 16; n++) fill([0x7f + n], n, n + 1)
for (let n = 1; n <= 16; n++) fill([0x8f + n], n + 1, n + 1)
for (let n = 0; n <= 4; n++) fill([0xa0 + n], n + 2, 0)
fill([0xf0], 3, 1)
fill([0xf5], 4, 1)
fill([0xf1, 0xf2], 7, 1)
fill([0xf4, 0xfa], 6, 1)

function fill(opcodes: readonly number[], pops: number, pushes: number): void {
  for (const opcode of opcodes) {
    STACK_POPS[opcode] = pops
    STACK_PUSHES[opcode] = pushes
  }
}
