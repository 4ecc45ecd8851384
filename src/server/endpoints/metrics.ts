import type { Socket } from 'node:net'
import type { HeadEvent, Histogram } from '../../chain/index.ts'
import type { Transaction } from '../../eth/index.ts'
import type { FleetStatus } from '../../fleet/index.ts'
import { LATENCY_BOUNDS_S } from '../../rpc/index.ts'
import type { RequestCounters } from '../../rpc/index.ts'
import type { ApiKeys } from '../access/apikeys.ts'
import type { ServerDeps } from '../deps.ts'

/** The Prometheus text format, version 0.0.4. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

type Labels = Readonly<Record<string, string | number>>

/** `suffix` follows the name of the metric: `_bucket`, `_sum` and `_count` of a histogram. */
interface Sample {
  readonly value: number
  readonly labels?: Labels
  readonly suffix?: string
}

interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly read: (metrics: Metrics) => readonly Sample[]
}

/** Counts blocks, promises and connections of a server, and writes them with the counts of the node as `GET /metrics`. */
export class Metrics {
  readonly deps: ServerDeps
  readonly #socketCount: () => number
  readonly apiKeys: ApiKeys | null
  readonly #unsubscribe: () => void
  sealedBlocks = 0
  flashblocks = 0
  promisedTransactions = 0
  retractedTransactions = 0
  connections = 0

  /** `socketCount` returns the number of open WebSocket connections. */
  constructor(deps: ServerDeps, socketCount: () => number, apiKeys: ApiKeys | null = null) {
    this.deps = deps
    this.apiKeys = apiKeys
    this.#socketCount = socketCount
    this.#unsubscribe = deps.chain.head.subscribe((event) => this.#count(event))
  }

  get sockets(): number {
    return this.#socketCount()
  }

  readonly addConnection = (socket: Socket): void => {
    this.connections++
    socket.once('close', () => this.connections--)
  }

  text(): string {
    return METRICS.map((metric) => textOf(metric, metric.read(this))).join('')
  }

  close(): void {
    this.#unsubscribe()
  }

  #count(event: HeadEvent): void {
    if (event.kind === 'rewind') this.retractedTransactions += event.retracted?.transactions.filter(isFromUser).length ?? 0
    if (event.kind !== 'block') return
    if (event.sealed) {
      this.sealedBlocks++
      return
    }
    this.flashblocks++
    this.promisedTransactions += event.block.transactions.slice(event.firstTransaction).filter(isFromUser).length
  }
}

/** Deposits are created by the chain itself. */
function isFromUser({ deposit }: Transaction): boolean {
  return deposit === null
}

const METRICS: readonly Metric[] = [
  {
    name: 'pocketchain_rpc_requests_total',
    help: 'JSON-RPC calls over HTTP and WebSocket; unknown methods have the label value "unknown".',
    type: 'counter',
    read: ({ deps }) => byTier(deps.rpc.counters, ({ calls }) => Array.from(calls, ([method, { count }]) => [{ method }, count] as const)),
  },
  {
    name: 'pocketchain_rpc_errors_total',
    help: 'JSON-RPC calls answered with an error, by code.',
    type: 'counter',
    read: ({ deps }) => byTier(deps.rpc.counters, ({ errors }) => Array.from(errors, ([code, count]) => [{ code }, count] as const)),
  },
  {
    name: 'pocketchain_rpc_request_duration_seconds',
    help: 'Time from a parsed HTTP body or WebSocket message to its response, without the network.',
    type: 'histogram',
    read: ({ deps }) => latencies(deps.rpc.counters),
  },
  {
    name: 'pocketchain_api_key_requests_total',
    help: 'Requests to the public tier within the quota of their API key.',
    type: 'counter',
    read: ({ apiKeys }) => Array.from(apiKeys?.counts ?? [], ([key, { requests }]) => ({ labels: { key }, value: requests })),
  },
  {
    name: 'pocketchain_api_key_refusals_total',
    help: 'Requests to the public tier that were refused, by API key: beyond its rate, of a class that it lacks, or without a valid key.',
    type: 'counter',
    read: ({ apiKeys }) =>
      Array.from(apiKeys?.counts ?? [], ([key, { refusals }]) =>
        Object.entries(refusals).map(([reason, value]) => ({ labels: { key, reason }, value })),
      ).flat(),
  },
  {
    name: 'pocketchain_blocks_sealed_total',
    help: 'Blocks sealed since the port was opened.',
    type: 'counter',
    read: ({ sealedBlocks }) => [{ value: sealedBlocks }],
  },
  {
    name: 'pocketchain_flashblocks_total',
    help: 'Flashblocks announced since the port was opened.',
    type: 'counter',
    read: ({ flashblocks }) => [{ value: flashblocks }],
  },
  {
    name: 'pocketchain_promised_transactions_total',
    help: 'User transactions announced in flashblocks.',
    type: 'counter',
    read: ({ promisedTransactions }) => [{ value: promisedTransactions }],
  },
  {
    name: 'pocketchain_retracted_transactions_total',
    help: 'Promised user transactions whose pending block was dropped.',
    type: 'counter',
    read: ({ retractedTransactions }) => [{ value: retractedTransactions }],
  },
  {
    name: 'pocketchain_promises_total',
    help: 'Promises by outcome; one that is retracted after its seal counts under both.',
    type: 'counter',
    read: ({ deps }) => {
      const { kept, changed, retracted, dropped } = deps.chain.ledger.totals
      return Object.entries({ kept, changed, retracted, dropped }).map(([outcome, value]) => ({ labels: { outcome }, value }))
    },
  },
  {
    name: 'pocketchain_promise_delay_seconds',
    help: 'Time from the admission of a transaction to its promise.',
    type: 'histogram',
    read: ({ deps }) => delays(deps.chain.ledger.promiseDelays),
  },
  {
    name: 'pocketchain_seal_delay_seconds',
    help: 'Time from a promise to its seal.',
    type: 'histogram',
    read: ({ deps }) => delays(deps.chain.ledger.sealDelays),
  },
  {
    name: 'pocketchain_head_block_number',
    help: 'Number of the last sealed block.',
    type: 'gauge',
    read: ({ deps }) => [{ value: deps.chain.head.view.head.header.number }],
  },
  {
    name: 'pocketchain_pool_transactions',
    help: 'Transactions in the pool.',
    type: 'gauge',
    read: ({ deps }) => [{ value: deps.chain.pool.size }],
  },
  {
    name: 'pocketchain_connections',
    help: 'Open TCP connections, WebSocket connections included.',
    type: 'gauge',
    read: ({ connections }) => [{ value: connections }],
  },
  {
    name: 'pocketchain_websocket_connections',
    help: 'Open WebSocket connections.',
    type: 'gauge',
    read: ({ sockets }) => [{ value: sockets }],
  },
  {
    name: 'pocketchain_stream_subscribers',
    help: 'Subscribers of the flashblock stream.',
    type: 'gauge',
    read: ({ deps }) => [{ value: deps.publisher.subscribers }],
  },
  ...forkMetrics(),
  ...fleetMetrics(),
  {
    name: 'pocketchain_build_info',
    help: 'Always 1; the label has the version.',
    type: 'gauge',
    read: ({ deps }) => [{ value: 1, labels: { version: deps.clientVersion } }],
  },
  {
    name: 'process_start_time_seconds',
    help: 'Start of the process, seconds since the Unix epoch.',
    type: 'gauge',
    read: () => [{ value: Math.round(performance.timeOrigin) / 1_000 }],
  },
  {
    name: 'process_cpu_seconds_total',
    help: 'CPU time of the process, user and system, all threads.',
    type: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage()
      return [{ value: (user + system) / 1e6 }]
    },
  },
  {
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    type: 'gauge',
    read: () => [{ value: process.memoryUsage.rss() }],
  },
  {
    name: 'nodejs_heap_size_used_bytes',
    help: 'Used JavaScript heap of the main thread.',
    type: 'gauge',
    read: () => [{ value: process.memoryUsage().heapUsed }],
  },
]

/** Without samples for a process that is in no fleet. */
function fleetMetrics(): readonly Metric[] {
  const counters = [
    ['frames', 'Messages of the sequencer that this replica has applied.', 'frames'],
    ['gaps', 'Times that messages of the sequencer were missing.', 'gaps'],
    ['repaired_frames', 'Missing messages that were fetched again.', 'repairedFrames'],
    ['resyncs', 'Times that this replica has read the chain from the database while it ran.', 'resyncs'],
    ['stale_frames', 'Messages of a sequencer that was deposed.', 'staleFrames'],
  ] as const
  const of = (read: (status: FleetStatus) => Sample) => (metrics: Metrics) => {
    const status = metrics.deps.fleetStatus?.() ?? null
    return status === null ? [] : [read(status)]
  }
  return [
    {
      name: 'pocketchain_fleet_epoch',
      help: 'Epoch of the sequencer; the label has the role of this process.',
      type: 'gauge',
      read: of(({ epoch, role }) => ({ value: epoch, labels: { role } })),
    },
    {
      name: 'pocketchain_fleet_sequencer',
      help: 'Whether this process makes the blocks at present: 1 or 0.',
      type: 'gauge',
      read: of(({ isSequencer }) => ({ value: isSequencer ? 1 : 0 })),
    },
    {
      name: 'pocketchain_fleet_lag_seconds',
      help: 'Time from the sending of the newest message of the sequencer to its application by this replica.',
      type: 'gauge',
      read: of(({ lagMs }) => ({ value: lagMs / 1_000 })),
    },
    ...counters.map(([name, help, key]) => ({
      name: `pocketchain_fleet_${name}_total`,
      help,
      type: 'counter' as const,
      read: of(({ counts }) => ({ value: counts[key] })),
    })),
  ]
}

/** Without samples for a chain that is not a fork. */
function forkMetrics(): readonly Metric[] {
  const rows = [
    ['requests', 'HTTP requests to the chain that this one is forked from.', 'requests'],
    ['keys', 'Accounts, slots and block hashes that were fetched.', 'keys'],
    ['cache_hits', 'Accounts and slots that were read from the cache on disk.', 'cacheHits'],
    ['retries', 'Repeated requests to the chain that this one is forked from.', 'retries'],
    ['rate_limits', 'Refusals for too many requests.', 'rateLimits'],
  ] as const
  return rows.map(([name, help, key]) => ({
    name: `pocketchain_fork_${name}_total`,
    help,
    type: 'counter',
    read: ({ deps }) => {
      const status = deps.forkStatus?.() ?? null
      return status === null ? [] : [{ value: status[key] }]
    },
  }))
}

const TIERS = ['dedicated', 'public'] as const

type TierCounts = ReturnType<RequestCounters['of']>

function byTier(
  counters: RequestCounters | undefined,
  read: (counts: TierCounts) => readonly (readonly [Labels, number])[],
): readonly Sample[] {
  if (counters === undefined) return []
  return TIERS.flatMap((tier) => read(counters.of(tier)).map(([labels, value]) => ({ labels: { tier, ...labels }, value })))
}

/** The buckets of the format are cumulative; the last one contains every value. */
function latencies(counters: RequestCounters | undefined): readonly Sample[] {
  if (counters === undefined) return []
  return TIERS.flatMap((tier) => {
    const { buckets, sumMs } = counters.of(tier).latency
    let count = 0
    const cumulative = buckets.map((size, i) => {
      count += size
      return { suffix: '_bucket', labels: { tier, le: LATENCY_BOUNDS_S[i] ?? '+Inf' }, value: count }
    })
    return [...cumulative, { suffix: '_sum', labels: { tier }, value: sumMs / 1_000 }, { suffix: '_count', labels: { tier }, value: count }]
  })
}

function delays({ bounds, cumulative, sumMs }: Histogram): readonly Sample[] {
  const buckets = cumulative.map((value, i) => {
    const bound = bounds[i]
    return { suffix: '_bucket', labels: { le: bound === undefined ? '+Inf' : String(bound / 1_000) }, value }
  })
  return [...buckets, { suffix: '_sum', value: sumMs / 1_000 }, { suffix: '_count', value: cumulative.at(-1) ?? 0 }]
}

function textOf({ name, help, type }: Metric, samples: readonly Sample[]): string {
  const lines = samples.map(({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
