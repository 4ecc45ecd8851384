// Forks of one upstream chain that answers each HTTP request after 50 ms: requests and times until cold state is read.
import { WebSocket } from 'ws'
import { ForkProxy } from '../forkproxy.mjs'
import { word } from '../history.mjs'
import { dealToken } from '../tokens.mjs'

const DELAY_MS = 50
const REQUESTS_PER_SECOND = 10
const SLOTS = 100
const EMPTY_BLOCKS = 5
const COLD_TRANSFERS = 64
const GAPS_MS = 4_000
/** An answer may take so long where each key costs a request. */
const SILENCE_MS = 120_000

/** Returns the sum of slots 0 to 99. */
const READER = { address: '0x00000000000000000000000000000000000f0e0d', code: '0x5f5f5b8154019060010190816064116002575f5260205ff3' }

export async function fork(participants) {
  const upstream = await participants.start('ours', 'held', ['--chain-type', 'l1'])
  const token = await dealToken(participants, upstream)
  await upstream.rpc('anvil_setCode', [READER.address, READER.code])
  for (let slot = 0; slot < SLOTS; slot++) await upstream.rpc('anvil_setStorageAt', [READER.address, `0x${word(slot)}`, `0x${word(1)}`])
  await upstream.rpc('evm_mine')
  const head = Number(await upstream.rpc('eth_blockNumber'))
  const proxy = await ForkProxy.start(upstream.port, DELAY_MS)
  try {
    await compare(participants, proxy, head, token)
  } finally {
    proxy.stop()
  }
  await participants.stop(upstream)
}

async function compare(participants, proxy, head, token) {
  const transfers = Array.from({ length: COLD_TRANSFERS }, token.transfer)
  const rows = {}
  for (const name of participants.names) {
    await measure(participants, name, proxy, head, transfers[0].raw, (row, value) => {
      rows[row] ??= {}
      rows[row][name] = value
    })
  }
  for (const [row, cells] of Object.entries(rows)) {
    const [title, unit] = row.split('|')
    participants.report.value({ group: 'fork', name: title, unit, better: 'less', cells })
  }
  const gapMs = await flashblockGap(participants, proxy, head, transfers)
  participants.report.value({
    group: 'fork',
    name: `gap of flashblocks, p99, ${COLD_TRANSFERS} cold transfers submitted`,
    unit: 'ms',
    better: 'less',
    cells: { ours: gapMs },
  })
}

/** Flags of a fork without a cache on disk. */
function flagsOf(name, proxy, head) {
  if (name === 'hardhat') return ['--fork', proxy.url, '--fork-block-number', String(head)]
  const flags = ['--fork-url', proxy.url, '--fork-block-number', String(head), '--no-storage-caching']
  return name === 'ours' ? [...flags, '--no-sponsor', '--no-bundler'] : flags
}

async function measure(participants, name, proxy, head, raw, found) {
  const counted = async (row, work) => {
    const [requests, startMs] = [proxy.requests, performance.now()]
    const value = await work()
    found(`${row}|ms`, performance.now() - startMs)
    found(`${row}|requests`, proxy.requests - requests)
    return value
  }
  participants.say(`fork: ${name}`)
  proxy.limit = Infinity
  const before = proxy.requests
  const peer = await participants.start(name, 'each', flagsOf(name, proxy, head))
  found('start|ms', peer.startedMs)
  found('start|requests', proxy.requests - before)
  await peer.rpc('evm_mine', [], SILENCE_MS)
  const mined = proxy.requests
  for (let block = 0; block < EMPTY_BLOCKS; block++) await peer.rpc('evm_mine', [], SILENCE_MS)
  found('empty block|requests', (proxy.requests - mined) / EMPTY_BLOCKS)
  await counted('cold ERC-20 transfer', async () => {
    const hash = await peer.rpc('eth_sendRawTransaction', [raw], SILENCE_MS)
    let receipt = null
    while (receipt === null) receipt = await peer.rpc('eth_getTransactionReceipt', [hash])
    if (receipt.status !== '0x1') throw new Error(`${name}: the transfer failed`)
  })
  const sum = await counted(`call of ${SLOTS} slots`, () => sumOf(peer))
  if (Number(sum) !== SLOTS) throw new Error(`${name}: the call returned ${sum}`)
  await participants.stop(peer)

  const limited = await participants.start(name, 'each', flagsOf(name, proxy, head))
  await limited.rpc('evm_mine', [], SILENCE_MS) // Hardhat executes nothing on the fork block itself.
  await new Promise((resolve) => setTimeout(resolve, 1_000)) // Waits until the earlier requests no longer count in the proxy.
  proxy.limit = REQUESTS_PER_SECOND
  const startMs = performance.now()
  await sumOf(limited)
  found(`call of ${SLOTS} slots, 429 above ${REQUESTS_PER_SECOND} requests a second|ms`, performance.now() - startMs)
  proxy.limit = Infinity
  await participants.stop(limited)
}

function sumOf(peer) {
  return peer.rpc('eth_call', [{ to: READER.address }, 'latest'], SILENCE_MS)
}

/** While cold transactions are submitted simultaneously. */
async function flashblockGap(participants, proxy, head, signed) {
  const peer = await participants.start('ours', 'default', flagsOf('ours', proxy, head))
  const socket = new WebSocket(`ws://127.0.0.1:${peer.port}/flashblocks`)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const times = []
  socket.on('message', () => times.push(performance.now()))
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  await Promise.all(signed.map(({ raw }) => peer.rpc('eth_sendRawTransaction', [raw])))
  await new Promise((resolve) => setTimeout(resolve, GAPS_MS))
  socket.terminate()
  for (const { hash } of signed) {
    const receipt = await peer.rpc('eth_getTransactionReceipt', [hash])
    if (receipt?.status !== '0x1') throw new Error(`${hash} is not executed after ${GAPS_MS} ms`)
  }
  await participants.stop(peer)
  const gaps = times.slice(1).map((atMs, i) => atMs - times[i])
  return gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length * 0.99)]
}
