import { ConnectKitButton, ConnectKitProvider, getDefaultConfig } from 'connectkit'
import { createElement } from 'react'
import { createConfig } from 'wagmi'
import { options } from './actions.js'
import { render } from './react.js'

// An app on ConnectKit, as its documentation shows.

const config = createConfig(getDefaultConfig({ ...options, appName: document.title, enableAaveAccount: false }))

render(config, createElement(ConnectKitProvider, null, createElement(ConnectKitButton)))
