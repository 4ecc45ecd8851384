import { CODE, RpcError, optional, required, schema } from '../../jsonrpc/index.ts'
import { selectedChain } from '../connecting.ts'
import { WALLET_CODE } from '../errors.ts'
import { SUBSCRIPTIONS_PER_PROVIDER } from '../limits.ts'
import { walletMethod } from '../method.ts'
import type { ProviderCaller, WalletMethod } from '../method.ts'
import type { Subscriptions } from '../subscriptions.ts'

const NO_NOTIFICATIONS = {
  [WALLET_CODE.unsupportedMethod]:
    'the request came over HTTP, or the chain was added, so that its node is reached by HTTP, which cannot deliver notifications',
}
const ID = '0x9ce59a13059e417087c02d3236a0b1cc'

export const SUBSCRIBE_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'eth_subscribe',
    doc: "Opens a subscription at the node of the origin's chain, whose notifications are the provider's `message` events; it ends when the origin switches to another chain.",
    params: [required('kind', schema.string), optional('option', schema.anything)],
    result: schema.string.json,
    errors: { ...NO_NOTIFICATIONS, [CODE.limitExceeded]: `the provider has ${SUBSCRIPTIONS_PER_PROVIDER} subscriptions` },
    example: { params: ['newHeads'], result: ID },
    handler: (wallet, [kind, option], caller) => {
      const subscriptions = subscriptionsOf(caller)
      return subscriptions.start(selectedChain(wallet, caller.origin).rpc, option === undefined ? [kind] : [kind, option])
    },
  }),
  walletMethod({
    name: 'eth_unsubscribe',
    doc: 'Ends a subscription of this provider; false if it has none with that id.',
    params: [required('subscription', schema.string)],
    result: schema.boolean.json,
    errors: NO_NOTIFICATIONS,
    example: { params: [ID], result: true },
    handler: (_, [id], caller) => subscriptionsOf(caller).end(id),
  }),
]

function subscriptionsOf({ subscriptions = null }: ProviderCaller): Subscriptions {
  if (subscriptions !== null) return subscriptions
  const message = 'this provider does not support subscriptions: HTTP cannot deliver notifications; use a WebSocket'
  throw new RpcError(WALLET_CODE.unsupportedMethod, message, { reason: 'no-notifications' })
}
