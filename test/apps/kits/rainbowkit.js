import '@rainbow-me/rainbowkit/styles.css'
import { ConnectButton, RainbowKitProvider, getDefaultConfig } from '@rainbow-me/rainbowkit'
import { baseAccount, injectedWallet } from '@rainbow-me/rainbowkit/wallets'
import { createElement } from 'react'
import { options, preference } from './actions.js'
import { render } from './react.js'

// An app on RainbowKit, as its documentation shows.

baseAccount.preference = preference

const config = getDefaultConfig({
  ...options,
  appName: document.title,
  projectId: 'none', // of WalletConnect, which is not among the wallets
  wallets: [{ groupName: 'Wallets', wallets: [baseAccount, injectedWallet] }],
})

render(config, createElement(RainbowKitProvider, null, createElement(ConnectButton)))
