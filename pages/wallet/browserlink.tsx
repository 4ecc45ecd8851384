import { useState } from 'preact/hooks'
import { useArmed } from './arming.ts'
import type { WalletConnection } from './connection.ts'
import { visible } from './format.ts'
import { Copy, Section } from './parts.tsx'
import { createLink } from './state.ts'

/** Shown again after a question has taken the place of the overview. */
let newestLink: string | null = null

/** Creates a one-time link that lets another browser approve, without a restart of the node. */
export function BrowserLink({ connection }: { connection: WalletConnection }) {
  const isArmed = useArmed('browser-link')
  const [link, setLink] = useState(newestLink)
  const [failure, setFailure] = useState<string | null>(null)
  const [isCreating, setIsCreating] = useState(false)
  const create = async () => {
    setFailure(null)
    setIsCreating(true)
    try {
      newestLink = await createLink(connection, location.origin)
      setLink(newestLink)
    } catch (error) {
      setFailure((error as Error).message)
    } finally {
      setIsCreating(false)
    }
  }
  return (
    <Section title="Browsers">
      <p>
        <button
          type="button"
          class="small"
          data-testid="link-browser"
          disabled={!isArmed || isCreating}
          onClick={(event) => event.isTrusted && isArmed && void create()}
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
          <p class="soft">
            Open this link in the other browser. It works once. That browser can then approve requests and change all settings of this
            wallet until the node stops:
          </p>
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
