import { useState } from 'preact/hooks'
import { visible } from '../wallet/format.ts'
import { AddressText, Copy, Collapsible, Row, Section } from '../wallet/parts.tsx'
import type { PageSecret } from '../wallet/secret.ts'
import { payDeposit } from './node.ts'
import type { PaymasterStatus, SponsorStatus } from '../../src/paymaster/results.ts'
import { Ether } from './parts.tsx'

const TOP_UP = `0x${(10n ** 19n).toString(16)}`

export function Paymasters({ status, secret, refresh }: { status: SponsorStatus; secret: PageSecret; refresh: () => void }) {
  const { paymasters, owner, signer, validForSeconds } = status
  return (
    <div class="panel">
      <Section title="Paymasters" note="deposit at the EntryPoint">
        <ul class="list">
          {paymasters.map((paymaster) => (
            <Paymaster key={paymaster.version} paymaster={paymaster} secret={secret} refresh={refresh} />
          ))}
        </ul>
        <Collapsible title="Keys">
          <dl class="rows">
            <Row name="Owner">
              <AddressText address={owner} /> <span class="soft">pays deposits</span>
            </Row>
            <Row name="Signer">
              <AddressText address={signer} /> <span class="soft">each signature holds {validForSeconds} s</span>
            </Row>
          </dl>
        </Collapsible>
      </Section>
    </div>
  )
}

type Payment =
  | { readonly kind: 'idle' | 'paying' }
  | { readonly kind: 'paid'; readonly hash: string }
  | { readonly kind: 'failed'; readonly why: string }

function Paymaster({ paymaster, secret, refresh }: { paymaster: PaymasterStatus; secret: PageSecret; refresh: () => void }) {
  const { version, address, deployed, deposit, reserved, isLow } = paymaster
  const [payment, setPayment] = useState<Payment>({ kind: 'idle' })
  const pay = async () => {
    setPayment({ kind: 'paying' })
    try {
      setPayment({ kind: 'paid', hash: await payDeposit(secret, version, TOP_UP) })
    } catch (error) {
      setPayment({ kind: 'failed', why: error instanceof Error ? error.message : String(error) })
    }
    refresh()
  }
  return (
    <li data-testid={`paymaster-${version}`} data-low={isLow}>
      <div class="who">
        <span class="main">EntryPoint {version}</span> <AddressText address={address} />
        {!deployed && <span class="chip">not deployed yet</span>}
      </div>
      <div class="end deposit">
        <span data-testid={`deposit-${version}`}>
          {isLow && <span class="chip bad">low</span>} <Ether wei={deposit} isLeft />
        </span>
        <button
          type="button"
          class="small"
          data-testid={`pay-${version}`}
          disabled={payment.kind === 'paying'}
          aria-label={`Deposit 10 ETH for the paymaster of EntryPoint ${version}`}
          onClick={() => void pay()}
        >
          {payment.kind === 'paying' ? 'Paying…' : 'Deposit 10 ETH'}
        </button>
      </div>
      {BigInt(reserved) > 0n && (
        <p class="aside soft">
          <Ether wei={reserved} /> of it reserved
        </p>
      )}
      <p class="aside soft" role="status">
        {payment.kind === 'paid' && (
          <>
            Paid by <Copy text={payment.hash} what="transaction hash" />
          </>
        )}
      </p>
      {payment.kind === 'failed' && (
        <p class="aside failure" role="alert">
          {visible(payment.why)}
        </p>
      )}
    </li>
  )
}
