import { useState } from 'preact/hooks'
import { decimal, grouped, visible } from '../wallet/format.ts'
import { Copy } from '../wallet/parts.tsx'
import { decodeCall } from './abi.ts'
import type { Decoded } from './abi.ts'
import { Arguments, Signature } from './decoded.tsx'
import { LogList } from './logs.tsx'
import { decodePacked } from './packed.ts'
import { AddressLink, Ether } from './parts.tsx'
import { reasonOf } from './reason.ts'
import { callCount } from './trace.ts'
import type { CallJson } from './trace.ts'

/** A tree with more calls is shown with its first level only; the others are opened one by one. */
const OPEN_CALLS = 40
/** Inner calls of one call that are shown at a time. */
const SHOWN_CALLS = 100

/** The calls of a transaction with their gas, each before its inner calls. */
export function CallTree({ call }: { call: CallJson }) {
  const isSmall = callCount(call) <= OPEN_CALLS
  return (
    <ul class="tree" data-testid="call-tree">
      <CallNode call={call} depth={0} isSmall={isSmall} />
    </ul>
  )
}

function CallNode({ call, depth, isSmall }: { call: CallJson; depth: number; isSmall: boolean }) {
  const inner = call.calls ?? []
  const [isOpen, setOpen] = useState(isSmall || depth === 0)
  const [shown, setShown] = useState(SHOWN_CALLS)
  const [hasDetails, setDetails] = useState(false)
  const decoded = decodedOf(call)
  return (
    <li class={call.error === undefined ? 'call' : 'call failed'} data-testid="call" data-depth={depth} data-type={call.type}>
      <div class="head">
        {inner.length > 0 ? (
          <button
            type="button"
            class="more"
            aria-expanded={isOpen}
            aria-label={`${inner.length} inner calls`}
            onClick={() => setOpen(!isOpen)}
          />
        ) : (
          <span class="leaf" />
        )}
        <span class="kind soft">{call.type.toLowerCase()}</span>
        {call.to !== undefined && <AddressLink address={call.to} />}
        <button type="button" class="open" aria-expanded={hasDetails} onClick={() => setDetails(!hasDetails)}>
          {decoded === null ? (
            <code>{call.type.startsWith('CREATE') ? 'init code' : call.input.length < 10 ? 'no data' : call.input.slice(0, 10)}</code>
          ) : (
            <Signature of={decoded} isShort />
          )}
        </button>
        {call.value !== undefined && BigInt(call.value) > 0n && <Ether wei={call.value} />}
        <span class="gas soft" title="gas used">
          {grouped(decimal(call.gasUsed))}
        </span>
        {call.error !== undefined && <span class="wrong">{visible(reasonOf(call))}</span>}
      </div>
      {hasDetails && <Details call={call} />}
      {isOpen && inner.length > 0 && (
        <ul>
          {inner.slice(0, shown).map((each, i) => (
            <CallNode key={i} call={each} depth={depth + 1} isSmall={isSmall} />
          ))}
          {inner.length > shown && (
            <li>
              <button type="button" class="small" data-testid="more-calls" onClick={() => setShown(shown + SHOWN_CALLS)}>
                {grouped(String(inner.length - shown))} more calls
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  )
}

function Details({ call }: { call: CallJson }) {
  const decoded = decodedOf(call)
  return (
    <div class="facts" data-testid="call-details">
      {decoded !== null && <Arguments of={decoded} />}
      <dl class="rows">
        <div class="row">
          <dt>From</dt>
          <dd>
            <AddressLink address={call.from} whole />
          </dd>
        </div>
        <div class="row">
          <dt>Input</dt>
          <dd>
            <Copy text={call.input} what="input" />
          </dd>
        </div>
        {call.output !== undefined && call.output !== '0x' && (
          <div class="row">
            <dt>Output</dt>
            <dd>
              <Copy text={call.output} what="output" />
            </dd>
          </div>
        )}
        <div class="row">
          <dt>Gas limit</dt>
          <dd>{grouped(decimal(call.gas))}</dd>
        </div>
      </dl>
      {call.logs !== undefined && call.logs.length > 0 && <LogList logs={call.logs} />}
    </div>
  )
}

/** Init code has no selector. */
function decodedOf({ type, to, input }: CallJson): Decoded | null {
  return type.startsWith('CREATE') ? null : (decodePacked(to ?? null, input) ?? decodeCall(to ?? null, input))
}
