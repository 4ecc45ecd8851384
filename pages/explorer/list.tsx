import type { ComponentChildren } from 'preact'
import { nameOfCall } from './calls.ts'
import type { TagNumbers } from './head.ts'
import { AddressLink, BlockLink, Ether, StageChip, TransactionLink, stageOf } from './parts.tsx'
import type { Stage } from './parts.tsx'
import type { TransactionWithReceipt } from './transactions.ts'

interface TransactionRowsProps {
  readonly rows: readonly TransactionWithReceipt[]
  readonly tags: TagNumbers
  /** hashes that were retracted; the node may still have them in its pool */
  readonly retracted?: ReadonlySet<string>
  readonly hasBlock?: boolean
  readonly caption: string
  /** the address whose transactions are listed: others than its own are internal */
  readonly of?: string
}

/** A table of transactions; below 900 px a card for each. */
export function TransactionRows({ rows, tags, retracted = new Set(), hasBlock = true, caption, of }: TransactionRowsProps) {
  return (
    <table class="entries transactions" data-testid="transactions">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          <th>Transaction</th>
          <th>State</th>
          {hasBlock && <th>Block</th>}
          <th>From</th>
          <th>To</th>
          <th>Call</th>
          <th class="number">Value</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <TransactionRow
            key={row.transaction.hash}
            row={row}
            tags={tags}
            isRetracted={retracted.has(row.transaction.hash)}
            isInternal={of !== undefined && isInnerParty(row, of)}
            hasBlock={hasBlock}
          />
        ))}
      </tbody>
    </table>
  )
}

interface TransactionRowProps {
  readonly row: TransactionWithReceipt
  readonly tags: TagNumbers
  readonly isRetracted: boolean
  readonly isInternal: boolean
  readonly hasBlock: boolean
}

function TransactionRow({ row, tags, isRetracted, isInternal, hasBlock }: TransactionRowProps) {
  const { transaction, receipt } = row
  const { hash, from, to, value, input, blockNumber } = transaction
  const stage = stageOfRow(row, tags, isRetracted)
  const created = receipt?.contractAddress ?? null
  return (
    <tr class="entry" data-testid="transaction" data-hash={hash} data-stage={stage}>
      <Cell label="Transaction">
        <TransactionLink hash={hash} />
      </Cell>
      <Cell label="State">
        <StageChip stage={stage} /> {receipt?.status === '0x0' && <StageChip stage="failed" />}
        {isInternal && (
          <span class="chip over" data-testid="internal" title="only an inner call names the address">
            internal
          </span>
        )}
      </Cell>
      {hasBlock && <Cell label="Block">{blockNumber === null ? '–' : <BlockLink number={blockNumber} />}</Cell>}
      <Cell label="From">
        <AddressLink address={from} />
      </Cell>
      <Cell label="To">
        {to !== null ? (
          <AddressLink address={to} />
        ) : created === null ? (
          'creation'
        ) : (
          <>
            creates <AddressLink address={created} />
          </>
        )}
      </Cell>
      <Cell label="Call">
        <code>{nameOfCall(to, input)}</code>
      </Cell>
      <Cell label="Value" isNumber>
        <Ether wei={value} />
      </Cell>
    </tr>
  )
}

/** True if the address is a party of an inner call only. */
function isInnerParty({ transaction: { from, to }, receipt }: TransactionWithReceipt, address: string): boolean {
  return ![from, to, receipt?.contractAddress].some((each) => each?.toLowerCase() === address.toLowerCase())
}

function stageOfRow({ transaction, receipt }: TransactionWithReceipt, tags: TagNumbers, isRetracted: boolean): Stage {
  const number = receipt?.blockNumber ?? transaction.blockNumber
  if (number === null && isRetracted) return 'retracted'
  return stageOf(number === null ? null : Number(number), tags)
}

function Cell({ label, children, isNumber = false }: { label: string; children: ComponentChildren; isNumber?: boolean }) {
  return (
    <td data-label={label} {...(isNumber ? { class: 'number' } : {})}>
      <div>{children}</div>
    </td>
  )
}

interface PagerProps {
  readonly page: number
  readonly pages: number
  readonly turn: (page: number) => void
  readonly name: string
}

/** Buttons for the pages of a list; nothing for a single page. `page` counts from 0. */
export function Pager({ page, pages, turn, name }: PagerProps) {
  if (pages <= 1) return null
  return (
    <nav class="pages" aria-label={`Pages of ${name}`}>
      <button type="button" class="small" data-testid="previous" disabled={page === 0} onClick={() => turn(page - 1)}>
        Previous
      </button>
      <span class="soft" data-testid="page">
        page {page + 1} of {pages}
      </span>
      <button type="button" class="small" data-testid="next" disabled={page >= pages - 1} onClick={() => turn(page + 1)}>
        Next
      </button>
    </nav>
  )
}
