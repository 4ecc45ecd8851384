import { MissingState } from '../../chain/index.ts'
import type { MissingKey, View } from '../../chain/index.ts'
import { Hash, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import { CONDITION_ITEMS } from '../limits.ts'
import { method, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { isUnordered, signedTransaction, withSender } from '../rawtransaction.ts'
import { submit } from '../submission.ts'
import { address, hash, mapOf, maybe, object, quantityNumber } from '../../jsonrpc/schema.ts'
import { ALICE, RAW_TRANSACTION, TRANSACTION_HASH } from './examples.ts'

/** Values of slots of an account; its storage root is not kept, so a root is refused. */
const knownAccount: Schema<ReadonlyMap<Hash, Hash>> = {
  json: { type: 'object', additionalProperties: hash.json },
  parse: (value, path) => {
    if (typeof value === 'string')
      throw invalidParams(`invalid ${path}: a storage root is not checked here; name the slots that the transaction depends on`)
    return mapOf(hash, hash, CONDITION_ITEMS).parse(value, path)
  },
}

const conditions = object({
  blockNumberMin: maybe(quantityNumber),
  blockNumberMax: maybe(quantityNumber),
  timestampMin: maybe(quantityNumber),
  timestampMax: maybe(quantityNumber),
  knownAccounts: maybe(mapOf(address, knownAccount, CONDITION_ITEMS)),
})

type Conditions = ReturnType<typeof conditions.parse>

/** ERC-7796: TransactionConditionalRejected. */
const UNMET = -32_003

export const CONDITIONAL_METHODS: readonly Method[] = [
  method({
    name: 'eth_sendRawTransactionConditional',
    doc: 'As eth_sendRawTransaction, if conditions on the open block and on slots of accounts hold when it arrives (ERC-7796); `knownAccounts` has values of slots, not storage roots.',
    params: [required('transaction', signedTransaction), required('conditions', conditions)],
    result: hash.json,
    errors: { [CODE.server]: 'the pool refuses it', [UNMET]: 'a condition does not hold; the message names it' },
    example: {
      params: [RAW_TRANSACTION, { blockNumberMax: '0x10', knownAccounts: { [ALICE]: { [`0x${'0'.repeat(64)}`]: `0x${'0'.repeat(64)}` } } }],
      result: TRANSACTION_HASH,
    },
    handler: (context, [signed, wanted], caller, isAlone) =>
      withSender(context, signed, isUnordered(caller, isAlone), async (tx) => {
        const why = unmet(context.chain.head.view, wanted)
        if (why !== null) throw new RpcError(UNMET, `transaction conditional: ${why}`)
        return submit(context, tx)
      }),
  }),
]

/** Null: all hold for the open block, or the next one. On a fork it throws one MissingState for all slots that are not local: one fetch, one repetition. */
function unmet(view: View, { blockNumberMin, blockNumberMax, timestampMin, timestampMax, knownAccounts }: Conditions): string | null {
  const block = view.byTag('pending')
  const { timestamp } = block.header
  // Under some cadences there is no open block before the next transaction.
  const number = Math.max(block.header.number, view.head.header.number + 1)
  if (blockNumberMin !== undefined && number < blockNumberMin) return `block ${number} is below blockNumberMin ${blockNumberMin}`
  if (blockNumberMax !== undefined && number > blockNumberMax) return `block ${number} is above blockNumberMax ${blockNumberMax}`
  if (timestampMin !== undefined && timestamp < timestampMin) return `timestamp ${timestamp} is below timestampMin ${timestampMin}`
  if (timestampMax !== undefined && timestamp > timestampMax) return `timestamp ${timestamp} is above timestampMax ${timestampMax}`
  const state = view.state(block)
  const missing: MissingKey[] = []
  for (const [account, slots] of knownAccounts ?? new Map<Address, ReadonlyMap<Hash, Hash>>()) {
    for (const [slot, value] of slots) {
      const found = localOr(missing, () => Hash.fromBigint(state.storage(account, slot)))
      if (found !== null && found !== value) return `slot ${Hex.fromQuantity(BigInt(slot))} of ${account} is ${found}, not ${value}`
    }
  }
  if (missing.length > 0) throw new MissingState(missing)
  return null
}

/** Returns what `read` returns; null after adding what it misses to `missing`. */
function localOr<T>(missing: MissingKey[], read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof MissingState)) throw error
    missing.push(...error.keys)
    return null
  }
}
