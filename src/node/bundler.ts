import type { Bundler, BundlerContext } from '../bundler/index.ts'
import type { Rpc } from '../jsonrpc/index.ts'
import { bundlerKey } from './keys.ts'
import type { StartOptions } from './options.ts'

/** The current bundler of a node, loaded at the first request. */
export interface NodeBundler extends BundlerContext {
  /** Closes the bundler; the next request creates a new one without operations. */
  readonly renew: () => Promise<void>
  readonly close: () => Promise<void>
}

export function bundlerOf(options: StartOptions, rpc: () => Rpc): NodeBundler {
  const { onError, onNote } = options
  const rules = options.fleet === undefined ? 'relaxed' : 'strict'
  let loaded: Promise<Bundler> | null = null
  const load = (): Promise<Bundler> =>
    (loaded ??= import('../bundler/index.ts').then(({ createBundler }) =>
      createBundler({ rules, ...(options.bundler || undefined), rpc: rpc(), key: bundlerKey(options), testMode: true, onError, onNote }),
    ))
  const renew = async (): Promise<void> => {
    const before = loaded
    loaded = null
    await (await before)?.close()
  }
  return {
    api: async () => (await load()).api(),
    renew,
    close: async () => (await loaded)?.close(),
  }
}
