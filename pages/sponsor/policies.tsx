import type { ComponentChildren } from 'preact'
import { rounded, visible } from '../wallet/format.ts'
import { AddressText, Collapsible, Section } from '../wallet/parts.tsx'
import type { PolicyStatus } from '../../src/paymaster/results.ts'
import { Ether, moment } from './parts.tsx'
import { CopyableText } from './service.tsx'

export function Policies({ policies }: { policies: readonly PolicyStatus[] }) {
  return (
    <div class="panel">
      <Section title="Policies" note={policies.length > 1 ? 'the first that grants pays' : undefined}>
        {policies.length === 0 && <p class="soft">None, so nothing is sponsored.</p>}
        <ol class="policies">
          {policies.map((policy) => (
            <Policy key={policy.name} policy={policy} />
          ))}
        </ol>
        {policies.every(isUnlimited) && <HowTo />}
      </Section>
    </div>
  )
}

/** Returns whether the policy grants every operation. */
function isUnlimited(policy: PolicyStatus): boolean {
  return LIMITS.every((limit) => policy[limit] === undefined)
}

const LIMITS = [
  'chains',
  'entryPoints',
  'contracts',
  'senders',
  'apiKeys',
  'perOperation',
  'perUser',
  'perDay',
  'total',
  'until',
] as const satisfies readonly (keyof PolicyStatus)[]

function HowTo() {
  return (
    <div class="howto">
      <p>To limit what the sponsor pays for, write a policy file:</p>
      <CopyableText name="policies.json" text={EXAMPLE} />
      <CopyableText name="Start with it" text="npx pocketchain --sponsor-policies policies.json" />
    </div>
  )
}

const EXAMPLE = `[{
  "name": "coffee",
  "contracts": [{
    "address": "0x4200000000000000000000000000000000000006"
  }],
  "perUser": "5000000000000000",
  "perDay": "100000000000000000"
}]`

function Policy({ policy }: { policy: PolicyStatus }) {
  const { name, total, perDay, use } = policy
  const conditions = conditionsOf(policy)
  return (
    <li data-testid="policy" data-name={name}>
      <h3>
        <bdi>{visible(name)}</bdi> <span class="soft">{use.users === 1 ? 'one account' : `${use.users} accounts`}</span>
      </h3>
      {total !== undefined && (
        <Budget
          name="In all"
          of={total}
          parts={[
            ['settled', use.settled, 'used'],
            ['reserved', use.reserved, 'held'],
          ]}
        />
      )}
      {perDay !== undefined && <Budget name="Today (UTC)" of={perDay} parts={[['settled or reserved', use.today, 'used']]} />}
      {total === undefined && perDay === undefined && (
        <p class="soft">
          No budget limits it. <Ether wei={use.settled} /> settled, <Ether wei={use.reserved} /> reserved.
        </p>
      )}
      {conditions.length > 0 && (
        <ul class="conditions" aria-label={`Conditions of ${visible(name)}`}>
          {conditions.map((condition, i) => (
            <li key={i} class="chip">
              {condition}
            </li>
          ))}
        </ul>
      )}
      <Lists policy={policy} />
    </li>
  )
}

interface BudgetProps {
  readonly name: string
  /** wei */
  readonly of: string
  readonly parts: readonly (readonly [name: string, wei: string, look: string])[]
}

/** A budget as a bar. Use beyond a lowered budget is in the text only. */
function Budget({ name, of, parts }: BudgetProps) {
  const whole = BigInt(of)
  const taken = parts.reduce((sum, [, wei]) => sum + BigInt(wei), 0n)
  const left = taken > whole ? 0n : whole - taken
  let start = 0
  return (
    <div class="budget" data-testid="budget">
      <p class="line">
        <span>{name}</span> <Ether wei={of} />
      </p>
      <svg class="bar" viewBox={`0 0 ${STEPS} 1`} preserveAspectRatio="none" aria-hidden="true">
        {parts.map(([part, wei, look]) => {
          const x = start
          const width = Math.min(share(BigInt(wei), whole), STEPS - x)
          start += width
          return <rect key={part} class={look} x={x} y="0" width={width} height="1" />
        })}
      </svg>
      <p class="line legend">
        {parts.map(([part, wei, look]) => (
          <span key={part}>
            <i class={`dot ${look}`} aria-hidden="true" />
            <Ether wei={wei} /> {part}
          </span>
        ))}
        <span data-testid="left">
          <i class="dot" aria-hidden="true" />
          <Ether wei={`0x${left.toString(16)}`} isLeft /> left
        </span>
      </p>
    </div>
  )
}

const STEPS = 1_000

/** Returns the share in thousandths; small amounts stay visible. */
function share(part: bigint, whole: bigint): number {
  if (part === 0n) return 0
  return whole === 0n ? STEPS : Math.min(STEPS, Math.max(MIN_WIDTH, Number((part * BigInt(STEPS)) / whole)))
}

const MIN_WIDTH = 6

function conditionsOf({ chains, perOperation, perUser, until, apiKeys }: PolicyStatus): readonly ComponentChildren[] {
  return [
    ...(perOperation === undefined ? [] : [`at most ${ether(perOperation)} each`]),
    ...(perUser === undefined ? [] : [`at most ${ether(perUser)} per account`]),
    ...(until === undefined ? [] : [`until ${moment(until * 1000).slice(0, 16)}`]),
    ...(apiKeys === undefined ? [] : [apiKeys === 1 ? 'one API key' : `one of ${apiKeys} API keys`]),
    ...(chains === undefined ? [] : [`chain ${chains.join(', ')}`]),
  ]
}

function ether(wei: string): string {
  return `${rounded(BigInt(wei), 18)} ETH`
}

function Lists({ policy: { contracts, senders, entryPoints } }: { policy: PolicyStatus }) {
  return (
    <>
      {contracts !== undefined && (
        <Collapsible title={contracts.length === 1 ? 'For calls to one contract' : `For calls to ${contracts.length} contracts`}>
          <ul class="list">
            {contracts.map(({ address, selectors }) => (
              <li key={address}>
                <AddressText address={address} />{' '}
                <span class="soft">{selectors === undefined ? 'any call' : selectors.map(visible).join(', ')}</span>
              </li>
            ))}
          </ul>
        </Collapsible>
      )}
      <Addresses title="senders" addresses={senders} />
      <Addresses title="EntryPoints" addresses={entryPoints} />
    </>
  )
}

function Addresses({ title, addresses }: { title: string; addresses: readonly string[] | undefined }) {
  if (addresses === undefined) return null
  return (
    <Collapsible title={`For ${addresses.length} ${addresses.length === 1 ? title.slice(0, -1) : title}`}>
      <ul class="list">
        {addresses.map((address) => (
          <li key={address}>
            <AddressText address={address} />
          </li>
        ))}
      </ul>
    </Collapsible>
  )
}
