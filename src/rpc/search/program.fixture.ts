import type { Address, Hex } from '../../eth/index.ts'

/** An instruction of a test program. Values are in wei. */
export type Instruction =
  | { readonly kind: 'call' | 'callcode'; readonly to: string; readonly value: number }
  | { readonly kind: 'delegatecall' | 'staticcall'; readonly to: string }
  | { readonly kind: 'create' | 'create2'; readonly init: Hex; readonly value: number }
  | { readonly kind: 'selfdestruct'; readonly to: string }
  | { readonly kind: 'revert' | 'invalid' }

const OPCODES = { call: 'f1', callcode: 'f2', delegatecall: 'f4', staticcall: 'fa', create: 'f0', create2: 'f5' } as const

/** Init code that deploys one byte (STOP), that reverts, and that halts. */
export const INIT: Readonly<Record<'stop' | 'revert' | 'halt', Hex>> = { stop: '0x60016000f3', revert: '0x60006000fd', halt: '0xfe' }

/** Returns code that executes the instructions in order and stops; results of calls are ignored. It can run as init code. */
export function program(instructions: readonly Instruction[]): Hex {
  return `0x${instructions.map(assembled).join('')}00`
}

/** Returns init code that deploys the code. */
export function deploying(code: Hex): Hex {
  const size = byte2((code.length - 2) / 2)
  return `0x61${size}80600c6000396000f3${code.slice(2)}`
}

function assembled(instruction: Instruction): string {
  switch (instruction.kind) {
    case 'call':
    case 'callcode':
      return `600060006000600060${byte(instruction.value)}${push20(instruction.to)}5a${OPCODES[instruction.kind]}50`
    case 'delegatecall':
    case 'staticcall':
      return `6000600060006000${push20(instruction.to)}5a${OPCODES[instruction.kind]}50`
    case 'create':
    case 'create2':
      return created(instruction.kind, instruction.init.slice(2), instruction.value)
    case 'selfdestruct':
      return `${push20(instruction.to)}ff`
    case 'revert':
      return '60006000fd'
    case 'invalid':
      return 'fe'
    default:
      throw new TypeError('an instruction of another kind')
  }
}

/** CREATE or CREATE2 (its salt is the program counter) of init code of at most 32 bytes. */
function created(kind: 'create' | 'create2', init: string, value: number): string {
  const size = init.length / 2
  const salt = kind === 'create2' ? '58' : ''
  return `${(0x5f + size).toString(16)}${init}600052${salt}60${byte(size)}60${byte(32 - size)}60${byte(value)}${OPCODES[kind]}50`
}

function push20(address: string): string {
  return `73${(address as Address).slice(2)}`
}

function byte(value: number): string {
  return value.toString(16).padStart(2, '0')
}

function byte2(value: number): string {
  return value.toString(16).padStart(4, '0')
}
