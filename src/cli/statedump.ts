import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Pocketchain } from '../index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { Settings } from './options.ts'

/** Where a start finds its state file and where an end leaves one, as absolute paths; null: nowhere. */
export interface StatePaths {
  /** null too when `--state` names a file that is not there yet */
  readonly load: { readonly path: string; readonly flag: string } | null
  readonly dump: { readonly path: string; readonly flag: string } | null
}

type StateSettings = Pick<Settings, 'state' | 'loadState' | 'dumpState' | 'stateInterval' | 'data'>

/** Throws CommandError for flags that contradict each other, and for a place where no file can be. */
export function statePaths(settings: StateSettings): StatePaths {
  const { state, loadState, dumpState, stateInterval, data } = settings
  if (state !== null && data !== null) {
    throw new CommandError(
      EXIT.usage,
      '--data keeps the chain by itself: --load-state begins a new directory from a file, --dump-state leaves a file, and --state would do both at every start',
    )
  }
  if (state !== null && (loadState !== null || dumpState !== null)) {
    throw new CommandError(EXIT.usage, '--state is --load-state and --dump-state in one: give it alone, or the two without it')
  }
  const dump = place(state ?? dumpState, state === null ? '--dump-state' : '--state')
  if (stateInterval !== null && dump === null) {
    throw new CommandError(EXIT.usage, '--state-interval says how often, and needs --state or --dump-state to say where')
  }
  if (dump !== null) assertWritable(dump)
  const load = place(state ?? loadState, state === null ? '--load-state' : '--state')
  return { load: load !== null && (state === null || existsSync(load.path)) ? load : null, dump }
}

/** In a directory it is the file `state.json`, as with anvil. */
function place(given: string | null, flag: string): StatePaths['load'] {
  if (given === null) return null
  const path = resolve(given)
  return { path: isDirectory(path) ? join(path, 'state.json') : path, flag }
}

/** Better now than when all work is done. */
function assertWritable({ path, flag }: NonNullable<StatePaths['dump']>): void {
  const parent = dirname(path)
  if (!isDirectory(parent)) throw new CommandError(EXIT.usage, `${flag} ${path}: there is no folder ${parent}`)
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Keeps a state file up to date: every so often, when told to, and once more at the end. */
export class StateDump {
  readonly #node: Pocketchain
  readonly #place: NonNullable<StatePaths['dump']>
  readonly #timer: NodeJS.Timeout | null
  #writing: Promise<void> | null = null

  /** `tell` gets a line about a file that could not be written on the way. */
  constructor(node: Pocketchain, place: NonNullable<StatePaths['dump']>, intervalMs: number | null, tell: (line: string) => void) {
    this.#node = node
    this.#place = place
    const write = () => {
      // One that takes longer than the interval is not overtaken.
      this.#writing ??= this.#write()
        .catch((error: unknown) => tell(this.#failure(error)))
        .finally(() => (this.#writing = null))
    }
    this.#timer = intervalMs === null ? null : setInterval(write, intervalMs).unref()
  }

  /** Seals what is promised and writes the chain as it is then. Throws CommandError. */
  async end(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#writing
    try {
      await this.#node.chain.readSealed(() => undefined)
      await this.#write()
    } catch (error) {
      throw new CommandError(EXIT.failed, this.#failure(error), error)
    }
  }

  /** Beside its place first: who reads there finds the old file or the new one. */
  async #write(): Promise<void> {
    const { path } = this.#place
    const temporary = `${path}.${process.pid}.tmp`
    const file = openSync(temporary, 'w')
    try {
      let turnEndsMs = performance.now() + TURN_MS
      for (const piece of this.#node.stateFile()) {
        writeSync(file, piece)
        if (performance.now() < turnEndsMs) continue
        await new Promise((next) => setImmediate(next))
        turnEndsMs = performance.now() + TURN_MS
      }
      fsyncSync(file)
      renameSync(temporary, path)
    } catch (error) {
      rmSync(temporary, { force: true })
      throw error
    } finally {
      closeSync(file)
    }
  }

  #failure(error: unknown): string {
    const { path, flag } = this.#place
    return `${flag} ${path} was not written: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Work between two turns of everybody else: well within a flashblock's 200 ms, and no longer than the shortest of 10 ms. */
const TURN_MS = 5
