// node examples/ethers/preconfirm.mjs [url]
import { setTimeout as delay } from 'node:timers/promises'
import { Contract, ContractFactory, JsonRpcProvider, SocketSubscriber, Wallet, WebSocketProvider } from 'ethers'
import { abi, bytecode } from '../contract/counter.mjs'

/** A subscription that ethers does not support. */
class PendingLogs extends SocketSubscriber {
  constructor(provider, filter, onLog) {
    super(provider, ['pendingLogs', filter])
    this._emit = async (_, log) => onLog(log)
  }
}

const url = process.argv[2] ?? 'http://127.0.0.1:8545'
const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1 })
const streaming = new WebSocketProvider(url.replace(/^http/, 'ws'))
const wallet = new Wallet('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80', provider) // the first dev account

// Deploy. The contract can be used as soon as the receipt is here, long before its block is sealed.
const deployed = await new ContractFactory(abi, bytecode, wallet).deploy()
const deployment = await receiptOf(deployed.deploymentTransaction())
const address = deployment.contractAddress
const counter = new Contract(address, abi, wallet)
console.log(`deployed       ${address}, promised for block ${deployment.blockNumber}`)

// pendingLogs sends each log once, when its transaction is promised.
new PendingLogs(streaming, { address }, (log) => {
  const { args } = counter.interface.parseLog(log)
  console.log(`pendingLogs    ${args.by} counted to ${args.count}`)
}).start()

// Begin with a fresh block, so that there is time to read it before it is sealed.
await nextBlock()

// Send, and have the receipt with the next flashblock.
const sentAt = performance.now()
const promised = await receiptOf(await counter.increment())
console.log(
  `receipt        ${promised.status === 1 ? 'success' : 'reverted'} after ${Math.round(performance.now() - sentAt)} ms, block ${promised.blockNumber}`,
)
console.log(`block hash     ${promised.blockHash}: not known yet`)

// Promised data can be read: state, logs, receipts.
console.log(`count          ${await counter.count({ blockTag: 'pending' })}`)
const logs = await counter.queryFilter('Incremented', 'pending', 'pending')
console.log(`pending logs   ${logs.map(({ eventName, args }) => `${eventName} ${args.count}`).join(', ')}`)
const receipts = await provider.send('eth_getBlockReceipts', ['pending'])
console.log(`pending block  ${receipts.length} receipts, ours among them: ${receipts.some(isOurs)}`)

// Then the block is sealed, and the promise was true.
await nextBlock()
const sealed = await provider.getTransactionReceipt(promised.hash)
console.log(`sealed         block ${sealed.blockNumber} is ${sealed.blockHash}`)
console.log(`kept           ${isKept(promised, sealed)}`)

await streaming.destroy()
provider.destroy()

/** wait() would return when the block is sealed. */
async function receiptOf({ hash }) {
  for (;;) {
    const receipt = await provider.getTransactionReceipt(hash)
    if (receipt !== null) return receipt
    await delay(20)
  }
}

function isOurs({ transactionHash }) {
  return transactionHash === promised.hash
}

/** The same receipt, but for the hash of its block. */
function isKept(before, after) {
  const text = (receipt) => JSON.stringify(receipt.toJSON(), (key, value) => (key === 'blockHash' ? null : value))
  return text(before) === text(after)
}

function nextBlock() {
  return new Promise((resolve) => void streaming.once('block', resolve))
}
