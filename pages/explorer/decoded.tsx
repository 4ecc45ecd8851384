import { grouped, visible } from '../wallet/format.ts'
import { Copy } from '../wallet/parts.tsx'
import type { Decoded } from './abi.ts'
import { AddressLink } from './parts.tsx'

/** Items of an array that are shown. */
const SHOWN_ITEMS = 50
/** Longer strings are cut; the raw input has all of them. */
const SHOWN_CHARACTERS = 2_000

/** The arguments of a decoded call, log or error. */
export function Arguments({ of }: { of: Decoded }) {
  if (of.inputs.length === 0) return null
  return (
    <dl class="arguments">
      {of.inputs.map(({ name, type, value }, i) => (
        <div key={i} data-testid="argument">
          <dt>
            <bdi>{visible(name === '' ? String(i) : name)}</bdi> <code class="soft">{visible(type)}</code>
          </dt>
          <dd>
            <Value type={type} value={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** A decoded value, as text. */
export function Value({ type, value }: { type: string; value: unknown }) {
  if (Array.isArray(value)) return <Items type={type.replace(/\[\d*\]$/, '')} values={value} />
  if (typeof value === 'object' && value !== null) return <Items type="" values={Object.values(value)} names={Object.keys(value)} />
  if (type === 'address') return <AddressLink address={String(value)} />
  if (typeof value === 'bigint' || typeof value === 'number') return <span class="amount">{grouped(String(value))}</span>
  if (type.startsWith('bytes') && typeof value === 'string') return value === '0x' ? <code>0x</code> : <Copy text={value} what={type} />
  const text = String(value)
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)} … (${grouped(String(text.length))} characters)` : text
  return typeof value === 'string' ? <bdi class="text">“{visible(shown)}”</bdi> : <code>{visible(shown)}</code>
}

function Items({ type, values, names }: { type: string; values: readonly unknown[]; names?: readonly string[] }) {
  if (values.length === 0) return <span class="soft">empty</span>
  return (
    <ol class="items">
      {values.slice(0, SHOWN_ITEMS).map((value, i) => (
        <li key={i}>
          <span class="soft">{names === undefined ? i : visible(names[i] ?? '')}</span>{' '}
          <Value type={type === '' ? typeOf(value) : type} value={value} />
        </li>
      ))}
      {values.length > SHOWN_ITEMS && <li class="soft">and {grouped(String(values.length - SHOWN_ITEMS))} more</li>}
    </ol>
  )
}

/** Members of tuples are decoded without their types. */
function typeOf(value: unknown): string {
  if (typeof value !== 'string') return ''
  return /^0x[0-9a-fA-F]{40}$/.test(value) ? 'address' : /^0x([0-9a-fA-F]{2})*$/.test(value) ? 'bytes' : 'string'
}

/** Parameters in a line of the tree of calls. */
const SHOWN_PARAMETERS = 4

/** `transfer(to, amount)`; `isShort`: with the first parameters. */
export function Signature({ of, isShort = false }: { of: Decoded; isShort?: boolean }) {
  const names = of.inputs.map(({ name, type }) => visible(name === '' ? type : name))
  const shown = isShort && names.length > SHOWN_PARAMETERS ? [...names.slice(0, SHOWN_PARAMETERS), '…'] : names
  return (
    <code class="signature">
      <bdi>
        {visible(of.name)}({shown.join(', ')})
      </bdi>
    </code>
  )
}
