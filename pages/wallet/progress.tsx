import type { Activity } from './state.ts'
import { decimal, grouped, reasonText } from './format.ts'
import { useExplorerUrl } from './wallet.ts'

type Outcome = NonNullable<Activity['outcome']>

/** One step on the way of a transaction. */
interface Step {
  /** id for tests and styles */
  readonly id:
    | 'awaiting-batch'
    | 'signed'
    | 'sent'
    | 'retracted'
    | 'preconfirmed'
    | 'failed'
    | 'sealed'
    | 'not-sent'
    | 'not-included'
    | 'unknown'
  readonly text: string
  readonly detail?: string
  /** `now`: it is waited for */
  readonly mood: 'good' | 'bad' | 'now'
  /** number of the block that the detail names */
  readonly block?: string
}

/** The progress of a transaction or batch from the signature to the sealed block. */
export function Progress({ outcome, chainId, calls }: { outcome: Outcome; chainId: string; calls: number }) {
  const explorerUrl = useExplorerUrl(chainId)
  return (
    <ol class="progress" data-testid="progress" data-state={outcome.state} aria-live="polite">
      {stepsOf(outcome, calls).map(({ id, text, detail, mood, block }) => {
        const href = block === undefined ? null : explorerUrl(`block/${decimal(block)}`)
        return (
          <li key={id} class={mood} data-testid="step" data-step={id}>
            <strong>{text}</strong>
            {detail !== undefined && <span class="detail">{href === null ? detail : <a href={href}>{detail}</a>}</span>}
          </li>
        )
      })}
    </ol>
  )
}

/** Such as `Sent` or `Failed`, for the title of a slip. */
export function headline({ state, status }: Outcome): string {
  if (status === 500) return 'Failed'
  if (status === 600) return 'Partly failed'
  return HEADLINES[state]
}

const HEADLINES: Readonly<Record<Outcome['state'], string>> = {
  signing: 'Sending',
  'awaiting-batch': 'Waiting for its batch',
  sent: 'Sent',
  preconfirmed: 'Pre-confirmed',
  sealed: 'Confirmed',
  retracted: 'Waiting again',
  'not-sent': 'Not sent',
  'not-included': 'Not included',
  unknown: 'No longer followed',
}

function stepsOf(outcome: Outcome, calls: number): readonly Step[] {
  const { state, message } = outcome
  const signed: Step = { id: 'signed', text: 'Signed', mood: 'good' }
  const detail = message === null ? {} : { detail: reasonText(message) }
  if (state === 'not-sent') return [{ id: 'not-sent', text: 'Not sent', mood: 'bad', ...detail }]
  if (state === 'awaiting-batch') return [{ id: 'awaiting-batch', text: 'Waiting for the batch that needs it', mood: 'now' }]
  if (state === 'unknown')
    return [signed, { id: 'unknown', text: 'No longer followed', mood: 'now', detail: 'the wallet has no record of what became of it' }]
  if (state === 'signing') return [signed, { id: 'sent', text: 'Sending', mood: 'now' }]
  const sent: Step = { id: 'sent', text: 'Sent', mood: 'good' }
  if (state === 'not-included') return [signed, sent, { id: 'not-included', text: 'Not included', mood: 'bad', ...detail }]
  if (state === 'sent') return [signed, sent, { id: 'preconfirmed', text: 'Waiting for its pre-confirmation', mood: 'now' }]
  if (state === 'retracted') {
    const retracted: Step = { id: 'retracted', text: 'Retracted', mood: 'bad', detail: 'the chain took its pre-confirmation back' }
    return [signed, sent, retracted, { id: 'preconfirmed', text: 'Waiting to be included again', mood: 'now' }]
  }
  return [signed, sent, ...includedSteps(outcome, calls)]
}

function includedSteps({ state, status, message, failedCall, transactions }: Outcome, calls: number): readonly Step[] {
  const last = transactions.findLast(({ blockNumber }) => blockNumber !== null)
  const block = last?.blockNumber ?? '0x0'
  const name = grouped(decimal(block))
  const promise = last?.promise ?? null
  const isSealed = state === 'sealed'
  const steps: Step[] = []
  if (promise !== null) {
    const detail = `flashblock ${name}.${promise.flashblockIndex}`
    steps.push({ id: 'preconfirmed', text: `Pre-confirmed in ${duration(promise.afterMs)}`, detail, mood: 'good', block })
  } else if (!isSealed) {
    steps.push({ id: 'preconfirmed', text: 'Pre-confirmed', detail: `block ${name}`, mood: 'good', block })
  }
  if (status === 500 || status === 600) {
    const which = failedCall === null || calls === 1 ? '' : `call ${failedCall + 1}: `
    const why = message === null ? 'it reverted' : message.startsWith('call ') ? message : `${which}${message}`
    steps.push({ id: 'failed', text: status === 500 ? 'Failed' : 'Partly failed', detail: reasonText(why), mood: 'bad' })
  }
  if (isSealed) steps.push({ id: 'sealed', text: `Sealed in block ${name}`, mood: 'good', detail: 'open the block', block })
  else steps.push({ id: 'sealed', text: `Waiting for block ${name}`, mood: 'now' })
  return steps
}

/** `84 ms`, `1.2 s` */
function duration(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`
}
