import { availableParallelism } from 'node:os'
import type { Chain } from '../chain/index.ts'
import type { Compat } from '../compat.ts'
import { Workers, nodeThreads } from '../rpc/index.ts'
import type { PocketchainOptions } from './options.ts'

/** Each thread takes 20 MB and a copy of the state. */
const MAX_DEFAULT_WORKERS = 4

/** null: every request runs on the main thread. Throws RangeError. */
export function workersOf(options: PocketchainOptions, chain: Chain, compat: Compat, onBug: (error: unknown) => void): Workers | null {
  const maxThreads = options.workers ?? threadsFor(availableParallelism())
  if (!Number.isSafeInteger(maxThreads) || maxThreads < 0) throw new RangeError(`workers must be 0 or more, not ${maxThreads}`)
  if (maxThreads === 0) return null
  const { sealed, config } = chain
  const headVersion = () => sealed.headVersion
  return new Workers({ maxThreads, history: sealed.history, headVersion, config, compat, start: nodeThreads(), onBug })
}

/** One core is for sockets and chain. On two cores both are used, because these need little CPU while calls run. */
function threadsFor(cores: number): number {
  return cores === 1 ? 0 : Math.min(MAX_DEFAULT_WORKERS, Math.max(2, cores - 1))
}
