import { Hex } from '../../eth/index.ts'
import { schema } from '../../jsonrpc/index.ts'
import { walletMethod } from '../method.ts'
import type { WalletMethod } from '../method.ts'

/** The wallet answers these itself: also if the node is down, or reports another id. */
export const CHAIN_ID_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'eth_chainId',
    doc: 'Returns the id of the selected chain.',
    params: [],
    result: schema.quantity.json,
    example: { params: [], result: '0x7a69' },
    handler: ({ sites }, _, { origin }) => Hex.fromQuantity(sites.get(origin).chainId),
  }),
  walletMethod({
    name: 'net_version',
    doc: 'Returns the id of the selected chain in decimal.',
    params: [],
    result: schema.string.json,
    example: { params: [], result: '31337' },
    handler: ({ sites }, _, { origin }) => String(sites.get(origin).chainId),
  }),
]
