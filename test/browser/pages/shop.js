// An app that uses EIP-6963, EIP-1193 and EIP-5792 without any code for a specific wallet.

import { resultOf, showButtons } from './buttons.js'

const SHOP = '0x00000000000000000000000000000000005eed01'
/** The chain to add: EIP-3085's parameter. */
const SECOND_CHAIN = JSON.parse(new URLSearchParams(location.search).get('second'))

let provider = null
let account = null

const ask = (method, ...params) => provider.request({ method, params })
const chainId = () => ask('eth_chainId')
const call = (value) => ({ to: SHOP, value })
const batch = async (atomicRequired, ...calls) =>
  ask('wallet_sendCalls', { version: '2.0.0', from: account, chainId: await chainId(), atomicRequired, calls })

window.addEventListener('eip6963:announceProvider', ({ detail }) => {
  if (provider !== null) return
  provider = detail.provider
  document.getElementById('wallet').textContent = `${detail.info.name} (${detail.info.rdns})`
  provider.on('chainChanged', (id) => {
    document.getElementById('chain').textContent = id
  })
})
window.dispatchEvent(new Event('eip6963:requestProvider'))

showButtons({
  connect: async () => {
    const accounts = await ask('eth_requestAccounts')
    account = accounts[0]
    return accounts
  },
  'personal-sign': () => ask('personal_sign', `0x${hexOf('I am at the shop.')}`, account),
  'typed-data': async () => ask('eth_signTypedData_v4', account, JSON.stringify(orderOn(Number(await chainId())))),
  send: () => ask('eth_sendTransaction', { from: account, to: SHOP, value: '0x16345785d8a0000' }),
  sequential: () => batch(false, call('0x1'), call('0x2')),
  atomic: () => batch(true, call('0x3'), call('0x4')),
  'sequential-status': () => ask('wallet_getCallsStatus', resultOf('sequential').id),
  'atomic-status': () => ask('wallet_getCallsStatus', resultOf('atomic').id),
  'add-chain': () => ask('wallet_addEthereumChain', SECOND_CHAIN),
  'switch-chain': () => ask('wallet_switchEthereumChain', { chainId: '0x7a69' }),
})

function orderOn(chain) {
  return {
    domain: { name: 'Shop', version: '1', chainId: chain, verifyingContract: SHOP },
    primaryType: 'Order',
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
      Order: [
        { name: 'item', type: 'string' },
        { name: 'count', type: 'uint256' },
      ],
    },
    message: { item: 'A pocket', count: '3' },
  }
}

function hexOf(text) {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
