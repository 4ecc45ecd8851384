import { DELAY_FLASHBLOCKS, DELAY_MS, MAX_SPEED, MIN_SPEED, PromiseError, STALL_MS } from '../../chain/index.ts'
import type { Delay, Place, PromiseRecord, RetractTarget, TransactionFilter } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { ADDRESS, HASH, INTEGER, NULL, QUANTITY, STRING, listOf, orNull, record } from '../../jsonrpc/jsonschema.ts'
import { address, arrayOf, atLeast, bytes, hash, integer, maybe, oneOf, refused, strictObject } from '../../jsonrpc/schema.ts'
import { openBlockTransaction } from '../execution/reorg.ts'
import { transactionOrRequest } from '../execution/transactionorrequest.ts'
import { PROMISES_OF_PAGE, REORDER_TRANSACTIONS } from '../limits.ts'
import type { Json } from '../json.ts'
import { method, optional, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { atMost } from './bounds.ts'
import { ALICE, BOB, TRANSACTION_HASH } from './examples.ts'

const selector: Schema<Hex> = {
  json: { title: 'selector', type: 'string', pattern: '^0x[0-9a-fA-F]{8}$' },
  parse: (value, path) => {
    const parsed = bytes.parse(value, path)
    if (parsed.length !== 4) throw refused(path, `a selector has 4 bytes, not ${parsed.length}`)
    return Hex.fromBytes(parsed)
  },
}

const filterShape = strictObject({ from: maybe(address), to: maybe(address), creates: maybe(oneOf('contract')), selector: maybe(selector) })

/** The hash of a transaction, an address as its sender, or an object of which each key must match. */
const transactions: Schema<TransactionFilter> = {
  json: { title: 'transactions', oneOf: [hash.json, address.json, filterShape.json] },
  parse: (value, path) => {
    if (typeof value === 'string') return value.length === 66 ? { hash: hash.parse(value, path) } : { from: address.parse(value, path) }
    const { from, to, creates, selector: start } = filterShape.parse(value, path)
    if (to !== undefined && creates !== undefined) throw refused(path, '"to" and "creates" exclude each other')
    const filter = {
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      ...(creates === undefined ? {} : { to: null }),
      ...(start === undefined ? {} : { selector: start }),
    }
    if (Object.keys(filter).length === 0) throw refused(path, 'expected a hash, an address, or "from", "to", "creates" or "selector"')
    return filter
  },
}

const delayShape = strictObject({
  flashblocks: maybe(atMost(integer, DELAY_FLASHBLOCKS, 'flashblocks')),
  milliseconds: maybe(atMost(integer, DELAY_MS, 'milliseconds')),
})

const delay: Schema<Delay> = {
  json: delayShape.json,
  parse: (value, path) => {
    const { flashblocks, milliseconds } = delayShape.parse(value, path)
    if ((flashblocks === undefined) === (milliseconds === undefined)) throw refused(path, 'expected "flashblocks" or "milliseconds"')
    return flashblocks === undefined ? { milliseconds: milliseconds ?? 0 } : { flashblocks }
  },
}

const retractShape = strictObject({ fromFlashblock: integer })

const promises: Schema<RetractTarget> = {
  json: { title: 'promises', oneOf: [hash.json, { const: 'all' }, retractShape.json] },
  parse: (value, path) => {
    if (value === 'all') return 'all'
    return typeof value === 'string' ? { hash: hash.parse(value, path) } : retractShape.parse(value, path)
  },
}

const placeShape = strictObject({ before: maybe(hash), after: maybe(hash) })

const place: Schema<Place> = {
  json: placeShape.json,
  parse: (value, path) => {
    const { before, after } = placeShape.parse(value, path)
    if (before !== undefined && after === undefined) return { before }
    if (after !== undefined && before === undefined) return { after }
    throw refused(path, 'expected "before" or "after"')
  },
}

/** A number in a range, also a fraction. */
function between(min: number, max: number): Schema<number> {
  return {
    json: { type: 'number', minimum: min, maximum: max },
    parse: (value, path) => {
      if (typeof value === 'number' && value >= min && value <= max) return value
      throw refused(path, `expected a number from ${min} to ${max}`)
    },
  }
}

const pace = strictObject({ speed: maybe(between(MIN_SPEED, MAX_SPEED)), jitter: maybe(between(0, 1)) })

const CHANGE = record('change of promises', {
  promised: listOf(HASH),
  returned: listOf(HASH),
  dropped: listOf(HASH),
  changed: listOf(HASH),
})
const CHANGED = { promised: [TRANSACTION_HASH], returned: [], dropped: [], changed: [] }
const PACE = record('pace', { speed: { type: 'number' }, jitter: { type: 'number' } })

const outcome = oneOf('open', 'kept', 'changed', 'retracted', 'dropped')
const queryShape = strictObject({
  hash: maybe(hash),
  outcome: maybe(outcome),
  blockNumber: maybe(integer),
  before: maybe(integer),
  limit: maybe(atLeast(1, atMost(integer, PROMISES_OF_PAGE, 'promises'))),
})

const PROMISE = record('promise', {
  id: INTEGER,
  hash: HASH,
  from: orNull(ADDRESS),
  blockNumber: orNull(QUANTITY),
  flashblockIndex: orNull(INTEGER),
  admittedMs: orNull(INTEGER),
  promisedMs: orNull(INTEGER),
  settledMs: orNull(INTEGER),
  outcome: outcome.json,
  cause: orNull(STRING),
  differences: listOf(STRING),
})
const TOTALS = record('totals', { open: INTEGER, kept: INTEGER, changed: INTEGER, retracted: INTEGER, dropped: INTEGER })

const STATE_ERRORS = {
  [CODE.server]: 'the transaction is unknown, sealed, or not in the state that the move needs; nothing is changed then',
}
const FLASHBLOCK_ERRORS = { [CODE.server]: 'the cadence has no flashblocks' }

/** Methods that control which transactions are promised, and change promises. Moves that change the open block return what they did to its promises. */
export const PROMISE_METHODS: readonly Method[] = [
  method({
    name: 'pocketchain_hold',
    doc: 'Keeps transactions out of blocks until `pocketchain_release`: one by its hash, all of a sender, or all that match each of `from`, `to` (or `creates`) and `selector`. Later nonces of their senders wait too. Returns the hashes that now wait.',
    params: [required('transactions', transactions)],
    result: listOf(HASH),
    errors: STATE_ERRORS,
    example: { params: [ALICE], result: [TRANSACTION_HASH] },
    handler: async ({ chain }, [filter]) => {
      await controlled(() => chain.promises.hold(filter))
      return chain.pool.held()
    },
  }),
  method({
    name: 'pocketchain_delay',
    doc: 'As pocketchain_hold, for a number of flashblocks (blocks under a cadence without flashblocks) or milliseconds of the clock.',
    params: [required('transactions', transactions), required('until', delay)],
    result: listOf(HASH),
    errors: STATE_ERRORS,
    example: { params: [TRANSACTION_HASH, { flashblocks: 3 }], result: [TRANSACTION_HASH] },
    handler: async ({ chain }, [filter, until]) => {
      await controlled(() => chain.promises.delay(filter, until))
      return chain.pool.held()
    },
  }),
  method({
    name: 'pocketchain_release',
    doc: 'Ends the hold of exactly these transactions, or all holds. Returns the number of ended holds.',
    params: [optional('transactions', transactions)],
    result: INTEGER,
    errors: { [CODE.server]: 'they are not held' },
    example: { params: [ALICE], result: 1 },
    handler: ({ chain }, [filter]) => controlled(() => chain.promises.release(filter)),
  }),
  method({
    name: 'pocketchain_drop',
    doc: 'Removes a transaction: from the pool, or from the open block, where its promise is retracted.',
    params: [required('hash', hash)],
    result: CHANGE,
    errors: { [CODE.server]: `${STATE_ERRORS[CODE.server]}; or later nonces of its sender are promised or in the pool` },
    example: { params: [TRANSACTION_HASH], result: { ...CHANGED, promised: [], dropped: [TRANSACTION_HASH] } },
    handler: ({ chain }, [sent]) => controlled(() => chain.promises.drop(sent)),
  }),
  method({
    name: 'pocketchain_retract',
    doc: 'Takes promises back: of one transaction, of a flashblock and all later ones, or all of the open block. The block is built again without them and announced as another payload. They return to the pool, unless `into` is `nowhere`.',
    params: [required('promises', promises), optional('into', oneOf('pool', 'nowhere'))],
    result: CHANGE,
    errors: STATE_ERRORS,
    example: { params: [{ fromFlashblock: 2 }, 'nowhere'], result: { ...CHANGED, dropped: [TRANSACTION_HASH], promised: [] } },
    handler: ({ chain }, [target, into]) => controlled(() => chain.promises.retract(target, into)),
  }),
  method({
    name: 'pocketchain_reorder',
    doc: 'Executes the promised transactions of the open block in this order. Without promises, as under the native cadence: the next block includes these pool transactions first.',
    params: [required('hashes', arrayOf(hash, REORDER_TRANSACTIONS))],
    result: CHANGE,
    errors: { [CODE.server]: 'a hash is not promised, is missing or occurs twice, or nonces of a sender descend; nothing is changed then' },
    example: { params: [[TRANSACTION_HASH]], result: CHANGED },
    handler: ({ chain }, [hashes]) => controlled(() => chain.promises.reorder(hashes)),
  }),
  method({
    name: 'pocketchain_insert',
    doc: 'Executes a transaction, signed or as a request, before or after a promised one of the open block.',
    params: [required('transaction', transactionOrRequest), required('place', place)],
    result: CHANGE,
    errors: { [CODE.server]: 'the other one is not promised, or this one is not valid there; nothing is changed then' },
    example: { params: [{ from: ALICE, to: BOB, value: '0x1', gas: '0x5208' }, { before: TRANSACTION_HASH }], result: CHANGED },
    handler: (context, [input, where]) =>
      controlled(() => context.chain.promises.insert((nonceOf) => openBlockTransaction(context, input, nonceOf), where)),
  }),
  method({
    name: 'pocketchain_replace',
    doc: 'Executes another transaction of the same sender and nonce in the place of a promised one.',
    params: [required('hash', hash), required('transaction', transactionOrRequest)],
    result: CHANGE,
    errors: { [CODE.server]: 'it is not promised, or the other one differs in sender or nonce, or is not valid; nothing is changed then' },
    example: { params: [TRANSACTION_HASH, { from: ALICE, to: BOB, value: '0x2', gas: '0x5208' }], result: CHANGED },
    handler: (context, [sent, input]) =>
      controlled(() => context.chain.promises.replace(sent, ({ nonce }) => openBlockTransaction(context, input, () => nonce))),
  }),
  method({
    name: 'pocketchain_stall',
    doc: 'Stops the production of flashblocks and blocks for a number of milliseconds.',
    params: [required('milliseconds', atMost(integer, STALL_MS, 'milliseconds'))],
    result: NULL,
    example: { params: [1_000], result: null },
    handler: ({ chain }, [milliseconds]) => done(chain.promises.stall(milliseconds)),
  }),
  method({
    name: 'pocketchain_failOver',
    doc: 'Replaces the newest blocks as another sequencer would have built them: with their transactions and timestamps, and other hashes; the open block starts again and its promises return to the pool. 0: only the open block.',
    params: [required('blocks', integer)],
    result: NULL,
    errors: { [CODE.invalidParams]: '`blocks` exceeds the height of the chain, or the state is pruned' },
    timeLimitMs: Infinity,
    example: { params: [2], result: null },
    handler: ({ chain }, [blocks]) => done(chain.promises.failOver(blocks)),
  }),
  method({
    name: 'pocketchain_setPace',
    doc: 'Sets how often blocks come, as a multiple of the cadence (`speed`, 0.01 to 100), and by which random share of its interval each flashblock is late at most (`jitter`, 0 to 1). Returns the pace.',
    params: [required('pace', pace)],
    result: PACE,
    example: { params: [{ speed: 2, jitter: 0.5 }], result: { speed: 2, jitter: 0.5 } },
    handler: async ({ chain }, [{ speed = chain.promises.pace.speed, jitter = chain.promises.pace.jitter }]) => {
      await chain.promises.setPace({ speed, jitter })
      return chain.promises.pace
    },
  }),
  method({
    name: 'pocketchain_missFlashblocks',
    doc: 'Leaves out the next flashblocks of the open block: their indices are missing, and what waits is promised with the flashblock after them.',
    params: [required('count', atMost(integer, DELAY_FLASHBLOCKS, 'flashblocks'))],
    result: NULL,
    errors: FLASHBLOCK_ERRORS,
    example: { params: [1], result: null },
    handler: ({ chain }, [count]) => done(controlled(() => chain.promises.missFlashblocks(count))),
  }),
  method({
    name: 'pocketchain_delaySeal',
    doc: 'Delays the seal of the open block to a number of milliseconds after its last flashblock.',
    params: [required('milliseconds', atMost(integer, STALL_MS, 'milliseconds'))],
    result: NULL,
    errors: FLASHBLOCK_ERRORS,
    example: { params: [500], result: null },
    handler: ({ chain }, [milliseconds]) => done(controlled(() => chain.promises.delaySeal(milliseconds))),
  }),
  method({
    name: 'pocketchain_promises',
    doc: 'Returns promises and their outcomes, newest first: of one transaction, with one outcome, or of one block; `before` continues after `next` of the former page. `kept`: sealed exactly as promised; `changed`: sealed with differences in the receipt; `retracted`: taken back, before or after the seal; `dropped`: left the pool without a promise. Times are milliseconds of the clock. Under a cadence without flashblocks nothing is promised.',
    params: [optional('query', queryShape)],
    result: record('page of promises', { promises: listOf(PROMISE), next: orNull(INTEGER), totals: TOTALS }),
    example: {
      params: [{ outcome: 'retracted', limit: 10 }],
      result: {
        promises: [
          {
            id: 4,
            hash: TRANSACTION_HASH,
            from: ALICE,
            blockNumber: '0x1b4',
            flashblockIndex: 3,
            admittedMs: 1_700_000_000_050,
            promisedMs: 1_700_000_000_200,
            settledMs: 1_700_000_000_650,
            outcome: 'retracted',
            cause: 'retract',
            differences: [],
          },
        ],
        next: null,
        totals: { open: 0, kept: 3, changed: 0, retracted: 1, dropped: 0 },
      },
    },
    handler: ({ chain }, [query = {}]) => {
      const { promises: found, next } = chain.ledger.page({ ...query, limit: query.limit ?? PROMISES_OF_PAGE })
      return { promises: found.map(promiseJson), next, totals: chain.ledger.totals }
    },
  }),
]

function promiseJson({ blockNumber, ...record }: PromiseRecord): Json {
  return { ...record, blockNumber: blockNumber === null ? null : Hex.fromQuantity(blockNumber) }
}

async function done(work: Promise<unknown>): Promise<null> {
  await work
  return null
}

/** Turns a PromiseError into RpcError -32000 with the same message. */
async function controlled<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PromiseError) throw new RpcError(CODE.server, error.message)
    throw error
  }
}
