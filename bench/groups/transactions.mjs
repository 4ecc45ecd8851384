// Transactions per second into blocks: signed in advance, sent while mining is held, then mined.
import { cpuOf, loadOnce } from '../load.mjs'
import { bodyOf } from '../compare.mjs'
import { median } from '../table.mjs'
import { countIn, dealToken } from '../tokens.mjs'

const COUNT = 4_000
const QUICK_COUNT = 500
const LANES = 16
/** Maximum number of blocks needed. */
const MOST_BLOCKS = 50
/** Transactions after which a Node process has compiled its code: the first 4,000 take two to three times as much CPU as later ones. */
const WARM_UP_ROUNDS = 2
const KINDS = [
  { kind: 'send', name: 'ETH transfers' },
  { kind: 'transfer', name: 'ERC-20 transfers' },
]

export async function transactions(participants) {
  const { quick, rounds } = participants.options
  const count = quick ? QUICK_COUNT : COUNT
  await participants.withPeers('held', async (peers) => {
    const tokens = new Map()
    for (const peer of peers) tokens.set(peer, await dealToken(participants, peer))
    const run = async (kind, name) => {
      const samples = new Map()
      for (const peer of peers) {
        participants.say(`transactions: ${name}, ${peer.name}`)
        samples.set(peer, await include(peer, Array.from({ length: count }, tokens.get(peer)[kind])))
      }
      return samples
    }
    const report = (name, samples) => {
      const row = { group: 'transactions', name: `${name}, held and then mined` }
      const cells = (field_) => Object.fromEntries(peers.map((peer) => [peer.name, median(samples.map((each) => each.get(peer)[field_]))]))
      participants.report.value({ ...row, unit: 'tx/s', better: 'more', cells: cells('perSecond') })
      participants.report.value({ ...row, name: `${row.name}: CPU`, unit: 'us/tx', better: 'less', cells: cells('cpuUs') })
    }
    const size = count.toLocaleString('en-US')
    for (const [index, { kind, name }] of KINDS.entries()) {
      for (let round = 0; round < WARM_UP_ROUNDS; round++) {
        const samples = await run(kind, name)
        if (index === 0 && round === 0) report(`the first ${size} ${name} of a process`, [samples])
      }
      const samples = []
      for (let round = 0; round < rounds; round++) samples.push(await run(kind, name))
      report(`${size} ${name}`, samples)
    }
  })
}

/** From the first byte sent until the last receipt is available. */
async function include(peer, signed) {
  const bodies = signed.map(({ raw }) => bodyOf({ method: 'eth_sendRawTransaction', params: [raw] }))
  const startMs = performance.now()
  const cpuUs = cpuOf(peer.pid)
  await loadOnce(peer, bodies, { lanes: LANES })
  const before = Number(await peer.rpc('eth_blockNumber'))
  let included = 0
  for (let block = before + 1; included < signed.length; block++) {
    if (block > before + MOST_BLOCKS)
      throw new Error(`${peer.name}: only ${included} of ${signed.length} transactions are in blocks after ${MOST_BLOCKS}`)
    await peer.rpc('evm_mine')
    included += await countIn(peer, `0x${block.toString(16)}`)
  }
  if ((await peer.rpc('eth_getTransactionReceipt', [signed.at(-1).hash])) === null)
    throw new Error(`${peer.name}: no receipt of the last transaction`)
  const elapsedMs = performance.now() - startMs
  return { perSecond: (signed.length / elapsedMs) * 1_000, cpuUs: (cpuOf(peer.pid) - cpuUs) / signed.length }
}
