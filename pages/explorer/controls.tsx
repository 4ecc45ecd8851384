import { useEffect, useState } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import { visible } from '../wallet/format.ts'
import { PAGE_SECRET_HEADER } from '../wallet/secret.ts'
import type { PageSecret } from '../wallet/secret.ts'
import { ask } from './node.ts'
import type { Call } from './node.ts'
import { Panel } from './parts.tsx'

/** Moves that change promises. They require the control credential of a link that the node printed. */
export function Controls({ secret }: { secret: PageSecret }) {
  const [isControl, setControl] = useState<boolean | null>(null)
  const [outcome, setOutcome] = useState<{ readonly text: string; readonly isError: boolean } | null>(null)
  useEffect(() => {
    void holdsControl(secret).then(setControl)
  }, [secret])
  const run = (name: string, call: Call) => void perform(name, call)
  const perform = async (name: string, call: Call) => {
    try {
      const result = await ask<unknown>(call, { headers: { [PAGE_SECRET_HEADER]: await secret.value() } })
      setOutcome({ text: `${name}: ${textOf(result)}`, isError: false })
    } catch (error) {
      setOutcome({ text: `${name}: ${error instanceof Error ? error.message : String(error)}`, isError: true })
    }
  }
  return (
    <Panel title="Control" note="what becomes of promises" id="controls">
      {isControl === false ? (
        <p class="soft" data-testid="no-control">
          To use the controls, open the link of the explorer that the node printed at its start: <code>http://…/?key=…</code>
        </p>
      ) : (
        <div class="moves" data-testid="moves">
          <Form name="Hold" label="a hash, or a sender" run={(value) => run('Hold', ['pocketchain_hold', value])} id="hold">
            <button type="button" class="small" data-testid="release" onClick={() => run('Release', ['pocketchain_release'])}>
              Release all
            </button>
          </Form>
          <Form name="Drop" label="the hash of a transaction" run={(value) => run('Drop', ['pocketchain_drop', value])} id="drop" />
          <Form
            name="Retract"
            label="a hash; empty: all promises"
            isOptional
            run={(value) => run('Retract', ['pocketchain_retract', value === '' ? 'all' : value])}
            id="retract"
          />
          <Form name="Stall" label="milliseconds" run={(value) => run('Stall', ['pocketchain_stall', Number(value)])} id="stall" />
          <Form
            name="Miss flashblocks"
            label="how many"
            run={(value) => run('Miss flashblocks', ['pocketchain_missFlashblocks', Number(value)])}
            id="miss"
          />
          <Form
            name="Delay the seal"
            label="milliseconds"
            run={(value) => run('Delay the seal', ['pocketchain_delaySeal', Number(value)])}
            id="delay-seal"
          />
          <Form
            name="Fail over"
            label="blocks; 0: only the open one"
            run={(value) => run('Fail over', ['pocketchain_failOver', Number(value)])}
            id="fail-over"
          />
        </div>
      )}
      {outcome !== null && (
        <p class={outcome.isError ? 'wrong' : 'soft'} role="status" data-testid="control-outcome" data-error={outcome.isError}>
          {visible(outcome.text)}
        </p>
      )}
    </Panel>
  )
}

interface FormProps {
  readonly name: string
  readonly label: string
  readonly id: string
  readonly run: (value: string) => void
  readonly isOptional?: boolean
  readonly children?: ComponentChildren
}

function Form({ name, label, id, run, isOptional = false, children }: FormProps) {
  const [value, setValue] = useState('')
  return (
    <form
      class="move"
      onSubmit={(event) => {
        event.preventDefault()
        run(value.trim())
      }}
    >
      <label>
        <span>{label}</span>
        <input
          value={value}
          required={!isOptional}
          spellcheck={false}
          autocomplete="off"
          data-testid={`${id}-input`}
          onInput={(event) => setValue(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="small" data-testid={id}>
        {name}
      </button>
      {children}
    </form>
  )
}

/** The result of a move in a sentence. */
function textOf(result: unknown): string {
  if (result === null) return 'done'
  if (Array.isArray(result)) return `${result.length} transactions wait`
  if (typeof result === 'number') return `${result} ended`
  const counts = Object.entries(result as Readonly<Record<string, readonly string[]>>).flatMap(([name, hashes]) =>
    // a change of promises
    hashes.length === 0 ? [] : [`${hashes.length} ${CHANGES[name] ?? name}`],
  )
  return counts.length === 0 ? 'nothing changed' : counts.join(', ')
}

const CHANGES: Readonly<Record<string, string>> = {
  promised: 'promised again',
  returned: 'returned to the pool',
  dropped: 'dropped',
  changed: 'changed',
}

async function holdsControl(secret: PageSecret): Promise<boolean> {
  try {
    const headers = { [PAGE_SECRET_HEADER]: await secret.value() }
    const response = await fetch('/session', { method: 'POST', headers, cache: 'no-store' })
    if (!response.ok) return false
    return ((await response.json()) as { readonly isControl: boolean }).isControl // the answer of this server
  } catch {
    return false
  }
}
