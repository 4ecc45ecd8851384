import { useRef } from 'preact/hooks'
import { visible } from '../wallet/format.ts'
import { useAbis } from './abis.ts'
import { timeOf } from './block.tsx'
import { CallPanel } from './callpanel.tsx'
import { useHead, useLoaded, useNow, useTagNumbers } from './head.ts'
import type { TagNumbers } from './head.ts'
import { ReceiptLogs } from './logs.tsx'
import { askAll } from './node.ts'
import { OperationRows } from './operationrows.tsx'
import { operationsIn } from './operations.ts'
import { AddressLink, Failure, Notice, Panel, StageChip, clock, stageOf } from './parts.tsx'
import type { Stage } from './parts.tsx'
import { OutcomeChip } from './promiserows.tsx'
import { Timeline } from './timeline.tsx'
import { readCalls } from './trace.ts'
import { Transfers } from './transferlist.tsx'
import { CallsPanel, ConsolePanel, ReasonPanel, StatePanel } from './txresults.tsx'
import { Summary } from './txsummary.tsx'
import type { BlockJson, LogJson, PromiseRecordJson, PromisePageJson, ReceiptJson, TransactionJson } from './wire.ts'

/** Records of one transaction that are read: one for each time it was promised. */
const RECORDS = 100

/** Nodes without subscriptions, and pools, are read at this interval. */
const POLL_MS = 1_000

interface Found {
  readonly transaction: TransactionJson | null
  readonly receipt: ReceiptJson | null
  /** oldest first; null: the node has no ledger */
  readonly records: readonly PromiseRecordJson[] | null
  readonly sealedMs: number | null
}

export function TransactionPage({ hash }: { hash: string }) {
  const isHash = /^0x[0-9a-fA-F]{64}$/.test(hash)
  const isSealed = useRef(false)
  const second = useNow(POLL_MS)
  // A sealed transaction changes with the head only; before, with each flashblock, and in the pool at any time.
  const version = useHead(({ latest, blocks, retracted }) =>
    isSealed.current ? `${latest}` : `${latest} ${blocks[0]?.cells.length} ${retracted.length}`,
  )
  const loaded = useLoaded(
    async (signal) => (isHash ? readTransaction(hash, signal) : NOTHING),
    [hash, version, isSealed.current ? 'sealed' : second],
  )
  isSealed.current = (loaded.value?.sealedMs ?? null) !== null
  if (!isHash) {
    return (
      <Notice title="Not a transaction hash" id="bad-input">
        <p>
          <code>{visible(hash.slice(0, 100))}</code> is not a hash: 0x and 64 hexadecimal digits are expected.
        </p>
      </Notice>
    )
  }
  if (loaded.value === null) return loaded.state === 'failed' ? <Failure error={loaded.error} /> : <p class="soft">Loading …</p>
  const { transaction, records } = loaded.value
  if (transaction === null) return <Gone hash={hash} records={records ?? []} />
  return <Transaction found={{ ...loaded.value, transaction }} />
}

const NOTHING: Found = { transaction: null, receipt: null, records: null, sealedMs: null }

async function readTransaction(hash: string, signal: AbortSignal): Promise<Found> {
  const [transaction, receipt, promises] = await askAll(
    [
      ['eth_getTransactionByHash', hash],
      ['eth_getTransactionReceipt', hash],
      ['pocketchain_promises', { hash, limit: RECORDS }],
    ],
    { signal },
  )
  if (transaction instanceof Error) throw transaction
  const executed = receipt instanceof Error ? null : (receipt as ReceiptJson | null) // the result of the method
  const records = promises instanceof Error || promises === null ? null : (promises as PromisePageJson).promises.toReversed() // the result of the method
  return {
    transaction: transaction as TransactionJson | null,
    receipt: executed,
    records,
    sealedMs: executed === null ? null : await blockTime(executed, signal),
  } // the result of the method
}

/** null for the open block, which a node has under its number only once it is sealed. */
async function blockTime({ blockNumber }: ReceiptJson, signal: AbortSignal): Promise<number | null> {
  const [block] = await askAll([['eth_getBlockByNumber', blockNumber, false]], { signal })
  return block === null || block instanceof Error ? null : timeOf(block as BlockJson) // the result of the method
}

/** A transaction that the node does not have, or no longer. */
function Gone({ hash, records }: { hash: string; records: readonly PromiseRecordJson[] }) {
  const last = records.at(-1)
  return (
    <Notice title={last === undefined ? 'No such transaction' : 'This transaction is gone'} id="unknown">
      <p>
        <code class="long">{hash}</code>
      </p>
      {last === undefined ? (
        <p>It is in no block of this chain and not in the pool of the node.</p>
      ) : (
        <>
          <p data-testid="gone">
            {sentenceOf(last)} <OutcomeChip outcome={last.outcome} />
          </p>
          {last.from !== null && (
            <p>
              It was sent by <AddressLink address={last.from} whole />
            </p>
          )}
          <Timeline records={records} blockNumber={null} sealedMs={null} latest={null} safe={null} finalized={null} />
        </>
      )}
    </Notice>
  )
}

/** The promise records of a transaction that the node no longer has. */
function sentenceOf({ outcome, cause, settledMs, blockNumber }: PromiseRecordJson): string {
  const when = settledMs === null ? '' : ` at ${clock(settledMs)} UTC`
  if (outcome === 'dropped')
    return cause === 'replaced'
      ? `It was replaced in the pool by another transaction with its nonce${when}.`
      : `It was dropped from the pool${when}, before it was promised.`
  const place = blockNumber === null ? '' : ` for block ${Number(blockNumber)}`
  if (outcome !== 'retracted') return `It was promised${place}; the node no longer has it.`
  return `Its promise${place} was retracted${when}${cause === null ? '' : `, with the cause ${visible(cause)}`}.`
}

function Transaction({ found }: { found: Found & { readonly transaction: TransactionJson } }) {
  useAbis() // a registered ABI changes what is decoded
  const tags = useTagNumbers()
  const { transaction, receipt, records, sealedMs } = found
  const number = receipt?.blockNumber ?? transaction.blockNumber
  const blockNumber = number === null ? null : Number(number)
  const last = records?.at(-1)
  const place = receipt === null ? null : `${receipt.blockHash} ${receipt.blockNumber} ${receipt.transactionIndex}`
  // A reorg or a retraction executes it again elsewhere.
  const calls = useLoaded(async (signal) => (place === null ? null : readCalls(transaction.hash, signal)), [transaction.hash, place])
  const stage: Stage = blockNumber === null && last?.outcome === 'retracted' ? 'retracted' : stageOf(blockNumber, tags)
  return (
    <>
      <header class="title">
        <h1 data-testid="tx-title">Transaction</h1>
        <span data-testid="tx-stage" data-stage={stage}>
          <StageChip stage={stage} />
        </span>
        {receipt?.status === '0x0' && <StageChip stage="failed" />}
      </header>
      <div class="columns wide">
        <Panel title="Summary" id="summary">
          <Summary transaction={transaction} receipt={receipt} blockNumber={blockNumber} />
        </Panel>
        <Panel title="Timeline" note="time of the node" id="timeline-panel">
          <Timeline records={records ?? []} blockNumber={blockNumber} sealedMs={sealedMs} isPooled={blockNumber === null} {...tags} />
          {records === null && (
            <p class="soft" data-testid="missing" data-method="pocketchain_promises">
              This node does not have <code>pocketchain_promises</code>, so its promises are not shown.
            </p>
          )}
        </Panel>
      </div>
      {receipt?.status === '0x0' && <ReasonPanel calls={calls} />}
      <CallPanel title={transaction.to === null ? 'Creation' : 'Call'} to={transaction.to} input={transaction.input} />
      {receipt !== null && (
        <>
          <Transfers logs={receipt.logs} />
          <Operations logs={receipt.logs} tags={tags} />
          <ConsolePanel calls={calls} />
          <Panel title="Logs" note={String(receipt.logs.length)} id="logs">
            <ReceiptLogs logs={receipt.logs} />
          </Panel>
          <CallsPanel calls={calls} />
          <StatePanel hash={transaction.hash} place={place} />
        </>
      )}
    </>
  )
}

/** The user operations of a bundle; nothing for other transactions. */
function Operations({ logs, tags }: { logs: readonly LogJson[]; tags: TagNumbers }) {
  const operations = operationsIn(logs)
  if (operations.length === 0) return null
  return (
    <Panel title="User operations" note={String(operations.length)} id="operations-panel">
      <OperationRows operations={operations} tags={tags} hasBundle={false} caption="User operations of this bundle" />
    </Panel>
  )
}
