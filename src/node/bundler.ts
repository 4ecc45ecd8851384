import type { Bundler, BundlerContext } from '../bundler/index.ts'
import type { Chain, RewindCause } from '../chain/index.ts'
import type { Records, Rpc, RpcError } from '../jsonrpc/index.ts'
import { bundlerKey } from './keys.ts'
import type { StartOptions } from './options.ts'

/** The current bundler of a node, loaded at the first request. */
export interface NodeBundler extends BundlerContext {
  /** Loads a bundler whose records hold operations of an earlier one. */
  readonly prepare: () => Promise<void>
  /** Closes the bundler, whose operations stay in the records, and refuses requests until `prepare`. */
  readonly suspend: (refusal: () => RpcError) => Promise<void>
  /** Closes the bundler; the next request creates a new one without operations. */
  readonly renew: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Rewinds that no request caused: the operations that they remove are sent again. */
const FAULTS: ReadonlySet<RewindCause> = new Set(['discard', 'failOver', 'restart', 'import'])
/** They also empty the transaction pool: a test that reverts to its snapshot expects no state of the previous test. */
const CLEARING: ReadonlySet<RewindCause> = new Set(['revert', 'reset'])

export function bundlerOf(options: StartOptions, { rpc, head, records, settled }: BundlerDeps): NodeBundler {
  const { onError, onNote } = options
  const rules = options.fleet === undefined ? 'relaxed' : 'strict'
  let loaded: Promise<Bundler> | null = null
  let suspension: (() => RpcError) | null = null
  const load = (): Promise<Bundler> =>
    (loaded ??= import('../bundler/index.ts').then(({ createBundler }) =>
      createBundler({
        rules,
        ...(options.bundler || undefined),
        ...(records === null ? undefined : { records, settled }),
        rpc: rpc(),
        key: bundlerKey(options),
        testMode: true,
        onError,
        onNote,
      }),
    ))
  const unsubscribe = head.subscribe((event) => {
    if (event.kind !== 'rewind' || FAULTS.has(event.cause)) return
    const { cause } = event
    const removal = (bundler: Bundler): void => {
      bundler.expectRemoval(cause)
      if (CLEARING.has(cause)) bundler.dropAll(`the chain was rewound (${cause}) before a block had the operation; send it again`)
    }
    void loaded?.then(removal).catch(onError)
  })
  const end = async (forget: boolean): Promise<void> => {
    const before = loaded
    loaded = null
    await (await before)?.close({ forget })
  }
  return {
    api: async () => {
      if (suspension !== null) throw suspension()
      return (await load()).api()
    },
    prepare: async () => {
      suspension = null
      const [first] = records?.entries('bundler/') ?? []
      if (first !== undefined) await load()
    },
    suspend: (refusal) => {
      suspension = refusal
      return end(false)
    },
    renew: () => end(true),
    close: async () => {
      unsubscribe()
      await (await loaded)?.close()
    },
  }
}

interface BundlerDeps {
  readonly rpc: () => Rpc
  readonly head: Chain['head']
  /** records of the data directory or the fleet; null: operations are lost when the process ends */
  readonly records: Records | null
  readonly settled: () => Promise<void>
}
