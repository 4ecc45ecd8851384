import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { createThirdwebClient, defineChain, prepareTransaction, sendTransaction, waitForReceipt } from 'thirdweb'
import {
  ConnectButton,
  ThirdwebProvider,
  useActiveAccount,
  useActiveWallet,
  useActiveWalletChain,
  useSwitchActiveWalletChain,
} from 'thirdweb/react'
import { getCapabilities, sendCalls, waitForCallsReceipt } from 'thirdweb/wallets/eip5792'
import { resultOf, showButtons } from '../../browser/pages/buttons.js'
import { MESSAGE, ORDER, SHOP, query } from '../kits/order.js'

// An app on thirdweb, as its documentation shows, with the kit's default wallets. Without a network the kit shows no names and prices.

const client = createThirdwebClient({ clientId: 'none' })
const first = chain(31_337, 'Pocketchain', query.get('node'))
const second = chain(1_338, 'The second chain', query.get('second'))

/** The latest results of the hooks. */
let hooks = {}

function App() {
  hooks = {
    account: useActiveAccount(),
    wallet: useActiveWallet(),
    chain: useActiveWalletChain(),
    switchChain: useSwitchActiveWalletChain(),
  }
  document.getElementById('chain').textContent = hooks.chain?.id
  return createElement(ConnectButton, { client, chains: [first, second] })
}

createRoot(document.getElementById('kit')).render(createElement(ThirdwebProvider, null, createElement(App)))
showButtons({
  account: async () => {
    const { account, chain } = hooks
    return account === undefined ? { status: 'disconnected' } : { address: account.address, chainId: chain?.id, status: 'connected' }
  },
  'sign-message': () => hooks.account.signMessage({ message: MESSAGE }),
  'sign-typed-data': () => hooks.account.signTypedData(ORDER),
  send: async () => {
    const { transactionHash } = await sendTransaction({ account: hooks.account, transaction: payment(1n) })
    return (await waitForReceipt({ client, chain: first, transactionHash })).status
  },
  capabilities: async () => (await getCapabilities({ wallet: hooks.wallet, chainId: first.id }))[first.id].atomic,
  'send-calls': async () => {
    const { id } = await sendCalls({ wallet: hooks.wallet, atomicRequired: true, calls: [payment(2n), payment(3n)] })
    return { id }
  },
  'calls-status': async () => {
    const { id } = resultOf('send-calls')
    return (await waitForCallsReceipt({ client, chain: first, wallet: hooks.wallet, id })).status
  },
  'switch-chain': async () => {
    await hooks.switchChain(second)
    return second.id
  },
})

function payment(value) {
  return prepareTransaction({ client, chain: first, to: SHOP, value })
}

function chain(id, name, rpc) {
  return defineChain({ id, name, rpc, nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 } })
}
