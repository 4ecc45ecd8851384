import type { Database, open, RootDatabase } from 'lmdb'
import { FIRST_MAP_BYTES, MAX_TREES } from '../limits.ts'
import { DataFile } from './datafile.ts'
import { fileError } from './directory.ts'
import { ShelfError } from './shelf.ts'

/** A tree of byte strings, in the order of the keys' bytes. */
export type Tree = Database<Uint8Array, Uint8Array>

/** What is in the file. Numbers in keys are 4 bytes, the first the highest. */
export interface Trees {
  /** a few texts: whose chain it is and where it stands */
  readonly about: Tree
  /** text → value */
  readonly records: Tree
  /** block | part → bytes of its record */
  readonly blocks: Tree
  /** id → head */
  readonly sections: Tree
  /** section | page → bytes */
  readonly pages: Tree
  /** state key → cell: what it holds now */
  readonly head: Tree
  /** state key | block → the cell that was written then and holds no more */
  readonly past: Tree
  /** block | piece → the keys that it changed */
  readonly changes: Tree
  /** hash → code */
  readonly codes: Tree
}

const NAMES = ['about', 'records', 'blocks', 'sections', 'pages', 'head', 'past', 'changes', 'codes'] as const satisfies (keyof Trees)[]

/**
 * The file, mapped by LMDB. Its library is loaded only here: a chain in memory has no use for it. After a write that failed the file is
 * mapped anew, because LMDB refuses everything after some failures and this library does not hear it.
 */
export class Environment {
  readonly #open: typeof open
  readonly #path: string
  #root: RootDatabase<Uint8Array, Uint8Array>
  #trees: Trees
  #isWriting = false
  readonly #file: DataFile

  /** Throws what LMDB throws. */
  static async open(path: string): Promise<Environment> {
    const lmdb = await import('lmdb')
    return new Environment(lmdb.open, path)
  }

  constructor(load: typeof open, path: string) {
    this.#open = load
    this.#path = path
    this.#root = this.#openRoot()
    this.#trees = this.#openTrees()
    this.#file = new DataFile(path)
  }

  get trees(): Trees {
    return this.#trees
  }

  /** Inside a write. */
  get isWriting(): boolean {
    return this.#isWriting
  }

  /** All that `work` writes is on the disk when this returns, or nothing of it if it throws: what `work` throws, or ShelfError. */
  write<T>(work: () => T): T {
    this.#file.reserve()
    this.#isWriting = true
    try {
      return this.#root.transactionSync(work)
    } catch (error) {
      if (!isLmdbError(error)) throw error
      this.#reopen()
      throw this.#refusal(error)
    } finally {
      this.#isWriting = false
    }
  }

  sizeBytes(): number {
    return this.#file.sizeBytes()
  }

  async close(): Promise<void> {
    this.#file.close()
    await this.#root.close()
  }

  /** LMDB calls a write that was cut short an I/O error: whether the file can grow tells the two apart. */
  #refusal(error: Error & { readonly code: number }): ShelfError {
    return fileError(error.code === EIO ? (this.#file.growthError() ?? error) : error, this.#path)
  }

  #reopen(): void {
    void this.#root.close() // at once: no asynchronous write was ever begun
    this.#root = this.#openRoot()
    this.#trees = this.#openTrees()
  }

  #openRoot(): RootDatabase<Uint8Array, Uint8Array> {
    return this.#open<Uint8Array, Uint8Array>(this.#path, {
      ...BYTES,
      noSubdir: true,
      maxDbs: MAX_TREES,
      mapSize: FIRST_MAP_BYTES,
      // a commit is durable when it returns, not some time later
      overlappingSync: false,
    })
  }

  /** Throws ShelfError before it makes a tree in place of one that has lost its name. */
  #openTrees(): Trees {
    const known = new Set([...this.#root.getKeys()].map((name) => Buffer.from(name).toString().replace('\0', '')))
    const isWhole = NAMES.every((name) => known.has(name))
    if (!isWhole && [...known].some((name) => !this.#isEmpty(name))) throw lostTree(this.#path)
    const trees = NAMES.map((name) => [name, this.#root.openDB({ name, ...BYTES })])
    return Object.fromEntries(trees) as Trees // each of the names
  }

  #isEmpty(name: string): boolean {
    const tree = this.#root.openDB({ name, ...BYTES })
    return tree.getKeysCount({ limit: 1 }) === 0
  }
}

const BYTES = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const

const EIO = 5

/** The library gives its errors the code of LMDB or of the system. */
function isLmdbError(error: unknown): error is Error & { readonly code: number } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && !(error instanceof ShelfError)
}

/** What `work` reads. Throws ShelfError (corrupt) for whatever the library throws: it has met what nobody wrote. */
export function reading<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof ShelfError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new ShelfError(
      'corrupt',
      `the data directory cannot be read (${why}); restore it from a copy, or start anew in another one`,
      error,
    )
  }
}

/** Of this library's buffers, which are cut to the next value's size when they are used again. A plain copy, not a Buffer. */
export function copyOf(bytes: Uint8Array | undefined): Uint8Array | null {
  return bytes === undefined ? null : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** A key of up to two numbers. */
export function numberKey(first: number, second?: number): Buffer {
  const key = Buffer.allocUnsafe(second === undefined ? 4 : 8)
  key.writeUInt32BE(first, 0)
  if (second !== undefined) key.writeUInt32BE(second, 4)
  return key
}

function lostTree(path: string): ShelfError {
  return new ShelfError('corrupt', `${path} has lost one of its parts; restore it from a copy, or choose another --data directory`)
}
