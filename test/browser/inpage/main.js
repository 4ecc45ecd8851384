import { createRemoteRpc } from 'pocketchain/rpc'
import { Keyring, createWallet } from 'pocketchain/wallet'
import { storageRecords } from './storagerecords.js'

// Runs the whole wallet inside the page: the key, the questions and the script that answers them. The node is on another port.

/** @typedef {{ url: string, chainId: number, key: `0x${string}` }} Given */

/** The functions that the test calls, as an app would. */
globalThis.shop = { open, connect, accounts, sign, send, buy, status, records: () => Object.keys(localStorage).toSorted() }

let wallet
let provider

function open(/** @type {Given} */ { url, chainId, key }) {
  const chain = {
    chainId,
    name: 'Pocketchain',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: [url],
    blockExplorerUrls: [],
    iconUrls: [],
    rpc: createRemoteRpc(url),
    isEmbedded: false,
  }
  wallet = createWallet({ chains: [chain], keyring: Keyring.of({ memory: [key] }), records: storageRecords(localStorage) })
  provider = wallet.provider(location.origin)
}

async function connect() {
  const result = provider.request({ method: 'eth_requestAccounts' })
  const question = await approve('connect')
  return { origin: question.origin, accounts: await result }
}

function accounts() {
  return provider.request({ method: 'eth_accounts' })
}

async function sign(text) {
  const [account] = await accounts()
  const result = provider.request({ method: 'personal_sign', params: [text, account] })
  await approve('sign')
  return result
}

async function send(to, value) {
  const [from] = await accounts()
  const result = provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value }] })
  await approve('send')
  return result
}

/** Atomic, so the account is upgraded to a smart account. */
async function buy(calls) {
  const [from] = await accounts()
  const chainId = await provider.request({ method: 'eth_chainId' })
  const batch = { version: '2.0.0', from, chainId, atomicRequired: true, calls }
  const result = provider.request({ method: 'wallet_sendCalls', params: [batch] })
  await approve('upgrade')
  const { preview } = await approve('batch')
  const { id } = await result
  return { id, preview: preview.status }
}

function status(id) {
  return provider.request({ method: 'wallet_getCallsStatus', params: [id] })
}

async function approve(kind) {
  const prompt = await wallet.approvals.next({ kind, timeoutMs: 10_000 })
  await prompt.approve()
  return prompt.question
}
