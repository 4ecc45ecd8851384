// A captured test run of an app: NAME.jsonl.gz has a JSON line with the provider's configuration, then one per request ({ method, params }). Beside it
// NAME.snapids.json has the captured results of evm_snapshot, in order.
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

/** The fork under which runs are replayed: their transactions lack what later ones require. */
export const HARDFORK = 'shanghai'

/** @typedef {{ method: string, params?: readonly any[] }} Request */

/** @returns {{ chainId: number, requests: readonly Request[], snapshots: readonly string[] }} */
export function readCapture(/** @type {string} */ file) {
  const [head = '', ...lines] = gunzipSync(readFileSync(file)).toString().trim().split('\n')
  return {
    chainId: JSON.parse(head).providerConfig.chainId,
    requests: lines.map((line) => JSON.parse(line)),
    snapshots: JSON.parse(readFileSync(file.replace(/jsonl\.gz$/, 'snapids.json'), 'utf8')),
  }
}

/**
 * Sends the requests one after another and returns the number of errors. Captured ids of snapshots are translated to those of this node.
 * @param {ReturnType<typeof readCapture>} capture
 * @param {(request: Request) => Promise<{ result?: unknown, error?: unknown }>} ask
 */
export async function replay({ requests, snapshots }, ask) {
  /** @type {unknown[]} */
  const ids = []
  let errors = 0
  for (const { method, params = [] } of requests) {
    const index = method === 'evm_revert' ? snapshots.lastIndexOf(params[0], ids.length - 1) : -1
    const { result, error } = await ask({ method, params: index < 0 ? params : [ids[index]] })
    if (error !== undefined) errors++
    if (method === 'evm_snapshot') ids.push(result)
  }
  return errors
}
