import { grouped, sizeOf } from '../wallet/format.ts'
import { Collapsible, Raw } from '../wallet/parts.tsx'
import { decodeCall } from './abi.ts'
import type { Decoded } from './abi.ts'
import { AbiForm } from './abiform.tsx'
import { DecodedCall } from './innercalls.tsx'
import { decodePacked } from './packed.ts'
import { Panel } from './parts.tsx'

/** Characters of the input that are shown. */
const RAW_CHARACTERS = 20_000

interface CallPanelProps {
  readonly title: string
  /** null: the input is init code */
  readonly to: string | null
  readonly input: string
}

/** A call with its decoded arguments; nothing without data. */
export function CallPanel({ title, to, input }: CallPanelProps) {
  if (input === '0x') return null
  const decoded = to === null ? null : (decodePacked(to, input) ?? decodeCall(to, input))
  const name = to === null ? 'Init code and arguments' : 'Input'
  return (
    <Panel title={title} note={to === null ? 'of a contract' : sourceText(decoded)} id="call">
      {decoded !== null && to !== null && <DecodedCall of={decoded} to={to} />}
      <Collapsible title={`${name}, ${grouped(String(sizeOf(input)))} bytes`} isOpen={decoded === null && to !== null}>
        <Raw text={input.length > RAW_CHARACTERS ? `${input.slice(0, RAW_CHARACTERS)} …` : input} name="input" />
      </Collapsible>
      {to !== null && <AbiForm address={to} />}
    </Panel>
  )
}

function sourceText(decoded: Decoded | null): string {
  if (decoded === null) return 'no ABI describes it'
  return decoded.source === 'known' ? 'by a well-known selector' : 'by a registered ABI'
}
