import { useState } from 'preact/hooks'
import { grouped, units } from '../wallet/format.ts'
import { useLoaded } from './head.ts'
import { nameOf } from './names.ts'
import { AddressLink, Panel } from './parts.tsx'
import { NO_LABEL } from './tokenlabel.ts'
import type { TokenLabel } from './tokenlabel.ts'
import { readLabels, transfersOf } from './transfers.ts'
import type { Transfer } from './transfers.ts'
import type { LogJson } from './wire.ts'

/** Movements that are shown at a time. */
const SHOWN_TRANSFERS = 25

/** The token movements that logs report; nothing if there are none. */
export function Transfers({ logs }: { logs: readonly LogJson[] }) {
  const transfers = transfersOf(logs)
  const tokens = [...new Set(transfers.map(({ token }) => token.toLowerCase()))]
  const [shown, setShown] = useState(SHOWN_TRANSFERS)
  const labels = useLoaded((signal) => readLabels(tokens, signal), [tokens.join()])
  if (transfers.length === 0) return null
  return (
    <Panel title="Token transfers" note={grouped(String(transfers.length))} id="transfers">
      <ul class="transfers">
        {transfers.slice(0, shown).map((transfer, i) => (
          <TransferRow key={i} transfer={transfer} label={labels.value?.get(transfer.token.toLowerCase()) ?? NO_LABEL} />
        ))}
      </ul>
      {transfers.length > shown && (
        <button type="button" class="small" data-testid="more-transfers" onClick={() => setShown(shown + SHOWN_TRANSFERS)}>
          {grouped(String(transfers.length - shown))} more transfers
        </button>
      )}
    </Panel>
  )
}

function TransferRow({
  transfer: { token, from, to, amount, id },
  label: { symbol, decimals },
}: {
  transfer: Transfer
  label: TokenLabel
}) {
  return (
    <li data-testid="transfer" data-token={token}>
      <span class="parties">
        {BigInt(from) === 0n ? <span class="soft">minted</span> : <AddressLink address={from} />} <span aria-label="to">→</span>{' '}
        {BigInt(to) === 0n ? <span class="soft">burnt</span> : <AddressLink address={to} />}
      </span>
      <span class="what">
        {amount !== null && <strong class="amount">{units(amount, id === null ? (decimals ?? 0) : 0)}</strong>}{' '}
        {symbol !== null && nameOf(token) === null && <bdi>{symbol}</bdi>} {id !== null && <span class="amount">#{id.toString()}</span>}{' '}
        <AddressLink address={token} />
      </span>
    </li>
  )
}
