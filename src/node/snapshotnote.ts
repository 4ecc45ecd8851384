import type { Chain } from '../chain/index.ts'
import { STATE_HISTORY_BLOCKS } from '../compat.ts'
import type { ReportingOptions } from './options.ts'

/** Blocks beyond the usual state history after which a snapshot counts as forgotten: an hour of the default cadence. */
const FORGOTTEN_BLOCKS = 2_048
const CHECK_EVERY_BLOCKS = 256

/** Reports, once, a snapshot that was not reverted: no state since then is pruned, so memory grows with each block. */
export function reportForgottenSnapshot(chain: Chain, { stateHistory = STATE_HISTORY_BLOCKS, onNote }: ReportingOptions): void {
  const unsubscribe = chain.head.subscribe((event) => {
    if (event.kind !== 'block' || !event.sealed) return
    const { number } = event.block.header
    if (number % CHECK_EVERY_BLOCKS !== 0) return
    const [oldest] = chain.snapshots
    if (oldest === undefined || number - oldest.number < stateHistory + FORGOTTEN_BLOCKS) return
    unsubscribe()
    onNote(
      `the snapshot ${oldest.id} of block ${oldest.number} keeps the state of all ${number - oldest.number} blocks since then in memory; evm_revert to it, anvil_reset or a restart releases it`,
    )
  })
}
