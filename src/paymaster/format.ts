import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'

/** Version of the ledger's records. It is raised when older programs would misread newer records. */
const LEDGER_FORMAT = 1

const KEY = 'sponsor/format'

/** The stored version, written with the first reservation. Records without one are of version 1, or empty. */
export const LedgerFormat = { assert, isRecorded, record }

/** Throws UnreadableLedger. */
function assert(records: Records): void {
  if (!isRecorded(records)) return
  const format = recordedFormat(records)
  if (typeof format === 'number' && format > LEDGER_FORMAT) {
    const what = `was written by a newer pocketchain (format ${format}, this one reads up to ${LEDGER_FORMAT}); use that version`
    throw new UnreadableLedger('newer-format', what)
  }
  if (format !== LEDGER_FORMAT) throw new UnreadableLedger('corrupt', 'is damaged (its format cannot be read); restore it from a copy')
}

function isRecorded(records: Records): boolean {
  return records.get(KEY) !== null
}

function record(records: Records): void {
  JsonRecords.put(records, KEY, LEDGER_FORMAT)
}

/** Returns undefined for malformed JSON. */
function recordedFormat(records: Records): unknown {
  try {
    return JsonRecords.get(records, KEY)
  } catch {
    return undefined
  }
}

/** The ledger cannot be read, so nothing may be reserved. No record was overwritten. The message contains the remedy. */
export class UnreadableLedger extends Error {
  override readonly name = 'UnreadableLedger'
  readonly reason: 'newer-format' | 'corrupt'

  constructor(reason: UnreadableLedger['reason'], what: string) {
    super(`the sponsor's ledger ${what}, or start without the sponsor (--no-sponsor)`)
    this.reason = reason
  }
}
