import { Gwei } from '../sponsor/parts.tsx'
import { WarningChip } from '../sponsor/rulewarnings.tsx'
import { shortened } from '../wallet/format.ts'
import type { TagNumbers } from './head.ts'
import { gasPricePaid } from './operations.ts'
import type { IncludedOperation } from './operations.ts'
import { AddressLink, Ether, StageChip, TransactionLink, stageOf } from './parts.tsx'
import { useRuleWarnings } from './rules.tsx'

interface OperationRowsProps {
  readonly operations: readonly IncludedOperation[]
  readonly tags: TagNumbers
  readonly hasBundle?: boolean
  readonly caption: string
}

/** A table of user operations in blocks. */
export function OperationRows({ operations, tags, hasBundle = true, caption }: OperationRowsProps) {
  const warnings = useRuleWarnings(operations.map(({ hash }) => hash))
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
          <th class="number">Per gas</th>
          <th class="number">Cost</th>
        </tr>
      </thead>
      <tbody>
        {operations.map((operation) => (
          <OperationRow
            key={operation.hash}
            operation={operation}
            warnings={warnings.get(operation.hash) ?? []}
            tags={tags}
            hasBundle={hasBundle}
          />
        ))}
      </tbody>
    </table>
  )
}

interface OperationRowProps extends Pick<OperationRowsProps, 'tags' | 'hasBundle'> {
  readonly operation: IncludedOperation
  readonly warnings: Parameters<typeof WarningChip>[0]['warnings']
}

function OperationRow({ operation, warnings, tags, hasBundle }: OperationRowProps) {
  const { hash, sender, paymaster, success, cost, transactionHash, blockNumber } = operation
  return (
    <tr class="entry" data-testid="operation" data-hash={hash}>
      <td data-label="Operation">
        <OperationLink hash={hash} />
      </td>
      <td data-label="State">
        <div>
          <StageChip stage={stageOf(blockNumber, tags)} /> {!success && <StageChip stage="failed" />} <WarningChip warnings={warnings} />
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
      <td data-label="Per gas" class="number">
        <Gwei wei={gasPricePaid(operation)} isRough />
      </td>
      <td data-label="Cost" class="number">
        <Ether wei={cost} />
      </td>
    </tr>
  )
}

export function OperationLink({ hash }: { hash: string }) {
  return (
    <a href={`/op/${hash}`} title={hash}>
      <code>{shortened(hash)}</code>
    </a>
  )
}
