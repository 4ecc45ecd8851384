import { CODE, invalidParams } from '../../jsonrpc/index.ts'
import { required } from '../method.ts'
import type { Method } from '../method.ts'
import { BOOLEAN, HASH, orNull } from '../../jsonrpc/jsonschema.ts'
import { address, hash } from '../../jsonrpc/schema.ts'
import { voidMethods, prefixed, named } from './named.ts'
import { ALICE, TRANSACTION_HASH } from './examples.ts'

/** Removal from the pool, which no longer has the transactions of flashblocks. */
export const POOL_METHODS: readonly Method[] = [
  ...named(['anvil_dropTransaction', 'ganache_dropTransaction'], {
    doc: 'Removes a transaction from the pool and returns its hash; null for an unknown one.',
    params: [required('hash', hash)],
    result: orNull(HASH),
    example: { params: [TRANSACTION_HASH], result: TRANSACTION_HASH },
    handler: async ({ chain }, [sent]) => ((await chain.removeFromPool((pool) => pool.drop(sent))) ? sent : null),
  }),
  ...named(['hardhat_dropTransaction'], {
    doc: 'Removes a transaction from the pool; false for an unknown one. As in Hardhat, an included one is an error.',
    params: [required('hash', hash)],
    result: BOOLEAN,
    errors: { [CODE.invalidParams]: 'the transaction is sealed or pre-confirmed' },
    example: { params: [TRANSACTION_HASH], result: true },
    handler: ({ chain }, [sent]) =>
      chain.removeFromPool((pool) => {
        if (chain.head.view.locate(sent) !== null) throw invalidParams(`Transaction ${sent} cannot be dropped because it's already mined`)
        return pool.drop(sent)
      }),
  }),
  ...voidMethods([...prefixed('dropAllTransactions'), 'debug_clearTxpool'], {
    doc: 'Empties the pool.',
    params: [],
    example: [],
    handler: ({ chain }) => chain.removeFromPool((pool) => pool.dropAll()),
  }),
  ...voidMethods(prefixed('removePoolTransactions'), {
    doc: 'Removes all transactions of one sender from the pool.',
    params: [required('address', address)],
    example: [ALICE],
    handler: ({ chain }, [sender]) => chain.removeFromPool((pool) => pool.dropSender(sender)),
  }),
]
