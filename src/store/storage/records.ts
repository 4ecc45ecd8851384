import { RECORD_KEY_BYTES, WALK_KEYS } from '../limits.ts'
import type { Records } from './backend.ts'
import { copyOf } from './environment.ts'
import type { Environment } from './environment.ts'

export class LmdbRecords implements Records {
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  get(key: string): Uint8Array | null {
    return copyOf(this.#environment.tables.records.getBinary(keyBytes(key)))
  }

  put(key: string, value: Uint8Array | null): void {
    const bytes = keyBytes(key)
    this.transaction(() => {
      const { records } = this.#environment.tables
      if (value === null) records.removeSync(bytes)
      else records.putSync(bytes, value)
    })
  }

  *entries(prefix: string): Iterable<[string, Uint8Array]> {
    let start = Buffer.from(prefix)
    for (let exclusiveStart = false; ; exclusiveStart = true) {
      // the lowest key: keys are not empty
      const from = start.length === 0 ? FIRST_KEY : start
      const entries = [...this.#environment.tables.records.getRange({ start: from, exclusiveStart, limit: WALK_KEYS })]
      for (const { key, value } of entries) {
        const text = Buffer.from(key).toString()
        if (!text.startsWith(prefix)) return
        yield [text, value]
      }
      if (entries.length < WALK_KEYS) return
      start = Buffer.from(entries[entries.length - 1]!.key) // the piece is full
    }
  }

  transaction<T>(work: () => T): T {
    return this.#environment.isWriting ? work() : this.#environment.write(work)
  }
}

const FIRST_KEY = Buffer.from([0])

/** Throws RangeError for a key that is empty or too long. */
function keyBytes(key: string): Buffer {
  const bytes = Buffer.from(key)
  if (bytes.length > 0 && bytes.length <= RECORD_KEY_BYTES) return bytes
  throw new RangeError(`the key of a record has 1 to ${RECORD_KEY_BYTES} bytes, not ${bytes.length}`)
}
