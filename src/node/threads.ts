import { availableParallelism } from 'node:os'
import type { Chain } from '../chain/index.ts'
import type { Compat } from '../compat.ts'
import { Workers, nodeThreads } from '../rpc/index.ts'
import type { OffloadPolicy, WorkerPort } from '../rpc/index.ts'
import type { ReportingOptions } from './options.ts'

/** Each thread takes 20 MB and a copy of the state. */
const MAX_DEFAULT_WORKERS = 4

/** Starts no thread before it is needed. null: every request runs on the main thread. Throws RangeError. */
export function workersOf({ workers, onNote }: ReportingOptions, deps: NodeWorkersDeps): NodeWorkers | null {
  const maxThreads = workers ?? threadsFor(availableParallelism())
  if (!Number.isSafeInteger(maxThreads) || maxThreads < 0) throw new RangeError(`workers must be 0 or more, not ${maxThreads}`)
  if (maxThreads === 0) return null
  if (mayStartThreads()) return new NodeWorkers(maxThreads, deps)
  // The default number is no request of the user.
  if (workers !== undefined)
    onNote(
      `workers ${workers} has no effect: Node's permission model forbids threads, so long calls run on the main thread; --allow-worker permits them`,
    )
  return null
}

/** False under Node's permission model without `--allow-worker`. */
function mayStartThreads(): boolean {
  // Undefined without the permission model, unlike its type.
  const { permission } = process as { readonly permission?: NodeJS.ProcessPermission }
  return permission?.has('worker') ?? true
}

interface NodeWorkersDeps {
  readonly chain: Chain
  readonly compat: Compat
  readonly onBug: (error: unknown) => void
}

/** The worker threads of a node. On a fork they request values of the fork block from the main thread, which fetches missing ones. */
export class NodeWorkers implements WorkerPort {
  readonly #maxThreads: number
  readonly #deps: NodeWorkersDeps
  #current: Workers | null

  constructor(maxThreads: number, deps: NodeWorkersDeps) {
    this.#maxThreads = maxThreads
    this.#deps = deps
    this.#current = this.#create()
  }

  get mainThreadMs(): number {
    return this.#current?.mainThreadMs ?? Infinity
  }

  readonly compute: WorkerPort['compute'] = async (task) => (this.#current === null ? null : this.#current.compute(task))

  readonly offloadPolicy: OffloadPolicy = delegated(() => this.#current?.offloadPolicy ?? NEVER)

  /** Replaces the threads after the chain has started again. Tasks that wait or run are refused. */
  async renew(): Promise<void> {
    const former = this.#current
    this.#current = this.#create()
    await former?.close()
  }

  async close(): Promise<void> {
    await this.#current?.close()
  }

  #create(): Workers | null {
    const { chain, compat, onBug } = this.#deps
    const { sealed, config } = chain
    const headVersion = () => sealed.headVersion
    return new Workers({ maxThreads: this.#maxThreads, history: sealed.history, headVersion, config, compat, start: nodeThreads(), onBug })
  }
}

const NEVER: OffloadPolicy = { isBurst: false, needsAllTimes: false, limitMs: () => null, record: () => undefined }

function delegated(policy: () => OffloadPolicy): OffloadPolicy {
  return {
    get isBurst() {
      return policy().isBurst
    },
    get needsAllTimes() {
      return policy().needsAllTimes
    },
    limitMs: (callKey) => policy().limitMs(callKey),
    record: (request) => policy().record(request),
  }
}

/** One core is for sockets and chain. On two cores both are used, because these need little CPU while calls run. */
function threadsFor(cores: number): number {
  return cores === 1 ? 0 : Math.min(MAX_DEFAULT_WORKERS, Math.max(2, cores - 1))
}
