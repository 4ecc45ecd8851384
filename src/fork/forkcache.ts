import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { Hex, isObject } from '../eth/index.ts'
import type { Address, Hash } from '../eth/index.ts'
import type { Account } from '../evm/index.ts'
import { FetchedValues } from './fetchedvalues.ts'
import { parseForkBlock } from './forkblock.ts'
import type { ForkBlock, JsonObject } from './forkblock.ts'
import { FORK_CACHE_BYTES, FORK_CACHE_CHECK_BYTES } from './limits.ts'

/*
 * A file holds lines `<CRC-32 of the JSON, 8 hex digits> <JSON>`: the identity of the block, upstream's block, then one line per fetched round. Each
 * round is one append that begins and ends with a line feed, so a line that was cut off by a kill or a full disk damages no other line, also not
 * those of another process that appends to the same file. Damaged lines are skipped.
 */

export interface ForkCacheOptions {
  /** receives one line for each event that the user should see */
  readonly warn?: (line: string) => void
  /** FORK_CACHE_BYTES by default */
  readonly maxBytes?: number
}

/** Identity of a cached block: the first line of its file. */
interface CacheEntry {
  readonly version: typeof VERSION
  readonly chainId: number
  readonly number: number
  readonly hash: Hash
  readonly isOp: boolean
}

const VERSION = 1

/** Returns `$XDG_CACHE_HOME/pocketchain`, or `~/.cache/pocketchain`. */
export function defaultCachePath(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const base = env['XDG_CACHE_HOME']
  return join(base === undefined || base === '' ? join(homedir(), '.cache') : base, 'pocketchain')
}

/** Fetched values on disk: one file per fork block, `<path>/fork/<chain id>/<block hash>.log`. */
export class ForkCache {
  readonly #folder: string
  readonly #warn: (line: string) => void
  readonly #maxBytes: number

  constructor(path: string, { warn = () => {}, maxBytes = FORK_CACHE_BYTES }: ForkCacheOptions = {}) {
    this.#folder = join(path, 'fork')
    this.#warn = warn
    this.#maxBytes = maxBytes
  }

  /** Chain ids with cached blocks. */
  get chainIds(): readonly number[] {
    return namesIn(this.#folder).map(Number).filter(Number.isSafeInteger)
  }

  /** Returns the cached block of this number that was used last; null if there is none. */
  find(chainId: number, number: number): ForkBlock | null {
    const found = this.#entries(chainId).filter(({ entry }) => entry.number === number)
    const [newest] = found.toSorted((a, b) => b.usedMs - a.usedMs)
    try {
      return newest === undefined ? null : this.#readBlock(newest.path, newest.entry)
    } catch {
      return null // not readable; `open` reports it
    }
  }

  /** Deletes the cached blocks of this number with another hash, and reports them. */
  dropReorganised({ chainId, number, hash }: ForkBlock): void {
    for (const { path, entry } of this.#entries(chainId)) {
      if (entry.number !== number || entry.hash === hash) continue
      this.#remove(
        path,
        `block ${number} of chain ${chainId} was reorganised: ${entry.hash} is now ${hash}; the cached state of the former is deleted`,
      )
    }
  }

  /** Opens the block's file and passes its values to `load`. A file that cannot be written is reported; the values are then not kept. */
  open(block: ForkBlock, load: (values: FetchedValues) => void): ForkCacheFile | null {
    const path = this.#pathOf(block.chainId, block.hash)
    try {
      if (this.#readBlock(path, entryOf(block)) === null) create(path, block)
      else for (const line of linesOf(readFileSync(path)).slice(2)) loadLine(line, load)
      const now = new Date()
      utimesSync(path, now, now)
      this.#evict(path)
      return new ForkCacheFile(path, this.#warn, () => this.#evict(path))
    } catch (error) {
      this.#warn(offLine(path, error))
      return null
    }
  }

  #pathOf(chainId: number, hash: Hash): string {
    return join(this.#folder, String(chainId), `${hash}.log`)
  }

  #entries(chainId: number): readonly { path: string; entry: CacheEntry; usedMs: number }[] {
    const folder = join(this.#folder, String(chainId))
    return namesIn(folder).flatMap((name) => {
      if (!name.endsWith('.log')) return []
      const path = join(folder, name)
      try {
        const entry = parseEntry(checkedJson(firstLineOf(path)))
        if (entry !== null && name === `${entry.hash}.log` && entry.chainId === chainId)
          return [{ path, entry, usedMs: statSync(path).mtimeMs }]
        this.#remove(path, damagedLine(path))
      } catch {
        // Deleted by another process, or not readable.
      }
      return []
    })
  }

  /** Returns null if the file is absent. Deletes a file of another block or with a damaged head. */
  #readBlock(path: string, expected: CacheEntry): ForkBlock | null {
    const bytes = readIfPresent(path)
    if (bytes === null) return null
    const [first, second] = linesOf(bytes)
    const entry = first === undefined ? null : parseEntry(checkedJson(first))
    const head = second === undefined ? null : checkedJson(second)
    const isSame = entry !== null && entry.hash === expected.hash && entry.chainId === expected.chainId && entry.number === expected.number
    if (isSame && head !== null) {
      try {
        const block = parseForkBlock(head['block'], entry.chainId, entry.isOp, path)
        if (block.hash === entry.hash && block.number === entry.number) return block
      } catch {
        // Not a block: damaged.
      }
    }
    this.#remove(path, damagedLine(path))
    return null
  }

  #remove(path: string, line: string): void {
    this.#warn(line)
    rmSync(path, { force: true })
  }

  /** Deletes the files that were unused for longest until the folder is below its limit. Throws if the file in use alone exceeds it. */
  #evict(inUse: string): void {
    const files = namesIn(this.#folder)
      .flatMap((chain) => namesIn(join(this.#folder, chain)).map((name) => join(this.#folder, chain, name)))
      .flatMap((path) => sizeOf(path))
      .toSorted((a, b) => a.usedMs - b.usedMs)
    let total = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    for (const { path, sizeBytes } of files) {
      if (total <= this.#maxBytes) return
      if (path === inUse) continue
      rmSync(path, { force: true })
      total -= sizeBytes
    }
    if (total > this.#maxBytes) throw new Error(`it has ${total} bytes, more than the limit of ${this.#maxBytes}`)
  }
}

/** The file of one fork block, open for appending. */
export class ForkCacheFile {
  readonly #path: string
  readonly #warn: (line: string) => void
  readonly #evict: () => void
  #handle: Promise<FileHandle> | null = null
  #last: Promise<void> = Promise.resolve()
  #isOff = false
  #uncheckedBytes = 0

  constructor(path: string, warn: (line: string) => void, evict: () => void) {
    this.#path = path
    this.#warn = warn
    this.#evict = evict
  }

  /** Appends the values of a round. Resolves when they survive the end of the process, or when caching is off. */
  append(values: FetchedValues): Promise<void> {
    this.#last = this.#last.then(() => this.#append(values))
    return this.#last
  }

  /** Waits for the pending appends. */
  async close(): Promise<void> {
    await this.#last
    this.#isOff = true
    await (await this.#handle)?.close()
    this.#handle = null
  }

  async #append(values: FetchedValues): Promise<void> {
    if (this.#isOff) return
    try {
      // Opened for appending (O_APPEND): other processes may write to the same file.
      const handle = await (this.#handle ??= open(this.#path, 'a'))
      const bytes = Buffer.from(`\n${lineOf(encodeValues(values))}`)
      const { bytesWritten } = await handle.write(bytes)
      if (bytesWritten < bytes.length) throw new Error(`only ${bytesWritten} of ${bytes.length} bytes were written`)
      this.#uncheckedBytes += bytes.length
      if (this.#uncheckedBytes < FORK_CACHE_CHECK_BYTES) return
      this.#uncheckedBytes = 0
      this.#evict()
    } catch (error) {
      this.#isOff = true
      this.#warn(offLine(this.#path, error))
      const handle = await this.#handle?.catch(() => null)
      this.#handle = null
      await handle?.close().catch(() => {})
    }
  }
}

// --- lines -----------------------------------------------------------------------------------------------------------------------------

function lineOf(value: object): string {
  const json = JSON.stringify(value)
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`
}

/** Returns null for a damaged line. */
function checkedJson(line: Uint8Array): JsonObject | null {
  if (line.length < 10 || line[8] !== 0x20) return null
  const json = line.subarray(9)
  if (crc32(json).toString(16).padStart(8, '0') !== TEXT.decode(line.subarray(0, 8))) return null
  const value: unknown = JSON.parse(TEXT.decode(json)) // was written by this file, since the checksum holds
  return isObject(value) ? value : null
}

const TEXT = new TextDecoder()
const LINE_FEED = 0x0a

/** The complete lines; empty ones are left out. A last line without a line feed is incomplete. */
function linesOf(bytes: Uint8Array): readonly Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let at = 0, end = bytes.indexOf(LINE_FEED); end >= 0; at = end + 1, end = bytes.indexOf(LINE_FEED, at)) {
    if (end > at) lines.push(bytes.subarray(at, end))
  }
  return lines
}

function entryOf({ chainId, number, hash, isOp }: ForkBlock): CacheEntry {
  return { version: VERSION, chainId, number, hash, isOp }
}

function parseEntry(json: JsonObject | null): CacheEntry | null {
  return json !== null && json['version'] === VERSION ? (json as unknown as CacheEntry) : null // was written by `create`
}

function create(path: string, block: ForkBlock): void {
  mkdirSync(join(path, '..'), { recursive: true })
  // Linked when complete: no other process reads a part of the head, and a file that another process has created since is kept.
  const temporary = `${path}.${process.pid}`
  try {
    writeFileSync(temporary, lineOf(entryOf(block)) + lineOf({ block: block.block }))
    linkSync(temporary, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EPERM' || code === 'ENOTSUP') renameSync(temporary, path) // a file system without hard links
    else if (code !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

function encodeValues({ accounts, codes, slots, blockHashes }: FetchedValues): object {
  const account = (value: Account | null) => (value === null ? null : [text(value.nonce), text(value.balance), value.codeHash])
  return {
    a: Object.fromEntries([...accounts].map(([address, value]) => [address, account(value)])),
    c: Object.fromEntries([...codes].map(([hash, code]) => [hash, Hex.fromBytes(code)])),
    s: Object.fromEntries(
      [...slots].map(([address, values]) => [address, Object.fromEntries([...values].map(([slot, value]) => [slot, text(value)]))]),
    ),
    h: Object.fromEntries(blockHashes),
  }
}

function text(value: bigint): string {
  return `0x${value.toString(16)}`
}

/** The shape that `encodeValues` writes. */
interface Encoded {
  readonly a: Readonly<Record<Address, readonly [string, string, Hash] | null>>
  readonly c: Readonly<Record<Hash, Hex>>
  readonly s: Readonly<Record<Address, Readonly<Record<Hash, string>>>>
  readonly h: Readonly<Record<string, Hash>>
}

function loadLine(line: Uint8Array, load: (values: FetchedValues) => void): void {
  const json = checkedJson(line)
  if (json === null || !isObject(json['a'])) return
  const { a, c, s, h } = json as unknown as Encoded // the checksum holds
  const values = new FetchedValues()
  for (const [address, account] of Object.entries(a)) values.accounts.set(address as Address, accountOf(account))
  for (const [hash, code] of Object.entries(c)) values.codes.set(hash as Hash, Hex.toBytes(code))
  for (const [address, slots] of Object.entries(s)) {
    values.slots.set(address as Address, new Map(Object.entries(slots).map(([slot, value]) => [slot as Hash, BigInt(value)])))
  }
  for (const [number, hash] of Object.entries(h)) values.blockHashes.set(Number(number), hash)
  load(values)
}

function accountOf(account: readonly [string, string, Hash] | null): Account | null {
  if (account === null) return null
  const [nonce, balance, codeHash] = account
  return { nonce: BigInt(nonce), balance: BigInt(balance), codeHash }
}

// --- files -----------------------------------------------------------------------------------------------------------------------------

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // absent, or not a folder
  }
}

function readIfPresent(path: string): Uint8Array | null {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** The first line is short, unlike the block in the second one. */
const FIRST_LINE_BYTES = 512

function firstLineOf(path: string): Uint8Array {
  const buffer = new Uint8Array(FIRST_LINE_BYTES)
  const file = openSync(path, 'r')
  try {
    const bytes = buffer.subarray(0, readSync(file, buffer, 0, FIRST_LINE_BYTES, 0))
    const end = bytes.indexOf(LINE_FEED)
    return end < 0 ? bytes : bytes.subarray(0, end)
  } finally {
    closeSync(file)
  }
}

function sizeOf(path: string): readonly { path: string; sizeBytes: number; usedMs: number }[] {
  try {
    const { size, mtimeMs } = statSync(path)
    return [{ path, sizeBytes: size, usedMs: mtimeMs }]
  } catch {
    return [] // deleted by another process
  }
}

function damagedLine(path: string): string {
  return `the fork cache file ${path} is damaged or of another block; it is deleted, and its values are fetched again`
}

function offLine(path: string, error: unknown): string {
  return `fetched state is not cached on disk from now on: ${path}: ${error instanceof Error ? error.message : String(error)}`
}
