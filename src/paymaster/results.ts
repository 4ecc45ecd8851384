import type { EntryPointVersion } from '../eth/index.ts'
import type { EntryState } from './entry.ts'
import type { Fault, Stage } from './faults.ts'
import type { PolicyFields, PolicyReason } from './policy.ts'

// The results of the pocketchain_sponsor methods in JSON, an entry point of its own for the types of the sponsor's page. Amounts are wei as quantities.

export type { EntryState } from './entry.ts'
export type { Fault, FaultKind } from './faults.ts'

export interface SponsorStatus {
  readonly name: string
  /** a data: URI */
  readonly icon: string | null
  readonly owner: string
  readonly signer: string
  readonly validForSeconds: number
  readonly fault: Fault | null
  readonly paymasters: readonly PaymasterStatus[]
  readonly policies: readonly PolicyStatus[]
  readonly counts: Readonly<Record<EntryState, number>>
  readonly totals: { readonly reserved: string; readonly settled: string }
}

export interface PaymasterStatus {
  readonly version: EntryPointVersion
  readonly entryPoint: string
  readonly address: string
  readonly deployed: boolean
  readonly deposit: string
  readonly reserved: string
  readonly isLow: boolean
}

export interface PolicyStatus extends PolicyFields {
  readonly use: { readonly reserved: string; readonly settled: string; readonly today: string; readonly users: number }
  /** `null` without a total or daily budget */
  readonly left: string | null
}

export interface LedgerEntry {
  readonly id: number
  /** Unix time, milliseconds */
  readonly at: number
  readonly state: EntryState
  readonly stage: Stage
  readonly version: EntryPointVersion
  readonly entryPoint: string
  readonly paymaster: string
  readonly policy: string | null
  readonly sender: string
  readonly nonce: string
  readonly userOpHash: string | null
  /** `null` if the call data cannot be decoded */
  readonly calls: readonly LedgerCall[] | null
  /** number of calls; `calls` has the first ones */
  readonly callCount: number
  readonly maxCost: string | null
  readonly cost: string | null
  /** wei per gas, of the latest signature */
  readonly maxFeePerGas: string | null
  readonly maxPriorityFeePerGas: string | null
  /** gas that was charged; the price paid is `cost` by it */
  readonly gasUsed: string | null
  /** Unix time, seconds */
  readonly validUntil: number | null
  readonly transactionHash: string | null
  readonly blockNumber: string | null
  readonly success: boolean | null
  readonly reason: string | null
  readonly message: string | null
  readonly reasons: readonly PolicyReason[]
}

export interface LedgerCall {
  readonly to: string
  readonly value: string
  readonly selector: string | null
}

export interface LedgerPage {
  readonly entries: readonly LedgerEntry[]
  /** `before` of the next page; `null` at the end */
  readonly next: number | null
}
