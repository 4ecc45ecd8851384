import { useEffect, useState } from 'preact/hooks'
import { Calls } from './calls.tsx'
import type { WalletConnection, WalletConnectionState } from './connection.ts'
import { decimal, grouped, reasonText, site, visible } from './format.ts'
import { AccountText, Copy, Collapsible, Raw, Row, Section } from './parts.tsx'
import { Progress } from './progress.tsx'
import { STATUSES, readActivity, readState, readStatus } from './state.ts'
import type { Activity, BatchState, CallsReceipt, CallsStatus } from './state.ts'

function StatusChip({ status }: { status: number }) {
  const { name, mood } = STATUSES[status] ?? { name: 'Unknown', mood: 'waits' }
  return (
    <span class={`chip ${mood}`} data-testid="batch-status" data-status={status}>
      {name} <span class="code">{status}</span>
    </span>
  )
}

/** The status of a batch, with its receipts. */
export function BatchView({ connection, live, id }: { connection: WalletConnection; live: WalletConnectionState['activity']; id: string }) {
  const { status, summary, failure } = useStatus(connection, id)
  const { outcome = null, chain = null, calls = [] } = useActivityOfBatch(connection, live, id) ?? {}
  return (
    <article class="slip" data-testid="batch" data-id={id}>
      <header class="asker">
        <p class="count">
          <a href="#">Wallet overview</a>
        </p>
        <h1 class="plain">
          Batch <Copy text={id} what="batch id" />
        </h1>
      </header>
      {failure !== null && (
        <p class="failure" role="alert">
          {visible(failure)}
        </p>
      )}
      {status !== null && (
        <>
          <dl class="rows" aria-live="polite">
            <Row name="Status">
              <StatusChip status={status.status} /> <Detail status={status} />
            </Row>
            {summary !== null && (
              <>
                <Row name="Asked by">{site(summary.origin).name}</Row>
                <Row name="Account" id="account">
                  <AccountText address={summary.from} />
                </Row>
              </>
            )}
            <Row name="Chain id" id="chain">
              {decimal(status.chainId)}
            </Row>
            <Operation status={status} />
            <Row name="Atomic">{status.atomic ? 'yes: all calls or none' : 'no: a call can fail alone'}</Row>
          </dl>
          {outcome !== null && chain !== null && (
            <>
              <Section title="Progress">
                <Progress outcome={outcome} chainId={chain.chainId} calls={calls.length} />
              </Section>
              <Calls calls={calls} chain={chain} failed={outcome.failedCall} />
            </>
          )}
          <Receipts receipts={status.receipts ?? []} />
          <Collapsible title="Raw status">
            <Raw text={visible(JSON.stringify(status, null, 2))} name="Raw status" />
          </Collapsible>
        </>
      )}
    </article>
  )
}

function Detail({ status }: { status: CallsStatus }) {
  const { confirmation, reason } = status.capabilities?.status ?? {}
  const words = [confirmation === 'none' ? null : confirmation, reason].filter((word) => typeof word === 'string')
  return <span class="soft">{words.map(visible).join(', ')}</span>
}

/** A sponsored batch is one user operation, which can revert while the transaction of its bundle succeeds. */
function Operation({ status }: { status: CallsStatus }) {
  const operation = status.capabilities?.userOperation
  if (operation === undefined) return null
  const { userOpHash, success, reason } = operation
  return (
    <Row name="Operation" id="operation">
      <Copy text={userOpHash} what="hash of the user operation" /> <span class="chip">sponsored</span>
      {success === false && <span class="failure"> Its calls were reverted{reason === null ? '' : `: ${reasonText(reason)}`}.</span>}
    </Row>
  )
}

function Receipts({ receipts }: { receipts: readonly CallsReceipt[] }) {
  if (receipts.length === 0) return <p class="prose soft">No transaction of it is included yet.</p>
  return (
    <Section title={receipts.length === 1 ? 'Receipt' : `${receipts.length} receipts`}>
      <ol class="calls">
        {receipts.map(({ transactionHash, status, blockNumber, gasUsed, logs }, i) => (
          <li key={transactionHash} data-testid={`receipt-${i}`} data-number={i + 1}>
            <h3>
              <Copy text={transactionHash} what="transaction hash" />{' '}
              <span class={status === '0x1' ? 'chip good' : 'chip bad'}>{status === '0x1' ? 'Success' : 'Reverted'}</span>
            </h3>
            <dl class="rows">
              <Row name="Block">{grouped(decimal(blockNumber))}</Row>
              <Row name="Gas used">{grouped(decimal(gasUsed))}</Row>
            </dl>
            {logs.length > 0 && (
              <Collapsible title={logs.length === 1 ? 'One log' : `${logs.length} logs`}>
                <Raw text={JSON.stringify(logs, null, 2)} name={`Logs of receipt ${i + 1}`} />
              </Collapsible>
            )}
          </li>
        ))}
      </ol>
    </Section>
  )
}

/** The approval of the batch; null: it is not among the newest hundred activities. */
async function readActivityOfBatch(connection: WalletConnection, id: string): Promise<Activity | null> {
  const { activities } = await readActivity(connection, {})
  return activities.find(({ batchId }) => batchId === id) ?? null
}

function useActivityOfBatch(connection: WalletConnection, live: WalletConnectionState['activity'], id: string): Activity | null {
  const [read, setRead] = useState<Activity | null>(null)
  useEffect(() => {
    void readActivityOfBatch(connection, id).then(setRead, () => {})
  }, [connection, id])
  return read === null ? null : (live.get(read.id) ?? read)
}

/** Polls until the status is final; the node may delay its answer until the status changes. */
function useStatus(connection: WalletConnection, id: string) {
  const [status, setStatus] = useState<CallsStatus | null>(null)
  const [summary, setSummary] = useState<BatchState | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isUnmounted = false
    const read = async () => {
      try {
        const known = (await readState(connection)).batches.find((batch) => batch.id === id) ?? null
        // Only the status of an id that the wallet made can be read without its origin.
        const { origin = null } = known ?? (await readActivityOfBatch(connection, id)) ?? {}
        const found = await readStatus(connection, id, origin)
        if (isUnmounted) return
        setSummary(known)
        setStatus(found)
        setFailure(null)
        if (found.status !== PENDING && found.capabilities?.status?.confirmation !== 'preconfirmed') return
      } catch (error) {
        if (!isUnmounted) setFailure(error instanceof Error ? error.message : String(error))
      }
      if (!isUnmounted) timer = setTimeout(() => void read(), POLL_MS)
    }
    void read()
    return () => {
      isUnmounted = true
      clearTimeout(timer)
    }
  }, [connection, id])
  return { status, summary, failure }
}

const PENDING = 100
const POLL_MS = 700
