// The part of sponsored.mjs with a wallet: everything in one process, except that the wallet reaches the sponsor over HTTPS.

const ORIGIN = 'https://bench.example'

/** A node with so many accounts, whose wallet approves every request. */
export async function openWallets(/** @type {string} folder of the build */ dist, /** @type {number} */ senders) {
  const { createPocketchain } = await import(`${dist}/exports/index.js`)
  const node = await createPocketchain({ accounts: senders, wallet: { policy: 'approve' } })
  const server = await node.listen({ port: 0 })
  const url = `${server.httpsUrl}/paymaster/rpc`
  const ask = (method, ...params) => node.request({ method, params })
  const app = (method, ...params) => provider.request({ method, params })
  const provider = node.wallet.provider(ORIGIN)
  const accounts = node.accounts.map(({ address }) => address)
  await app('wallet_requestPermissions', { eth_accounts: {} })
  for (const account of accounts) await ask('anvil_setBalance', account, '0x0')
  return {
    label: 'wallet_sendCalls, app, wallet and node in one process (submission: the wallet has answered)',
    pid: process.pid,
    ask,
    askAll: (calls) => Promise.all(calls.map((call) => ask(...call))),
    run: async (index, calls) => {
      const capabilities = { paymasterService: { url } }
      const request = { version: '2.0.0', from: accounts[index], chainId: '0x7a69', atomicRequired: true, calls, capabilities }
      const { id } = await app('wallet_sendCalls', request)
      const submittedMs = performance.now()
      const status = await app('wallet_getCallsStatus', id)
      return { submittedMs, hash: status.capabilities.userOperation.userOpHash }
    },
    callData: (calls) => calls,
    close: () => node.close(),
  }
}
