import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { WagmiProvider } from 'wagmi'
import { showButtons } from '../../browser/pages/buttons.js'
import { actionsOf } from './actions.js'

/** Renders a kit's element within wagmi's providers, and the buttons of the app next to it. */
export function render(config, kit) {
  const queries = createElement(QueryClientProvider, { client: new QueryClient() }, kit)
  createRoot(document.getElementById('kit')).render(createElement(WagmiProvider, { config }, queries))
  showButtons(actionsOf(config))
}
