import { readFileSync, readdirSync, statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { join } from 'node:path'
import { CommandError, EXIT } from '../exit.ts'
import { AbiError, fragmentsOf } from './abis.ts'
import type { AbiTable, Fragment } from './abis.ts'
import { ABI_FILES, ABI_FILE_BYTES, ABI_FOLDER_BYTES, ABI_FOLDER_DEPTH, FOLDER_INTERVAL_MS } from './limits.ts'

/** Reads the files and folders of `--abi` into a table. Throws CommandError with the file and the line. */
export function readAbis(paths: readonly string[], abis: AbiTable): void {
  for (const path of paths) {
    const stats = statsOf(path)
    if (stats === null) throw unusable(path, 'does not exist')
    if (stats.isDirectory()) readFolder(path, abis)
    else addAll(abis, parseFile(path, stats) ?? notAnAbi(path))
  }
}

/** JSON files without an ABI are skipped. */
function readFolder(folder: string, abis: AbiTable): void {
  const { files, isCut } = filesIn(folder)
  if (isCut)
    throw unusable(folder, `has more than ${ABI_FILES} JSON files or ${ABI_FOLDER_BYTES} bytes of them; name a folder inside of it`)
  let count = 0
  for (const { path, stats } of files) {
    const fragments = parseFile(path, stats)
    if (fragments === null) continue
    addAll(abis, fragments)
    count++
  }
  if (count === 0) throw unusable(folder, 'has no JSON file with an ABI')
}

/** Returns null for JSON without an ABI. Throws CommandError. */
function parseFile(path: string, { size }: Stats): readonly Fragment[] | null {
  if (size > ABI_FILE_BYTES) throw unusable(path, `has ${size} bytes, more than the ${ABI_FILE_BYTES} that an ABI file may have`)
  const text = readText(path)
  try {
    return fragmentsOf(JSON.parse(text))
  } catch (error) {
    if (error instanceof SyntaxError)
      throw unusable(`${path}:${lineAt(text, faultOffset(text, error))}`, `is not JSON: ${firstLine(error.message)}`)
    if (error instanceof AbiError) throw unusable(`${path}:${lineAt(text, text.indexOf(JSON.stringify(error.text)))}`, error.message)
    throw error
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw unusable(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function notAnAbi(path: string): never {
  throw unusable(`${path}:1`, 'is no ABI: expected a list of fragments, or an object with such a list as "abi"')
}

function unusable(path: string, reason: string): CommandError {
  return new CommandError(EXIT.usage, `--abi ${path}: ${reason}`)
}

function addAll(abis: AbiTable, fragments: readonly Fragment[]): void {
  for (const fragment of fragments) abis.add(fragment)
}

// --- lines ----------------------------------------------------------------------------------------------------------

function lineAt(text: string, offset: number): number {
  return text.slice(0, Math.max(offset, 0)).split('\n').length
}

/** V8 gives the position of some errors only. Otherwise it is the end of the shortest prefix that is wrong before its end. */
function faultOffset(text: string, { message }: SyntaxError): number {
  const position = / at position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  let [good, bad] = [0, text.length + 1]
  while (bad - good > 1) {
    const middle = (good + bad) >>> 1
    if (isUnfinished(text.slice(0, middle))) good = middle
    else bad = middle
  }
  return good
}

function isUnfinished(prefix: string): boolean {
  try {
    JSON.parse(prefix)
    return true
  } catch (error) {
    const message = error instanceof Error ? error.message : ''
    return /^(Unexpected end|Unterminated)/.test(message) || message.includes(`at position ${prefix.length}`)
  }
}

function firstLine(message: string): string {
  return (message.split('\n', 1)[0] ?? '').trim()
}

// --- folders --------------------------------------------------------------------------------------------------------

interface FoundFile {
  readonly path: string
  readonly stats: Stats
}

/** The JSON files below a folder, by name, up to the limits. */
function filesIn(folder: string): { readonly files: readonly FoundFile[]; readonly isCut: boolean } {
  const files: FoundFile[] = []
  let sizeBytes = 0
  const isCut = !walk(folder, ABI_FOLDER_DEPTH, (path, stats) => {
    sizeBytes += stats.size
    if (files.length >= ABI_FILES || sizeBytes > ABI_FOLDER_BYTES) return false
    files.push({ path, stats })
    return true
  })
  return { files, isCut }
}

/** Folders without ABIs: whole compiler outputs, caches and packages. */
const SKIPPED = /^(build-info|cache|node_modules|\..*)$/

/** Returns false if `visit` did, after which it is not called again. */
function walk(folder: string, depth: number, visit: (path: string, stats: Stats) => boolean): boolean {
  for (const { name, isFolder } of entriesOf(folder)) {
    const path = join(folder, name)
    if (isFolder) {
      if (depth > 0 && !SKIPPED.test(name) && !walk(path, depth - 1, visit)) return false
      continue
    }
    if (!name.endsWith('.json') || name.endsWith('.dbg.json')) continue
    const stats = statsOf(path)
    if (stats !== null && stats.size <= ABI_FILE_BYTES && !visit(path, stats)) return false
  }
  return true
}

/** Links are not followed: they may lead out of the folder or in a circle. */
function entriesOf(folder: string): readonly { readonly name: string; readonly isFolder: boolean }[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory() || entry.isFile())
    return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() })).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    return []
  }
}

function statsOf(path: string): Stats | null {
  try {
    return statSync(path)
  } catch {
    return null
  }
}

/**
 * The artifacts of Foundry (`out`) and Hardhat (`artifacts`) in a folder, read when a name is needed that the table lacks, and again after a
 * while if files have changed. Files that cannot be used are skipped.
 */
export class ArtifactFolder {
  readonly #folders: readonly string[]
  readonly #abis: AbiTable
  readonly #now: () => number
  /** time of change by path */
  readonly #readAtMs = new Map<string, number>()
  #nextMs = -Infinity

  /** `now`: a monotonic clock in milliseconds. */
  constructor(folder: string, abis: AbiTable, now: () => number = () => performance.now()) {
    this.#folders = ['out', 'artifacts'].map((name) => join(folder, name))
    this.#abis = abis
    this.#now = now
  }

  /** Adds the ABIs of new and changed files to the table. */
  refresh(): void {
    if (this.#now() < this.#nextMs) return
    for (const { path, stats } of this.#folders.flatMap((folder) => filesIn(folder).files)) {
      if (this.#readAtMs.get(path) === stats.mtimeMs) continue
      this.#readAtMs.set(path, stats.mtimeMs)
      this.#read(path)
    }
    this.#nextMs = this.#now() + FOLDER_INTERVAL_MS
  }

  #read(path: string): void {
    try {
      addAll(this.#abis, fragmentsOf(JSON.parse(readFileSync(path, 'utf8'))) ?? [])
    } catch {
      // A file that a compiler is still writing, or one of another tool.
    }
  }
}
