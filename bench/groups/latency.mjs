// Latencies for a sender: until a receipt at a steady rate, and until the notification of a log.
import { WebSocket } from 'ws'
import { Line } from '../load.mjs'
import { GAS_LIMIT } from '../peers.mjs'
import { bodyOf } from '../compare.mjs'
import { dealToken } from '../tokens.mjs'

const PER_SECOND = 500
const SECONDS = 8
const QUICK_SECONDS = 2
/** One in so many is polled until its receipt exists; polling all would be the measured load. */
const WATCHED = 10
const POLL_MS = 4
/** Without a receipt after this it counts as never. */
const TIMEOUT_MS = 10_000

/** Mining modes. The token is distributed first, without held mining: one block per transaction, or soon. */
const RECEIPT_MODES = [
  { peer: 'ours', mining: 'default', label: 'ours, flashblocks every 200 ms' },
  { peer: 'ours', mining: 'default', held: 1_000, label: 'ours, the same with 1,000 held transactions' },
  { peer: 'ours', mining: 'each', label: 'ours, a block per transaction' },
  { peer: 'anvil', mining: 'each', label: 'anvil, a block per transaction' },
  { peer: 'anvil', mining: 'second', label: 'anvil, a block every second' },
  { peer: 'hardhat', mining: 'each', label: 'Hardhat, a block per transaction' },
]

export async function latency(participants) {
  const seconds = participants.options.quick ? QUICK_SECONDS : SECONDS
  for (const { peer: name, mining, held = 0, label } of RECEIPT_MODES) {
    if (!participants.names.includes(name)) continue
    const peer = await participants.start(name, mining, name === 'ours' && mining === 'default' ? ['--gas-limit', String(GAS_LIMIT)] : [])
    const { transfer } = await dealToken(participants, peer)
    const signed = Array.from({ length: PER_SECOND * seconds }, transfer)
    await hold(peer, held)
    participants.say(`send to receipt: ${label}`)
    const { p50Ms, p99Ms, seen, sent, behindMs } = await sendSteadily(peer, signed)
    participants.report.latency({
      group: 'send to receipt',
      name: `${PER_SECOND} ERC-20 transfers a second`,
      label,
      p50Ms,
      p99Ms,
      seen,
      sent,
    })
    if (behindMs > 100)
      participants.report.note(
        `send to receipt: ${label}: sending was up to ${Math.round(behindMs)} ms behind schedule; latency counts from the scheduled time.`,
      )
    await participants.stop(peer)
  }
}

const HELD_TO = '0x00000000000000000000000000000000000be1d0'

/** Fills the pool with transactions of as many senders that no block may include. */
async function hold(peer, count) {
  if (count === 0) return
  await peer.rpc('anvil_autoImpersonateAccount', [true])
  await peer.rpc('pocketchain_hold', [{ to: HELD_TO }])
  for (let i = 0; i < count; i++) {
    const from = `0x${(0xbeef_0000 + i).toString(16).padStart(40, '0')}`
    await peer.rpc('anvil_setBalance', [from, '0xde0b6b3a7640000'])
    await peer.rpc('eth_sendTransaction', [{ from, to: HELD_TO, value: '0x1', gas: '0x5208' }])
  }
}

/** Sends at a constant rate regardless of responses. Latency counts from the due time, so queueing is included. */
async function sendSteadily(peer, signed) {
  const [senders, pollers] = [await Line.open(peer, 8), await Line.open(peer, 8)]
  const startMs = performance.now() + 50
  const waits = []
  const all = []
  let behindMs = 0
  for (let i = 0; i < signed.length;) {
    const dueMs = startMs + (i * 1_000) / PER_SECOND
    const nowMs = performance.now()
    if (nowMs < dueMs) {
      await sleep(dueMs - nowMs)
      continue
    }
    behindMs = Math.max(behindMs, nowMs - dueMs)
    const { raw, hash } = signed[i]
    const sent = senders.ask(bodyOf({ method: 'eth_sendRawTransaction', params: [raw] }))
    all.push(i % WATCHED === 0 ? sent.then(() => watch(pollers, hash, dueMs, waits)) : sent)
    i++
  }
  await Promise.all(all)
  senders.close()
  pollers.close()
  waits.sort((a, b) => a - b)
  const sent = Math.ceil(signed.length / WATCHED)
  const at = (share) => waits[Math.min(waits.length - 1, Math.floor(sent * share))] ?? Infinity
  return { p50Ms: at(0.5), p99Ms: waits.length >= sent * 0.99 ? at(0.99) : Infinity, seen: waits.length, sent, behindMs }
}

async function watch(line, hash, sinceMs, waits) {
  const body = bodyOf({ method: 'eth_getTransactionReceipt', params: [hash] })
  while (performance.now() - sinceMs < TIMEOUT_MS) {
    const answer = await line.ask(body)
    if (answer.length > 200) {
      waits.push(performance.now() - sinceMs)
      return
    }
    await sleep(POLL_MS)
  }
}

const NOTICE_MODES = [
  { peer: 'ours', mining: 'default', kind: 'pendingLogs', label: 'ours, pendingLogs, flashblocks every 200 ms' },
  { peer: 'ours', mining: 'each', kind: 'logs', label: 'ours, logs, a block per transaction' },
  { peer: 'anvil', mining: 'each', kind: 'logs', label: 'anvil, logs, a block per transaction' },
  { peer: 'hardhat', mining: 'each', kind: 'logs', label: 'Hardhat, logs, a block per transaction' },
]
const NOTICES = 100
const QUICK_NOTICES = 20
/** With flashblocks each waits for the next flashblock. */
const PROMISED_NOTICES = 30

export async function notices(participants) {
  for (const { peer: name, mining, kind, label } of NOTICE_MODES) {
    if (!participants.names.includes(name)) continue
    const peer = await participants.start(name, mining)
    const { token, transfer } = await dealToken(participants, peer)
    const count = participants.options.quick ? QUICK_NOTICES : kind === 'pendingLogs' ? PROMISED_NOTICES : NOTICES
    participants.say(`subscription: ${label}`)
    const waits = await hear(peer, kind, token, Array.from({ length: count }, transfer))
    const at = (share) => waits[Math.floor((waits.length - 1) * share)] ?? Infinity
    participants.report.latency({
      group: 'send to notification',
      name: 'eth_subscribe, one at a time',
      label,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      seen: waits.length,
      sent: count,
    })
    await participants.stop(peer)
  }
}

async function hear(peer, kind, token, signed) {
  const line = await Line.open(peer)
  const socket = new WebSocket(`ws://127.0.0.1:${peer.port}`)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  /** @type {(hash: string | null) => void} */
  let heard = () => {}
  socket.on('message', (/** @type {Buffer} */ data) => {
    const { params } = JSON.parse(data.toString('utf8'))
    heard(params === undefined ? null : [params.result].flat()[0].transactionHash)
  })
  const subscribed = new Promise((resolve) => (heard = resolve))
  socket.send(bodyOf({ method: 'eth_subscribe', params: [kind, { address: token }] }))
  await subscribed
  const waits = []
  for (const { raw, hash } of signed) {
    // Not in step with the node's clock.
    await sleep(((waits.length * 37) % 100) + 1)
    const startMs = performance.now()
    const notice = new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), TIMEOUT_MS)
      heard = (found) => {
        if (found !== hash) return
        clearTimeout(timer)
        resolve(true)
      }
    })
    await line.ask(bodyOf({ method: 'eth_sendRawTransaction', params: [raw] }))
    if (await notice) waits.push(performance.now() - startMs)
  }
  line.close()
  socket.terminate()
  return waits.toSorted((a, b) => a - b)
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
