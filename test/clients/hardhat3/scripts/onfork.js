// Prints what a client sees of the counter at COUNTER through the network of NETWORK: `forked` is Hardhat's own fork of the node, `local` the node.
import { network } from 'hardhat'

const { ethers, networkHelpers } = await network.connect(process.env.NETWORK)
const abi = ['function count() view returns (uint256)', 'function increment()']
const [signer] = await ethers.getSigners()
const counter = new ethers.Contract(process.env.COUNTER, abi, signer)
const before = await counter.count()
await (await counter.increment()).wait()
const after = await counter.count()
const snapshot = await networkHelpers.takeSnapshot()
await networkHelpers.mine(2)
await networkHelpers.setStorageAt(process.env.COUNTER, 0, 77)
const edited = await counter.count()
await snapshot.restore()
const restored = await counter.count()
const old = await counter.count({ blockTag: Number(process.env.BEFORE) })
process.stdout.write(`${JSON.stringify([before, after, edited, restored, old].map(Number))}\n`)
