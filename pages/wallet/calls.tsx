import type { CallView, ChainLabel } from '../../src/wallet/question.ts'
import { decimal, grouped, sizeOf, visible } from './format.ts'
import { AddressText, Coin, Collapsible, Line, Raw, Row, Section } from './parts.tsx'

interface CallsProps {
  readonly calls: readonly CallView[]
  /** number of further calls, of which the wallet kept no record */
  readonly omitted?: number
  readonly chain: ChainLabel
  readonly failed: number | null
}

/** Shows all calls. Beyond SHOWN_CALLS they are collapsed, except for a call that fails. */
export function Calls({ calls, omitted = 0, chain, failed }: CallsProps) {
  const list = (from: number, end: number) => (
    <ol class="calls" start={from + 1}>
      {calls.slice(from, end).map((call, i) => (
        <Call key={from + i} call={call} index={from + i} chain={chain} fails={failed === from + i} />
      ))}
    </ol>
  )
  return (
    <Section title={calls.length + omitted === 1 ? 'Call' : `${calls.length + omitted} calls, in this order`}>
      {list(0, SHOWN_CALLS)}
      {calls.length > SHOWN_CALLS && (
        <Collapsible title={`${calls.length - SHOWN_CALLS} more calls`} isOpen={failed !== null && failed >= SHOWN_CALLS}>
          {list(SHOWN_CALLS, calls.length)}
        </Collapsible>
      )}
      {omitted > 0 && <p class="soft">Only the first {calls.length} calls are kept.</p>}
    </Section>
  )
}

const SHOWN_CALLS = 8

function Call({ call, index, chain, fails }: { call: CallView; index: number; chain: ChainLabel; fails: boolean }) {
  const { to, value, data, gasLimitOverride, label, signature, args } = call
  return (
    <li data-testid={`call-${index}`} data-number={index + 1}>
      <h3>
        <Line text={titleOf(call)} /> {fails && <span class="chip bad">reverts</span>}
      </h3>
      <dl class="rows">
        {to !== null && (
          <Row name="To">
            <AddressText address={to} name={label} />
          </Row>
        )}
        {signature !== null && (
          <Row name="Function">
            <code class="signature">{visible(signature)}</code>
          </Row>
        )}
        {BigInt(value) > 0n && (
          <Row name="Value">
            <Coin wei={value} chain={chain} />
          </Row>
        )}
        {gasLimitOverride !== null && <Row name="Gas limit">{grouped(decimal(gasLimitOverride))}, chosen by the app</Row>}
      </dl>
      {args !== null && args.length > 0 && (
        <table class="arguments">
          <caption class="unseen">Arguments</caption>
          <tbody>
            {args.map(({ name, type, value }, i) => (
              <tr key={i}>
                <th scope="row">
                  {visible(name ?? String(i))} <span class="soft">{visible(type)}</span>
                </th>
                <td>{type === 'address' ? <AddressText address={value} /> : <ArgumentText type={type} value={value} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data !== '0x' && (
        <Collapsible title={`Data, ${grouped(String(sizeOf(data)))} bytes`}>
          <Raw text={data} name={`Data of call ${index + 1}`} />
        </Collapsible>
      )}
    </li>
  )
}

function ArgumentText({ type, value }: { type: string; value: string }) {
  if (/^u?int\d*$/.test(type) && /^-?\d+$/.test(value)) {
    const bits = largestBits(type, value)
    return bits === null ? (
      <span class="amount">{grouped(value)}</span>
    ) : (
      <span class="amount" title={grouped(value)}>
        2<sup>{bits}</sup> − 1, the largest {type}
      </span>
    )
  }
  return type.startsWith('bytes') ? <code class="hex">{value}</code> : <span class="text">{visible(value)}</span>
}

/** The size of the unsigned type if the value is its largest, whose 78 digits are hard to recognize; null for another. */
function largestBits(type: string, value: string): number | null {
  const bits = Number(/^uint(\d+)$/.exec(type)?.[1] ?? 0)
  return bits > 64 && BigInt(value) === (1n << BigInt(bits)) - 1n ? bits : null
}

function titleOf({ summary, to, signature, data, value }: CallView): string {
  if (summary !== null) return visible(summary)
  if (to === null) return 'Create a contract'
  if (signature !== null) return visible(signature.slice(0, signature.indexOf('(')))
  if (data !== '0x') return 'Call a contract with data that cannot be read'
  return BigInt(value) > 0n ? 'Send' : 'Call without data'
}
