import type { Provider } from './provider.ts'

/** EIP-6963: announces immediately and on each `eip6963:requestProvider`. */
export function announce(provider: Provider): void {
  const info = Object.freeze({ uuid: crypto.randomUUID(), name: 'pocketchain', icon: ICON, rdns: 'dev.pocketchain' })
  const detail = Object.freeze({ info, provider })
  const dispatch = () => void window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
  window.addEventListener('eip6963:requestProvider', dispatch)
  dispatch()
}

const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96"><rect width="96" height="96" rx="20" fill="#1f4d3f"/>' +
    '<path d="M22 40h52v15a26 26 0 0 1-52 0z" fill="#fff"/><path d="M33 40V29h30v11" fill="none" stroke="#fff" stroke-width="6"/></svg>',
)}`
