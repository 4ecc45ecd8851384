/** Opcodes that tracers look at, by name. */
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

/** geth's name of an opcode (core/vm/opcodes.go): `PUSH1`, `opcode 0xc not defined`. */
export function opcodeName(op: number): string {
  return NAMES[op] ?? `opcode 0x${op.toString(16)} not defined`
}

/** Each row: the first opcode, and the names from there on. */
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
