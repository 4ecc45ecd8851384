import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { RuleWarningJson, UnincludedOperationJson } from '../../src/bundler/results.ts'
import { ago, checksummed, decimal, grouped, shortened, units, visible } from '../wallet/format.ts'
import { AddressText, Copy, Pages, Row } from '../wallet/parts.tsx'
import { signatureOfSelector } from './signatures.ts'
import type { LedgerEntry, LedgerCall, EntryState, LedgerPage } from '../../src/paymaster/results.ts'
import type { BundlerView } from './node.ts'
import { Ether, Gwei, moment } from './parts.tsx'
import { RuleWarnings, WarningChip } from './rulewarnings.tsx'
import { CopyableText, serviceUrls } from './service.tsx'
import { phraseOf } from './waiting.ts'

/** Filters and position of the ledger. */
export interface LedgerView {
  readonly state: EntryState | null
  readonly sender: string | null
  /** the `before` of each page after the newest one, up to the shown page */
  readonly turned: readonly number[]
}

const STATE_LABELS: Readonly<Record<EntryState, { readonly name: string; readonly style: string; readonly meaning: string }>> = {
  reserved: { name: 'Reserved', style: 'waits', meaning: 'signed, and not in a block yet' },
  included: { name: 'Included', style: 'waits', meaning: 'pre-confirmed, in the block under construction' },
  settled: { name: 'Settled', style: 'good', meaning: 'in a sealed block' },
  expired: { name: 'Expired', style: 'over', meaning: 'not used; its budget is free again' },
  refused: { name: 'Refused', style: 'bad', meaning: 'not sponsored' },
}

const STATES = Object.keys(STATE_LABELS) as readonly EntryState[] // its keys by definition

interface LedgerProps {
  readonly page: LedgerPage | null
  readonly bundler: BundlerView
  readonly counts: Readonly<Record<EntryState, number>>
  readonly look: LedgerView
  readonly setLook: (look: LedgerView) => void
}

/** All decisions, newest first. */
export function Ledger({ page, bundler, counts, look, setLook }: LedgerProps) {
  const { state, sender, turned } = look
  const isEmpty = STATES.every((each) => counts[each] === 0)
  const entries = page?.entries ?? []
  return (
    <section class="panel ledger" aria-labelledby="ledger">
      <h2 id="ledger">
        Ledger <span class="note">every decision, newest first</span>
      </h2>
      {isEmpty ? (
        <Nothing />
      ) : (
        <>
          <Filters counts={counts} look={look} setLook={setLook} />
          {entries.length === 0 && page !== null ? (
            <p class="soft none" data-testid="no-match">
              No entry matches{state === null && sender === null ? ' any more' : ''}.
            </p>
          ) : (
            <Table entries={entries} bundler={bundler} only={(one) => setLook({ state, sender: one, turned: [] })} />
          )}
          <Pages name="the ledger" turned={turned} next={page?.next ?? null} turn={(to) => setLook({ ...look, turned: to })} />
        </>
      )}
    </section>
  )
}

/** Instructions for an empty ledger. */
function Nothing() {
  const { http, https } = serviceUrls(location.host)
  return (
    <div data-testid="empty">
      <p>The sponsor has received no requests yet. Use it in an app:</p>
      <div class="ways">
        <CopyableText name="With a wallet (EIP-5792)" text={WITH_WALLET(https)} />
        <CopyableText name="With a smart account of its own" text={WITH_ACCOUNT(http, location.origin)} />
      </div>
    </div>
  )
}

const WITH_WALLET = (url: string) => `// client: viem's, of a wallet
await client.sendCalls({
  account,
  calls: [{ to: account, value: 0n }],
  capabilities: {
    paymasterService: {
      url: '${url}',
    },
  },
})`

const WITH_ACCOUNT = (url: string, node: string) => `// client, account: viem's
const bundler = createBundlerClient({
  client,
  transport: http('${node}'),
  paymaster: createPaymasterClient({
    transport: http('${url}'),
  }),
})
await bundler.sendUserOperation({
  account,
  calls: [{ to: account.address }],
})`

function Filters({ counts, look, setLook }: Omit<LedgerProps, 'page' | 'bundler'>) {
  const { state, sender } = look
  const all = STATES.reduce((sum, each) => sum + counts[each], 0)
  const choose = (wanted: EntryState | null) => setLook({ state: wanted, sender, turned: [] })
  return (
    <div class="filters">
      <div class="states" role="group" aria-label="Entries in which state">
        <Filter id="state-all" isOn={state === null} name="All" count={all} title="every entry" choose={() => choose(null)} />
        {STATES.map((each) => (
          <Filter
            key={each}
            id={`state-${each}`}
            isOn={state === each}
            name={STATE_LABELS[each].name}
            count={counts[each]}
            title={STATE_LABELS[each].meaning}
            choose={() => choose(each)}
          />
        ))}
      </div>
      <Sender sender={sender} choose={(one) => setLook({ state, sender: one, turned: [] })} />
    </div>
  )
}

interface FilterProps {
  readonly id: string
  readonly isOn: boolean
  readonly name: string
  readonly count: number
  readonly title: string
  readonly choose: () => void
}

function Filter({ id, isOn, name, count, title, choose }: FilterProps) {
  return (
    <button type="button" class="pill" data-testid={id} aria-pressed={isOn} title={title} onClick={choose}>
      {name} <span class="soft">{grouped(String(count))}</span>
    </button>
  )
}

/** Applies a complete address immediately. */
function Sender({ sender, choose }: { sender: string | null; choose: (sender: string | null) => void }) {
  const [text, setText] = useState(sender ?? '')
  useEffect(() => setText(sender ?? ''), [sender])
  const isWrong = text !== '' && !ADDRESS.test(text)
  const change = (value: string) => {
    const wanted = value.trim()
    setText(wanted)
    if (wanted === '') choose(null)
    else if (ADDRESS.test(wanted)) choose(wanted.toLowerCase())
  }
  return (
    <div class="sender">
      <label>
        <span class="unseen">Entries of this sender</span>
        <input
          type="search"
          data-testid="sender-filter"
          placeholder="Sender 0x…"
          spellcheck={false}
          autocomplete="off"
          value={text}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? 'sender-wrong' : undefined}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      </label>
      {isWrong && (
        <span class="soft" id="sender-wrong">
          not a whole address yet
        </span>
      )}
    </div>
  )
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

const COLUMNS = ['When', 'Sender', 'Calls', 'Reserved', 'Charged', 'State', 'Operation'] as const

// On narrow screens the style shows each row as a card; the roles keep the semantics of a table.
function Table({ entries, bundler, only }: { entries: readonly LedgerEntry[]; bundler: BundlerView; only: (sender: string) => void }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  const now = Date.now() // rendered again every second
  const toggle = (id: number) => setOpen((ids) => new Set(ids.has(id) ? [...ids].filter((each) => each !== id) : [...ids, id]))
  return (
    <table class="entries" role="table" aria-labelledby="ledger" data-testid="ledger">
      <thead role="rowgroup">
        <tr role="row">
          {COLUMNS.map((name) => (
            <th key={name} role="columnheader" scope="col" class={name === 'Reserved' || name === 'Charged' ? 'number' : undefined}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {entries.map((entry) => (
          <Line
            key={entry.id}
            entry={entry}
            bundled={bundledOf(entry, bundler)}
            now={now}
            isOpen={open.has(entry.id)}
            toggle={() => toggle(entry.id)}
            only={only}
          />
        ))}
      </tbody>
    </table>
  )
}

/** The bundler's state of the operation of an entry. */
interface Bundled {
  /** null: it is in a block, or was not sent */
  readonly unincluded: UnincludedOperationJson | null
  readonly warnings: readonly RuleWarningJson[]
}

function bundledOf({ state, userOpHash }: LedgerEntry, { unincluded, warnings }: BundlerView): Bundled {
  const hash = userOpHash ?? ''
  return { unincluded: state === 'reserved' ? (unincluded.get(hash) ?? null) : null, warnings: warnings.get(hash) ?? [] }
}

interface LineProps {
  readonly entry: LedgerEntry
  readonly bundled: Bundled
  readonly now: number
  readonly isOpen: boolean
  readonly toggle: () => void
  readonly only: (sender: string) => void
}

function Line({ entry, bundled, now, isOpen, toggle, only }: LineProps) {
  const { id, at, state, sender, cost, maxCost, maxFeePerGas, userOpHash } = entry
  const paid = gasPricePaid(entry)
  const held = state === 'refused' ? null : maxCost // refused operations have no reservation
  return (
    <>
      <tr role="row" class={isOpen ? 'entry open' : 'entry'} data-testid="entry" data-id={id} data-state={state}>
        <td role="cell" class="when">
          <button type="button" class="more" data-testid="details" aria-expanded={isOpen} aria-controls={`details-${id}`} onClick={toggle}>
            <span class="unseen">Details of entry {id}, </span>
            <time dateTime={new Date(at).toISOString()} title={`${moment(at)} UTC`}>
              {ago(at, now)}
            </time>
          </button>
        </td>
        <Cell name="Sender">
          <AddressText address={sender} />{' '}
          <button type="button" class="only" title="Only entries of this sender" onClick={() => only(sender.toLowerCase())}>
            <span class="unseen">Only entries of {shortened(checksummed(sender))}</span>
            <Funnel />
          </button>
        </Cell>
        <Cell name="Calls">
          <Calls entry={entry} />
        </Cell>
        <Cell name="Reserved" look={state === 'reserved' || state === 'included' ? 'number' : 'number soft'}>
          {held === null ? null : (
            <>
              <Ether wei={held} />
              {maxFeePerGas !== null && (
                <span class="why soft" data-testid="max-fee" title="greatest price per gas">
                  max <Gwei wei={maxFeePerGas} isRough />
                </span>
              )}
            </>
          )}
        </Cell>
        <Cell name="Charged" look="number">
          {cost === null ? null : (
            <>
              <Ether wei={cost} />
              {paid !== null && (
                <span class="why soft" data-testid="price-paid" title="price per gas that was paid">
                  at <Gwei wei={paid} isRough />
                </span>
              )}
            </>
          )}
        </Cell>
        <Cell name="State" look="verdict">
          <Verdict entry={entry} bundled={bundled} />
        </Cell>
        <Cell name="Operation">{userOpHash === null ? null : <Places userOpHash={userOpHash} bundle={bundleOf(entry, bundled)} />}</Cell>
      </tr>
      {isOpen && (
        <tr role="row" id={`details-${id}`} class="details" data-testid="entry-details">
          <td role="cell" colSpan={COLUMNS.length}>
            <Details entry={entry} bundled={bundled} />
          </td>
        </tr>
      )}
    </>
  )
}

/** The pages of an operation and of its bundle, and the hash of the latter to copy. */
function Places({ userOpHash, bundle }: { userOpHash: string; bundle: BundleOf | null }) {
  return (
    <>
      <a href={`/op/${userOpHash}`} title={userOpHash} data-testid="operation-link">
        <code>{shortened(userOpHash)}</code>
      </a>
      {bundle !== null && (
        <span class="why" data-testid="entry-bundle">
          <a href={`/tx/${bundle.transactionHash}`} title={bundle.transactionHash}>
            {bundle.isOwn ? 'bundle' : 'used in'}
          </a>{' '}
          <Copy text={bundle.transactionHash} what="transaction hash" />
        </span>
      )}
    </>
  )
}

interface BundleOf {
  readonly transactionHash: string
  /** false: it contains another operation, which used the nonce */
  readonly isOwn: boolean
}

/** The transaction that contains the operation, also in the pool of the node; null: none. */
function bundleOf(entry: LedgerEntry, { unincluded }: Bundled): BundleOf | null {
  const transactionHash = entry.transactionHash ?? unincluded?.transactionHash ?? null
  return transactionHash === null ? null : { transactionHash, isOwn: entry.state !== 'expired' }
}

/** Wei per gas; null: nothing was charged, or the gas is not known. */
function gasPricePaid({ cost, gasUsed }: LedgerEntry): bigint | null {
  return cost === null || gasUsed === null || BigInt(gasUsed) === 0n ? null : BigInt(cost) / BigInt(gasUsed)
}

/** Cards hide cells whose `children` is null. */
function Cell({ name, look = '', children }: { name: (typeof COLUMNS)[number]; look?: string; children: ComponentChildren }) {
  return (
    <td role="cell" data-label={name} class={children === null ? `${look} void` : look}>
      <div>{children ?? <span class="soft">–</span>}</div>
    </td>
  )
}

function Funnel() {
  return (
    <svg viewBox="0 0 12 12" width="11" height="11" aria-hidden="true">
      <path d="M1 1.5h10L7.2 6v4L4.8 11V6z" fill="none" stroke="currentColor" stroke-width="1.2" stroke-linejoin="round" />
    </svg>
  )
}

function Calls({ entry: { calls, callCount } }: { entry: LedgerEntry }) {
  if (calls === null) return <span class="soft">cannot be decoded</span>
  if (calls.length === 0) return <span class="soft">none</span>
  const shown = calls.slice(0, SHOWN_CALLS)
  return (
    <ul class="did">
      {shown.map((call, i) => (
        <li key={i}>
          <Call call={call} />
        </li>
      ))}
      {callCount > shown.length && <li class="soft">and {callCount - shown.length} more</li>}
    </ul>
  )
}

const SHOWN_CALLS = 3

function Call({ call: { to, value, selector } }: { call: LedgerCall }) {
  const signature = selector === null ? null : signatureOfSelector(selector)
  const isPaid = BigInt(value) > 0n
  return (
    <>
      {selector === null ? (
        <span>{isPaid ? 'send' : 'call'}</span>
      ) : (
        <code title={signature === null ? 'unknown function' : `${signature}, by its selector ${selector}`}>
          {signature === null ? selector : signature.slice(0, signature.indexOf('('))}
        </code>
      )}{' '}
      {isPaid && (
        <>
          <Ether wei={value} />{' '}
        </>
      )}
      <span class="soft">{selector === null ? 'to' : 'at'}</span> <AddressText address={to} />
    </>
  )
}

function Verdict({ entry: { state, stage, success, reason, message }, bundled }: { entry: LedgerEntry; bundled: Bundled }) {
  const { unincluded, warnings } = bundled
  const { name, style, meaning } = STATE_LABELS[state]
  return (
    <>
      <span class={`chip ${style}`} data-testid="entry-state" title={meaning}>
        {name}
      </span>{' '}
      {success === false && <span class="chip bad">calls reverted</span>}{' '}
      {unincluded?.status === 'rejected' && <span class="chip over">dropped</span>} <WarningChip warnings={warnings} />
      {unincluded !== null && (
        <span class="why" data-testid="entry-waits" data-status={unincluded.status} data-waits-for={unincluded.waitsFor ?? ''}>
          {visible(phraseOf(unincluded))}
        </span>
      )}
      {reason !== null && (
        <span class="why" data-testid="entry-reason" data-reason={reason}>
          {visible(message ?? REASONS[reason] ?? reason)}
          {state === 'refused' && stage === 'stub' && <span class="soft"> (for an estimate)</span>}
        </span>
      )}
    </>
  )
}

function exact(wei: string): string {
  return `${units(BigInt(wei), 18)} ETH`
}

/** Reasons of expired entries; refusals have a message. */
const REASONS: Readonly<Record<string, string>> = {
  'ran-out': 'the signature expired unused',
  'nonce-used': 'another operation used its nonce',
}

function Details({ entry, bundled }: { entry: LedgerEntry; bundled: Bundled }) {
  const {
    id,
    at,
    version,
    paymaster,
    policy,
    nonce,
    userOpHash,
    calls,
    validUntil,
    blockNumber,
    success,
    reason,
    reasons,
    maxCost,
    cost,
    maxFeePerGas,
    maxPriorityFeePerGas,
    gasUsed,
  } = entry
  const paid = gasPricePaid(entry)
  const bundle = bundleOf(entry, bundled)
  return (
    <div class="facts">
      <dl class="rows">
        <Row name="Entry">
          {id}, {moment(at)} UTC
        </Row>
        <Row name="Policy">{policy === null ? 'none' : visible(policy)}</Row>
        <Row name="EntryPoint">{version}</Row>
        <Row name="Paymaster">
          <AddressText address={paymaster} />
        </Row>
        <Row name="Nonce">
          <code class="hex">{nonce}</code>
        </Row>
        {userOpHash !== null && (
          <Row name="Operation">
            <a href={`/op/${userOpHash}`}>Explorer</a> <Copy text={userOpHash} what="hash of the user operation" />
          </Row>
        )}
        {bundle !== null && (
          <Row name={bundle.isOwn ? 'Bundle' : 'Nonce used in'}>
            <a href={`/tx/${bundle.transactionHash}`}>Explorer</a> <Copy text={bundle.transactionHash} what="hash of the transaction" />
          </Row>
        )}
        {maxFeePerGas !== null && (
          <Row name="Max fee">
            <Gwei wei={maxFeePerGas} /> <span class="soft">per gas</span>
          </Row>
        )}
        {maxPriorityFeePerGas !== null && (
          <Row name="Max priority fee">
            <Gwei wei={maxPriorityFeePerGas} /> <span class="soft">per gas</span>
          </Row>
        )}
        {paid !== null && gasUsed !== null && (
          <Row name="Paid">
            <Gwei wei={paid} /> <span class="soft">per gas, for {grouped(decimal(gasUsed))} gas</span>
          </Row>
        )}
        {maxCost !== null && <Row name="At most">{exact(maxCost)}</Row>}
        {cost !== null && <Row name="Charged">{exact(cost)}</Row>}
        {validUntil !== null && <Row name="Signed until">{moment(validUntil * 1000)} UTC</Row>}
        {blockNumber !== null && <Row name="Block">{grouped(decimal(blockNumber))}</Row>}
        {success !== null && <Row name="Its calls">{success ? 'succeeded' : 'reverted'}</Row>}
        {reason !== null && (
          <Row name="Reason">
            <code>{visible(reason)}</code>
          </Row>
        )}
      </dl>
      {calls !== null && calls.length > 0 && (
        <ol class="did">
          {calls.map(({ to, value, selector }, i) => (
            <li key={i}>
              <code class="hex">{checksummed(to)}</code>{' '}
              {selector !== null && <code class="signature">{signatureOfSelector(selector) ?? selector}</code>}{' '}
              {BigInt(value) > 0n && <Ether wei={value} />}
            </li>
          ))}
        </ol>
      )}
      {bundled.warnings.length > 0 && (
        <div class="did">
          <p>A public bundler refuses this operation:</p>
          <RuleWarnings warnings={bundled.warnings} />
        </div>
      )}
      {reasons.length > 0 && (
        <ul class="did" aria-label="Result of each policy">
          {reasons.map(({ policy: name, message }) => (
            <li key={name}>
              <strong>{visible(name)}</strong> <span class="soft">{visible(message)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
