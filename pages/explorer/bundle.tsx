import { shortened } from '../wallet/format.ts'
import { Row } from '../wallet/parts.tsx'
import { useLoaded, useTagNumbers } from './head.ts'
import { MissingMethod, ask } from './node.ts'
import { operationsIn } from './operations.ts'
import { AddressLink, Ether, Failure, Panel, StageChip, TransactionLink } from './parts.tsx'
import { Timeline } from './timeline.tsx'
import type { PromisePageJson, ReceiptJson } from './wire.ts'

/** An operation of a bundle, in its order. */
interface Sibling {
  readonly hash: string
  readonly sender: string
  readonly success: boolean
}

interface BundleProps {
  /** hash of the operation that this page shows */
  readonly userOpHash: string
  /** null: it is in no bundle */
  readonly hash: string | null
  readonly blockNumber: number | null
  /** null: it is in no block */
  readonly receipt: ReceiptJson | null
  /** operations of a bundle in no block, in their order; those of others are read from the receipt */
  readonly waiting: readonly Sibling[]
}

/** The transaction that includes the operation, its other operations, and its promises. */
export function Bundle({ userOpHash, hash, blockNumber, receipt, waiting }: BundleProps) {
  const tags = useTagNumbers()
  const loaded = useLoaded(
    async (signal) => (hash === null ? null : ask<PromisePageJson>(['pocketchain_promises', { hash, limit: 50 }], { signal })),
    [hash, blockNumber, tags.latest],
  )
  const included = receipt === null ? [] : operationsIn(receipt.logs)
  return (
    <Panel title="Bundle" id="bundle">
      {hash === null ? (
        <p class="soft">It is in no bundle.</p>
      ) : (
        <>
          <dl class="rows">
            <Row name="Transaction">
              <TransactionLink hash={hash} />
            </Row>
            {receipt !== null && (
              <>
                <Row name="Sent by" id="op-bundler">
                  <AddressLink address={receipt.from} />
                </Row>
                <Row name="Fee" id="bundle-fee">
                  <Ether wei={feeOf(receipt)} />
                </Row>
                <Row name="Refunded" id="bundle-refund">
                  <Ether wei={included.reduce((sum, { cost }) => sum + cost, 0n)} /> <span class="soft">by its operations</span>
                </Row>
              </>
            )}
          </dl>
          <Siblings own={userOpHash} operations={included.length > 0 ? included : waiting} />
          {loaded.state === 'failed' && <Failure error={loaded.error} />}
          {(loaded.state !== 'failed' || loaded.error instanceof MissingMethod) && (
            <Timeline records={loaded.value?.promises.toReversed() ?? []} blockNumber={blockNumber} sealedMs={null} {...tags} />
          )}
        </>
      )}
    </Panel>
  )
}

/** The known operations of the bundle, in their order. */
function Siblings({ own, operations }: { own: string; operations: readonly Sibling[] }) {
  const position = operations.findIndex(({ hash }) => hash === own)
  if (position < 0) return null
  return (
    <>
      <p data-testid="op-position" class="position">
        {operations.length === 1 ? 'The only operation of its bundle' : `Operation ${position + 1} of ${operations.length} in its bundle`}
      </p>
      {operations.length > 1 && (
        <ol class="siblings">
          {operations.map(({ hash, sender, success }) => (
            <li key={hash} data-testid="sibling" data-hash={hash}>
              {hash === own ? (
                <strong>
                  <code>{shortened(hash)}</code> this one
                </strong>
              ) : (
                <a href={`/op/${hash}`} title={hash}>
                  <code>{shortened(hash)}</code>
                </a>
              )}{' '}
              <span class="soft">of</span> <AddressLink address={sender} /> {!success && <StageChip stage="failed" />}
            </li>
          ))}
        </ol>
      )}
    </>
  )
}

function feeOf({ gasUsed, effectiveGasPrice, l1Fee = '0x0' }: ReceiptJson): bigint {
  return BigInt(gasUsed) * BigInt(effectiveGasPrice) + BigInt(l1Fee)
}
