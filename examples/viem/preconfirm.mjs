// node examples/viem/preconfirm.mjs [url]
import { createPublicClient, createWalletClient, decodeEventLog, defineChain, http, parseAbi, webSocket } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { abi as signatures, bytecode } from '../contract/counter.mjs'

const url = process.argv[2] ?? 'http://127.0.0.1:8545'
const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80') // the first dev account
const abi = parseAbi(signatures)
const chain = defineChain({
  id: 31337,
  name: 'pocketchain',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [url], webSocket: [url.replace(/^http/, 'ws')] } },
  // viem then reads `pending` where `latest` would be its default.
  experimental_preconfirmationTime: 200,
})
const wallet = createWalletClient({ chain, account, transport: http() })
const reader = createPublicClient({ chain, transport: http() })
const streaming = createPublicClient({ chain, transport: webSocket() })

// Deploy. The contract can be used as soon as the receipt is here, long before its block is sealed.
const deployment = await wallet.sendTransactionSync({ data: bytecode })
const address = deployment.contractAddress
console.log(`deployed       ${address}, promised for block ${deployment.blockNumber}`)

// pendingLogs sends each log once, when its transaction is promised.
await streaming.transport.subscribe({
  params: ['pendingLogs', { address }],
  onData: ({ result: log }) => {
    const { args } = decodeEventLog({ abi, ...log })
    console.log(`pendingLogs    ${args.by} counted to ${args.count}`)
  },
})

// Begin with a fresh block, so that there is time to read it before it is sealed.
await nextBlock()

// Send, and have the receipt with the next flashblock.
const sentAt = performance.now()
const promised = await wallet.writeContractSync({ address, abi, functionName: 'increment' })
console.log(`receipt        ${promised.status} after ${Math.round(performance.now() - sentAt)} ms, block ${promised.blockNumber}`)
console.log(`block hash     ${promised.blockHash}: not known yet`)

// Promised data can be read: state, logs, receipts.
console.log(`count          ${String(await reader.readContract({ address, abi, functionName: 'count' }))}`)
const logs = await reader.getContractEvents({ address, abi, fromBlock: 'pending', toBlock: 'pending' })
console.log(`pending logs   ${logs.map(({ eventName, args }) => `${eventName} ${args.count}`).join(', ')}`)
const receipts = await reader.getBlockReceipts({ blockTag: 'pending' })
console.log(`pending block  ${receipts.length} receipts, ours among them: ${receipts.some(isOurs)}`)

// Then the block is sealed, and the promise was true.
await nextBlock()
const sealed = await reader.getTransactionReceipt({ hash: promised.transactionHash })
console.log(`sealed         block ${sealed.blockNumber} is ${sealed.blockHash}`)
console.log(`kept           ${isKept(promised, sealed)}`)

const connection = await streaming.transport.getRpcClient()
connection.close()

function isOurs({ transactionHash }) {
  return transactionHash === promised.transactionHash
}

/** The same receipt, but for the hash of its block. */
function isKept(before, after) {
  const text = (receipt) =>
    JSON.stringify(receipt, (key, value) => (key === 'blockHash' ? null : typeof value === 'bigint' ? `${value}` : value))
  return text(before) === text(after)
}

function nextBlock() {
  return new Promise((resolve) => {
    const end = streaming.watchBlockNumber({
      onBlockNumber: () => {
        end()
        resolve()
      },
    })
  })
}
