/**
 * Durable records of wallet, sponsor and bundler: bytes under text keys that begin with `wallet/`, `sponsor/` and `bundler/`. The node injects the
 * implementation: LMDB with `--data`, memory otherwise; in a browser it may be a copy of IndexedDB.
 */
export interface Records {
  get(key: string): Uint8Array | null
  /** Durable when it returns. Null removes the record. */
  put(key: string, value: Uint8Array | null): void
  /** in the order of the keys' bytes */
  entries(prefix: string): Iterable<[string, Uint8Array]>
  /** Writes all puts of `work`, which may run twice, or none if it throws; durable when it returns. Absent: each put is separate. */
  transaction?<T>(work: () => T): T
}

/** Records that end with the process. */
export function memoryRecords(): Records {
  const values = new Map<string, Uint8Array>()
  return {
    get: (key) => values.get(key) ?? null,
    put: (key, value) => void (value === null ? values.delete(key) : values.set(key, value)),
    entries: (prefix) => [...values].filter(([key]) => key.startsWith(prefix)).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  }
}

/** Records as JSON, which is small here and readable in diagnosis. */
export const JsonRecords = { get, put, entries, together }

function get(records: Records, key: string): unknown {
  const bytes = records.get(key)
  return bytes === null ? null : JSON.parse(TEXT.decode(bytes))
}

function put(records: Records, key: string, value: unknown): void {
  records.put(key, value === null ? null : BYTES.encode(JSON.stringify(value)))
}

function entries(records: Records, prefix: string): readonly (readonly [string, unknown])[] {
  return [...records.entries(prefix)].map(([key, bytes]) => [key, JSON.parse(TEXT.decode(bytes))])
}

/** Uses one transaction if the records have them, which costs as much as one put on a disk. */
function together(records: Records, work: () => void): void {
  if (records.transaction === undefined) work()
  else records.transaction(work)
}

const TEXT = new TextDecoder()
const BYTES = new TextEncoder()
