import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { PrunedState, RewoundState } from '../chain/index.ts'
import type { Pocketchain } from '../index.ts'
import { StateFileError } from '../store/index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import type { Settings } from './options.ts'

/** Absolute paths of the state files to load and to write; null: none. */
export interface StatePaths {
  /** also null if the file of `--state` does not exist yet */
  readonly load: { readonly path: string; readonly flag: string } | null
  readonly dump: { readonly path: string; readonly flag: string } | null
}

type StateSettings = Pick<Settings, 'state' | 'loadState' | 'dumpState'>

/** Throws CommandError for a path whose folder does not exist. */
export function statePaths(settings: StateSettings): StatePaths {
  const { state, loadState, dumpState } = settings
  const dump = stateFileOf(state ?? dumpState, state === null ? '--dump-state' : '--state')
  if (dump !== null) assertWritable(dump)
  const load = stateFileOf(state ?? loadState, state === null ? '--load-state' : '--state')
  return { load: load !== null && (state === null || existsSync(load.path)) ? load : null, dump }
}

/** A directory means the file `state.json` in it, as with anvil. */
function stateFileOf(given: string | null, flag: string): StatePaths['load'] {
  if (given === null) return null
  const path = resolve(given)
  return { path: isDirectory(path, flag) ? join(path, 'state.json') : path, flag }
}

/** Checks the path at the start, so that the state is not lost at the end. */
function assertWritable({ path, flag }: NonNullable<StatePaths['dump']>): void {
  const parent = dirname(path)
  if (!isDirectory(parent, flag)) throw new CommandError(EXIT.usage, `${flag} ${path}: the folder ${parent} does not exist`)
  if (isDirectory(path, flag)) throw new CommandError(EXIT.file, `${flag} ${path} is a folder`)
  const temporary = temporaryOf(path)
  try {
    closeSync(openSync(temporary, 'w'))
    rmSync(temporary)
  } catch (error) {
    throw new CommandError(EXIT.file, `${flag} ${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`, error)
  }
}

function temporaryOf(path: string): string {
  return `${path}.${process.pid}.tmp`
}

/** Throws CommandError if the system does not say, for example in a folder without search permission. */
function isDirectory(path: string, flag: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(EXIT.file, `${flag} ${path} cannot be used: ${reason}; choose another file`, error)
  }
}

interface DumpOptions {
  /** null: at the end only */
  readonly intervalMs: number | null
  /** the file has the states of older blocks too */
  readonly pastStates: boolean
}

/** Writes a state file, at an interval if one is set, and at the end. */
export class StateDump {
  readonly #node: Pocketchain
  readonly #file: NonNullable<StatePaths['dump']>
  readonly #pastStates: boolean
  readonly #log: (line: string) => void
  readonly #timer: NodeJS.Timeout | null
  #isComplete = false
  #writing: Promise<void> | null = null

  /** `log` receives a line if writing at an interval fails, or is abandoned, or if the states of older blocks have no room in the file. */
  constructor(node: Pocketchain, file: NonNullable<StatePaths['dump']>, options: DumpOptions, log: (line: string) => void) {
    const { intervalMs, pastStates } = options
    this.#node = node
    this.#file = file
    this.#pastStates = pastStates
    this.#log = log
    const write = () => {
      // Skipped while the previous one is still being written.
      this.#writing ??= this.#write()
        .catch((error: unknown) => log(this.#failure(error)))
        .finally(() => (this.#writing = null))
    }
    this.#timer = intervalMs === null ? null : setInterval(write, intervalMs).unref()
  }

  /** Closes the chain, unless another process of a fleet changes it: seals the pending block, then writes the state. Throws CommandError. */
  async end(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#writing
    try {
      const { chain, fleet } = this.#node
      if (fleet === null || fleet.status().isSequencer) {
        const sealed = chain.readSealed(() => undefined)
        await Promise.all([sealed, chain.close()])
      }
      await this.#write()
      this.#isComplete = true
    } catch (error) {
      throw new CommandError(EXIT.failed, this.#failure(error), error)
    }
  }

  /** Called if the process ends now. Returns its exit code. */
  abandon(): ExitCode {
    if (this.#isComplete) return EXIT.good
    const { path, flag } = this.#file
    rmSync(temporaryOf(path), { force: true })
    this.#log(`${flag} ${path}: the state was not written, because a second signal ended the process`)
    return EXIT.failed
  }

  async #write(): Promise<void> {
    try {
      await this.#writeFile(this.#pastStates)
    } catch (error) {
      if (!this.#pastStates || !(error instanceof StateFileError)) throw error
      await this.#writeFile(false)
      const { path, flag } = this.#file
      this.#log(`${flag} ${path} was written without the states of older blocks: with them it would be too large to be read`)
    }
  }

  /** If the chain is rewound meanwhile, writes again while it does not change. */
  async #writeFile(pastStates: boolean): Promise<void> {
    try {
      await this.#tryWriteFile(pastStates)
    } catch (error) {
      if (!(error instanceof RewoundState || error instanceof PrunedState)) throw error
      await this.#node.chain.readSealed(() => this.#tryWriteFile(pastStates))
    }
  }

  /** Writes a temporary file and renames it, so that readers find the old file or the new one. */
  async #tryWriteFile(pastStates: boolean): Promise<void> {
    const { path } = this.#file
    const temporary = temporaryOf(path)
    const file = openSync(temporary, 'w')
    try {
      let sliceEndsMs = performance.now() + SLICE_MS
      for (const piece of this.#node.stateFile({ pastStates })) {
        writeFileSync(file, piece) // also the rest of a short write
        if (performance.now() < sliceEndsMs) continue
        await new Promise((resume) => setImmediate(resume))
        sliceEndsMs = performance.now() + SLICE_MS
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
    const { path, flag } = this.#file
    return `${flag} ${path} was not written: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Time budget between two turns of the event loop: below the shortest flashblock interval, 10 ms. */
const SLICE_MS = 5
