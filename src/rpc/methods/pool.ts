import { required } from '../method.ts'
import type { Method } from '../method.ts'
import { BOOLEAN, HASH, orNull } from '../../jsonrpc/jsonschema.ts'
import { address, hash } from '../../jsonrpc/schema.ts'
import { commands, familiar, named } from './named.ts'
import { ALICE, TRANSACTION_HASH } from './examples.ts'

/** Taking transactions out of the pool. What a flashblock holds is no longer in it. */
export const POOL_METHODS: readonly Method[] = [
  ...named(['anvil_dropTransaction', 'ganache_dropTransaction'], {
    doc: 'Takes a transaction out of the pool and returns its hash; null when it is not there.',
    params: [required('hash', hash)],
    result: orNull(HASH),
    example: { params: [TRANSACTION_HASH], result: TRANSACTION_HASH },
    handler: ({ chain }, [sent]) => (chain.pool.drop(sent) ? sent : null),
  }),
  ...named(['hardhat_dropTransaction'], {
    doc: 'Takes a transaction out of the pool; false when it is not there.',
    params: [required('hash', hash)],
    result: BOOLEAN,
    example: { params: [TRANSACTION_HASH], result: true },
    handler: ({ chain }, [sent]) => chain.pool.drop(sent),
  }),
  ...commands(familiar('dropAllTransactions'), {
    doc: 'Empties the pool.',
    params: [],
    example: [],
    handler: ({ chain }) => chain.pool.dropAll(),
  }),
  ...commands(familiar('removePoolTransactions'), {
    doc: 'Takes all transactions of one sender out of the pool.',
    params: [required('address', address)],
    example: [ALICE],
    handler: ({ chain }, [sender]) => chain.pool.dropSender(sender),
  }),
]
