import type { Paymaster } from '../paymaster/index.ts'
import { memoryRecords } from '../rpc/index.ts'
import type { Records, Rpc } from '../rpc/index.ts'
import { StorageError } from '../store/index.ts'
import type { Begun } from './options.ts'
import { sponsorKeys } from './keys.ts'

/** The paymaster of the moment. */
export interface Sponsor extends Paymaster {
  /** Closes it. The next one keeps its ledger in memory. */
  readonly renew: () => Promise<void>
}

/**
 * Its ledger lies in `kept`. Who asks for no sponsorship never loads it. Options that must be right are looked at now: throws RangeError.
 */
export async function sponsorOf(options: Begun, rpc: Rpc, kept: Records): Promise<Sponsor> {
  const { onNote, onError } = options
  const choices = options.sponsor || {}
  let loaded: Promise<Paymaster> | null = null
  let records = kept
  const load = (): Promise<Paymaster> =>
    (loaded ??= import('../paymaster/index.ts').then(({ createPaymaster }) =>
      createPaymaster({ ...sponsorKeys(options), ...choices, rpc, records, onNote, onError }),
    ))
  if (Object.keys(choices).length > 0 || hasPromised(records)) await load()
  return {
    handle: async (body, caller) => (await load()).handle(body, caller),
    control: async (request) => (await load()).control(request),
    settled: async () => (await load()).settled(),
    close: async () => (await loaded)?.close(),
    renew: async () => {
      const before = loaded
      loaded = null
      records = memoryRecords()
      await (await before)?.close()
    },
  }
}

/** Before anything is written: throws StorageError for a ledger that a newer program keeps, or nobody can read. */
export async function assertLedger(records: Records): Promise<void> {
  if (!hasPromised(records)) return
  const { LedgerFormat, UnreadableLedger } = await import('../paymaster/index.ts')
  try {
    LedgerFormat.assert(records)
  } catch (error) {
    throw error instanceof UnreadableLedger ? new StorageError(error.reason, error.message, error) : error
  }
}

/** A ledger was kept: what was promised may be used at any moment, or was. */
function hasPromised(records: Records): boolean {
  const [first] = records.entries('sponsor/')
  return first !== undefined
}
