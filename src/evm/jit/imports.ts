// Functions, machine globals and memory that compiled code imports from the runtime, and the functions that each module has of its own.
import { type Helper, I32, I64, type Import, type Signature } from './encoder.ts'
import { MULTIPLY_TYPE, multiplyBody } from './multiply.ts'

/** Type of each compiled function: frame record, stack pointer, gas, memory base, memory size. */
export const FUNCTION_TYPE: Signature = { parameters: [I32, I32, I64, I32, I32], results: [] }

const fn = (name: string, parameters: readonly number[], results: readonly number[] = []): Import => ({
  kind: 'function',
  name,
  signature: { parameters, results },
})
const fallible = (name: string): Import => fn(name, [I32], [I32])
const infallible = (name: string): Import => fn(name, [I32])
const global = (name: string, type = I32, mutable = true): Import => ({ kind: 'global', name, type, mutable })
const binary = (name: string): Import => fn(name, [I32, I32, I32])

export const IMPORTS: readonly Import[] = [
  fn('bail', [I32, I64, I32]),
  fn('callFromCompiled', [I32, I32], [I32]),
  fn('createFromCompiled', [I32, I32], [I32]),
  fn('refuelOrHalt', [], [I32]),
  fn('resizeMemoryFixed', [I32, I64], [I32]),
  fn('opLog', [I32, I32], [I32]),
  fn('opReturn', [I32, I32]),
  fn('pushAddress', [I32, I32]),
  fn('clz', [I32, I32]),
  ...['opExp', 'opKeccak', 'opSload', 'opSstore', 'opBalance', 'opExtCodeSize', 'opExtCodeHash', 'opExtCodeCopy'].map(fallible),
  ...['opCallDataCopy', 'opCodeCopy', 'opReturnDataCopy', 'opMcopy', 'opTstore'].map(fallible),
  ...['opTload', 'opCallDataLoad', 'opBlockHash', 'opBlobHash', 'pushSelf', 'pushSelfBalance'].map(infallible),
  ...['mul', 'div', 'sdiv', 'mod', 'smod', 'signextend', 'byteAt', 'shl', 'shr', 'sar'].map(binary),
  fn('addmod', [I32, I32, I32, I32]),
  fn('mulmod', [I32, I32, I32, I32]),
  global('gasLeft', I64),
  ...['frameStatus', 'memorySize', 'returnSize', 'fuel'].map((name) => global(name)),
  // per module and instance: jump bitmap, and number of jump destinations before every 64th byte
  global('jumps', I32, false),
  global('ranks', I32, false),
  { kind: 'memory', name: 'memory' },
]

const functions = new Map(IMPORTS.filter(({ kind }) => kind === 'function').map(({ name }, index) => [name, index]))
const globals = new Map(IMPORTS.filter(({ kind }) => kind === 'global').map(({ name }, index) => [name, index]))

export const HELPERS: readonly Helper[] = [{ signature: MULTIPLY_TYPE, body: multiplyBody() }]

/** index of the function that multiplies two words */
export const MULTIPLY = functions.size

/** index of the first function of a block */
export const FIRST_BLOCK = functions.size + HELPERS.length

export function functionOf(name: string): number {
  const index = functions.get(name)
  if (index === undefined) throw new RangeError(`the runtime exports no function ${name} for compiled code`)
  return index
}

export function globalOf(name: string): number {
  const index = globals.get(name)
  if (index === undefined) throw new RangeError(`the runtime exports no global ${name} for compiled code`)
  return index
}
