import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChainOptions } from '../chain/index.ts'
import type { Fleet } from '../fleet/index.ts'
import { openLmdb } from '../store/index.ts'
import type { StorageBackend } from '../store/index.ts'
import type { LoadedState } from './statefile.ts'

/** A directory for the blocks of the fleet's database, which is removed when it is closed. */
export async function openTemporary(): Promise<StorageBackend> {
  const path = mkdtempSync(join(tmpdir(), 'pocketchain-'))
  const storage = await openLmdb(path)
  const close = storage.close.bind(storage)
  storage.close = async () => {
    await close()
    rmSync(path, { recursive: true, force: true })
  }
  return storage
}

/** The genesis of the fleet's chain; null if its database holds none. */
export function loadedOf(fleet: Fleet | null): LoadedState | null {
  const genesis = fleet?.definition?.genesis ?? null
  return genesis === null ? null : { genesis, headState: null, accounts: [] }
}

/** Options that determine the blocks come from the fleet's database, if it has a chain. */
export function inFleet(fleet: Fleet | null, options: ChainOptions): ChainOptions {
  if (fleet === null) return options
  return { ...options, ...fleet.definition?.settings, startsAtHeadTime: false, commits: fleet.commits }
}
