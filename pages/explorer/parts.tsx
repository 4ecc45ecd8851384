import type { ComponentChildren } from 'preact'
import { checksummed, grouped, rounded, shortened, units, visible } from '../wallet/format.ts'
import type { LoadState, TagNumbers } from './head.ts'
import { nameOf } from './names.ts'
import { MissingMethod, NoConnection } from './node.ts'

/** A message in place of a page or a panel. */
export function Notice({ title, children, id }: { title: string; children?: ComponentChildren; id?: string }) {
  return (
    <div class="slip notice" role="status" data-testid={id ?? 'notice'}>
      <h1>{title}</h1>
      {children}
    </div>
  )
}

export function Panel({
  title,
  note,
  children,
  id,
}: {
  title: string
  note?: ComponentChildren
  children: ComponentChildren
  id?: string
}) {
  return (
    <section class="panel" aria-label={title} data-testid={id}>
      <h2>
        {title} {note !== undefined && <span class="note">{note}</span>}
      </h2>
      {children}
    </section>
  )
}

/** The content of a panel that needs a request; names the method that the node lacks. */
export function Content<T>({ of, children }: { of: LoadState<T>; children: (value: T) => ComponentChildren }) {
  if (of.value !== null) return <>{children(of.value)}</>
  if (of.state === 'failed') return <Failure error={of.error} />
  return <p class="soft">Loading …</p>
}

export function Failure({ error }: { error: Error }) {
  if (error instanceof MissingMethod) {
    return (
      <p class="soft" data-testid="missing" data-method={error.method}>
        This node does not have <code>{error.method}</code>.
      </p>
    )
  }
  return (
    <p class={error instanceof NoConnection ? 'soft' : 'wrong'} role="status" data-testid="failure">
      {visible(error.message)}
    </p>
  )
}

/** A link to an address with its name, if it has one. */
export function AddressLink({ address, whole = false }: { address: string; whole?: boolean }) {
  const full = checksummed(address)
  const name = nameOf(address)
  return (
    <a class="address" href={`/address/${full}`} title={full}>
      {name === null ? <code>{whole ? full : shortened(full)}</code> : <bdi class="label">{visible(name)}</bdi>}
      {name !== null && whole && <code> {full}</code>}
    </a>
  )
}

export function TransactionLink({ hash, whole = false }: { hash: string; whole?: boolean }) {
  return (
    <a href={`/tx/${hash}`} title={hash}>
      <code>{whole ? hash : shortened(hash)}</code>
    </a>
  )
}

export function BlockLink({ number }: { number: number | string }) {
  return <a href={`/block/${Number(number)}`}>{grouped(String(Number(number)))}</a>
}

/** Wei in ether, rounded in lists; the exact amount is the title. */
export function Ether({ wei, exact = false }: { wei: bigint | string; exact?: boolean }) {
  const value = BigInt(wei)
  const full = units(value, 18)
  return (
    <span class="amount" title={`${full} ETH, ${value} wei`}>
      {exact ? full : value > 0n && value < FEW_WEI ? `${value} wei` : null}
      {!exact && (value === 0n || value >= FEW_WEI) && rounded(value, 18)}
      {exact || value === 0n || value >= FEW_WEI ? ' ETH' : ''}
    </span>
  )
}

/** Smaller amounts are shown in wei. */
const FEW_WEI = 1_000_000n

/** The stage of a transaction or an operation, from the pool to finality. */
export type Stage = 'pool' | 'promised' | 'sealed' | 'safe' | 'finalized' | 'failed' | 'retracted' | 'dropped'

const STAGE_STYLES: Readonly<Record<Stage, string>> = {
  pool: 'waits',
  promised: 'waits',
  sealed: 'good',
  safe: 'good',
  finalized: 'good',
  failed: 'bad',
  retracted: 'bad',
  dropped: 'over',
}

export function StageChip({ stage }: { stage: Stage }) {
  return (
    <span class={`chip ${STAGE_STYLES[stage]}`} data-testid="stage" data-stage={stage}>
      {stage}
    </span>
  )
}

/** `blockNumber`: null while it is in the pool. */
export function stageOf(blockNumber: number | null, { latest, safe, finalized }: TagNumbers): Stage {
  if (blockNumber === null) return 'pool'
  if (latest === null || blockNumber > latest) return 'promised'
  if (finalized !== null && blockNumber <= finalized) return 'finalized'
  return safe !== null && blockNumber <= safe ? 'safe' : 'sealed'
}

/** `14:03:22.400` in UTC; with the date if it is not today's. */
export function clock(ms: number, now = Date.now()): string {
  const text = new Date(ms).toISOString()
  const time = text.slice(11, ms % 1_000 === 0 ? 19 : 23)
  return text.slice(0, 10) === new Date(now).toISOString().slice(0, 10) ? time : `${text.slice(0, 10)} ${time}`
}
