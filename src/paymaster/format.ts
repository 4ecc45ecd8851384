import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'

/** Of all that the ledger keeps. It rises when a program from before would misread what is kept from then on. */
export const LEDGER_FORMAT = 1

const KEY = 'sponsor/format'

/** In which shape a ledger is kept: told with its first promise. Where it is not told, nothing was promised, or it is the first one. */
export const LedgerFormat = { assert, isTold, tell }

/** Throws UnreadableLedger. */
function assert(records: Records): void {
  if (!isTold(records)) return
  const format = told(records)
  if (typeof format === 'number' && format > LEDGER_FORMAT) {
    const what = `was written by a newer pocketchain (format ${format}, this one reads up to ${LEDGER_FORMAT}); use that version`
    throw new UnreadableLedger('newer-format', what)
  }
  if (format !== LEDGER_FORMAT) throw new UnreadableLedger('corrupt', 'is damaged (its format cannot be read); restore it from a copy')
}

function isTold(records: Records): boolean {
  return records.get(KEY) !== null
}

function tell(records: Records): void {
  JsonRecords.put(records, KEY, LEDGER_FORMAT)
}

/** undefined: it is no JSON */
function told(records: Records): unknown {
  try {
    return JsonRecords.get(records, KEY)
  } catch {
    return undefined
  }
}

/** What was promised cannot be read, so nothing may be promised. Nothing was overwritten. The message says what to do. */
export class UnreadableLedger extends Error {
  override readonly name = 'UnreadableLedger'
  readonly reason: 'newer-format' | 'corrupt'

  constructor(reason: UnreadableLedger['reason'], what: string) {
    super(`the sponsor's ledger ${what}, or start without the sponsor (--no-sponsor)`)
    this.reason = reason
  }
}
