import { announce } from './announce.ts'
import { Connection } from './connection.ts'
import { createProvider } from './provider.ts'
import type { Provider } from './provider.ts'

/**
 * The wallet for any page: `<script src="http://127.0.0.1:8545/wallet/provider.js"></script>` announces it (EIP-6963); with the attribute
 * `data-ethereum` it is `window.ethereum`, too, and with `data-metamask` it says of itself `isMetaMask`, as apps want it that know one wallet only.
 * A second script of the same node adds no second wallet.
 */
const script = document.currentScript
if (script instanceof HTMLScriptElement && script.src !== '') {
  const provider = providerOf(new URL(script.src).origin)
  if (script.dataset['metamask'] !== undefined) Object.assign(provider, { isMetaMask: true })
  // Another wallet may hold the name and not let go of it; this one is announced all the same.
  if (script.dataset['ethereum'] !== undefined) Reflect.set(window, 'ethereum', provider)
}

/** The page's one provider of that node, announced when it is made. */
function providerOf(node: string): Provider {
  const known = window as unknown as Record<symbol, Provider | undefined> // where a script before this one has left it
  const name = Symbol.for(`pocketchain ${node}`)
  const found = known[name]
  if (found !== undefined) return found
  const provider = createProvider((onEvent) => new Connection(node, onEvent))
  known[name] = provider
  announce(provider)
  return provider
}
