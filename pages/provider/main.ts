import { announce } from './announce.ts'
import { Connection } from './connection.ts'
import { createProvider } from './provider.ts'
import type { Provider } from './provider.ts'

/**
 * The wallet for any page: `<script src="http://127.0.0.1:8545/wallet/provider.js"></script>` announces it (EIP-6963). The attribute
 * `data-ethereum` also sets `window.ethereum`, and `data-metamask` sets `isMetaMask`, for apps that support MetaMask only. A second script of
 * the same node adds no second wallet.
 */
const script = document.currentScript
if (script instanceof HTMLScriptElement && script.src !== '') {
  const provider = providerOf(new URL(script.src).origin)
  if (script.dataset['metamask'] !== undefined) Object.assign(provider, { isMetaMask: true })
  // Fails if another wallet has defined the name as read-only; this one is still announced.
  if (script.dataset['ethereum'] !== undefined) Reflect.set(window, 'ethereum', provider)
}

/** The page's one provider of that node, announced when it is made. */
function providerOf(node: string): Provider {
  const known = window as unknown as Record<symbol, Provider | undefined> // set by an earlier script
  const name = Symbol.for(`pocketchain ${node}`)
  const found = known[name]
  if (found !== undefined) return found
  const provider = createProvider((onEvent) => new Connection(node, onEvent))
  known[name] = provider
  announce(provider)
  return provider
}
