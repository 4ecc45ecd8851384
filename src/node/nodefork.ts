import type { ForkPort, ForkStatus } from '../rpc/index.ts'
import type { Upstream } from '../fork/index.ts'
import type { Fork } from './fork.ts'
import type { ForkOptions } from './options.ts'

/** What a chain is forked from, as the methods and metrics of the node see it. */
export class NodeFork implements ForkPort {
  #current: Fork | null
  #options: ForkOptions | null
  /** Former endpoints, whose pending requests end by themselves. */
  readonly #retired: Upstream[] = []

  constructor(current: Fork | null, options: ForkOptions | null) {
    this.#current = current
    this.#options = options
  }

  get isFork(): boolean {
    return this.#current !== null
  }

  get status(): ForkStatus | null {
    if (this.#current === null) return null
    const { block, upstream, stats } = this.#current.state
    const { chainId, number, hash } = block
    return { url: upstream.name, chainId, blockNumber: number, blockHash: hash, retryBackoffMs: upstream.backoffMs, ...stats }
  }

  readonly forward = (method: string, params: readonly unknown[]): Promise<unknown> => this.#fork.state.upstream.forward(method, params)

  readonly setUrl = async (url: string): Promise<void> => {
    const { state } = this.#fork
    const former = state.upstream
    const { otherUpstream } = await import('./fork.ts')
    const upstream = otherUpstream(url, this.#forkOptions)
    try {
      await state.setUpstream(upstream)
    } catch (error) {
      upstream.close()
      throw error
    }
    this.#retired.push(former)
    this.#options = { ...this.#forkOptions, url }
  }

  /** Ends all requests, and writes the cache. */
  async close(): Promise<void> {
    const state = this.#current?.state
    for (const upstream of this.#retired) upstream.close()
    state?.upstream.close()
    await state?.close()
  }

  get #fork(): Fork {
    if (this.#current === null) throw new Error('the chain is not a fork')
    return this.#current
  }

  get #forkOptions(): ForkOptions {
    if (this.#options === null) throw new Error('the chain is not a fork')
    return this.#options
  }
}
