import type { ComponentChildren } from 'preact'
import { useErrorBoundary, useState } from 'preact/hooks'
import type { AccountLabel, ChainLabel } from '../../src/wallet/question.ts'
import { checksummed, decimal, shortened, units, visible } from './format.ts'

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
export function Row({ name, children, id }: { name: string; children: ComponentChildren; id?: string }) {
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

/** Account and chain of a question. */
export function Context({ account, chain, accounts = [] }: { account: string; chain: ChainLabel; accounts?: readonly AccountLabel[] }) {
  const name = accounts.find(({ address }) => address === account)?.name ?? null
  return (
    <dl class="rows">
      <Row name="Account" id="account">
        <AddressText address={account} name={name} />
      </Row>
      <Row name="Chain" id="chain">
        <ChainText chain={chain} />
      </Row>
    </dl>
  )
}

/** An amount of a chain's native currency. */
export function Coin({ wei, chain }: { wei: string; chain: ChainLabel }) {
  return (
    <span class="amount">
      {units(BigInt(wei), chain.decimals)} {visible(chain.symbol)}
    </span>
  )
}

/** Details that are collapsed at first. */
export function Fold({ title, children, isOpen = false }: { title: string; children: ComponentChildren; isOpen?: boolean }) {
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

export function Json({ value, title = 'Raw question' }: { value: unknown; title?: string }) {
  return (
    <Fold title={title}>
      <Raw text={visible(JSON.stringify(value, null, 2))} name={title} />
    </Fold>
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
export function Guarded({ instead, children }: { instead: ComponentChildren; children: ComponentChildren }) {
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
