// Blocks and their receipts, asked again and again, and each block once.
import { race, raceOnce } from '../race.mjs'
import { dealToken, mineBlock } from '../tokens.mjs'

/** Transactions of a block, and how many such blocks there are to be asked for the first time. */
const SIZES = [
  { size: 1, blocks: 301 },
  { size: 100, blocks: 46 },
  { size: 500, blocks: 13 },
]
const QUICK_SIZES = [
  { size: 1, blocks: 21 },
  { size: 100, blocks: 6 },
  { size: 500, blocks: 4 },
]

export async function receipts(field) {
  await field.withPeers('held', async (peers) => {
    const sizes = field.options.quick ? QUICK_SIZES : SIZES
    const tokens = new Map()
    for (const peer of peers) tokens.set(peer, await dealToken(field, peer))
    for (const { size, blocks } of sizes) {
      let numbers = []
      for (const peer of peers) {
        const { transfer } = tokens.get(peer)
        numbers = []
        for (let i = 0; i < blocks; i++) {
          field.say(`building, ${peer.name}: ${i} of ${blocks} blocks of ${size} transfers`)
          numbers.push(await mineBlock(peer, Array.from({ length: size }, transfer)))
        }
      }
      for (const shape of SHAPES) await measure(field, peers, shape, size, numbers)
    }
  })
}

const SHAPES = [
  { method: 'eth_getBlockReceipts', paramsOf: (number) => [number], same: plainReceipts },
  { method: 'eth_getBlockByNumber', paramsOf: (number) => [number, true], same: plainBlock },
]

async function measure(field, peers, { method, paramsOf, same }, size, numbers) {
  const wrong = (found) => (same(found).length === size ? null : `${same(found).length} transactions and not ${size}`)
  const params = numbers.map((number) => paramsOf(`0x${number.toString(16)}`))
  const question = { group: 'receipts and blocks', method, same, wrong }
  const what = `${method.slice(4)}, ${size} ${size === 1 ? 'transaction' : 'transactions'}`
  // Before the other, so that nobody has these blocks prepared.
  await raceOnce(field, peers, { ...question, name: `${what}, each once`, each: params })
  await race(field, peers, { ...question, name: what, params: params[0] })
}

/**
 * What everybody says, of what everybody has. An OP block begins with a transaction of its own, and each node orders those of several senders
 * in its way: so places and sums are left out, and both are sorted.
 */
function plainReceipts(found) {
  return sorted(found, ({ transactionHash, status, from, to, gasUsed, contractAddress, logs }) => [
    [transactionHash, status, from, to, gasUsed, contractAddress],
    logs.map(({ address, topics, data, blockNumber }) => [address, topics, data, blockNumber]),
  ])
}

function plainBlock({ transactions }) {
  return sorted(transactions, ({ hash, from, to, input, nonce, value, gas, r, s, blockNumber }) => [
    hash,
    from,
    to,
    input,
    nonce,
    value,
    gas,
    r,
    s,
    blockNumber,
  ])
}

function sorted(found, plain) {
  const texts = found.filter(({ type }) => type !== '0x7e').map((each) => JSON.stringify(plain(each)))
  return texts.toSorted()
}
