import { useState } from 'preact/hooks'
import { decimal, grouped } from '../wallet/format.ts'
import { Copy } from '../wallet/parts.tsx'
import { decodeLog } from './abi.ts'
import { Arguments, Signature } from './decoded.tsx'
import { AddressLink, BlockLink, TransactionLink } from './parts.tsx'
import type { LogJson } from './wire.ts'

/** Logs that are shown at a time. */
const SHOWN_LOGS = 50

/** Logs with their decoded parameters; topics and data of those that no ABI describes. */
export function ReceiptLogs({ logs }: { logs: readonly LogJson[] }) {
  return logs.length === 0 ? <p class="soft">It emitted no logs.</p> : <LogList logs={logs} />
}

/** A log of a receipt, or of a call in a trace, which has no index. */
type ShownLog = Pick<LogJson, 'address' | 'topics' | 'data'> & Partial<LogJson>

interface LogListProps {
  readonly logs: readonly ShownLog[]
  /** the code behind a proxy that emitted them */
  readonly target?: string | null
  /** true: shows block and transaction, for logs of several transactions */
  readonly hasPlace?: boolean
}

export function LogList({ logs, target = null, hasPlace = false }: LogListProps) {
  const [shown, setShown] = useState(SHOWN_LOGS)
  return (
    <>
      <ol class="logs">
        {logs.slice(0, shown).map((log, i) => (
          <Log key={i} log={log} target={target} hasPlace={hasPlace} />
        ))}
      </ol>
      {logs.length > shown && (
        <button type="button" class="small" data-testid="more-logs" onClick={() => setShown(shown + SHOWN_LOGS)}>
          {grouped(String(logs.length - shown))} more logs
        </button>
      )}
    </>
  )
}

interface LogProps {
  readonly log: ShownLog
  readonly target: string | null
  readonly hasPlace: boolean
}

function Log({ log, target, hasPlace }: LogProps) {
  const decoded = decodeLog(log, target)
  const { address, topics, data, logIndex, blockNumber, transactionHash } = log
  return (
    <li data-testid="log" data-event={decoded?.name ?? ''}>
      <p class="head">
        {hasPlace && blockNumber !== undefined && (
          <span>
            <span class="soft">block</span> <BlockLink number={blockNumber} />
          </span>
        )}
        {hasPlace && transactionHash !== undefined && <TransactionLink hash={transactionHash} />}
        {logIndex !== undefined && <span class="soft">{decimal(logIndex)}</span>} <AddressLink address={address} />{' '}
        {decoded !== null && <Signature of={decoded} />}
      </p>
      {decoded !== null ? (
        <Arguments of={decoded} />
      ) : (
        <dl class="arguments">
          {topics.map((topic, i) => (
            <div key={i}>
              <dt>topic {i}</dt>
              <dd>
                <Copy text={topic} what={`topic ${i}`} />
              </dd>
            </div>
          ))}
          {data !== '0x' && (
            <div>
              <dt>data</dt>
              <dd>
                <Copy text={data} what="data" />
              </dd>
            </div>
          )}
        </dl>
      )}
    </li>
  )
}
