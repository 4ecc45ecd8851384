// Blocks and their receipts, requested repeatedly and once per block.
import { compare, compareOnce } from '../compare.mjs'
import { dealToken, mineBlock } from '../tokens.mjs'

/** Transactions per block, and number of such blocks for first-time requests. */
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

export async function receipts(participants) {
  await participants.withPeers('held', async (peers) => {
    const sizes = participants.options.quick ? QUICK_SIZES : SIZES
    const tokens = new Map()
    for (const peer of peers) tokens.set(peer, await dealToken(participants, peer))
    for (const { size, blocks } of sizes) {
      let numbers = []
      for (const peer of peers) {
        const { transfer } = tokens.get(peer)
        numbers = []
        for (let i = 0; i < blocks; i++) {
          participants.say(`building, ${peer.name}: ${i} of ${blocks} blocks of ${size} transfers`)
          numbers.push(await mineBlock(peer, Array.from({ length: size }, transfer)))
        }
      }
      for (const shape of SHAPES) await measure(participants, peers, shape, size, numbers)
    }
  })
}

const SHAPES = [
  { method: 'eth_getBlockReceipts', paramsOf: (number) => [number], same: plainReceipts },
  { method: 'eth_getBlockByNumber', paramsOf: (number) => [number, true], same: plainBlock },
]

async function measure(participants, peers, { method, paramsOf, same }, size, numbers) {
  const wrong = (found) => (same(found).length === size ? null : `${same(found).length} transactions and not ${size}`)
  const params = numbers.map((number) => paramsOf(`0x${number.toString(16)}`))
  const question = { group: 'receipts and blocks', method, same, wrong }
  const what = `${method.slice(4)}, ${size} ${size === 1 ? 'transaction' : 'transactions'}`
  // First, so that no node has prepared these blocks.
  await compareOnce(participants, peers, { ...question, name: `${what}, each once`, each: params })
  await compare(participants, peers, { ...question, name: what, params: params[0] })
}

/**
 * Fields that all nodes share. An OP block has an additional first transaction, and nodes order transactions of several senders
 * differently: positions and sums are omitted and both lists sorted.
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
