import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary file without a name, which ends with the process at the latest. */
export class SpillFile {
  readonly #file: number

  private constructor(file: number) {
    this.#file = file
    opened.register(this, file, this)
  }

  /** Returns `null` if no file can be created, for example on a read-only file system. */
  static open(this: void): SpillFile | null {
    const path = join(tmpdir(), `pocketchain-${randomUUID()}`)
    try {
      const file = openSync(path, 'wx+', 0o600)
      unlinkSync(path)
      return new SpillFile(file)
    } catch {
      return null
    }
  }

  /** Returns false if the file cannot grow. */
  write(bytes: Uint8Array, offset: number): boolean {
    try {
      return writeSync(this.#file, bytes, 0, bytes.length, offset) === bytes.length
    } catch {
      return false
    }
  }

  /** Fills `bytes`. Throws what the file system throws. */
  read(bytes: Uint8Array, offset: number): void {
    const size = readSync(this.#file, bytes, 0, bytes.length, offset)
    if (size !== bytes.length)
      throw new Error(`a temporary file ends after ${offset + size} bytes and should have ${offset + bytes.length}`)
  }

  close(): void {
    opened.unregister(this)
    closeSync(this.#file)
  }
}

/** A storage that is dropped without `close` must not keep its file. */
const opened = new FinalizationRegistry<number>((file) => closeSync(file))
