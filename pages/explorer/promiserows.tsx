import { AddressLink, BlockLink, TransactionLink, clock } from './parts.tsx'
import type { PromiseOutcome, PromiseRecordJson } from './wire.ts'

export const OUTCOMES: Readonly<Record<PromiseOutcome, { readonly style: string; readonly meaning: string }>> = {
  open: { style: 'waits', meaning: 'promised, and not sealed yet' },
  kept: { style: 'good', meaning: 'sealed exactly as promised' },
  changed: { style: 'bad', meaning: 'sealed in the promised block with another receipt' },
  retracted: { style: 'bad', meaning: 'retracted, before or after the seal' },
  dropped: { style: 'over', meaning: 'left the pool without a promise' },
}

export function OutcomeChip({ outcome }: { outcome: PromiseOutcome }) {
  const { style, meaning } = OUTCOMES[outcome]
  return (
    <span class={`chip ${style}`} title={meaning} data-testid="outcome" data-outcome={outcome}>
      {outcome}
    </span>
  )
}

/** Records of the ledger; `hasPlace`: with the flashblock of each. */
export function PromiseRows({ records, hasPlace = true }: { records: readonly PromiseRecordJson[]; hasPlace?: boolean }) {
  return (
    <table class="entries" data-testid="promises">
      <caption class="unseen">Promises</caption>
      <thead>
        <tr>
          <th>Promised</th>
          <th>Outcome</th>
          <th>Transaction</th>
          <th>From</th>
          {hasPlace && <th>Flashblock</th>}
          <th class="number">Pool to promise</th>
          <th class="number">Promise to seal</th>
        </tr>
      </thead>
      <tbody>
        {records.map((record) => (
          <PromiseRow key={record.id} record={record} hasPlace={hasPlace} />
        ))}
      </tbody>
    </table>
  )
}

function PromiseRow({ record, hasPlace }: { record: PromiseRecordJson; hasPlace: boolean }) {
  const { id, hash, from, blockNumber, flashblockIndex, admittedMs, promisedMs, settledMs, outcome } = record
  const shownMs = promisedMs ?? settledMs ?? admittedMs
  return (
    <tr class="entry" data-testid="promise" data-id={id} data-hash={hash} data-outcome={outcome}>
      <td data-label="Promised" class="when">
        {shownMs === null ? '–' : clock(shownMs)}
      </td>
      <td data-label="Outcome">
        <div>
          <OutcomeChip outcome={outcome} />
          <Cause record={record} />
        </div>
      </td>
      <td data-label="Transaction">
        <div>
          <TransactionLink hash={hash} />
        </div>
      </td>
      <td data-label="From">{from === null ? '–' : <AddressLink address={from} />}</td>
      {hasPlace && (
        <td data-label="Flashblock">
          <div>
            {blockNumber === null ? (
              '–'
            ) : flashblockIndex === null ? (
              <BlockLink number={blockNumber} />
            ) : (
              <a href={`/flashblock/${Number(blockNumber)}/${flashblockIndex}`}>
                {Number(blockNumber)}/{flashblockIndex}
              </a>
            )}
          </div>
        </td>
      )}
      <td data-label="Pool to promise" class="number">
        {between(admittedMs, promisedMs)}
      </td>
      <td data-label="Promise to seal" class="number">
        {outcome === 'kept' || outcome === 'changed' ? between(promisedMs, settledMs) : '–'}
      </td>
    </tr>
  )
}

function Cause({ record: { cause, differences } }: { record: PromiseRecordJson }) {
  if (cause === null && differences.length === 0) return null
  return (
    <span class="why soft" data-testid="cause">
      {cause === null ? '' : `by ${CAUSES[cause] ?? cause}`}
      {differences.length === 0 ? '' : `${cause === null ? '' : ': '}${differences.join(', ')}`}
    </span>
  )
}

const CAUSES: Readonly<Record<string, string>> = {
  failOver: 'a fail-over',
  crash: 'a crash',
  dropped: 'a request or a limit of the pool',
  reorg: 'a reorg',
}

function between(from: number | null, to: number | null): string {
  return from === null || to === null ? '–' : `${to - from} ms`
}
