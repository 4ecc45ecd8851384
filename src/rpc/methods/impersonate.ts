import { required } from '../method.ts'
import type { Method } from '../method.ts'
import { BOOLEAN } from '../../jsonrpc/jsonschema.ts'
import { address, boolean } from '../../jsonrpc/schema.ts'
import { voidMethods, prefixed, named } from './named.ts'
import { WETH } from './examples.ts'

export const IMPERSONATE_METHODS: readonly Method[] = [
  ...voidMethods(prefixed('impersonateAccount'), {
    doc: 'Lets eth_sendTransaction send from this address without a signature, contracts included.',
    params: [required('address', address)],
    example: [WETH],
    handler: ({ accounts }, [target]) => accounts.impersonate(target),
  }),
  ...voidMethods(['anvil_stopImpersonatingAccount', 'ganache_stopImpersonatingAccount'], {
    doc: 'Ends the impersonation of an address.',
    params: [required('address', address)],
    example: [WETH],
    handler: ({ accounts }, [target]) => {
      accounts.stopImpersonating(target)
    },
  }),
  ...named(['hardhat_stopImpersonatingAccount'], {
    doc: 'Ends the impersonation of an address; false if it was not impersonated.',
    params: [required('address', address)],
    result: BOOLEAN,
    example: { params: [WETH], result: true },
    handler: ({ accounts }, [target]) => accounts.stopImpersonating(target),
  }),
  ...voidMethods(prefixed('autoImpersonateAccount'), {
    doc: 'True lets eth_sendTransaction send from every address.',
    params: [required('enabled', boolean)],
    example: [true],
    handler: ({ accounts }, [enabled]) => accounts.setAutoImpersonation(enabled),
  }),
]
