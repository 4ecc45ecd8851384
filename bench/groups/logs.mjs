// eth_getLogs on a growing chain: the cost of finding few logs and of sending many.
import { COMMON, History, LOGS_PER_BLOCK, MARK, word } from '../history.mjs'
import { compare } from '../compare.mjs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Chain length for queries with many hits; "20,000 hits" refers to it. */
const WIDE = 2_000
/** After building: we merge the sections of the log index once nothing is appended. */
const PAUSE_MS = 1_000
/** Peers that need longer to reach the next length stop: 80,000 blocks would take them many minutes. */
const BUILD_LIMIT_MS = 60_000
const OUR_BUILD_LIMIT_MS = 150_000
const NOBODY = `0x${'0b'.repeat(20)}`

export async function logs(participants) {
  const lengths = participants.options.blocks
  await participants.withPeers('held', async (peers) => {
    memory(participants, 'at the start', peers, (peer) => peer.startedMb)
    const histories = []
    for (const peer of peers) histories.push(await History.begin(participants, peer, lengths))
    for (const length of lengths) {
      for (const history of histories)
        await history.grow(participants, length, history.peer.name === 'ours' ? OUR_BUILD_LIMIT_MS : BUILD_LIMIT_MS)
      const grown = histories.filter(({ stopped }) => stopped === null)
      if (grown[0]?.peer.name !== 'ours') break
      await sleep(PAUSE_MS)
      await few(participants, grown, lengths, length)
      if (length === WIDE) await many(participants, grown)
      memory(
        participants,
        `after ${length.toLocaleString('en-US')} blocks of ${LOGS_PER_BLOCK} logs`,
        grown.map(({ peer }) => peer),
        (peer) => peer.anonymousMb,
      )
    }
    participants.report.note(`logs: queries begin ${PAUSE_MS / 1_000} s after the last block; all nodes are idle until then.`)
    for (const { peer, stopped } of histories)
      if (stopped !== null) participants.report.note(`logs: ${peer.name} stopped early: ${stopped}.`)
    const perSecond = histories.map(({ peer, blocks, builtMs }) => [peer.name, blocks / (builtMs / 1_000)])
    participants.report.value({
      group: 'building',
      name: 'blocks of 1 transaction and 11 logs, one by one',
      unit: 'blocks/s',
      better: 'more',
      cells: Object.fromEntries(perSecond),
    })
  })
}

/** Over the whole chain. */
async function few(participants, histories, lengths, length) {
  const [{ address, twin, firstBlock }] = histories
  const mark = History.mark(lengths, length)
  const at = `${length.toLocaleString('en-US')} blocks`
  const range = { fromBlock: '0x0', toBlock: hex(firstBlock + length - 1) }
  const byTopic = { ...range, topics: [MARK, mark] }
  await ask(participants, histories, `10 hits by topic, ${at}`, byTopic, 10)
  if (length === WIDE) await ask(participants, histories, `10 hits by topic, ${at}`, byTopic, 10, 16)
  await ask(participants, histories, `2 hits by address and topic, ${at}`, { ...range, address: twin, topics: [MARK, mark] }, 2)
  await ask(participants, histories, `unknown address, ${at}`, { ...range, address: NOBODY }, 0)
  if (length > WIDE) {
    const window = { fromBlock: hex(firstBlock + length - WIDE), toBlock: range.toBlock, address }
    await ask(
      participants,
      histories,
      `a window of ${WIDE.toLocaleString('en-US')} blocks, 20 hits, ${at}`,
      { ...window, topics: [COMMON, `0x${word(0x10000)}`] },
      20,
    )
  }
}

async function many(participants, histories) {
  const [{ address, firstBlock }] = histories
  const whole = { fromBlock: '0x0', toBlock: hex(firstBlock + WIDE - 1) }
  const middle = firstBlock + WIDE / 2
  const twenty = Array.from({ length: 20 }, (_, i) => `0x${word(0x10000 + i * 50)}`)
  await ask(participants, histories, '2,000 hits by topic', { ...whole, topics: [MARK] }, WIDE)
  await ask(participants, histories, '20,000 hits by address and topic', { ...whole, address, topics: [COMMON] }, WIDE * 10)
  await ask(participants, histories, 'OR-list of 20, 400 hits', { ...whole, topics: [COMMON, twenty] }, 400)
  await ask(participants, histories, 'no filter, 100 blocks, 1,100 logs', { fromBlock: hex(middle), toBlock: hex(middle + 99) }, 1_100)
  await ask(participants, histories, 'no filter, 22,000 logs', whole, WIDE * LOGS_PER_BLOCK)
  // Block hashes differ between nodes.
  const hashes = new Map()
  for (const { peer } of histories) hashes.set(peer.name, (await peer.rpc('eth_getBlockByNumber', [hex(middle), false])).hash)
  for (const lanes of [1, 16]) {
    await ask(participants, histories, 'one block by hash, 11 logs', (peer) => [{ blockHash: hashes.get(peer) }], LOGS_PER_BLOCK, lanes)
  }
}

function ask(participants, histories, name, filter, hits, lanes = 1) {
  const peers = histories.map(({ peer }) => peer)
  const wrong = (found) => (found.length === hits ? null : `${found.length} logs and not ${hits}`)
  const params = typeof filter === 'function' ? filter : [filter]
  return compare(participants, peers, { group: 'logs', name, method: 'eth_getLogs', params, lanes, same: plain, wrong })
}

/** Fields of a log that all nodes share; block hashes and OP fields differ. */
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

function memory(participants, name, peers, of) {
  const cells = Object.fromEntries(peers.map((peer) => [peer.name, of(peer)]))
  participants.report.value({ group: 'memory', name: `RssAnon ${name}`, unit: 'MB', better: 'less', cells })
}

function hex(/** @type {number} */ value) {
  return `0x${value.toString(16)}`
}
