// node bench/sponsored.mjs [--operations 1000] [--senders 50] [--lanes 16] [--wallet] [--dist folder]: sponsored user operations, from the
// first request of their preparation to the pre-confirmed receipt; then the sponsor's ledger against the chain.
//
// Without --wallet a client sends the requests over HTTP: price, nonce and code, stub, estimate, final, eth_sendUserOperation. With
// --wallet an app in the node's process uses its wallet (wallet_sendCalls with a paymasterService), which approves everything and sends the
// same requests over HTTPS.
// A receipt counts from the time it is seen; one request polls all pending ones every 10 ms (receiptwatch.mjs).
import { cpus, loadavg, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from '../scripts/setup.mjs'
import { Line, cpuOf } from './load.mjs'
import { Operations, chargesOf, differences, ledgerOf, sumOf } from './operations.mjs'
import { Peer, pocketchain } from './peers.mjs'
import { ReceiptWatch } from './receiptwatch.mjs'
import { figure, table } from './table.mjs'

const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: '1000' },
    senders: { type: 'string', default: '50' },
    lanes: { type: 'string', default: '16' },
    wallet: { type: 'boolean', default: false },
    dist: { type: 'string' },
  },
})
const COUNT = Number(values.operations)
const SENDERS = Number(values.senders)
const LANES = Number(values.lanes)
const BUDGET_POLL_MS = 100
/** Without a receipt after this an operation counts as lost. */
const TIMEOUT_MS = 10_000
const GOAL_MS = 300
/**
 * Policy budget in wei: a third above the total cost, below the total of signed maxima. It suffices because settled operations release the
 * rest.
 */
const BUDGET = BigInt(COUNT) * 130_000_000_000_000n
const WETH = '0x4200000000000000000000000000000000000006'

if (values.dist === undefined) build()
const dist = values.dist ?? fileURLToPath(new URL('../dist', import.meta.url))
const rooms = { eth: await import(`${dist}/eth/index.js`), rpc: await import(`${dist}/rpc/index.js`) }
const entryPoint = rooms.eth.ENTRY_POINTS['0.8']

/** Milliseconds by step. @type {Map<string, number[]>} */
const waits = new Map()
let [sent, lost, most] = [0, 0, 0n]
/** @type {string[]} */
const complaints = []

const participants = values.wallet ? await (await import('./sponsoredwallet.mjs')).openWallets(dist, SENDERS) : await openClients()
try {
  await measure()
} finally {
  await participants.close()
}

/** A node in its own process, with clients in this one. */
async function openClients() {
  const peer = await Peer.start(pocketchain(dist))
  const [node, polls, sponsor] = [
    await Line.open(peer, LANES),
    await Line.open(peer, 2),
    await Line.open({ port: peer.port, pid: peer.pid, path: '/paymaster' }, LANES),
  ]
  const operations = new Operations(rooms, { ask: timed(asking(node)), sponsor: timed(asking(sponsor)) })
  const senders = Array.from({ length: SENDERS }, (_, i) => operations.sender(`sender ${i}`))
  return {
    label: 'over HTTP, node and clients in a process each',
    pid: peer.pid,
    ask: asking(polls),
    askAll: (calls) => askAll(polls, calls),
    /** Resolves with the receipt's promise and the submission time. */
    run: async (index, callData) => {
      const prepared = await operations.prepare(senders[index], callData)
      const submittedMs = performance.now()
      return { submittedMs, hash: await operations.send(prepared) }
    },
    callData: (calls) => operations.callData(calls),
    close: async () => {
      for (const line of [node, polls, sponsor]) line.close()
      await peer.stop()
    },
  }
}

async function measure() {
  const { ask } = participants
  await ask('pocketchain_sponsorPolicies', [{ name: 'bench', total: `0x${BUDGET.toString(16)}` }])
  const before = await paymaster(ask)
  const receipts = new ReceiptWatch(participants.askAll, TIMEOUT_MS)
  let isOver = false
  const budget = watchBudget(participants, () => isOver)
  const free = Array.from({ length: SENDERS }, (_, i) => i)
  const startLoad = loadavg()
  const [startMs, startCpuUs] = [performance.now(), cpuOf(participants.pid)]
  await Promise.all(Array.from({ length: LANES }, () => lane(receipts, free)))
  const elapsedMs = performance.now() - startMs
  const cpuMs = (cpuOf(participants.pid) - startCpuUs) / 1_000
  isOver = true
  await Promise.all([budget, receipts.stop()])
  const { charges, entries } = await audit(before)
  report({ elapsedMs, cpuMs, startLoad, charges, entries })
}

/** Sequential operations, each by a sender without one in flight. */
async function lane(receipts, free) {
  while (sent < COUNT) {
    const number = sent++
    const index = free.shift()
    const begunMs = performance.now()
    try {
      const { hash, submittedMs } = await participants.run(index, participants.callData([{ to: WETH, data: approval(number) }]))
      const answeredMs = performance.now()
      const seenMs = await receipts.seen(hash)
      note('preparation', submittedMs - begunMs)
      note('submission answered', answeredMs - submittedMs)
      note('submission to pre-confirmed', seenMs - submittedMs)
      note('whole: preparation to pre-confirmed', seenMs - begunMs)
    } catch (error) {
      lost++
      if (complaints.length < 10) complaints.push(`operation ${number}: ${error instanceof Error ? error.message : String(error)}`)
    }
    free.push(index)
  }
}

/** approve(address,uint256) */
function approval(amount) {
  return `0x095ea7b3${[0xb0b0, amount].map((word) => word.toString(16).padStart(64, '0')).join('')}`
}

function note(name, ms) {
  const list = waits.get(name)
  if (list === undefined) waits.set(name, [ms])
  else list.push(ms)
}

/** Records the maximum budget in use until `isOver`. */
async function watchBudget({ ask }, isOver) {
  while (!isOver()) {
    const { policies } = await ask('pocketchain_sponsorStatus')
    const used = BigInt(policies[0].use.reserved) + BigInt(policies[0].use.settled)
    if (used > most) most = used
    await new Promise((resolve) => setTimeout(resolve, BUDGET_POLL_MS))
  }
}

async function paymaster(ask) {
  const { paymasters } = await ask('pocketchain_sponsorStatus')
  const { address } = paymasters.find(({ version }) => version === '0.8')
  const data = `0x70a08231${address.slice(2).padStart(64, '0')}` // balanceOf(address)
  return { address, deposit: BigInt(await ask('eth_call', { to: entryPoint, data }, 'pending')) }
}

/** After everything is sealed. */
async function audit(before) {
  const { ask } = participants
  let [charges, entries, wrong] = [[], [], ['nothing was looked at']]
  for (const endMs = performance.now() + TIMEOUT_MS; wrong.length > 0 && performance.now() < endMs;) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    charges = await chargesOf(rooms, ask, { paymaster: before.address, entryPoint })
    entries = await ledgerOf(ask)
    wrong = differences(entries, charges)
    const open = entries.filter(({ state }) => state === 'reserved' || state === 'included').length
    if (open > 0) wrong.push(`${open} entries are not settled`)
  }
  complaints.push(...wrong.slice(0, 10))
  const { deposit } = await paymaster(ask)
  const sum = sumOf(charges)
  if (before.deposit - deposit !== sum) complaints.push(`the deposit fell by ${before.deposit - deposit} wei, the events say ${sum}`)
  const { totals } = await ask('pocketchain_sponsorStatus')
  if (BigInt(totals.settled) !== sum) complaints.push(`the ledger's total is ${BigInt(totals.settled)} wei, the events say ${sum}`)
  if (most > BUDGET) complaints.push(`the budget of ${BUDGET} wei was exceeded: ${most}`)
  if (charges.length !== COUNT) complaints.push(`${charges.length} of ${COUNT} operations are in the chain`)
  return { charges, entries }
}

function report({ elapsedMs, cpuMs, startLoad, charges, entries }) {
  const { version } = JSON.parse(JSON.stringify(pocketchain(dist)))
  const [cpu] = cpus()
  const say = (line = '') => process.stdout.write(`${line}\n`)
  say(`sponsored operations, ${participants.label}`)
  say(
    `pocketchain ${version}, node ${process.versions.node}, ${cpus().length} x ${cpu?.model ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform}`,
  )
  say(
    `${COUNT} operations of ${SENDERS} senders, ${LANES} at a time; flashblocks every 200 ms; load average ${startLoad.map((each) => each.toFixed(1)).join(' ')}`,
  )
  say()
  const names = [...waits.keys()].toSorted((a, b) => Number(a.includes('_')) - Number(b.includes('_')))
  say(table(['ms', 'p50', 'p90', 'p99', 'most', 'times'], names.map(rowOf)))
  say()
  const bundles = new Set(charges.map(({ transactionHash }) => transactionHash)).size
  say(
    `${figure(COUNT / (elapsedMs / 1_000))} operations a second; ${figure(cpuMs / COUNT)} ms of the process's CPU for each; ${bundles} bundles`,
  )
  const signed = entries.reduce((sum, { maxCost }) => sum + BigInt(maxCost ?? 0), 0n)
  say(
    `lost ${lost}; ledger ${entries.length} entries, ${signed} wei signed for, ${sumOf(charges)} charged; budget ${BUDGET}, at most ${most} in use`,
  )
  const p99 = quantile(waits.get('submission to pre-confirmed') ?? [], 0.99)
  say(`goal: p99 from submission to pre-confirmed at most ${GOAL_MS} ms: ${figure(p99)} ms, ${p99 <= GOAL_MS ? 'met' : 'not met'}`)
  for (const complaint of complaints) say(`WRONG: ${complaint}`)
  say(complaints.length === 0 ? 'ledger, chain, deposit and budget agree to the wei' : `${complaints.length} complaints`)
  process.exitCode = complaints.length === 0 && lost === 0 ? 0 : 1
}

function rowOf(name) {
  const list = waits.get(name) ?? []
  return [name, ...[0.5, 0.9, 0.99, 1].map((share) => figure(quantile(list, share))), String(list.length)]
}

function quantile(list, share) {
  const sorted = list.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

function asking(line) {
  return async (method, ...params) => (await askAll(line, [[method, ...params]]))[0]
}

async function askAll(line, calls) {
  const body = JSON.stringify(calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params })))
  const answers = JSON.parse(String(await line.ask(body)))
  return answers.map(({ result, error }) => {
    if (error !== undefined) throw new Error(`${error.code} ${error.message} ${JSON.stringify(error.data ?? null)}`)
    return result
  })
}

/** Each method's time is a row of the table. */
function timed(ask) {
  return async (method, ...params) => {
    const startMs = performance.now()
    const result = await ask(method, ...params)
    note(method, performance.now() - startMs)
    return result
  }
}
