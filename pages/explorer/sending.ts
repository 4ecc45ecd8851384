import { Connection } from '../provider/connection.ts'
import { createProvider } from '../provider/provider.ts'
import type { Provider } from '../provider/provider.ts'

let provider: Provider | null = null

/**
 * Sends a transaction through the wallet of this server, as an app does: the wallet shows each request on its own page, and this page cannot
 * approve it. Returns the transaction's hash. Rejects with the wallet's error, 4001 if the person rejects it.
 */
export async function sendThroughWallet(transaction: {
  readonly to: string
  readonly data: string
  readonly value: string
}): Promise<string> {
  provider ??= createProvider((onEvent) => new Connection(location.origin, onEvent))
  const accounts = (await provider.request({ method: 'eth_requestAccounts' })) as readonly string[] // the result of the method
  return String(await provider.request({ method: 'eth_sendTransaction', params: [{ from: accounts[0], ...transaction }] }))
}
