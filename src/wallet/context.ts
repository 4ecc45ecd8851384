import type { Records } from '../jsonrpc/index.ts'
import type { Activities } from './activity/activities.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { Batches } from './batches/batches.ts'
import type { Chains } from './chains/chains.ts'
import type { Keyring } from './keys/keyring.ts'
import type { WalletSettings } from './settings.ts'
import type { Sites } from './sites.ts'

/** The parts of a wallet, as its methods use them. */
export interface WalletContext {
  readonly chains: Chains
  readonly keyring: Keyring
  readonly sites: Sites
  readonly approvals: Approvals
  readonly batches: Batches
  readonly activities: Activities
  readonly records: Records
  readonly settings: WalletSettings
  /** receives bugs and errors of background work */
  readonly onError: (error: unknown) => void
}
