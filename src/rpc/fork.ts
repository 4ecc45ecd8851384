import { FETCH_ROUNDS, MissingState } from '../chain/index.ts'
import type { Chain, MissingKey } from '../chain/index.ts'
import { Hex } from '../eth/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import type { Intercept, Route } from '../jsonrpc/index.ts'
import { blockNumber, blockRef } from '../jsonrpc/schema.ts'
import { BlockIsUpstream } from './blocks.ts'
import { jsonOf } from './bodywriter.ts'
import type { Caller } from './context.ts'
import { STATE_METHODS } from './methods/state.ts'
import { METHODS } from './table.ts'

/** The chain that this one is forked from. */
export interface Upstream {
  /** Returns upstream's result unchanged. Rejects with RpcError. */
  readonly forward: (method: string, params: readonly unknown[]) => Promise<unknown>
}

/**
 * Runs handlers on a forked chain. A handler that reads state which is not local is repeated after a fetch, and a request for the fork block
 * or an older one is forwarded. Handlers read one View, and changes that throw have changed nothing, so a repetition is safe.
 */
export function interceptOnFork(chain: Chain, upstream: Upstream): Intercept<Caller> {
  const forkNumber = chain.head.view.firstNumber
  const fork = new ForkRequests(chain, upstream, forkNumber)
  return (route, params, run) => fork.answer(route, params, run)
}

class ForkRequests {
  readonly #chain: Chain
  readonly #upstream: Upstream
  readonly #forkNumber: number

  constructor(chain: Chain, upstream: Upstream, forkNumber: number) {
    this.#chain = chain
    this.#upstream = upstream
    this.#forkNumber = forkNumber
  }

  answer(route: Route<Caller>, params: unknown, run: (params?: unknown) => unknown): unknown {
    if (route.name === 'eth_getLogs') return this.#logs(route, params, run)
    let result: unknown
    try {
      result = run()
    } catch (error) {
      return this.#recover(route, params, run, error)
    }
    if (result instanceof Promise) return result.catch((error: unknown) => this.#recover(route, params, run, error))
    return result === null && this.#mayBeUpstream(params) ? this.#lookUp(route, params) : result
  }

  async #recover(route: Route<Caller>, params: unknown, run: () => unknown, first: unknown): Promise<unknown> {
    let error = first
    for (let round = 0; round < FETCH_ROUNDS; round++) {
      if (error instanceof BlockIsUpstream) return this.#forward(route, params)
      if (isNotFound(error) && this.#mayBeUpstream(params)) return (await this.#lookUp(route, params)) ?? fail(error)
      if (!(error instanceof MissingState)) throw error
      await this.#chain.fetch(this.#missingKeys(route, error, run), error.call)
      try {
        return await run()
      } catch (next) {
        error = next
      }
    }
    throw new RpcError(
      CODE.server,
      `this request reads more of the fork block than ${FETCH_ROUNDS} rounds of fetching make local; repeat it`,
    )
  }

  /** A handler that only reads is run again with guesses, to find in one go what else it misses. */
  #missingKeys({ name }: Route<Caller>, { keys }: MissingState, run: () => unknown): readonly MissingKey[] {
    if (!READERS.has(name)) return keys
    return [...keys, ...this.#chain.head.view.missingKeysOf(run)]
  }

  #forward(route: Route<Caller>, params: unknown): Promise<unknown> {
    return this.#upstream.forward(route.name, pinned(route, listOf(params), this.#forkNumber))
  }

  /** An object that upstream has, unless it is in a block after the fork block. */
  async #lookUp(route: Route<Caller>, params: unknown): Promise<unknown> {
    const result = await this.#forward(route, params)
    return isAbove(result, this.#forkNumber) ? null : result
  }

  /** True for a request by hash, except that of a transaction in the pool. */
  #mayBeUpstream(params: unknown): boolean {
    const [first] = listOf(params)
    return typeof first === 'string' && /^0x[0-9a-fA-F]{64}$/.test(first) && !this.#chain.pool.has(first.toLowerCase() as never)
  }

  /** Logs up to the fork block come from upstream, later ones from this chain, as one list. */
  #logs(route: Route<Caller>, params: unknown, run: (params?: unknown) => unknown): unknown {
    const [filter] = listOf(params)
    if (typeof filter !== 'object' || filter === null) return run()
    const { fromBlock, toBlock, blockHash } = filter as Record<string, unknown>
    if (blockHash !== undefined) return this.#logsOfBlock(route, params, run)
    const [from, to] = [this.#numberOf(fromBlock), this.#numberOf(toBlock)]
    if (from === null || to === null || from > this.#forkNumber || to < from) return run()
    const upstream = (last: number) =>
      this.#upstream.forward(route.name, [{ ...filter, fromBlock: Hex.fromQuantity(from), toBlock: Hex.fromQuantity(last) }])
    if (to <= this.#forkNumber) return upstream(to)
    const local = jsonOf(run([{ ...filter, fromBlock: Hex.fromQuantity(this.#forkNumber + 1) }])) as readonly unknown[]
    return upstream(this.#forkNumber).then((logs) => [...(logs as readonly unknown[]), ...local])
  }

  #logsOfBlock(route: Route<Caller>, params: unknown, run: () => unknown): unknown {
    try {
      return run()
    } catch (error) {
      if (isNotFound(error) || error instanceof BlockIsUpstream) return this.#forward(route, params)
      throw error
    }
  }

  /** null for what the method's own schema rejects. */
  #numberOf(value: unknown): number | null {
    if (value === 'earliest') return 0
    const { head } = this.#chain.head.view
    if (value === undefined || value === null || typeof value !== 'string' || TAGS.has(value)) return head.header.number
    return /^0x[0-9a-f]{1,13}$/i.test(value) ? Number(value) : null
  }
}

const TAGS: ReadonlySet<unknown> = new Set(['latest', 'pending', 'safe', 'finalized'])

/** Methods whose handlers only read. */
const READERS: ReadonlySet<string> = new Set([
  ...STATE_METHODS.map(({ name }) => name),
  ...[...METHODS.values()].filter(({ computed }) => computed !== undefined).map(({ name }) => name),
])

/** Returns the params with the fork block's number in place of tags and of an absent block: upstream has moved on. */
function pinned({ params }: Route<Caller>, given: readonly unknown[], forkNumber: number): readonly unknown[] {
  const place = params.findIndex(({ schema }) => schema === blockRef || schema === blockNumber)
  const all = place < 0 ? given : Array.from({ length: Math.max(given.length, place + 1) }, (_, i) => given[i])
  return all.map((value, i) =>
    i === place && (value === undefined || value === null || TAGS.has(value)) ? Hex.fromQuantity(forkNumber) : value,
  )
}

function isNotFound(error: unknown): error is RpcError {
  return error instanceof RpcError && (error.code === CODE.notFound || error.message.endsWith('not found'))
}

function fail(error: RpcError): never {
  throw error
}

/** True for a block, transaction or receipt above the number. */
function isAbove(result: unknown, number: number): boolean {
  if (typeof result !== 'object' || result === null) return false
  const { blockNumber: included, number: own } = result as Record<string, unknown>
  const at = included ?? own
  return typeof at === 'string' && Number(at) > number
}

function listOf(params: unknown): readonly unknown[] {
  return Array.isArray(params) ? (params as readonly unknown[]) : []
}
