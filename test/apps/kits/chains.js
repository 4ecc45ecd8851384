import { defineChain } from 'viem'
import { query } from './order.js'

export const first = chain(31_337, 'Pocketchain', query.get('node'))
export const second = chain(1_338, 'The second chain', query.get('second'))

function chain(id, name, url) {
  return defineChain({ id, name, nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [url] } } })
}
