import type { ComponentChildren } from 'preact'
import { BlockLink, clock } from './parts.tsx'
import { OutcomeChip } from './promiserows.tsx'
import type { PromiseRecordJson } from './wire.ts'

interface Step {
  readonly name: string
  readonly ms: number | null
  readonly detail?: ComponentChildren
}

interface TimelineProps {
  /** records of the ledger, oldest first; empty if the node has no ledger */
  readonly records: readonly PromiseRecordJson[]
  readonly blockNumber: number | null
  /** the block's timestamp in milliseconds; null while it is open */
  readonly sealedMs: number | null
  readonly latest: number | null
  readonly safe: number | null
  readonly finalized: number | null
  /** it is in the pool now, perhaps again */
  readonly isPooled?: boolean
}

/** The events of a transaction, in milliseconds from the first one. */
export function Timeline(props: TimelineProps) {
  const steps = stepsOf(props)
  if (steps.length === 0) return <p class="soft">It waits in the pool of the node.</p>
  const startMs = steps.find(({ ms }) => ms !== null)?.ms ?? null
  return (
    <ol class="timeline" data-testid="timeline">
      {steps.map(({ name, ms, detail }, i) => (
        <li key={i} data-testid="step" data-step={name}>
          <span class="name">{name}</span>
          <span class="when">{ms === null ? '' : clock(ms, i === 0 ? undefined : (startMs ?? undefined))}</span>
          <span class="offset soft">{ms === null || startMs === null || i === 0 ? '' : `+${(ms - startMs).toLocaleString('en')} ms`}</span>
          <span class="detail">{detail}</span>
        </li>
      ))}
    </ol>
  )
}

function stepsOf({ records, blockNumber, sealedMs, latest, safe, finalized, isPooled = false }: TimelineProps): readonly Step[] {
  const steps: Step[] = []
  const [first] = records
  if (first !== undefined && first.admittedMs !== null) steps.push({ name: 'pool', ms: first.admittedMs, detail: 'admitted to the pool' })
  for (const record of records) steps.push(...stepsOfRecord(record))
  const last = records.at(-1)
  if (isPooled && last !== undefined && last.outcome !== 'open') steps.push({ name: 'pool', ms: null, detail: 'in the pool again' })
  const isSealed = blockNumber !== null && latest !== null && blockNumber <= latest
  if (isSealed && !records.some(({ outcome }) => outcome === 'kept' || outcome === 'changed')) {
    steps.push({
      name: 'sealed',
      ms: sealedMs,
      detail: (
        <>
          in block <BlockLink number={blockNumber} />
        </>
      ),
    })
  }
  if (isSealed && safe !== null && blockNumber <= safe) steps.push({ name: 'safe', ms: null, detail: `the safe block is ${safe}` })
  if (isSealed && finalized !== null && blockNumber <= finalized)
    steps.push({ name: 'finalized', ms: null, detail: `the finalized block is ${finalized}` })
  return steps
}

function stepsOfRecord({
  blockNumber,
  flashblockIndex,
  promisedMs,
  settledMs,
  outcome,
  cause,
  differences,
}: PromiseRecordJson): readonly Step[] {
  const place =
    blockNumber === null ? null : flashblockIndex === null ? (
      <>
        block <BlockLink number={blockNumber} />
      </>
    ) : (
      <a href={`/flashblock/${Number(blockNumber)}/${flashblockIndex}`}>
        flashblock {flashblockIndex} of block {Number(blockNumber)}
      </a>
    )
  const promised: readonly Step[] = promisedMs === null ? [] : [{ name: 'promised', ms: promisedMs, detail: <>in {place}</> }]
  if (outcome === 'open') return promised
  const why = `${cause === null || cause === outcome ? '' : `by ${cause}`}${differences.length === 0 ? '' : ` ${differences.join(', ')}`}`
  const name = outcome === 'kept' || outcome === 'changed' ? 'sealed' : outcome
  return [
    ...promised,
    {
      name,
      ms: settledMs,
      detail: (
        <>
          <OutcomeChip outcome={outcome} /> {why}
        </>
      ),
    },
  ]
}
