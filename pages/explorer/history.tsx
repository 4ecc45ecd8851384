import { useState } from 'preact/hooks'
import { useHead, useLoaded } from './head.ts'
import { TransactionRows } from './list.tsx'
import { ask } from './node.ts'
import { Content, Panel } from './parts.tsx'
import { PAGE_ROWS } from './transactions.ts'
import type { ReceiptJson, TransactionJson } from './wire.ts'

/** The result of ots_searchTransactionsBefore. */
interface SearchJson {
  readonly txs: readonly TransactionJson[]
  readonly receipts: readonly ReceiptJson[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

/** Transactions that name the address, newest first. */
export function History({ address }: { address: string }) {
  const head = useHead()
  /** the block below which each page after the newest one begins */
  const [turned, setTurned] = useState<readonly number[]>([])
  const below = turned.at(-1) ?? 0
  const loaded = useLoaded(
    (signal) => ask<SearchJson>(['ots_searchTransactionsBefore', address, below, PAGE_ROWS], { signal }),
    [address, below, below === 0 ? head.latest : 0],
  )
  const last = Number(loaded.value?.txs.at(-1)?.blockNumber ?? 0)
  return (
    <Panel title="Transactions" note="of sealed blocks, newest first" id="history">
      <Content of={loaded}>
        {({ txs, receipts, lastPage }) => (
          <>
            {txs.length === 0 ? (
              <p class="soft" data-testid="no-history">
                No sealed transaction names this address.
              </p>
            ) : (
              <TransactionRows
                rows={txs.map((transaction, i) => ({ transaction, receipt: receipts[i] ?? null }))}
                tags={head}
                caption="Transactions of the address"
                of={address}
              />
            )}
            {(turned.length > 0 || !lastPage) && (
              <nav class="pages" aria-label="Pages of transactions">
                <button
                  type="button"
                  class="small"
                  data-testid="newer"
                  disabled={turned.length === 0}
                  onClick={() => setTurned(turned.slice(0, -1))}
                >
                  Newer
                </button>
                <span class="soft">{turned.length === 0 ? 'the newest' : `page ${turned.length + 1}`}</span>
                <button type="button" class="small" data-testid="older" disabled={lastPage} onClick={() => setTurned([...turned, last])}>
                  Older
                </button>
              </nav>
            )}
          </>
        )}
      </Content>
    </Panel>
  )
}
