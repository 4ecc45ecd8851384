import { useState } from 'preact/hooks'
import { grouped } from '../wallet/format.ts'
import { decodeCall } from './abi.ts'
import type { Decoded } from './abi.ts'
import { Arguments, Signature } from './decoded.tsx'
import { innerCalls } from './inner.ts'
import type { InnerCall } from './inner.ts'
import { decodePacked } from './packed.ts'
import { AddressLink, Ether } from './parts.tsx'

/** Calls that are shown at a time. */
const SHOWN_CALLS = 25
/** Deeper calls are shown as bytes. */
const MAX_DEPTH = 4

/** The name and arguments of a call, with the calls that it forwards. `to`: the called contract. */
export function DecodedCall({ of, to, depth = 0 }: { of: Decoded; to: string; depth?: number }) {
  const calls = depth < MAX_DEPTH ? innerCalls(of, to) : []
  const [shown, setShown] = useState(SHOWN_CALLS)
  return (
    <div data-testid={depth === 0 ? 'decoded-call' : 'inner-decoded'} data-name={of.name}>
      <Signature of={of} />
      {calls.length === 0 ? (
        <Arguments of={of} />
      ) : (
        <ol class="inner">
          {calls.slice(0, shown).map((call, i) => (
            <Inner key={i} call={call} index={i} depth={depth + 1} />
          ))}
        </ol>
      )}
      {calls.length > shown && (
        <button type="button" class="small" data-testid="more-inner" onClick={() => setShown(shown + SHOWN_CALLS)}>
          {grouped(String(calls.length - shown))} more calls
        </button>
      )}
    </div>
  )
}

function Inner({ call: { to, value, input }, index, depth }: { call: InnerCall; index: number; depth: number }) {
  const decoded = decodePacked(to, input) ?? decodeCall(to, input)
  return (
    <li data-testid="inner-call" data-depth={depth}>
      <p class="head">
        <span class="soft">{index}</span> <AddressLink address={to} /> {value > 0n && <Ether wei={value} />}
        {decoded === null && <code class="soft">{input.length < 10 ? 'no data' : input.slice(0, 10)}</code>}
      </p>
      {decoded !== null && <DecodedCall of={decoded} to={to} depth={depth} />}
    </li>
  )
}
