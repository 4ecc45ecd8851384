import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChainOptions, Clock } from '../chain/index.ts'
import type { Fleet } from '../fleet/index.ts'
import { openLmdb } from '../store/index.ts'
import type { StorageBackend } from '../store/index.ts'
import type { DevAccount } from './keys.ts'
import type { StartOptions } from './options.ts'
import { assertSameChain } from './samechain.ts'
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

/** The genesis of the fleet's chain; null if its database holds none. Throws RangeError for an option that requests another chain. */
export function loadedOf(fleet: Fleet | null, options: StartOptions, accounts: readonly DevAccount[], clock: Clock): LoadedState | null {
  const { genesis, settings } = fleet?.definition ?? { genesis: null, settings: null }
  if (genesis === null) return null
  assertSameChain(options, accounts, clock, {
    genesis,
    settings,
    source: "the fleet's chain",
    otherwise: 'name another --database for another chain',
  })
  if (accounts.length > 0 && !accounts.some(({ address }) => genesis.state.accounts.has(address)))
    options.onNote(
      "none of the dev accounts is in the genesis of the fleet's chain; all processes of a fleet need the same mnemonic, from which bundler and sponsor have their keys",
    )
  return { genesis, headState: null, accounts: [], funded: [] }
}

/** Options that determine the blocks come from the fleet's database, if it has a chain. */
export function inFleet(fleet: Fleet | null, options: ChainOptions): ChainOptions {
  if (fleet === null) return options
  return { ...options, ...fleet.definition?.settings, commits: fleet.commits }
}
