import type { ComponentChildren } from 'preact'
import { useErrorBoundary, useState } from 'preact/hooks'
import type { ChainLabel } from '../../src/wallet/question.ts'
import { checksummed, decimal, readable, shortened, truncated, units, visible } from './format.ts'
import { useAccount, useChain } from './wallet.ts'

/** A shortened address, complete on hover and keyboard focus. */
export function AddressText({ address, name = null, whole = false }: { address: string; name?: string | null; whole?: boolean }) {
  const full = checksummed(address)
  return (
    <span class="address">
      {name !== null && <bdi class="label">{visible(name)}</bdi>}
      <Copy text={full} what={name === null ? 'address' : `address of ${visible(name)}`} shown={whole ? full : shortened(full)} />
    </span>
  )
}

/** Shortened hex, complete on keyboard focus; a click copies all of it. */
export function Copy({ text, what, shown = shortened(text) }: { text: string; what: string; shown?: string }) {
  const [isCopied, setCopied] = useState(false)
  const full = visible(text) // an app may have chosen it, as the id of a batch
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), COPIED_MS)
  }
  return (
    <button type="button" class="copy" title={full} onClick={() => void copy().catch(() => {})}>
      <code class="short">{visible(shown)}</code>
      {shown !== text && <code class="full">{full}</code>}
      <span class="unseen">, copy {what}</span>
      <span class="copied" aria-live="polite">
        {isCopied ? 'copied' : ''}
      </span>
    </button>
  )
}

const COPIED_MS = 1_200

/** A row of a definition list. */
export function Row({ name, children, id }: { name: ComponentChildren; children: ComponentChildren; id?: string }) {
  return (
    <div class="row">
      <dt>{name}</dt>
      <dd data-testid={id}>{children}</dd>
    </div>
  )
}

export function ChainText({ chain }: { chain: ChainLabel }) {
  return (
    <>
      <bdi>{visible(chain.name)}</bdi> <span class="soft">id {decimal(chain.chainId)}</span>
    </>
  )
}

/** Two colours derived from an address, which make accounts easy to distinguish. */
export function Swatch({ address, size = 18 }: { address: string; size?: number }) {
  const hue = (at: number) => Math.round((Number.parseInt(address.slice(at, at + 4), 16) / 0xffff) * 360)
  return (
    <svg class="swatch" viewBox="0 0 20 20" width={size} height={size} aria-hidden="true">
      <circle cx="10" cy="10" r="10" fill={`hsl(${hue(2)} 55% 52%)`} />
      <path d="M10 0a10 10 0 0 1 0 20z" fill={`hsl(${hue(8)} 60% 38%)`} transform={`rotate(${hue(14)} 10 10)`} />
    </svg>
  )
}

/** An account by its colours, name and address; `balanceOn`: with its balance on that chain, if that is the wallet's first one. */
export function AccountText({ address, balanceOn = null }: { address: string; balanceOn?: ChainLabel | null }) {
  const account = useAccount(address)
  const own = useChain(balanceOn?.chainId ?? 0)
  const balance = own?.isEmbedded === true && balanceOn !== null ? (account?.balance ?? null) : null
  return (
    <span class="account">
      <Swatch address={address} />
      {account === null ? (
        <AddressText address={address} />
      ) : (
        <>
          <a class="label" href={`#account=${address}`}>
            <bdi>{visible(account.name)}</bdi>
          </a>
          <AddressText address={address} />
        </>
      )}
      {balance !== null && balanceOn !== null && (
        <span class="soft">
          <Coin wei={balance} chain={balanceOn} />
        </span>
      )}
    </span>
  )
}

/** Account and chain of a question. */
export function Context({ account, chain }: { account: string; chain: ChainLabel }) {
  return (
    <dl class="rows">
      <Row name="Account" id="account">
        <AccountText address={account} balanceOn={chain} />
      </Row>
      <Row name="Chain" id="chain">
        <ChainText chain={chain} />
      </Row>
    </dl>
  )
}

/** An amount of a chain's native currency, as a person reads it; exact in the tooltip. */
export function Coin({ wei, chain }: { wei: string; chain: Pick<ChainLabel, 'decimals' | 'symbol'> }) {
  return (
    <span class="amount" title={`${units(BigInt(wei), chain.decimals)} ${visible(chain.symbol)}`}>
      {readable(BigInt(wei), chain.decimals)} {visible(chain.symbol)}
    </span>
  )
}

/** An amount of a balance: six decimals, exact in the tooltip. */
export function Balance({ wei, chain }: { wei: string; chain: Pick<ChainLabel, 'decimals' | 'symbol'> }) {
  return (
    <span class="amount" title={units(BigInt(wei), chain.decimals)}>
      {truncated(BigInt(wei), chain.decimals)} {visible(chain.symbol)}
    </span>
  )
}

/** A line in which no line ends within a shortened address. */
export function Line({ text }: { text: string }) {
  return <>{text.split(SHORTENED).map((part, i) => (i % 2 === 0 ? part : <span class="unbroken">{part}</span>))}</>
}

const SHORTENED = /(\(?0x[0-9a-fA-F]{4}…[0-9a-fA-F]{4}\)?)/

/** Details that are collapsed at first. */
export function Collapsible({ title, children, isOpen = false }: { title: string; children: ComponentChildren; isOpen?: boolean }) {
  return (
    <details class="fold" open={isOpen}>
      <summary>{title}</summary>
      {children}
    </details>
  )
}

/** Bytes or JSON in a scrollable box, which must be reachable by keyboard. */
export function Raw({ text, name }: { text: string; name: string }) {
  return (
    <pre class="raw" tabIndex={0} aria-label={name} role="group">
      <code>{text}</code>
    </pre>
  )
}

export function Json({ value, title = 'Raw request' }: { value: unknown; title?: string }) {
  return (
    <Collapsible title={title}>
      <Raw text={visible(JSON.stringify(value, null, 2))} name={title} />
    </Collapsible>
  )
}

export function Section({ title, children, note }: { title: string; children: ComponentChildren; note?: ComponentChildren }) {
  return (
    <section class="section">
      <h2>
        {title} {note !== undefined && <span class="note">{note}</span>}
      </h2>
      {children}
    </section>
  )
}

/** Shows `instead` if `children` throw: the request of one site must not break the page for the others. */
export function ErrorBoundary({ instead, children }: { instead: ComponentChildren; children: ComponentChildren }) {
  const [error] = useErrorBoundary()
  return <>{error === undefined ? children : instead}</>
}

/** The logo: a pocket with something in it. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path d="M3 6.5h14v4.2a7 7 0 0 1-14 0z" fill="currentColor" />
      <path d="M6 6.5V4.2h8v2.3" fill="none" stroke="currentColor" stroke-width="1.6" />
    </svg>
  )
}

interface PagesProps {
  /** name of the paged list, as in "Pages of the ledger" */
  readonly name: string
  /** what each page after the newest begins before */
  readonly turned: readonly number[]
  /** the next value of that kind; null on the last page */
  readonly next: number | null
  readonly turn: (turned: readonly number[]) => void
  /** ends the test ids of the buttons */
  readonly suffix?: string
}

/** Newer and older pages of a list; nothing if one page has it all. */
export function Pages({ name, turned, next, turn, suffix = '' }: PagesProps) {
  if (turned.length === 0 && next === null) return null
  return (
    <nav class="pages" aria-label={`Pages of ${name}`}>
      <button
        type="button"
        class="small"
        data-testid={`newer${suffix}`}
        disabled={turned.length === 0}
        onClick={() => turn(turned.slice(0, -1))}
      >
        Newer
      </button>
      <span class="soft">{turned.length === 0 ? 'the newest' : `page ${turned.length + 1}`}</span>
      <button
        type="button"
        class="small"
        data-testid={`older${suffix}`}
        disabled={next === null}
        onClick={() => next !== null && turn([...turned, next])}
      >
        Older
      </button>
    </nav>
  )
}
