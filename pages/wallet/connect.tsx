import { useState } from 'preact/hooks'
import type { ConnectQuestion } from '../../src/wallet/question.ts'
import { Approval } from './approval.tsx'
import type { QuestionProps } from './approval.tsx'
import { checksummed, visible } from './format.ts'
import { ChainText, Coin, Row, Section, Swatch } from './parts.tsx'

/** Only the first account is preselected: a site sees no more than it needs by default. */
export function Connect(props: QuestionProps<ConnectQuestion>) {
  const { accounts, chain } = props.question
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(accounts.slice(0, 1).map(({ address }) => address)))
  const addresses = accounts.map(({ address }) => address).filter((address) => chosen.has(address))
  const toggle = (address: string, isIn: boolean) =>
    setChosen(new Set(isIn ? [...chosen, address] : [...chosen].filter((a) => a !== address)))
  const isAll = addresses.length === accounts.length
  return (
    <Approval
      {...props}
      request="wants to see your accounts"
      verb="Connect"
      choice={{ accounts: addresses }}
      missing={addresses.length === 0 ? 'Choose an account.' : null}
    >
      <p class="prose">
        The site will see their addresses and balances and may ask you to sign and send. Each signature and transaction needs your approval.
      </p>
      <Section
        title="Accounts to show"
        note={
          accounts.length > 1 && (
            <button type="button" class="link" onClick={() => setChosen(new Set(isAll ? [] : accounts.map(({ address }) => address)))}>
              {isAll ? 'none' : `all ${accounts.length}`}
            </button>
          )
        }
      >
        <ul class="choices">
          {accounts.map(({ address, name, balance }, i) => (
            <li key={address}>
              <label>
                <input
                  type="checkbox"
                  data-testid={`account-choice-${i}`}
                  checked={chosen.has(address)}
                  onChange={(event) => toggle(address, event.currentTarget.checked)}
                />
                <span class="who">
                  <Swatch address={address} /> {visible(name)}{' '}
                  {addresses[0] === address && addresses.length > 1 && <span class="chip">selected first</span>}
                  <code>{checksummed(address)}</code>
                </span>
                <span class="soft">{balance === null ? 'balance unknown' : <Coin wei={balance} chain={chain} />}</span>
              </label>
            </li>
          ))}
        </ul>
      </Section>
      <dl class="rows">
        <Row name="Chain" id="chain">
          <ChainText chain={chain} />
        </Row>
      </dl>
    </Approval>
  )
}
