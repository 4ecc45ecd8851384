import type { LogFilter } from '../../chain/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import { FILTER_ALTERNATIVES, FILTER_TOPICS } from '../limits.ts'
import { address, arrayOf, blockNumber, hash, maybe, nullable, object, oneOrMany, refused } from '../../jsonrpc/schema.ts'
import type { Infer, Schema } from '../../jsonrpc/schema.ts'

/** The filter object of interface 2.1, parsed but not yet looked up. */
export interface LogQuery {
  readonly filter: LogFilter
  readonly from: Infer<typeof blockNumber> | undefined
  readonly to: Infer<typeof blockNumber> | undefined
  /** wins over the range, or is refused together with one: see `compat.ts` */
  readonly blockHash: Hash | undefined
}

export const EVERY_LOG: LogFilter = { addresses: null, topics: [] }

const addresses = oneOrMany(address, FILTER_ALTERNATIVES)
const alternatives = oneOrMany(nullable(hash), FILTER_ALTERNATIVES)

/** Positions beyond four are refused: no log has them. */
const topics: Schema<readonly (readonly (Hash | null)[] | null)[]> = {
  json: { ...arrayOf(nullable(alternatives), FILTER_TOPICS).json, title: 'topics by position' },
  parse: (value, path) => {
    if (Array.isArray(value) && value.length > FILTER_TOPICS) {
      throw refused(path, `exceed max topics: ${value.length} positions, a log has at most ${FILTER_TOPICS} topics`)
    }
    return arrayOf(nullable(alternatives), FILTER_TOPICS).parse(value, path)
  },
}

const CRITERIA = { address: maybe(addresses), topics: maybe(topics) }
const QUERY = object({ ...CRITERIA, fromBlock: maybe(blockNumber), toBlock: maybe(blockNumber), blockHash: maybe(hash) })
const LIVE = object(CRITERIA)

/** The parameter of eth_getLogs and eth_newFilter. */
export const logQuery: Schema<LogQuery> = {
  json: QUERY.json,
  parse: (value, path) => {
    const { address, topics, fromBlock, toBlock, blockHash } = QUERY.parse(value, path)
    return { filter: logFilterOf(address, topics), from: fromBlock, to: toBlock, blockHash }
  },
}

/** Addresses and topics: the option of the `logs` and `pendingLogs` subscriptions. */
export const logFilter: Schema<LogFilter> = {
  json: LIVE.json,
  parse: (value, path) => {
    const { address, topics } = LIVE.parse(value, path)
    return logFilterOf(address, topics)
  },
}

/** Empty lists, and lists with null, match anything. */
function logFilterOf(
  addresses: readonly Address[] | undefined,
  topics: readonly (readonly (Hash | null)[] | null)[] | undefined,
): LogFilter {
  return {
    addresses: addresses === undefined || addresses.length === 0 ? null : new Set(addresses),
    topics: (topics ?? []).map(position),
  }
}

function position(accepted: readonly (Hash | null)[] | null): ReadonlySet<Hash> | null {
  if (accepted === null || accepted.length === 0) return null
  const hashes = accepted.filter((topic) => topic !== null)
  return hashes.length < accepted.length ? null : new Set(hashes)
}
