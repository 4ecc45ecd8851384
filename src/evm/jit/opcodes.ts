// Opcode properties for the compiler beyond the rules block.

/**
 * Opcodes that observe the gas: GAS, SSTORE (EIP-2200 minimum), calls and creations (63/64). What follows them must not be charged before
 * them.
 */
const SEES_GAS = Uint8Array.from({ length: 256 }, (_, opcode) =>
  [0x55, 0x5a, 0xf0, 0xf1, 0xf2, 0xf4, 0xf5, 0xfa].includes(opcode) ? 1 : 0,
)

export function readsGas(opcode: number): boolean {
  return SEES_GAS[opcode] === 1
}

/** Number of data bytes after the opcode. */
export function dataSize(opcode: number): number {
  return opcode >= 0x60 && opcode <= 0x7f ? opcode - 0x5f : 0
}

/** Prices and presence of the opcodes, the first part of a rules block. */
export class OpcodeRules {
  readonly #block: Uint8Array

  constructor(block: Uint8Array) {
    this.#block = block
  }

  /** static gas */
  gas(opcode: number): number {
    return this.#u16(8 * opcode)
  }

  isDefined(opcode: number): boolean {
    return this.#u16(8 * opcode + 2) !== UNDEFINED
  }

  #u16(at: number): number {
    return (this.#block[at] as number) | ((this.#block[at + 1] as number) << 8) // within the block
  }
}

const UNDEFINED = 0xffff
