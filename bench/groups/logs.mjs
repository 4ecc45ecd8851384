// eth_getLogs on a chain that grows: what it costs to find a few logs, and what it costs to send many.
import { COMMON, History, LOGS_PER_BLOCK, MARK, word } from '../history.mjs'
import { race } from '../race.mjs'

/** Where the queries with many hits are asked, and what 20,000 hits refers to. */
const WIDE = 2_000
/** Peers that need longer to get to the next length stay behind: 80,000 blocks would take them many minutes. */
const BUILD_LIMIT_MS = 60_000
const OUR_BUILD_LIMIT_MS = 150_000
const NOBODY = `0x${'0b'.repeat(20)}`

export async function logs(field) {
  const lengths = field.options.blocks
  await field.withPeers('held', async (peers) => {
    memory(field, 'at the start', peers, (peer) => peer.startedMb)
    const histories = []
    for (const peer of peers) histories.push(await History.begin(field, peer, lengths))
    for (const length of lengths) {
      for (const history of histories) await history.grow(field, length, history.peer.name === 'ours' ? OUR_BUILD_LIMIT_MS : BUILD_LIMIT_MS)
      const grown = histories.filter(({ stopped }) => stopped === null)
      if (grown[0]?.peer.name !== 'ours') break
      await few(field, grown, lengths, length)
      if (length === WIDE) await many(field, grown)
      memory(
        field,
        `after ${length.toLocaleString('en-US')} blocks of ${LOGS_PER_BLOCK} logs`,
        grown.map(({ peer }) => peer),
        (peer) => peer.anonymousMb,
      )
    }
    for (const { peer, stopped } of histories) if (stopped !== null) field.report.note(`logs: ${peer.name} was left behind: ${stopped}.`)
    const perSecond = histories.map(({ peer, blocks, builtMs }) => [peer.name, blocks / (builtMs / 1_000)])
    field.report.value({
      group: 'building',
      name: 'blocks of 1 transaction and 11 logs, one by one',
      unit: 'blocks/s',
      better: 'more',
      cells: Object.fromEntries(perSecond),
    })
  })
}

/** Over the whole chain. */
async function few(field, histories, lengths, length) {
  const [{ address, twin, firstBlock }] = histories
  const mark = History.mark(lengths, length)
  const at = `${length.toLocaleString('en-US')} blocks`
  const range = { fromBlock: '0x0', toBlock: hex(firstBlock + length - 1) }
  const byTopic = { ...range, topics: [MARK, mark] }
  await ask(field, histories, `10 hits by topic, ${at}`, byTopic, 10)
  if (length === WIDE) await ask(field, histories, `10 hits by topic, ${at}`, byTopic, 10, 16)
  await ask(field, histories, `2 hits by address and topic, ${at}`, { ...range, address: twin, topics: [MARK, mark] }, 2)
  await ask(field, histories, `unknown address, ${at}`, { ...range, address: NOBODY }, 0)
  if (length > WIDE) {
    const window = { fromBlock: hex(firstBlock + length - WIDE), toBlock: range.toBlock, address }
    await ask(
      field,
      histories,
      `a window of ${WIDE.toLocaleString('en-US')} blocks, 20 hits, ${at}`,
      { ...window, topics: [COMMON, `0x${word(0x10000)}`] },
      20,
    )
  }
}

async function many(field, histories) {
  const [{ address, firstBlock }] = histories
  const whole = { fromBlock: '0x0', toBlock: hex(firstBlock + WIDE - 1) }
  const middle = firstBlock + WIDE / 2
  const twenty = Array.from({ length: 20 }, (_, i) => `0x${word(0x10000 + i * 50)}`)
  await ask(field, histories, '2,000 hits by topic', { ...whole, topics: [MARK] }, WIDE)
  await ask(field, histories, '20,000 hits by address and topic', { ...whole, address, topics: [COMMON] }, WIDE * 10)
  await ask(field, histories, 'OR-list of 20, 400 hits', { ...whole, topics: [COMMON, twenty] }, 400)
  await ask(field, histories, 'no filter, 100 blocks, 1,100 logs', { fromBlock: hex(middle), toBlock: hex(middle + 99) }, 1_100)
  await ask(field, histories, 'no filter, 22,000 logs', whole, WIDE * LOGS_PER_BLOCK)
  // Each node has hashes of its own.
  const hashes = new Map()
  for (const { peer } of histories) hashes.set(peer.name, (await peer.rpc('eth_getBlockByNumber', [hex(middle), false])).hash)
  for (const lanes of [1, 16]) {
    await ask(field, histories, 'one block by hash, 11 logs', (peer) => [{ blockHash: hashes.get(peer) }], LOGS_PER_BLOCK, lanes)
  }
}

function ask(field, histories, name, filter, hits, lanes = 1) {
  const peers = histories.map(({ peer }) => peer)
  const wrong = (found) => (found.length === hits ? null : `${found.length} logs and not ${hits}`)
  const params = typeof filter === 'function' ? filter : [filter]
  return race(field, peers, { group: 'logs', name, method: 'eth_getLogs', params, lanes, same: plain, wrong })
}

/** What every node says of a log; block hashes and what OP chains add differ. */
function plain(logs) {
  return logs.map(({ address, topics, data, blockNumber, logIndex, transactionHash }) => [
    address,
    topics,
    data,
    blockNumber,
    logIndex,
    transactionHash,
  ])
}

function memory(field, name, peers, of) {
  const cells = Object.fromEntries(peers.map((peer) => [peer.name, of(peer)]))
  field.report.value({ group: 'memory', name: `RssAnon ${name}`, unit: 'MB', better: 'less', cells })
}

function hex(/** @type {number} */ value) {
  return `0x${value.toString(16)}`
}
