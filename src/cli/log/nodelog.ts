import { ExecutionNotes } from '../../chain/index.ts'
import type { ExecutionNote, HeadEvent } from '../../chain/index.ts'
import { Hex, visibleText } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import type { ConsoleCalls } from '../../evm/index.ts'
import type { Pocketchain, PocketchainOptions } from '../../index.ts'
import type { RpcError } from '../../jsonrpc/index.ts'
import type { Settings } from '../options.ts'
import { isColoured, paint } from '../terminal.ts'
import type { Paint, Terminal } from '../terminal.ts'
import { AbiTable } from './abis.ts'
import { ArtifactFolder, readAbis } from './abifiles.ts'
import { callTree, hasUnknownNames } from './calltree.ts'
import type { CallFrame } from './calltree.ts'
import { messagesOf } from './console.ts'
import { EventLog, formatEntry } from './eventlog.ts'
import type { LogEntry } from './eventlog.ts'
import { DETAILED_TRANSACTIONS, LINE_CHARS, MESSAGE_LINES, TRACED_TRANSACTIONS } from './limits.ts'
import { LineQueue } from './linequeue.ts'
import { Progress, miningText } from './progress.ts'
import { isCustomError, reasonText } from './reason.ts'
import { LEVEL } from './verbosity.ts'

type LogSettings = Pick<Settings, 'json' | 'quiet' | 'verbose' | 'noColor' | 'abi' | 'disableConsoleLog' | 'printTraces'>

/** The log of a node on stdout: events of its chain, console.log, failures, requests and call trees, as text or as JSON lines. */
export class NodeLog {
  /** Options of the node whose events are printed. */
  readonly observation: Pick<PocketchainOptions, 'observer' | 'executionNotes' | 'onMining'>
  readonly #json: boolean
  readonly #level: number
  readonly #hasConsole: boolean
  readonly #colours: Paint
  readonly #abis = new AbiTable()
  readonly #artifacts: ArtifactFolder
  readonly #notes = new ExecutionNotes()
  readonly #progress: Progress
  readonly #queue: LineQueue
  readonly #eventLog: EventLog

  /** Reads the files of `--abi`. Throws CommandError. */
  constructor(settings: LogSettings, terminal: Terminal) {
    readAbis(settings.abi, this.#abis)
    this.#artifacts = new ArtifactFolder(terminal.folder, this.#abis)
    this.#json = settings.json
    this.#level = Math.max(settings.verbose, settings.printTraces ? LEVEL.traces : 0)
    this.#hasConsole = !settings.disableConsoleLog
    this.#colours = paint(isColoured(settings, terminal))
    this.#progress = new Progress({
      line: (text) => terminal.err(`pocketchain: ${text}\n`),
      rewrite: terminal.isRewritable === true ? terminal.err : null,
    })
    this.#eventLog = new EventLog(this.#level >= LEVEL.blocks)
    const print = (text: string) => {
      this.#progress.hide()
      terminal.out(text)
      return terminal.drained?.() ?? null
    }
    this.#queue = new LineQueue(print, (error) => terminal.err(`pocketchain: the log failed: ${messageOf(error)}\n`))
    this.observation = {
      executionNotes: this.#notes,
      onMining: (mined, count) => this.#onMining(mined, count),
      observer: {
        ...(this.#level >= LEVEL.requests ? { onRequest: (method, requestId) => this.#onRequest(method, requestId) } : {}),
        ...(this.#hasConsole ? { onConsole: (method, calls) => this.#onConsole(method, calls) } : {}),
        onFailure: (...failure) => this.#onFailure(...failure),
      },
    }
  }

  /** Prints the events of the node from now on, and the requests since its start. Returns a function that ends it. */
  start(node: Pocketchain): () => void {
    this.#queue.open()
    return node.chain.head.subscribe((event) => this.#onEvent(node, event))
  }

  // --- transactions -------------------------------------------------------------------------------------------------

  #onEvent(node: Pocketchain, event: HeadEvent): void {
    const entry = this.#eventLog.entry(event, node.chain.cadence.kind)
    if (entry === null) return
    const time = new Date()
    const details = this.#detailsOf(entry)
    this.#queue.push(() => {
      const head = this.#json ? jsonLine(time, { ...entry }) : `${formatEntry(entry, clockTime(time), this.#colours)}\n`
      this.#findErrors(details)
      return `${head}${details.map((each) => this.#detailText(time, entry, each)).join('')}`
    })
    for (const hash of this.#tracedOf(entry, details)) this.#queue.push(() => this.#traceText(time, node, entry, hash))
  }

  #detailsOf({ transactions = [] }: LogEntry): readonly Detail[] {
    return transactions
      .flatMap((hash) => {
        const note = this.#notes.take(hash as Hash) // of a transaction
        return note === null ? [] : [{ hash, note }]
      })
      .slice(0, DETAILED_TRANSACTIONS)
  }

  /** Custom errors that no ABI has yet are searched in the artifacts of the folder. */
  #findErrors(details: readonly Detail[]): void {
    if (details.some(({ note }) => this.#isUnknownError(note.revertData))) this.#artifacts.refresh()
  }

  #isUnknownError(data: Uint8Array): boolean {
    return isCustomError(data) && this.#abis.decode('error', Hex.fromBytes(data)) === null
  }

  #detailText(time: Date, { block, transactions = [] }: LogEntry, { hash, note }: Detail): string {
    const { messages, dropped } = this.#messages(note.console)
    const failure = this.#failureOf(note)
    if (this.#json) {
      const subject = { transaction: hash, block }
      const more = dropped === 0 ? {} : { dropped }
      const spoken = messages.length === 0 ? '' : jsonLine(time, { event: 'console', ...subject, messages, ...more })
      const data = note.revertData.length === 0 ? {} : { data: Hex.fromBytes(note.revertData) }
      return `${spoken}${failure === null ? '' : jsonLine(time, { event: 'failure', ...subject, reason: failure, ...data })}`
    }
    const which = transactions.length === 1 ? '' : `${this.#colours.dim(hash)}  `
    const lines = this.#consoleLines(messages, dropped).map((line) => `${INDENT}${which}${line}\n`)
    if (failure !== null) lines.push(`${INDENT}${which}${this.#colours.bad('failed')}  ${failure}\n`)
    return lines.join('')
  }

  #failureOf({ outcome, revertData }: ExecutionNote): string | null {
    if (outcome.kind === 'success') return null
    return outcome.kind === 'halt' ? visibleText(outcome.reason, LINE_CHARS) : reasonText(revertData, this.#abis)
  }

  #messages(calls: ConsoleCalls | null): { readonly messages: readonly string[]; readonly dropped: number } {
    if (calls === null || !this.#hasConsole) return { messages: [], dropped: 0 }
    return { messages: messagesOf(calls), dropped: calls.dropped }
  }

  #consoleLines(messages: readonly string[], dropped: number): readonly string[] {
    const label = this.#colours.dim('console.log')
    const lines = messages.flatMap((message) => linesOf(message)).map((line) => `${label}  ${line}`)
    return dropped === 0 ? lines : [...lines, `${label}  … and ${dropped} more calls`]
  }

  // --- call trees ---------------------------------------------------------------------------------------------------

  #tracedOf({ transactions = [] }: LogEntry, details: readonly Detail[]): readonly string[] {
    if (this.#level < LEVEL.failedTraces) return []
    const failed = new Set(details.filter(({ note }) => note.outcome.kind !== 'success').map(({ hash }) => hash))
    return transactions.filter((hash) => this.#level >= LEVEL.traces || failed.has(hash)).slice(0, TRACED_TRANSACTIONS)
  }

  async #traceText(time: Date, node: Pocketchain, { block }: LogEntry, hash: string): Promise<string> {
    const params = [hash, { tracer: 'callTracer', tracerConfig: { withLog: true } }]
    const subject = { transaction: hash, block }
    let root: CallFrame
    try {
      root = (await node.request({ method: 'debug_traceTransaction', params })) as CallFrame // of callTracer
    } catch (error) {
      const reason = visibleText(messageOf(error), LINE_CHARS)
      return this.#json ? jsonLine(time, { event: 'trace', ...subject, error: reason }) : `${INDENT}no call tree of ${hash}: ${reason}\n`
    }
    if (this.#json) return jsonLine(time, { event: 'trace', ...subject, trace: root })
    if (hasUnknownNames(root, this.#abis)) this.#artifacts.refresh()
    const lines = callTree(root, this.#abis).map((line) => `${INDENT}  ${line}\n`)
    return `${INDENT}${this.#colours.dim(`trace of ${hash}`)}\n${lines.join('')}`
  }

  // --- requests -----------------------------------------------------------------------------------------------------

  #onRequest(method: string, requestId: string | null): void {
    const time = new Date()
    const name = visibleText(method, METHOD_CHARS)
    this.#queue.push(() =>
      this.#json
        ? jsonLine(time, { event: 'request', method: name, ...idField(requestId) })
        : `${this.#timeText(time)}  ${name}${this.#idText(requestId)}\n`,
    )
  }

  #onConsole(method: string, calls: ConsoleCalls): void {
    const time = new Date()
    this.#queue.push(() => {
      const { messages, dropped } = this.#messages(calls)
      if (this.#json) {
        return messages.length === 0 ? '' : jsonLine(time, { event: 'console', method, messages, ...(dropped === 0 ? {} : { dropped }) })
      }
      return this.#consoleLines(messages, dropped)
        .map((line) => `${this.#timeText(time)}  ${method}  ${line}\n`)
        .join('')
    })
  }

  /** Errors other than failed executions are printed at their level only. */
  #onFailure(method: string, params: unknown, error: RpcError, requestId: string | null): void {
    const isExecution = EXECUTING.has(method) && EXECUTION_CODES.has(error.code)
    if (!isExecution && this.#level < LEVEL.errors) return
    const time = new Date()
    const name = visibleText(method, METHOD_CHARS)
    const data = isExecution && Hex.isHex(error.data) ? Hex.toBytes(error.data) : null
    const to = isExecution ? targetOf(params) : null
    this.#queue.push(() => {
      if (data !== null && this.#isUnknownError(data)) this.#artifacts.refresh()
      const reason = data === null ? visibleText(error.message, LINE_CHARS) : reasonText(data, this.#abis)
      if (this.#json) {
        const subject = { method: name, ...(to === null ? {} : { to }), ...idField(requestId) }
        return jsonLine(time, {
          event: 'failure',
          ...subject,
          code: error.code,
          reason,
          ...(data === null ? {} : { data: Hex.fromBytes(data) }),
        })
      }
      return `${this.#timeText(time)}  ${name}${this.#idText(requestId)}${to === null ? '' : ` to ${to}`}  ${this.#colours.bad('failed')}  ${reason}\n`
    })
  }

  #idText(requestId: string | null): string {
    return requestId === null ? '' : ` ${this.#colours.dim(requestId)}`
  }

  #timeText(time: Date): string {
    return this.#colours.dim(clockTime(time))
  }

  // --- progress -----------------------------------------------------------------------------------------------------

  #onMining(mined: number, count: number): void {
    if (mined === count) this.#progress.end()
    else this.#progress.update(() => miningText(mined, count))
  }
}

function idField(requestId: string | null): { readonly requestId?: string } {
  return requestId === null ? {} : { requestId }
}

/** A transaction with its note. */
interface Detail {
  readonly hash: string
  readonly note: ExecutionNote
}

/** Indented to the text of an entry, after its time. */
const INDENT = ' '.repeat(14)

/** Characters of a method name, which is the text of a client. */
const METHOD_CHARS = 60

/** Methods whose errors with these codes are failed executions. */
const EXECUTING: ReadonlySet<string> = new Set(['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_sendTransaction'])
const EXECUTION_CODES: ReadonlySet<number> = new Set([3, -32_000, -32_003])

function targetOf(params: unknown): string | null {
  const [call] = Array.isArray(params) ? (params as readonly unknown[]) : []
  const to = typeof call === 'object' && call !== null && 'to' in call ? call.to : null
  return typeof to === 'string' && /^0x[\da-f]{40}$/i.test(to) ? to : null
}

/** The lines of a message, each with control characters escaped. */
function linesOf(message: string): readonly string[] {
  const lines = message.split('\n', MESSAGE_LINES + 1)
  const shown = lines.slice(0, MESSAGE_LINES).map((line) => visibleText(line.replaceAll('\t', '    '), LINE_CHARS))
  return lines.length > MESSAGE_LINES ? [...shown, '… and more lines'] : shown
}

/** JSON in ASCII: a terminal interprets some characters that JSON does not escape. */
function jsonLine(time: Date, entry: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify({ time: time.toISOString(), ...entry })
  return `${text.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`
}

function clockTime(time: Date): string {
  return time.toISOString().slice(11, 23)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
