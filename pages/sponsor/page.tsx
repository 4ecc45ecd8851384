import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { visible } from '../wallet/format.ts'
import { Mark } from '../wallet/parts.tsx'
import { NOT_KEPT } from '../wallet/secret.ts'
import type { PageSecret } from '../wallet/secret.ts'
import { FaultBanner, FaultStatus, Faults } from './faults.tsx'
import { Ledger } from './ledger.tsx'
import type { LedgerView } from './ledger.tsx'
import { useSponsor } from './live.ts'
import type { Live } from './live.ts'
import { Ether, Icon } from './parts.tsx'
import { Paymasters } from './paymasters.tsx'
import { Policies } from './policies.tsx'
import type { SponsorStatus } from '../../src/paymaster/results.ts'
import { Service } from './service.tsx'

const PAGE_ENTRIES = 25

export function Page({ secret }: { secret: PageSecret }) {
  const [look, setLook] = useState<LedgerView>({ state: null, sender: null, turned: [] })
  const before = look.turned.at(-1)
  const live = useSponsor({
    limit: PAGE_ENTRIES,
    ...(before === undefined ? {} : { before }),
    ...(look.sender === null ? {} : { sender: look.sender }),
    ...(look.state === null ? {} : { state: look.state }),
  })
  return (
    <div class="sponsor">
      <header class="brand">
        <a href="/" class="name" aria-label="pocketchain, overview of the node">
          <Mark /> pocketchain
        </a>
        <nav class="other" aria-label="Other pages">
          <a href="/">Explorer</a>
        </nav>
        <span class="state" data-testid="connection" data-state={live.connection}>
          {CONNECTIONS[live.connection]}
        </span>
      </header>
      <main>
        <Body live={live}>{(status) => <Sponsor live={live} secret={secret} status={status} look={look} setLook={setLook} />}</Body>
      </main>
    </div>
  )
}

const CONNECTIONS: Readonly<Record<Live['connection'], string>> = { connecting: 'connecting', open: 'live', lost: 'no connection' }

function Body({ live, children }: { live: Live; children: (status: SponsorStatus) => ComponentChildren }) {
  const { status, refusal, connection } = live
  if (status !== null) {
    return (
      <>
        {(refusal !== null || connection === 'lost') && (
          <p class="banner caution" role="status" data-testid="lost">
            {refusal === null ? 'The node does not respond. The page shows the last known state.' : visible(refusal)}
          </p>
        )}
        {children(status)}
      </>
    )
  }
  const [title, text] = refusal === null ? (CONNECTION_MESSAGES[connection] ?? ['', '']) : ['This node has no sponsor', visible(refusal)]
  return (
    <div class="slip notice" role="status" data-testid="silence">
      <h1>{title}</h1>
      <p>{text}</p>
    </div>
  )
}

const CONNECTION_MESSAGES: Readonly<Record<string, readonly [title: string, text: string]>> = {
  connecting: ['Connecting', 'One moment.'],
  lost: ['The node does not respond', 'It was stopped, or it cannot be reached. This page reconnects automatically.'],
}

interface SponsorProps {
  readonly live: Live
  readonly secret: PageSecret
  readonly status: SponsorStatus
  readonly look: LedgerView
  readonly setLook: (look: LedgerView) => void
}

function Sponsor({ live, secret, status, look, setLook }: SponsorProps) {
  const { name, icon, totals, counts, fault } = status
  const { refresh } = live
  return (
    <>
      {!secret.isKept && (
        <p class="banner caution" role="status" data-testid="not-kept">
          {NOT_KEPT}
        </p>
      )}
      <FaultStatus fault={fault} />
      {fault !== null && <FaultBanner fault={fault} secret={secret} refresh={refresh} />}
      <header class="title">
        <Icon uri={icon} name={name} />
        <div>
          <h1 data-testid="sponsor-name">
            <bdi>{visible(name)}</bdi>
          </h1>
          <p class="soft">pays for user operations, so that their senders need no ether</p>
        </div>
        <dl class="totals">
          <Total name="Paid" id="total-settled">
            <Ether wei={totals.settled} />
          </Total>
          <Total name="Reserved" id="total-reserved">
            <Ether wei={totals.reserved} />
          </Total>
          <Total name="Operations" id="total-operations">
            {counts.reserved + counts.included + counts.settled}
          </Total>
          <Total name="Refused" id="total-refused">
            {counts.refused}
          </Total>
        </dl>
      </header>
      <Ledger page={live.page} bundler={live.bundler} counts={counts} look={look} setLook={setLook} />
      <div class="columns">
        <Policies policies={status.policies} />
        <div class="column">
          <Paymasters status={status} secret={secret} refresh={refresh} />
          <Faults fault={fault} secret={secret} refresh={refresh} />
        </div>
      </div>
      <Service />
    </>
  )
}

function Total({ name, id, children }: { name: string; id: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd data-testid={id}>{children}</dd>
    </div>
  )
}
