import type { AbiParameter } from 'viem'
import { decodeAbiParameters, toFunctionSelector } from 'viem/utils'
import { visible } from '../wallet/format.ts'
import type { CallJson } from './trace.ts'

const CONSOLE = '0x000000000000000000636f6e736f6c652e6c6f67'
const TYPES = ['uint256', 'string', 'bool', 'address'] as const
/** `log` has up to four parameters of these types; one of any other type has a function of its own. */
const MAX_PARAMETERS = 4
/** Lines that are shown. */
const LINES = 200

let types: ReadonlyMap<string, readonly string[]> | null = null

/** Returns the lines that a transaction wrote with console.log, in order, and whether there are more. */
export function consoleLines(call: CallJson): { readonly lines: readonly string[]; readonly isCut: boolean } {
  const lines: string[] = []
  const isCut = collect(call, lines)
  return { lines, isCut }
}

function collect(call: CallJson, lines: string[]): boolean {
  if (call.to?.toLowerCase() === CONSOLE) {
    if (lines.length >= LINES) return true
    lines.push(lineOf(call.input))
  }
  return (call.calls ?? []).some((each) => collect(each, lines))
}

function lineOf(input: string): string {
  types ??= selectors()
  const found = types.get(input.slice(0, 10))
  if (found === undefined) return input
  try {
    const values = decodeAbiParameters<readonly AbiParameter[]>(
      found.map((type) => ({ type })),
      `0x${input.slice(10)}`,
    )
    return format(values)
  } catch {
    return input
  }
}

/** As console.log of Node.js: %s and %d take the next values, %% is a percent sign, the rest follows with spaces. */
function format([first, ...rest]: readonly unknown[]): string {
  if (typeof first !== 'string') return [first, ...rest].map((value) => visible(String(value))).join(' ')
  const values = [...rest]
  const text = first.replaceAll(/%[sdio%]/g, (mark) => (mark === '%%' ? '%' : values.length === 0 ? mark : String(values.shift())))
  return [text, ...values].map((value) => visible(String(value))).join(' ')
}

/** The 340 functions of `log` by selector, and those of one parameter of another type. */
function selectors(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  let lists: readonly (readonly string[])[] = [[]]
  for (let count = 0; count <= MAX_PARAMETERS; count++) {
    for (const list of lists) found.set(toFunctionSelector(`log(${list.join(',')})`), list)
    lists = lists.flatMap((list) => TYPES.map((type) => [...list, type]))
  }
  for (const type of ['int256', 'bytes', ...Array.from({ length: 32 }, (_, i) => `bytes${i + 1}`)]) {
    for (const name of ['log', `log${type[0]?.toUpperCase()}${type.slice(1).replace('256', '')}`])
      found.set(toFunctionSelector(`${name}(${type})`), [type])
  }
  for (const type of TYPES) {
    found.set(toFunctionSelector(`log${type[0]?.toUpperCase()}${type.slice(1).replace('256', '')}(${type})`), [type])
  }
  return found
}
