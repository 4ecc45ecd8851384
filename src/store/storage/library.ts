import type * as Lmdb from 'lmdb'
import { StorageError } from './backend.ts'

/**
 * Loads LMDB, an optional dependency with a native binary per platform. Only a chain with a data directory loads it. Throws StorageError
 * (unavailable) if the package or its binary for this platform is missing.
 */
export async function loadLmdb(): Promise<typeof Lmdb> {
  try {
    return await import('lmdb')
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new StorageError(
      'unavailable',
      `a data directory needs the package lmdb with its binary for ${process.platform}-${process.arch}, which cannot be loaded (${reason}); ` +
        'install again with "npm install --include=optional", or start without --data to keep the chain in memory',
      error,
    )
  }
}
