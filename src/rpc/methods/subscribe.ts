import type { Hex } from '../../eth/index.ts'
import type { Session } from '../context.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import { SUBSCRIPTIONS_PER_CONNECTION, WATCHED_TRANSACTIONS } from '../limits.ts'
import { EVERY_LOG, logFilter } from '../logs/logfilter.ts'
import { method, optional, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { randomId } from '../logs/randomid.ts'
import { anything, arrayOf, boolean, hash, maybe, object, quantity, string } from '../../jsonrpc/schema.ts'
import { positionJson, resumeOptions } from '../logs/position.ts'
import type { ResumeOptions } from '../logs/position.ts'
import { feedsOf } from '../logs/subscriptions.ts'
import type { End, Feeds, Resumption, Sink } from '../logs/subscriptions.ts'
import { WETH } from './examples.ts'

/** A kind of subscription; the type of its option is erased. */
interface Kind {
  /** Parses `option`. Throws RpcError -32602, and -32001 if it cannot continue. */
  readonly open: (feeds: Feeds, option: unknown, sink: Sink, resumption: Resumption | null) => End
  readonly canResume: boolean
}

const watched = object({ transactionHashes: maybe(arrayOf(hash, WATCHED_TRANSACTIONS)) })

const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['newHeads', plain((feeds, sink) => feeds.heads(sink))],
  ['logs', kind(logFilter, (feeds, filter, sink) => feeds.logs(filter ?? EVERY_LOG, sink))],
  ['newPendingTransactions', kind(boolean, (feeds, full, sink) => feeds.poolTransactions(full ?? false, sink))],
  ['pendingLogs', resumable(logFilter, (feeds, filter, sink, resumption) => feeds.pendingLogs(filter ?? EVERY_LOG, sink, resumption))],
  ['newFlashblocks', plain((feeds, sink) => feeds.flashblocks(sink))],
  [
    'newFlashblockTransactions',
    resumable(boolean, (feeds, full, sink, resumption) => feeds.flashblockTransactions(full ?? false, sink, resumption)),
  ],
  ['transactionReceipts', kind(watched, (feeds, option, sink) => feeds.receipts(hashSet(option?.transactionHashes), sink))],
  ['syncing', plain((_, sink) => inSync(sink))],
])

const KIND_NAMES = [...KINDS.keys()].join(', ')
const RESUMABLE_NAMES = [...KINDS].flatMap(([name, { canResume }]) => (canResume ? [name] : [])).join(' and ')

/** The open subscriptions of each connection. */
const open = new WeakMap<Session, Map<string, End>>()

export const SUBSCRIPTION_METHODS: readonly Method[] = [
  method({
    name: 'eth_subscribe',
    doc:
      'Opens a subscription on a WebSocket and returns its id; each item then comes as one eth_subscription notification. With `resume`, also an empty object, the ' +
      `notifications of ${RESUMABLE_NAMES} have a \`position\` beside their result; as \`after\` it continues behind that notification on another connection.`,
    params: [required('kind', string), optional('option', anything), optional('resume', resumeOptions)],
    result: quantity.json,
    errors: {
      [CODE.methodNotFound]: 'there is no connection to notify: HTTP has none',
      [CODE.notFound]: 'the notification that `after` names is too old, or was never sent here',
      [CODE.limitExceeded]: `the connection has ${SUBSCRIPTIONS_PER_CONNECTION} subscriptions`,
    },
    example: {
      params: ['pendingLogs', { address: WETH }],
      result: '0x9ce59a13059e417087c02d3236a0b1cc',
    },
    handler: ({ chain }, [name, option, resume], { session, onSubscribe }) => {
      if (session === null) throw new RpcError(CODE.methodNotFound, 'notifications not supported: subscribe over WebSocket')
      const found = KINDS.get(name)
      if (found === undefined) throw invalidParams(`no "${name.slice(0, 100)}" subscription in eth namespace, there are ${KIND_NAMES}`)
      if (resume !== undefined && !found.canResume)
        throw invalidParams(`${name} cannot continue: argument 2 (resume) is for ${RESUMABLE_NAMES}`)
      const subscriptions = subscriptionsOf(session)
      if (subscriptions.size >= SUBSCRIPTIONS_PER_CONNECTION) {
        throw new RpcError(CODE.limitExceeded, `too many subscriptions: at most ${SUBSCRIPTIONS_PER_CONNECTION} per connection`)
      }
      const id = randomId()
      onSubscribe?.(id)
      const sink: Sink = (result, item) => {
        const position = resume === undefined || item === undefined ? undefined : positionJson(item.segment, item.index)
        if (!notify(session, id, result, position)) finish(subscriptions, id)
      }
      subscriptions.set(id, found.open(feedsOf(chain), option, sink, resumptionOf(session, resume)))
      return id
    },
  }),
  method({
    name: 'eth_unsubscribe',
    doc: 'Ends a subscription of this connection; false for an unknown one.',
    params: [required('subscription', string)],
    result: boolean.json,
    errors: { [CODE.methodNotFound]: 'there is no connection to notify: HTTP has none' },
    example: { params: ['0x9ce59a13059e417087c02d3236a0b1cc'], result: true },
    handler: (_, [id], { session }) => {
      if (session === null) throw new RpcError(CODE.methodNotFound, 'notifications not supported: subscribe over WebSocket')
      return finish(subscriptionsOf(session), id)
    },
  }),
]

function subscriptionsOf(session: Session): Map<string, End> {
  const known = open.get(session)
  if (known !== undefined) return known
  const subscriptions = new Map<string, End>()
  open.set(session, subscriptions)
  session.onClose(() => {
    for (const end of subscriptions.values()) end()
    subscriptions.clear()
  })
  return subscriptions
}

/** Returns false for an unknown id. */
function finish(subscriptions: Map<string, End>, id: string): boolean {
  subscriptions.get(id)?.()
  return subscriptions.delete(id)
}

/**
 * Returns false if the connection has ended, which may precede the subscription in a batch. An error of a listener in the same process is
 * rethrown outside of the chain's call stack.
 */
function notify(session: Session, id: Hex, result: unknown, position: unknown): boolean {
  try {
    return session.notify(id, result, position)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
    return true
  }
}

/** Sends one `false`, as op-reth does. */
function inSync(sink: Sink): End {
  sink(false)
  return () => undefined
}

/** null for an absent or empty list, which selects all, as in geth. */
function hashSet<T>(values: readonly T[] = []): ReadonlySet<T> | null {
  return values.length === 0 ? null : new Set(values)
}

function resumptionOf(session: Session, resume: ResumeOptions | undefined): Resumption | null {
  if (resume?.after === undefined) return null
  return {
    after: resume.after,
    drained: session.drained?.bind(session) ?? null,
    onLost: () => session.disconnect?.('a subscription continues too slowly: notifications were dropped; read them with eth_getLogs'),
  }
}

function plain(start: (feeds: Feeds, sink: Sink) => End): Kind {
  return { open: (feeds, _, sink) => start(feeds, sink), canResume: false }
}

function kind<T>(schema: Schema<T>, start: (feeds: Feeds, option: T | undefined, sink: Sink) => End): Kind {
  return { ...resumable(schema, start), canResume: false }
}

function resumable<T>(
  schema: Schema<T>,
  start: (feeds: Feeds, option: T | undefined, sink: Sink, resumption: Resumption | null) => End,
): Kind {
  const option = maybe(schema)
  return {
    open: (feeds, given, sink, resumption) => start(feeds, option.parse(given, 'argument 1 (option)'), sink, resumption),
    canResume: true,
  }
}
