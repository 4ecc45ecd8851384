import { shortened } from '../wallet/format.ts'
import type { Tags } from './head.ts'
import type { IncludedOperation } from './operations.ts'
import { AddressLink, StageChip, TransactionLink, stageOf } from './parts.tsx'

interface OperationRowsProps {
  readonly operations: readonly IncludedOperation[]
  readonly tags: Tags
  readonly hasBundle?: boolean
  readonly caption: string
}

/** A table of user operations in blocks. */
export function OperationRows({ operations, tags, hasBundle = true, caption }: OperationRowsProps) {
  return (
    <table class="entries" data-testid="operations">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          <th>Operation</th>
          <th>State</th>
          <th>Sender</th>
          <th>Paid by</th>
          {hasBundle && <th>Bundle</th>}
        </tr>
      </thead>
      <tbody>
        {operations.map(({ hash, sender, paymaster, success, transactionHash, blockNumber }) => (
          <tr key={hash} class="entry" data-testid="operation" data-hash={hash}>
            <td data-label="Operation">
              <a href={`/op/${hash}`} title={hash}>
                <code>{shortened(hash)}</code>
              </a>
            </td>
            <td data-label="State">
              <div>
                <StageChip stage={stageOf(blockNumber, tags)} /> {!success && <StageChip stage="failed" />}
              </div>
            </td>
            <td data-label="Sender">
              <AddressLink address={sender} />
            </td>
            <td data-label="Paid by">{paymaster === null ? 'sender' : <AddressLink address={paymaster} />}</td>
            {hasBundle && (
              <td data-label="Bundle">
                <TransactionLink hash={transactionHash} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
