// What compiled code takes from the runtime: its functions, the machine's globals and the memory.
import { I32, I64, type Import, type Signature } from './encoder.ts'

/** Of every compiled function: frame record, address of the stack's top, gas, where the frame's memory begins, its size. */
export const FUNCTION: Signature = { parameters: [I32, I32, I64, I32, I32], results: [] }

const fn = (name: string, parameters: readonly number[], results: readonly number[] = []): Import => ({
  kind: 'function',
  name,
  signature: { parameters, results },
})
const asks = (name: string): Import => fn(name, [I32], [I32])
const changes = (name: string): Import => fn(name, [I32])
const global = (name: string, type = I32, mutable = true): Import => ({ kind: 'global', name, type, mutable })
const binary = (name: string): Import => fn(name, [I32, I32, I32])

export const IMPORTS: readonly Import[] = [
  fn('bail', [I32, I64, I32]),
  fn('callOut', [I32, I32], [I32]),
  fn('createOut', [I32, I32], [I32]),
  fn('goOn', [], [I32]),
  fn('rangeOf', [I32, I64], [I32]),
  fn('opLog', [I32, I32], [I32]),
  fn('opReturn', [I32, I32]),
  fn('pushAddress', [I32, I32]),
  fn('clz', [I32, I32]),
  ...['opExp', 'opKeccak', 'opSload', 'opSstore', 'opBalance', 'opExtCodeSize', 'opExtCodeHash', 'opExtCodeCopy'].map(asks),
  ...['opCallDataCopy', 'opCodeCopy', 'opReturnDataCopy', 'opMcopy', 'opTstore'].map(asks),
  ...['opTload', 'opCallDataLoad', 'opBlockHash', 'opBlobHash', 'pushSelf', 'pushSelfBalance'].map(changes),
  ...['mul', 'div', 'sdiv', 'mod', 'smod', 'signextend', 'byteAt', 'shl', 'shr', 'sar'].map(binary),
  fn('addmod', [I32, I32, I32, I32]),
  fn('mulmod', [I32, I32, I32, I32]),
  global('gasLeft', I64),
  ...['halted', 'memorySize', 'returnSize', 'fuel'].map((name) => global(name)),
  // of this form in this instance: the jump destinations' bits and how many lie before every 64th byte
  global('jumps', I32, false),
  global('ranks', I32, false),
  { kind: 'memory', name: 'memory' },
]

const functions = new Map(IMPORTS.filter(({ kind }) => kind === 'function').map(({ name }, index) => [name, index]))
const globals = new Map(IMPORTS.filter(({ kind }) => kind === 'global').map(({ name }, index) => [name, index]))

export const IMPORTED_FUNCTIONS = functions.size

export function functionOf(name: string): number {
  const index = functions.get(name)
  if (index === undefined) throw new RangeError(`compiled code knows no function ${name}`)
  return index
}

export function globalOf(name: string): number {
  const index = globals.get(name)
  if (index === undefined) throw new RangeError(`compiled code knows no global ${name}`)
  return index
}
