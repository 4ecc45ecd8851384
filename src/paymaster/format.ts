import { JsonRecords } from '../rpc/index.ts'
import type { Records } from '../rpc/index.ts'

/** Of all that the ledger keeps. It rises when a program from before would misread what is kept from then on. */
export const LEDGER_FORMAT = 1

const KEY = 'sponsor/format'

/** In which shape a ledger is kept: told with its first promise. Where it is not told, nothing was promised, or it is the first one. */
export const LedgerFormat = { assert, isTold, tell }

/** Throws NewerLedger. */
function assert(records: Records): void {
  const format = JsonRecords.get(records, KEY)
  if (format !== null && format !== LEDGER_FORMAT) throw new NewerLedger(format)
}

function isTold(records: Records): boolean {
  return records.get(KEY) !== null
}

function tell(records: Records): void {
  JsonRecords.put(records, KEY, LEDGER_FORMAT)
}

/** What was promised cannot be read, so nothing may be promised. Nothing was overwritten. The message says what to do. */
export class NewerLedger extends Error {
  override readonly name = 'NewerLedger'

  constructor(format: unknown) {
    super(
      `the sponsor's ledger was written by a newer pocketchain (format ${String(format)}, this one reads up to ${LEDGER_FORMAT}); ` +
        'use that version, or start without the sponsor',
    )
  }
}
