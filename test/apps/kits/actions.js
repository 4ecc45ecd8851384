import { http } from 'wagmi'
import {
  getAccount,
  getCapabilities,
  sendCalls,
  sendTransaction,
  signMessage,
  signTypedData,
  switchChain,
  waitForCallsStatus,
  waitForTransactionReceipt,
  watchChainId,
} from 'wagmi/actions'
import { resultOf } from '../../browser/pages/buttons.js'
import { first, second } from './chains.js'
import { MESSAGE, ORDER, SHOP, query } from './order.js'

/** The options that every app gives to wagmi. */
export const options = {
  chains: [first, second],
  transports: { [first.id]: http(), [second.id]: http() },
  pollingInterval: 50,
}

/** The preference of the Base Account SDK, which makes it open the node's wallet. */
export const preference = { walletUrl: `${query.get('node')}/wallet`, telemetry: false }

/** The actions of a wagmi app after a wallet is connected. Shows the chain of the config in the page. */
export function actionsOf(config) {
  watchChainId(config, { onChange: (id) => (document.getElementById('chain').textContent = id) })
  return {
    account: async () => {
      const { address, chainId, status } = getAccount(config)
      return { address, chainId, status }
    },
    'sign-message': () => signMessage(config, { message: MESSAGE }),
    'sign-typed-data': () => signTypedData(config, ORDER),
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
  }
}
