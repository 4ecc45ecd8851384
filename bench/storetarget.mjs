// The store of a build, on disk or in memory.
import { join } from 'node:path'

/** @returns {Promise<Target | null>} null if the build has no such store */
export async function openTarget(/** @type {string} */ dist, /** @type {string} */ folder, /** @type {boolean} */ inMemory) {
  const { Store, MemoryStorage, openLmdb } = await import(`${dist}/store/index.js`)
  if (Store === undefined) return null
  const path = join(folder, 'chain')
  return new Target(new Store(inMemory ? new MemoryStorage() : await openLmdb(path)), inMemory ? 'in memory' : 'on disk')
}

/** @typedef {{ addresses: ReadonlySet<string> | null, topics: readonly (ReadonlySet<string> | null)[] }} Filter */

class Target {
  kind
  #store

  constructor(store, kind) {
    this.#store = store
    this.kind = kind
  }

  /** Durable on return. */
  import(/** @type {readonly any[]} */ blocks) {
    for (const block of blocks) this.#store.append(block, NO_WRITES)
    this.#store.flush()
  }

  /** JSON bytes as in eth_getLogs. @returns {number} bytes */
  logs(/** @type {Filter} */ filter) {
    let bytes = 0
    for (const chunk of this.#store.logsJsonBytes(filter, 0, this.#store.height)) bytes += chunk.length
    return bytes
  }

  /** Number of hits. */
  count(/** @type {Filter} */ filter) {
    const text = Buffer.concat([...this.#store.logsJsonBytes(filter, 0, this.#store.height)]).toString('latin1')
    return JSON.parse(text).length
  }

  hasTransaction(/** @type {string} */ hash) {
    return this.#store.locationOf(hash) !== null
  }

  async close() {
    await this.#store.close()
  }
}

const NO_WRITES = { accounts: new Map(), storage: new Map(), codes: new Map() }
