import type { WalletConnection } from '../wallet/connection.ts'
import { readState } from '../wallet/state.ts'
import type { ClientChain, ClientWallet } from './actions.ts'
import { keyPairFor } from './keys.ts'
import { PopupSession } from './session.ts'

/**
 * Serves the app that opened this page with the Base Account SDK (`?sdkName=…&origin=…`). Returns false when no app did.
 * The origin in the address is the opener's claim. Messages are sent to that origin only, so only a window of that origin receives one; the
 * first message that comes back from it, with that `event.origin`, proves the claim. `onOrigin` is called then, once.
 */
export function startPopup(connection: WalletConnection, onOrigin: (origin: string) => void): boolean {
  const claimed = claimedOrigin(new URLSearchParams(location.search))
  const opener = window.opener as Window | null
  if (claimed === null || opener === null) return false
  void serve(connection, opener, claimed, onOrigin)
  return true
}

async function serve(connection: WalletConnection, opener: Window, origin: string, onOrigin: (origin: string) => void): Promise<void> {
  const post = (message: unknown) => opener.postMessage(message, origin)
  // Once: the SDK does not distinguish windows, and would relate a second event to the next window.
  let isUnloaded = false
  const unload = () => {
    if (!isUnloaded) post({ event: 'PopupUnload', id: crypto.randomUUID() })
    isUnloaded = true
  }
  const session = new PopupSession({
    wallet: walletOf(connection, origin),
    keys: await keyPairFor(origin),
    post,
    // Sent directly after the response, so that the SDK drops this window before the app receives the response. The next request then opens
    // a new window instead of using one that is about to close.
    onIdle: () => {
      unload()
      setTimeout(() => window.close(), CLOSE_MS)
    },
  })
  let isProven = false
  window.addEventListener('message', (event) => {
    if (event.source !== opener || event.origin !== origin) return
    if (!isProven) onOrigin(origin)
    isProven = true
    void session.receive(event.data)
  })
  window.addEventListener('pagehide', unload)
  // Without an opener there is no receiver: closing the window ends its connection, which withdraws the questions.
  setInterval(() => opener.closed && window.close(), OPENER_POLL_MS)
  post({ event: 'PopupLoaded', id: crypto.randomUUID() })
}

const OPENER_POLL_MS = 500

/** The SDK closes the window; after this time the window closes itself. */
const CLOSE_MS = 200

function claimedOrigin(search: URLSearchParams): string | null {
  const claimed = search.get('origin')
  if (!search.has('sdkName') || claimed === null) return null
  try {
    const { origin } = new URL(claimed)
    return origin === 'null' || origin === location.origin ? null : origin
  } catch {
    return null
  }
}

function walletOf(connection: WalletConnection, origin: string): ClientWallet {
  return {
    origin,
    request: async (method, params) => {
      await opened(connection)
      return connection.requestFor(origin, method, params)
    },
    chains: async () => (await readState(connection)).chains.map(asClientChain),
  }
}

/** Resolves when the connection is open: an app sends its request before a user has authorized this browser. */
function opened(connection: WalletConnection): Promise<void> {
  if (connection.state.status === 'open') return Promise.resolve()
  return new Promise((resolve) => {
    const end = connection.subscribe(() => {
      if (connection.state.status !== 'open') return
      end()
      resolve()
    })
  })
}

type StateChain = Awaited<ReturnType<typeof readState>>['chains'][number]

/** The rpc url of the embedded chain is this page's own origin, which the browser can reach. */
function asClientChain({ chainId, name, nativeCurrency, rpcUrls, isEmbedded }: StateChain): ClientChain {
  const rpcUrl = isEmbedded === true ? location.origin : (rpcUrls[0] ?? location.origin)
  return { chainId: Number(chainId), name, symbol: nativeCurrency.symbol, decimals: nativeCurrency.decimals, rpcUrl }
}
