import { grouped, visible } from '../wallet/format.ts'
import { Copy } from '../wallet/parts.tsx'
import { CallTree } from './calltree.tsx'
import { consoleLines } from './console.ts'
import { useLoaded } from './head.ts'
import type { LoadState } from './head.ts'
import { AddressLink, Content, Panel } from './parts.tsx'
import { reasonOf, undecodedOrigin } from './reason.ts'
import { StateDiff } from './statediff.tsx'
import { callCount, readStateDiff } from './trace.ts'
import type { CallJson } from './trace.ts'

/** The trace of a transaction; null before it is executed. */
type Calls = LoadState<CallJson | null>

/** Why a transaction failed. */
export function ReasonPanel({ calls }: { calls: Calls }) {
  return (
    <Panel title="Failure" id="failure-panel">
      <Content of={calls}>
        {(call) =>
          call !== null && (
            <>
              <p class="wrong reason" data-testid="reason">
                <bdi>{visible(reasonOf(call))}</bdi>
              </p>
              <Undecoded call={call} />
            </>
          )
        }
      </Content>
    </Panel>
  )
}

/** Revert data that no ABI describes, and whose ABI would. */
function Undecoded({ call }: { call: CallJson }) {
  const origin = undecodedOrigin(call)
  if (origin === null) return null
  return (
    <p data-testid="undecoded">
      <span class="soft">No ABI describes the error</span> <Copy text={call.output ?? '0x'} what="revert data" />{' '}
      <span class="soft">Register the ABI of</span> <AddressLink address={origin} /> <span class="soft">to decode it.</span>
    </p>
  )
}

/** The lines of console.log; nothing without them. */
export function ConsolePanel({ calls }: { calls: Calls }) {
  if (calls.value === null) return null
  const { lines, isCut } = consoleLines(calls.value)
  if (lines.length === 0) return null
  return (
    <Panel title="console.log" note={isCut ? 'the first lines' : undefined} id="console">
      <pre class="raw" tabIndex={0} aria-label="console.log" role="group">
        {lines.map((line, i) => (
          <code key={i} class="console-line" data-testid="console-line">
            {line}
            {'\n'}
          </code>
        ))}
      </pre>
    </Panel>
  )
}

export function CallsPanel({ calls }: { calls: Calls }) {
  return (
    <Panel
      title="Calls"
      note={calls.value === null ? 'with their gas' : `${grouped(String(callCount(calls.value)))}, with their gas`}
      id="calls"
    >
      <Content of={calls}>{(call) => call !== null && <CallTree call={call} />}</Content>
    </Panel>
  )
}

/** `place`: the block and index; a reorg or a retraction executes the transaction again elsewhere. */
export function StatePanel({ hash, place }: { hash: string; place: string | null }) {
  const diff = useLoaded((signal) => readStateDiff(hash, signal), [hash, place])
  return (
    <Panel title="State changes" id="state">
      <Content of={diff}>{(value) => <StateDiff diff={value} />}</Content>
    </Panel>
  )
}
