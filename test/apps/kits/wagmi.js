import { createConfig } from 'wagmi'
import { connect, disconnect, reconnect } from 'wagmi/actions'
import { baseAccount } from 'wagmi/connectors'
import { showButtons } from '../../browser/pages/buttons.js'
import { actionsOf, options, preference } from './actions.js'
import { query } from './order.js'

// An app that uses only wagmi, as its documentation shows. In the address also: `connector`, the id of the connector that is used (`baseAccount`, or
// the rdns of a wallet that EIP-6963 announces).

const config = createConfig({ ...options, connectors: [baseAccount({ appName: document.title, preference })] })

showButtons({
  connect: async () => {
    const connector = config.connectors.find(({ id }) => id === query.get('connector'))
    const { accounts, chainId } = await connect(config, { connector })
    return { accounts, chainId }
  },
  ...actionsOf(config),
  reconnect: async () => (await reconnect(config)).map(({ connector }) => connector.id),
  disconnect: () => disconnect(config),
})
