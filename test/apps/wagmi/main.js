import { defineChain } from 'viem'
import { createConfig, http } from 'wagmi'
import {
  connect,
  disconnect,
  getAccount,
  getCapabilities,
  reconnect,
  sendCalls,
  sendTransaction,
  signMessage,
  signTypedData,
  switchChain,
  waitForCallsStatus,
  waitForTransactionReceipt,
  watchChainId,
} from 'wagmi/actions'
import { baseAccount } from 'wagmi/connectors'
import { resultOf, showButtons } from '../../browser/pages/buttons.js'

// An app on wagmi, as its documentation has it. In the address: `node` and `second`, the URLs of two nodes, and `connector`, the id of the
// connector that is used (`baseAccount`, or the rdns of a wallet that EIP-6963 announces).

const SHOP = '0x00000000000000000000000000000000005eed01'
const query = new URLSearchParams(location.search)
const node = query.get('node')

const first = chain(31_337, 'Pocketchain', node)
const second = chain(1_338, 'The second chain', query.get('second'))

const config = createConfig({
  chains: [first, second],
  connectors: [baseAccount({ appName: document.title, preference: { walletUrl: `${node}/wallet`, telemetry: false } })],
  transports: { [first.id]: http(), [second.id]: http() },
  pollingInterval: 50,
})

watchChainId(config, { onChange: (id) => (document.getElementById('chain').textContent = id) })

showButtons({
  connect: async () => {
    const connector = config.connectors.find(({ id }) => id === query.get('connector'))
    const { accounts, chainId } = await connect(config, { connector })
    return { accounts, chainId }
  },
  account: async () => {
    const { address, chainId, status } = getAccount(config)
    return { address, chainId, status }
  },
  reconnect: async () => (await reconnect(config)).map(({ connector }) => connector.id),
  'sign-message': () => signMessage(config, { message: 'I am at the shop.' }),
  'sign-typed-data': () =>
    signTypedData(config, {
      domain: { name: 'Shop', version: '1', chainId: first.id },
      primaryType: 'Order',
      types: { Order: [{ name: 'item', type: 'string' }] },
      message: { item: 'a cake' },
    }),
  send: async () => {
    const hash = await sendTransaction(config, { to: SHOP, value: 1n })
    return (await waitForTransactionReceipt(config, { hash })).status
  },
  capabilities: async () => (await getCapabilities(config, { chainId: first.id })).atomic,
  'send-calls': () =>
    sendCalls(config, {
      forceAtomic: true,
      calls: [
        { to: SHOP, value: 2n },
        { to: SHOP, value: 3n },
      ],
    }),
  'calls-status': async () => (await waitForCallsStatus(config, { id: resultOf('send-calls').id })).status,
  'switch-chain': async () => (await switchChain(config, { chainId: second.id })).id,
  disconnect: () => disconnect(config),
})

function chain(id, name, url) {
  return defineChain({ id, name, nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [url] } } })
}
