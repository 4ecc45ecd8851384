import { useState } from 'preact/hooks'
import { grouped, visible } from '../wallet/format.ts'
import { Copy } from '../wallet/parts.tsx'
import { ask } from './node.ts'
import { Panel } from './parts.tsx'
import { SlotError, slotOf } from './slot.ts'

type Outcome = { readonly kind: 'value'; readonly slot: string; readonly value: string } | { readonly kind: 'error'; readonly text: string }

/** Reads one slot, given by its number or hash, or by the keys of a mapping. */
export function Storage({ address }: { address: string }) {
  const [slot, setSlot] = useState('')
  const [keys, setKeys] = useState('')
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const read = async (event: Event) => {
    event.preventDefault()
    try {
      const at = slotOf(slot, keys)
      setOutcome({ kind: 'value', slot: at, value: await ask<string>(['eth_getStorageAt', address, at, 'latest']) })
    } catch (error) {
      if (!(error instanceof Error)) throw error
      setOutcome({ kind: 'error', text: error instanceof SlotError ? error.message : `The slot cannot be read: ${error.message}` })
    }
  }
  return (
    <Panel title="Storage" note="of the latest block" id="storage">
      <form class="slots" onSubmit={(event) => void read(event)}>
        <label>
          <span>slot</span>
          <input
            value={slot}
            spellcheck={false}
            autocomplete="off"
            data-testid="slot"
            onInput={(event) => setSlot(event.currentTarget.value)}
          />
        </label>
        <label>
          <span>keys of a mapping, separated by commas; empty for the slot itself</span>
          <input
            value={keys}
            spellcheck={false}
            autocomplete="off"
            data-testid="slot-keys"
            onInput={(event) => setKeys(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="small" data-testid="read-slot">
          Read
        </button>
      </form>
      {outcome !== null && <OutcomeRows outcome={outcome} />}
    </Panel>
  )
}

function OutcomeRows({ outcome }: { outcome: Outcome }) {
  if (outcome.kind === 'error') {
    return (
      <p class="wrong" role="alert" data-testid="slot-error">
        {visible(outcome.text)}
      </p>
    )
  }
  const { slot, value } = outcome
  return (
    <dl class="arguments" aria-live="polite" data-testid="slot-value">
      <div>
        <dt>slot</dt>
        <dd>
          <Copy text={slot} what="slot" />
        </dd>
      </div>
      <div>
        <dt>value</dt>
        <dd>
          <Copy text={value} what="value" shown={value} />
        </dd>
      </div>
      <div>
        <dt>as a number</dt>
        <dd class="long">{/^0x[0-9a-f]+$/i.test(value) ? grouped(String(BigInt(value))) : '–'}</dd>
      </div>
    </dl>
  )
}
