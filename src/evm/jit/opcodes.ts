// What the compiler knows about opcodes beyond the rules block: how many words they take and leave, and which of them see the gas that is
// left.

/** Words taken from and put on the stack, by opcode. Those that no fork has take and give nothing: they end a frame. */
export const TAKES = new Uint8Array(256)
export const GIVES = new Uint8Array(256)

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

function fill(opcodes: readonly number[], takes: number, gives: number): void {
  for (const opcode of opcodes) {
    TAKES[opcode] = takes
    GIVES[opcode] = gives
  }
}

/** GAS shows it, SSTORE refuses below a sum, calls and creations hand a share of it on: what follows them may not be paid before them. */
const SEES_GAS = Uint8Array.from({ length: 256 }, (_, opcode) =>
  [0x55, 0x5a, 0xf0, 0xf1, 0xf2, 0xf4, 0xf5, 0xfa].includes(opcode) ? 1 : 0,
)

export function seesGas(opcode: number): boolean {
  return SEES_GAS[opcode] === 1
}

/** Bytes that follow the opcode as its data. */
export function dataSize(opcode: number): number {
  return opcode >= 0x60 && opcode <= 0x7f ? opcode - 0x5f : 0
}

/** Prices and presence of the opcodes under one set of rules: the first part of a rules block. */
export class OpcodeRules {
  readonly #block: Uint8Array

  constructor(block: Uint8Array) {
    this.#block = block
  }

  /** before anything that depends on operands */
  gas(opcode: number): number {
    return this.#u16(8 * opcode)
  }

  isDefined(opcode: number): boolean {
    return this.#u16(8 * opcode + 2) !== UNDEFINED
  }

  #u16(at: number): number {
    return (this.#block[at] as number) | ((this.#block[at + 1] as number) << 8) // inside of the block
  }
}

const UNDEFINED = 0xffff
