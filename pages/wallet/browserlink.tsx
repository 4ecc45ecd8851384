import { useState } from 'preact/hooks'
import { useArmed } from './arming.ts'
import type { WalletConnection } from './connection.ts'
import { visible } from './format.ts'
import { Copy, Section } from './parts.tsx'
import { createLink } from './state.ts'

/** Creates a one-time link that lets another browser approve, without a restart of the node. */
export function BrowserLink({ connection }: { connection: WalletConnection }) {
  const isArmed = useArmed('browser-link')
  const [link, setLink] = useState<string | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const create = () => {
    setFailure(null)
    createLink(connection).then(setLink, (error: Error) => setFailure(error.message))
  }
  return (
    <Section title="Browsers">
      <p>
        <button
          type="button"
          class="small"
          data-testid="link-browser"
          disabled={!isArmed}
          onClick={(event) => event.isTrusted && isArmed && create()}
        >
          {LINK_BROWSER}
        </button>
      </p>
      {failure !== null && (
        <p class="failure" role="alert">
          {visible(failure)}
        </p>
      )}
      {link !== null && (
        <div role="status">
          <p class="soft">Open this link in the other browser. It works once, and whoever opens it may approve requests:</p>
          <p data-testid="browser-link">
            <Copy text={link} what="link for another browser" shown={link} />
          </p>
        </div>
      )}
    </Section>
  )
}

/** Also named by the page that a browser without a credential sees, and by the node's page for a used link. */
export const LINK_BROWSER = 'Link another browser'
