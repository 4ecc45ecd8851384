/** Opcodes by name. */
export const OP = {
  STOP: 0x00,
  ADD: 0x01,
  MUL: 0x02,
  SUB: 0x03,
  DIV: 0x04,
  SDIV: 0x05,
  MOD: 0x06,
  SMOD: 0x07,
  ADDMOD: 0x08,
  MULMOD: 0x09,
  EXP: 0x0a,
  SIGNEXTEND: 0x0b,
  LT: 0x10,
  GT: 0x11,
  SLT: 0x12,
  SGT: 0x13,
  EQ: 0x14,
  ISZERO: 0x15,
  AND: 0x16,
  OR: 0x17,
  XOR: 0x18,
  NOT: 0x19,
  BYTE: 0x1a,
  SHL: 0x1b,
  SHR: 0x1c,
  SAR: 0x1d,
  CLZ: 0x1e,
  KECCAK256: 0x20,
  ADDRESS: 0x30,
  BALANCE: 0x31,
  ORIGIN: 0x32,
  CALLER: 0x33,
  CALLVALUE: 0x34,
  CALLDATALOAD: 0x35,
  CALLDATASIZE: 0x36,
  CALLDATACOPY: 0x37,
  CODESIZE: 0x38,
  CODECOPY: 0x39,
  GASPRICE: 0x3a,
  EXTCODESIZE: 0x3b,
  EXTCODECOPY: 0x3c,
  RETURNDATASIZE: 0x3d,
  RETURNDATACOPY: 0x3e,
  EXTCODEHASH: 0x3f,
  BLOCKHASH: 0x40,
  COINBASE: 0x41,
  TIMESTAMP: 0x42,
  NUMBER: 0x43,
  PREVRANDAO: 0x44,
  GASLIMIT: 0x45,
  CHAINID: 0x46,
  SELFBALANCE: 0x47,
  BASEFEE: 0x48,
  BLOBHASH: 0x49,
  BLOBBASEFEE: 0x4a,
  POP: 0x50,
  MLOAD: 0x51,
  MSTORE: 0x52,
  MSTORE8: 0x53,
  SLOAD: 0x54,
  SSTORE: 0x55,
  JUMP: 0x56,
  JUMPI: 0x57,
  PC: 0x58,
  MSIZE: 0x59,
  GAS: 0x5a,
  JUMPDEST: 0x5b,
  TLOAD: 0x5c,
  TSTORE: 0x5d,
  MCOPY: 0x5e,
  PUSH0: 0x5f,
  PUSH1: 0x60,
  PUSH2: 0x61,
  PUSH20: 0x73,
  PUSH32: 0x7f,
  DUP1: 0x80,
  SWAP1: 0x90,
  LOG0: 0xa0,
  LOG4: 0xa4,
  CREATE: 0xf0,
  CALL: 0xf1,
  CALLCODE: 0xf2,
  RETURN: 0xf3,
  DELEGATECALL: 0xf4,
  CREATE2: 0xf5,
  STATICCALL: 0xfa,
  REVERT: 0xfd,
  INVALID: 0xfe,
  SELFDESTRUCT: 0xff,
} as const

const NAMES = new Map<number, string>(Object.entries(OP).map(([name, code]) => [code, name]))

/** `PUSH1 0x05 SLOAD …` */
export function disassemble(code: Uint8Array): string {
  const words: string[] = []
  for (let at = 0; at < code.length; at++) {
    const opcode = code[at] ?? 0
    words.push(nameOf(opcode))
    if (opcode < OP.PUSH1 || opcode > OP.PUSH32) continue
    const size = opcode - OP.PUSH0
    words.push(`0x${Buffer.from(code.subarray(at + 1, at + 1 + size)).toString('hex')}`)
    at += size
  }
  return words.join(' ')
}

function nameOf(opcode: number): string {
  if (opcode >= OP.PUSH1 && opcode <= OP.PUSH32) return `PUSH${opcode - OP.PUSH0}`
  if (opcode >= OP.DUP1 && opcode < OP.SWAP1) return `DUP${opcode - OP.DUP1 + 1}`
  if (opcode >= OP.SWAP1 && opcode < OP.LOG0) return `SWAP${opcode - OP.SWAP1 + 1}`
  if (opcode >= OP.LOG0 && opcode <= OP.LOG4) return `LOG${opcode - OP.LOG0}`
  return NAMES.get(opcode) ?? `0x${opcode.toString(16).padStart(2, '0')}`
}
