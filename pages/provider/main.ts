import { announce } from './announce.ts'
import { Provider } from './provider.ts'

/**
 * The wallet for any page: `<script src="http://127.0.0.1:8545/wallet/provider.js"></script>` announces it (EIP-6963); with the attribute
 * `data-ethereum` it is `window.ethereum`, too, and with `data-metamask` it says of itself `isMetaMask`, as apps want it that know one wallet only.
 */
const script = document.currentScript
if (script instanceof HTMLScriptElement && script.src !== '') {
  const provider = new Provider(new URL(script.src).origin)
  if (script.dataset['metamask'] !== undefined) Object.assign(provider, { isMetaMask: true })
  announce(provider)
  if (script.dataset['ethereum'] !== undefined) Object.assign(window, { ethereum: provider })
}
