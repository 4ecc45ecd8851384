import { newKeyPair } from './cipher.ts'

/**
 * The page's key pair for an origin, not extractable, in IndexedDB. Apps keep their half of a session across visits and then begin with an
 * encrypted message, so this half must persist too.
 */
export async function keyPairFor(origin: string): Promise<CryptoKeyPair> {
  const database = await open()
  try {
    const fresh = await newKeyPair() // before the transaction, which would end during the await
    return await inStore(database, (store, resolve) => {
      const request: IDBRequest<CryptoKeyPair | undefined> = store.get(origin)
      request.addEventListener('success', () => {
        if (request.result === undefined) store.put(fresh, origin)
        resolve(request.result ?? fresh)
      })
    })
  } finally {
    database.close()
  }
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1)
    request.addEventListener('upgradeneeded', () => void request.result.createObjectStore(STORE))
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error ?? new Error('the browser keeps no data for this page')))
  })
}

/** Resolves when the transaction is complete. */
function inStore(
  database: IDBDatabase,
  use: (store: IDBObjectStore, resolve: (keys: CryptoKeyPair) => void) => void,
): Promise<CryptoKeyPair> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, 'readwrite')
    let found: CryptoKeyPair | undefined
    transaction.addEventListener('complete', () => (found === undefined ? reject(new Error('no keys')) : resolve(found)))
    transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('the keys could not be kept')))
    use(transaction.objectStore(STORE), (keys) => (found = keys))
  })
}

const DATABASE = 'pocketchain-popup'
const STORE = 'keys'
