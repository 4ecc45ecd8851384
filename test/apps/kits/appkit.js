import { createAppKit } from '@reown/appkit/react'
import { WagmiAdapter } from '@reown/appkit-adapter-wagmi'
import { createElement } from 'react'
import { options } from './actions.js'
import { render } from './react.js'

// An app on AppKit, as its documentation shows. Without a network the kit has no list of other wallets, with the Base Account among them, and no
// settings of the project.

const projectId = '0'.repeat(32)
const { chains: networks, ...others } = options
const adapter = new WagmiAdapter({ ...others, networks, projectId })
createAppKit({
  adapters: [adapter],
  networks,
  projectId,
  metadata: { name: document.title, description: document.title, url: location.origin, icons: [] },
})

render(adapter.wagmiConfig, createElement('appkit-button'))
