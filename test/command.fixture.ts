import { setTimeout as delay } from 'node:timers/promises'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { post } from './node.fixture.ts'
import type { RunningNode } from './node.fixture.ts'

/** The built command, because a kill needs a separate process. */
const COMMAND = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

/** A process of the command that serves its port. */
export interface Command extends Pick<RunningNode, 'url' | 'wsUrl' | 'ask' | 'askAll'> {
  readonly pid: number
  /** time from the start of the process to its first response */
  readonly startMs: number
  readonly ready: Ready
  /** Returns its stderr output. */
  readonly err: () => string
  readonly ended: Promise<End>
  /** Sends SIGKILL. */
  readonly kill: () => Promise<End>
  /** Sends SIGINT. */
  readonly stop: () => Promise<End>
}

/** The first line of the command under --json. */
export interface Ready {
  readonly blockNumber: number
  readonly genesisHash: string
  readonly accounts: readonly string[]
  readonly privateKeys: readonly string[]
  readonly recovered: { readonly kept: readonly string[]; readonly retracted: readonly string[] }
  readonly urls: { readonly http: string; readonly ws: string }
}

export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

/** A start in progress. */
export interface Start {
  readonly pid: number
  readonly ended: Promise<End>
  readonly kill: () => Promise<End>
  /** Resolves with the first response. Rejects with a Refused if the process ends earlier. */
  readonly answers: () => Promise<Command>
}

/** The command ended before its first response. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly end: End

  constructor(end: End) {
    super(`ended with ${end.code ?? end.signal}: ${end.err}`)
    this.end = end
  }
}

/** Starts the command on any free port. */
export async function launch(...argv: readonly string[]): Promise<Command> {
  return begin(...argv).answers()
}

/** Returns the failure of a start that is expected to fail. */
export async function refusal(...argv: readonly string[]): Promise<End> {
  const start = begin(...argv)
  try {
    const command = await start.answers()
    await command.kill()
  } catch (error) {
    if (!(error instanceof Refused)) throw error
  }
  return start.ended
}

/** The kernel may remember for a second that an address was unreachable, from a network namespace that had it before. */
async function firstResponse(url: string): Promise<void> {
  for (const endMs = performance.now() + UNREACHABLE_MS; ; await delay(100)) {
    try {
      return void (await post(url, [['eth_blockNumber']]))
    } catch (error) {
      const cause = error instanceof Error ? (error.cause as { readonly code?: string } | undefined) : undefined
      if (cause?.code !== 'EHOSTUNREACH' || performance.now() > endMs) throw error
    }
  }
}

const UNREACHABLE_MS = 5_000

export function begin(...argv: readonly string[]): Start {
  return beginUnder([], ...argv)
}

/** `prefix` is a command that replaces itself with the one after it, such as `ip netns exec NAME`. */
export function beginUnder(prefix: readonly string[], ...argv: readonly string[]): Start {
  const begunMs = performance.now()
  const words = [...prefix, process.execPath, COMMAND, '--port', '0', '--json', '--workers', '0', ...argv]
  const child = spawn(words[0]!, words.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  const isSaid = new Set<() => void>()
  child.stdout.on('data', (data: Buffer) => {
    out += data.toString()
    for (const look of isSaid) look()
  })
  child.stderr.on('data', (data: Buffer) => (err += data.toString()))
  const ended = new Promise<End>((resolve) => child.once('close', (code, signal) => resolve({ code, signal, out, err })))
  const sent = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return ended
  }
  const firstLine = new Promise<string>((resolve, reject) => {
    const look = () => {
      const end = out.indexOf('\n')
      if (end < 0) return
      isSaid.delete(look)
      resolve(out.slice(0, end))
    }
    isSaid.add(look)
    void ended.then((end) => reject(new Refused(end)))
  })
  firstLine.catch(() => undefined) // a caller that only kills the process does not await it
  const answers = async (): Promise<Command> => {
    const ready = JSON.parse(await firstLine) as Ready // the format of the first line
    const { http, ws } = ready.urls
    await firstResponse(http)
    return {
      pid: child.pid!,
      startMs: performance.now() - begunMs,
      ready,
      url: http,
      wsUrl: ws,
      askAll: (calls) => post(http, calls),
      ask: async (...call) => (await post(http, [call]))[0],
      err: () => err,
      ended,
      kill: () => sent('SIGKILL'),
      stop: () => sent('SIGINT'),
    }
  }
  return { pid: child.pid!, ended, kill: () => sent('SIGKILL'), answers }
}
