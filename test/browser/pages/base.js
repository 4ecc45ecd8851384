// An app that uses the published Base Account SDK, with `preference.walletUrl` as the only change.

import { resultOf, showButtons } from './buttons.js'

const SHOP = '0x00000000000000000000000000000000005eed01'
const query = new URLSearchParams(location.search)
const CHAIN_ID = Number(query.get('chain'))

const provider = window
  .createBaseAccountSDK({
    appName: document.title,
    appChainIds: [CHAIN_ID],
    preference: { walletUrl: query.get('wallet'), telemetry: false },
  })
  .getProvider()

// Requests without a button are sent by the test.
Object.assign(window, { provider })

let account = null

const ask = (method, ...params) => provider.request({ method, params })

showButtons({
  connect: async () => {
    const accounts = await ask('eth_requestAccounts')
    account = accounts[0]
    return accounts
  },
  'personal-sign': () => ask('personal_sign', '0x48656c6c6f', account),
  'send-calls': () =>
    ask('wallet_sendCalls', {
      version: '2.0.0',
      from: account,
      chainId: `0x${CHAIN_ID.toString(16)}`,
      atomicRequired: true,
      calls: [
        { to: SHOP, value: '0x1' },
        { to: SHOP, value: '0x2' },
      ],
    }),
  status: () => ask('wallet_getCallsStatus', resultOf('send-calls').id),
})
