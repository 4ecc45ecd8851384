// The store of a build, on a disk or in memory.
import { join } from 'node:path'

/** @returns {Promise<Target | null>} null when the build has no such store */
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

  /** All of them are durable when it returns. */
  import(/** @type {readonly any[]} */ blocks) {
    for (const block of blocks) this.#store.append(block, NO_WRITES)
    this.#store.flush()
  }

  /** As eth_getLogs has it: JSON in bytes. @returns {number} bytes */
  logs(/** @type {Filter} */ filter) {
    let bytes = 0
    for (const chunk of this.#store.logsText(filter, 0, this.#store.height)) bytes += chunk.length
    return bytes
  }

  /** How many there are. */
  count(/** @type {Filter} */ filter) {
    const text = Buffer.concat([...this.#store.logsText(filter, 0, this.#store.height)]).toString('latin1')
    return JSON.parse(text).length
  }

  hasTransaction(/** @type {string} */ hash) {
    return this.#store.placeOf(hash) !== null
  }

  async close() {
    await this.#store.close()
  }
}

const NO_WRITES = { accounts: new Map(), storage: new Map(), codes: new Map() }
