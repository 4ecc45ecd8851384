import type { Link } from '../wallet/link.ts'
import { readState } from '../wallet/state.ts'
import type { ClientChain, ClientWallet } from './actions.ts'
import { keyPairFor } from './keys.ts'
import { PopupSession } from './session.ts'

/**
 * Serves the app that opened this page with the Base Account SDK (`?sdkName=…&origin=…`). Returns false when no app did.
 * The origin in the address is the opener's claim. Messages are sent to that origin alone, so only a window of that origin receives one; the
 * first message that comes back from it, with that `event.origin`, proves the claim. `onOrigin` is called then, once.
 */
export function startPopup(link: Link, onOrigin: (origin: string) => void): boolean {
  const claimed = claimedOrigin(new URLSearchParams(location.search))
  const opener = window.opener as Window | null
  if (claimed === null || opener === null) return false
  void serve(link, opener, claimed, onOrigin)
  return true
}

async function serve(link: Link, opener: Window, origin: string, onOrigin: (origin: string) => void): Promise<void> {
  const post = (message: unknown) => opener.postMessage(message, origin)
  // Once: the SDK does not tell windows apart, and would take a second one for the end of the next window.
  let isOver = false
  const unload = () => {
    if (!isOver) post({ event: 'PopupUnload', id: crypto.randomUUID() })
    isOver = true
  }
  const session = new PopupSession({
    wallet: walletOf(link, origin),
    keys: await keyPairFor(origin),
    post,
    // Told right behind the answer: the SDK lets go of this window, and closes it, before the app has the answer in hand. Its next request
    // then finds no window that is about to go, but opens one.
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
  // Nobody is left to take an answer: what the app asked goes with this window's connection.
  setInterval(() => opener.closed && window.close(), OPENER_LOOK_MS)
  post({ event: 'PopupLoaded', id: crypto.randomUUID() })
}

const OPENER_LOOK_MS = 500

/** The SDK closes the window; should it not, the window goes by itself. */
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

function walletOf(link: Link, origin: string): ClientWallet {
  return {
    origin,
    request: async (method, params) => {
      await opened(link)
      return link.requestFor(origin, method, params)
    },
    chains: async () => (await readState(link)).chains.map(asClientChain),
  }
}

/** The app asks as soon as the window is there; the person may still have to let the browser in. */
function opened(link: Link): Promise<void> {
  if (link.state.connection === 'open') return Promise.resolve()
  return new Promise((resolve) => {
    const end = link.subscribe(() => {
      if (link.state.connection !== 'open') return
      end()
      resolve()
    })
  })
}

type StateChain = Awaited<ReturnType<typeof readState>>['chains'][number]

/** The chain of the node that serves this page is read from that node, at the address under which the browser reaches it. */
function asClientChain({ chainId, name, nativeCurrency, rpcUrls, isEmbedded }: StateChain): ClientChain {
  const rpcUrl = isEmbedded === true ? location.origin : (rpcUrls[0] ?? location.origin)
  return { chainId: Number(chainId), name, symbol: nativeCurrency.symbol, decimals: nativeCurrency.decimals, rpcUrl }
}
