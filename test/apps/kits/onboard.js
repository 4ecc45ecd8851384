import Onboard from '@web3-onboard/core'
import injected from '@web3-onboard/injected-wallets'
import { createPublicClient, createWalletClient, custom, http } from 'viem'
import {
  getCapabilities,
  sendCalls,
  sendTransaction,
  signMessage,
  signTypedData,
  waitForCallsStatus,
  waitForTransactionReceipt,
} from 'viem/actions'
import { resultOf, showButtons } from '../../browser/pages/buttons.js'
import { first, second } from './chains.js'
import { MESSAGE, ORDER, SHOP } from './order.js'

// An app on web3-onboard, as its documentation shows, with viem for its requests.

const onboard = Onboard({
  wallets: [injected()],
  chains: [first, second].map(({ id, name, rpcUrls }) => ({ id, token: 'ETH', label: name, rpcUrl: rpcUrls.default.http[0] })),
  appMetadata: { name: document.title, description: document.title, icon: '<svg xmlns="http://www.w3.org/2000/svg" />' },
  connect: { autoConnectLastWallet: true },
})
const node = createPublicClient({ chain: first, transport: http(), pollingInterval: 50 })

showButtons({
  connect: async () => (await onboard.connectWallet()).map(({ label }) => label),
  account: async () => {
    const [wallet] = onboard.state.get().wallets
    if (wallet === undefined) return { status: 'disconnected' }
    return { address: wallet.accounts[0].address, chainId: Number(wallet.chains[0].id), status: 'connected' }
  },
  'sign-message': () => signMessage(client(), { message: MESSAGE }),
  'sign-typed-data': () => signTypedData(client(), ORDER),
  send: async () => {
    const hash = await sendTransaction(client(), { to: SHOP, value: 1n })
    return (await waitForTransactionReceipt(node, { hash })).status
  },
  capabilities: async () => (await getCapabilities(client(), { chainId: first.id })).atomic,
  'send-calls': () =>
    sendCalls(client(), {
      forceAtomic: true,
      calls: [
        { to: SHOP, value: 2n },
        { to: SHOP, value: 3n },
      ],
    }),
  'calls-status': async () => (await waitForCallsStatus(client(), { id: resultOf('send-calls').id })).status,
  'switch-chain': async () => {
    await onboard.setChain({ chainId: second.id })
    return Number(onboard.state.get().wallets[0].chains[0].id)
  },
  disconnect: () => onboard.disconnectWallet({ label: onboard.state.get().wallets[0].label }),
})

function client() {
  const [{ accounts, provider }] = onboard.state.get().wallets
  return createWalletClient({ account: accounts[0].address, chain: first, transport: custom(provider), pollingInterval: 50 })
}
