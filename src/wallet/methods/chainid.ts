import { Hex } from '../../eth/index.ts'
import { schema } from '../../jsonrpc/index.ts'
import { walletMethod } from '../method.ts'
import type { WalletMethod } from '../method.ts'

/** The wallet's own, so that they are answered when the chain is down, and never by a node that says another id. */
export const CHAIN_ID_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'eth_chainId',
    doc: 'The id of the chain that the origin is on.',
    params: [],
    result: schema.quantity.json,
    example: { params: [], result: '0x7a69' },
    handler: ({ sites }, _, { origin }) => Hex.fromQuantity(sites.get(origin).chainId),
  }),
  walletMethod({
    name: 'net_version',
    doc: 'The same as a decimal number.',
    params: [],
    result: schema.string.json,
    example: { params: [], result: '31337' },
    handler: ({ sites }, _, { origin }) => String(sites.get(origin).chainId),
  }),
]
