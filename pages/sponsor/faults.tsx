import { useState } from 'preact/hooks'
import { visible } from '../wallet/format.ts'
import { Section } from '../wallet/parts.tsx'
import type { PageSecret } from '../wallet/secret.ts'
import { setFault } from './node.ts'
import type { Fault, FaultKind } from '../../src/paymaster/results.ts'

interface FaultLabel {
  readonly name: string
  /** completes “the sponsor …” */
  readonly does: string
}

const FAULTS: Readonly<Record<FaultKind, FaultLabel>> = {
  refuse: { name: 'Refuse', does: 'refuses every request with a reason' },
  'http-500': { name: 'HTTP 500', does: 'responds with HTTP 500' },
  slow: { name: 'Slow', does: 'responds after the timeout of wallets' },
  'wrong-signature': { name: 'Wrong signature', does: 'signs with a wrong key' },
  expired: { name: 'Expired', does: 'signs with an end in the past' },
  differ: { name: 'Stub and final differ', does: 'returns final data of another length than the stub' },
  'empty-deposit': { name: 'Empty deposit', does: 'names a paymaster without a deposit' },
}

const KINDS = Object.keys(FAULTS) as readonly FaultKind[] // of the record above

/** `failure` is the error of the last change, or null. */
function useChange(secret: PageSecret, refresh: () => void) {
  const [failure, setFailure] = useState<string | null>(null)
  const change = async (kind: FaultKind | null) => {
    try {
      await setFault(secret, kind)
      setFailure(null)
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error))
    }
    refresh()
  }
  return { failure, change }
}

interface FaultsProps {
  readonly fault: Fault | null
  readonly secret: PageSecret
  readonly refresh: () => void
}

/** Faults for tests of apps and wallets. */
export function Faults({ fault, secret, refresh }: FaultsProps) {
  const { failure, change } = useChange(secret, refresh)
  return (
    <div class="panel">
      <Section title="Faults on demand" note="until switched off">
        <p class="soft">Test how your app handles a failing sponsor. Responses with an unusable signature reserve no budget.</p>
        <div class="faults" role="group" aria-label="Faults on demand">
          <button
            type="button"
            class="pill"
            data-testid="fault-none"
            aria-pressed={fault === null}
            title="The sponsor works"
            onClick={() => void change(null)}
          >
            None
          </button>
          {KINDS.map((kind) => (
            <button
              key={kind}
              type="button"
              class="pill fault"
              data-testid={`fault-${kind}`}
              aria-pressed={fault?.kind === kind}
              title={`The sponsor ${FAULTS[kind].does}`}
              onClick={() => void change(kind)}
            >
              {FAULTS[kind].name}
            </button>
          ))}
        </div>
        {failure !== null && (
          <p class="failure" role="alert">
            {visible(failure)}
          </p>
        )}
      </Section>
    </div>
  )
}

/** A live region for screen readers, which must exist before its text changes. */
export function FaultStatus({ fault }: { fault: Fault | null }) {
  return (
    <p class="unseen" role="status">
      {fault === null ? '' : `The sponsor ${FAULTS[fault.kind].does}.`}
    </p>
  )
}

export function FaultBanner({ fault, secret, refresh }: { fault: Fault; secret: PageSecret; refresh: () => void }) {
  const { failure, change } = useChange(secret, refresh)
  const { kind, times } = fault
  return (
    <div class="banner danger" data-testid="fault-banner" data-kind={kind}>
      <p>
        <strong>{FAULTS[kind].name}</strong> The sponsor {FAULTS[kind].does}
        {times === undefined ? '.' : `, for ${times === 1 ? 'one more request' : `${times} more requests`}.`}
      </p>
      <button type="button" class="small" data-testid="fault-end" onClick={() => void change(null)}>
        Switch the fault off
      </button>
      {failure !== null && (
        <p class="failure" role="alert">
          {visible(failure)}
        </p>
      )}
    </div>
  )
}
