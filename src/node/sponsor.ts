import { createHash } from 'node:crypto'
import type { Fleet } from '../fleet/index.ts'
import { JsonRecords, memoryRecords } from '../jsonrpc/index.ts'
import type { Records, Rpc, RpcError } from '../jsonrpc/index.ts'
import type { Paymaster } from '../paymaster/index.ts'
import { StorageError } from '../store/index.ts'
import { sponsorKeys } from './keys.ts'
import type { StartOptions } from './options.ts'

/** The current paymaster of a node, loaded at the first request. */
export interface Sponsor extends Paymaster {
  /** Loads a paymaster whose options have to be checked, or whose ledger holds open promises. Throws RangeError. */
  readonly prepare: () => Promise<void>
  /** Closes the paymaster, whose ledger stays in the records, and refuses requests until `prepare`. */
  readonly suspend: (refusal: () => RpcError) => Promise<void>
  /** Closes the paymaster; the next request creates a new one that keeps its ledger in memory. */
  readonly renew: () => Promise<void>
}

/** `stored`: the records that contain the ledger. */
export function sponsorOf(options: StartOptions, rpc: () => Rpc, stored: Records): Sponsor {
  const { onNote, onError } = options
  const choices = options.sponsor || {}
  let loaded: Promise<Paymaster> | null = null
  let records = stored
  let suspension: (() => RpcError) | null = null
  const load = async (): Promise<Paymaster> => {
    if (suspension !== null) throw suspension()
    return (loaded ??= import('../paymaster/index.ts').then(({ createPaymaster }) =>
      createPaymaster({ ...sponsorKeys(options), ...choices, rpc: rpc(), records, onNote, onError }),
    ))
  }
  const end = async (): Promise<void> => {
    const before = loaded
    loaded = null
    await (await before)?.close()
  }
  return {
    handle: async (body, caller) => (await load()).handle(body, caller),
    api: async () => (await load()).api(),
    control: async (request) => (await load()).control(request),
    settled: async () => (await load()).settled(),
    close: async () => (await loaded)?.close(),
    prepare: async () => {
      suspension = null
      if (Object.keys(choices).length > 0 || hasOpenPromises(records)) await load()
    },
    suspend: (refusal) => {
      suspension = refusal
      return end()
    },
    renew: () => {
      records = memoryRecords()
      return end()
    },
  }
}

/** Runs before anything is written. Throws StorageError for a ledger that is newer than this program or unreadable. */
export async function assertLedger(records: Records): Promise<void> {
  if (!hasOpenPromises(records)) return
  const { LedgerFormat, UnreadableLedger } = await import('../paymaster/index.ts')
  try {
    LedgerFormat.assert(records)
  } catch (error) {
    throw error instanceof UnreadableLedger ? new StorageError(error.reason, error.message, error) : error
  }
}

/** Throws RangeError for a standby that would apply other policies than the sequencer of its fleet. */
export function assertSamePolicies({ role }: Fleet, options: StartOptions, records: Records): void {
  const recorded = JsonRecords.get(records, POLICIES)
  // A sequencer that begins the chain at this time has not recorded its own.
  if (role !== 'standby' || recorded === null || recorded === digestOf(options)) return
  throw new RangeError(
    'the policies of the sponsor differ from those of the sequencer; start every process that can become the sequencer with the same --sponsor-policies',
  )
}

/** Records the policies of a process that becomes the sequencer, and reports if those of the last one differ. */
export function recordPolicies(fleet: Fleet, options: StartOptions, records: Records): void {
  const digest = digestOf(options)
  if (digest === JsonRecords.get(records, POLICIES)) return
  if (fleet.status().epoch > 1)
    options.onNote(
      'the policies of the sponsor differ from those of the last sequencer: those of this process (--sponsor-policies) apply now',
    )
  JsonRecords.put(records, POLICIES, digest)
}

/** Key of the record. */
const POLICIES = 'policies/sponsor'

/** The policies may contain API keys, which are not stored. */
function digestOf({ sponsor }: StartOptions): string {
  const { policies } = sponsor || {}
  if (policies === undefined) return 'default'
  const text = JSON.stringify(policies, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
  return createHash('sha256').update(text).digest('hex')
}

/** User operations that an earlier process signed a sponsorship for may be sent at any time. */
function hasOpenPromises(records: Records): boolean {
  const [first] = records.entries('sponsor/')
  return first !== undefined
}
