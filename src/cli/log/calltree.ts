import { Hex } from '../../eth/index.ts'
import { AbiTable } from './abis.ts'
import type { DecodedArgument } from './abis.ts'
import { decodeConsoleCall } from './console.ts'
import { labelOf } from './labels.ts'
import { TREE_LINES } from './limits.ts'
import { reasonText } from './reason.ts'
import { argumentsText, shortened, valueText } from './values.ts'

/** A frame of geth's callTracer with logs. */
export interface CallFrame {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly gasUsed: string
  readonly input: Hex
  readonly output?: Hex
  readonly value?: string
  readonly error?: string
  readonly calls?: readonly CallFrame[]
  readonly logs?: readonly CallLog[]
}

interface CallLog {
  readonly topics: readonly Hex[]
  readonly data: Hex
  /** number of calls before it */
  readonly position: string
}

const CONSOLE_ADDRESS = '0x000000000000000000636f6e736f6c652e6c6f67'

/** Returns the lines of a call tree as forge prints it: `[gas] address::function(arguments)`, events, and what each call returned. */
export function callTree(root: CallFrame, abis: AbiTable): readonly string[] {
  const lines: string[] = []
  const isComplete = addFrame(lines, root, abis, '', '')
  return isComplete ? lines : [...lines, `… the tree has more than ${TREE_LINES} lines; debug_traceTransaction returns all of it`]
}

/** True if ABIs of the artifacts may give names that the table lacks. */
export function hasUnknownNames(frame: CallFrame, abis: AbiTable): boolean {
  const isKnown = isCreation(frame) || frame.input === '0x' || frame.to === CONSOLE_ADDRESS || abis.decode('function', frame.input) !== null
  return (
    !isKnown ||
    (frame.logs ?? []).some(({ topics, data }) => abis.decodeLog(topics, data) === null) ||
    (frame.calls ?? []).some((call) => hasUnknownNames(call, abis))
  )
}

/** `first` precedes the line of the frame, `rest` those below it. Returns false when the tree is too long. */
function addFrame(lines: string[], frame: CallFrame, abis: AbiTable, first: string, rest: string): boolean {
  if (lines.length >= TREE_LINES) return false
  lines.push(`${first}${headText(frame, abis)}`)
  const { calls = [], logs = [] } = frame
  let nextLog = 0
  const addLogs = (position: number) => {
    for (let log = logs[nextLog]; log !== undefined && Number(log.position) <= position; log = logs[++nextLog]) {
      lines.push(`${rest}  ├─ ${logText(log, abis)}`)
    }
  }
  for (const [position, call] of calls.entries()) {
    addLogs(position)
    if (!addFrame(lines, call, abis, `${rest}  ├─ `, `${rest}  │ `)) return false
  }
  addLogs(Infinity)
  lines.push(`${rest}  └─ ${endText(frame, abis)}`)
  return true
}

function headText(frame: CallFrame, abis: AbiTable): string {
  const gas = `[${Number(frame.gasUsed)}]`
  const to = frame.to === undefined ? 'a contract' : labelOf(frame.to)
  if (isCreation(frame)) return `${gas} → new ${to}${valueSuffix(frame)}`
  if (frame.type === 'SELFDESTRUCT') return `${gas} selfdestruct to ${to}${valueSuffix(frame)}`
  return `${gas} ${calledText(frame, to, abis)}${KINDS.get(frame.type) ?? ''}`
}

function calledText(frame: CallFrame, to: string, abis: AbiTable): string {
  const { input } = frame
  if (frame.to === CONSOLE_ADDRESS) {
    const message = decodeConsoleCall(Hex.toBytes(input))
    return message === null
      ? `console::${input.slice(0, 10)}`
      : `console::log(${shortened(message.args.map(({ value, type }) => valueText(value, type)).join(', '))})`
  }
  const decoded = abis.decode('function', input)
  if (decoded !== null) return `${to}::${decoded.fragment.name}${valueSuffix(frame)}(${argumentsText(decoded.args)})`
  if (input === '0x') return `${to}::fallback${valueSuffix(frame)}()`
  return `${to}::${input.slice(0, 10)}${valueSuffix(frame)}(${shortened(input.slice(10))})`
}

const KINDS: ReadonlyMap<string, string> = new Map([
  ['STATICCALL', ' [staticcall]'],
  ['DELEGATECALL', ' [delegatecall]'],
  ['CALLCODE', ' [callcode]'],
])

/** Delegate calls have the value of their caller. */
function valueSuffix({ value = '0x0', type }: CallFrame): string {
  return value === '0x0' || type === 'DELEGATECALL' ? '' : `{value: ${BigInt(value)}}`
}

function logText({ topics, data }: CallLog, abis: AbiTable): string {
  const decoded = abis.decodeLog(topics, data)
  if (decoded !== null) return `emit ${decoded.fragment.name}(${argumentsText(decoded.args)})`
  return shortened(`emit topics: [${topics.join(', ')}], data: ${data}`)
}

function endText(frame: CallFrame, abis: AbiTable): string {
  const { error, output = '0x' } = frame
  if (error !== undefined) {
    return error === 'execution reverted' ? `← [Revert] ${reasonText(Hex.toBytes(output), abis)}` : `← [Halt] ${shortened(error)}`
  }
  if (isCreation(frame)) return `← [Return] ${(output.length - 2) / 2} bytes of code`
  return output === '0x' ? '← [Stop]' : `← [Return] ${returnText(frame, output, abis)}`
}

function returnText({ input }: CallFrame, output: Hex, abis: AbiTable): string {
  const called = abis.decode('function', input)
  const values = called === null ? null : AbiTable.decodeOutput(called.fragment, output)
  return values === null || values.length === 0 ? shortened(output) : shortened(values.map(outputText).join(', '))
}

function outputText({ value, type }: DecodedArgument): string {
  return valueText(value, type)
}

function isCreation({ type }: CallFrame): boolean {
  return type === 'CREATE' || type === 'CREATE2'
}
