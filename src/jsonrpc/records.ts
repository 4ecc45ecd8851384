/**
 * Where wallet and sponsor keep what must outlive the process, as bytes under text keys that begin with `wallet/` and `sponsor/`. The root injects
 * it: LMDB under `--data`, memory otherwise; in a browser it may be IndexedDB's copy.
 */
export interface Records {
  get(key: string): Uint8Array | null
  /** Durable when it returns. Null removes. */
  put(key: string, value: Uint8Array | null): void
  /** in the order of the keys' bytes */
  entries(prefix: string): Iterable<[string, Uint8Array]>
  /** All that `work` puts, durable when it returns, or nothing of it if it throws. Where there is none, each put stands for itself. */
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

/** Records as JSON: what is kept is small and read by people who look for a fault. */
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

/** In one transaction where there are any: on a disk it costs as much as one put. */
function together(records: Records, work: () => void): void {
  if (records.transaction === undefined) work()
  else records.transaction(work)
}

const TEXT = new TextDecoder()
const BYTES = new TextEncoder()
