// A captured test run of an app (capture.mjs), one request at a time, from the spawn of a process to its last answer: over HTTP, and in the process of
// the test.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { HARDFORK, readCapture, replay } from '../capture.mjs'
import { bodyOf } from '../compare.mjs'
import { nodeOfHardhat3 } from '../hardhat.mjs'
import { Line, cpuOf } from '../load.mjs'
import { median } from '../table.mjs'

const IN_PROCESS = fileURLToPath(new URL('../captureinprocess.mjs', import.meta.url))

export async function scenario(participants) {
  const { scenario: file } = participants.options
  if (file === undefined) return
  const capture = readCapture(file)
  const name = `${capture.requests.length.toLocaleString('en-US')} captured requests from the spawn`
  process.env.BENCH_HARDFORK = HARDFORK
  await measure(participants, name, participants.names, (node) => overHttp(participants, node, capture, byLine))
  await measure(participants, `${name}, by fetch`, participants.names, (node) => overHttp(participants, node, capture, byFetch))
  delete process.env.BENCH_HARDFORK
  const nodes = participants.names.filter((node) => node !== 'anvil')
  await measure(participants, `${name}, in process`, nodes, (node) => inProcess(node, participants.options))
  if (nodes.includes('hardhat')) participants.report.note('scenario: in process, Hardhat is Hardhat 3 (EDR); over HTTP it is Hardhat 2.')
}

/** Runs the nodes in turns. */
async function measure(participants, name, nodes, run) {
  const samples = new Map(nodes.map((node) => [node, []]))
  const { rounds } = participants.options
  for (let round = 0; round < rounds; round++) {
    for (const node of nodes) {
      participants.say(`${name}: ${node}, ${round + 1} of ${rounds}`)
      samples.get(node).push(await run(node))
    }
  }
  const cells = (what) => Object.fromEntries([...samples].map(([node, each]) => [node, median(each.map((sample) => sample[what]))]))
  const row = { group: 'scenario', unit: 's', better: 'less' }
  participants.report.value({ ...row, name, cells: cells('seconds') })
  participants.report.value({ ...row, name: `${name}: CPU`, cells: cells('cpuSeconds') })
  participants.report.note(`${name}: errors per run: ${[...samples].map(([node, [first]]) => `${node} ${first.errors}`).join(', ')}.`)
}

async function overHttp(participants, node, capture, replayTo) {
  const startMs = performance.now()
  const peer = await participants.start(node, 'each', optionsOf(node, capture))
  const errors = await replayTo(peer, capture)
  const sample = { seconds: (performance.now() - startMs) / 1_000, cpuSeconds: cpuOf(peer.pid) / 1e6, errors }
  await participants.stop(peer)
  return sample
}

/** The client costs nearly nothing, so the time is that of the node. */
async function byLine(peer, capture) {
  const line = await Line.open(peer, 1)
  const errors = await replay(capture, async (request) => JSON.parse(await line.ask(bodyOf(request))))
  line.close()
  return errors
}

/** The client of viem, ethers and Hardhat: what a test suite waits for. */
function byFetch({ port }, capture) {
  const url = `http://127.0.0.1:${port}`
  const headers = { 'content-type': 'application/json' }
  return replay(capture, async (request) => (await fetch(url, { method: 'POST', headers, body: bodyOf(request) })).json())
}

/** Hardhat 2 has the accounts and the block per transaction of the capture by default, and no option for the fork, which its configuration reads. */
function optionsOf(node, { chainId }) {
  if (node === 'hardhat') return []
  const common = ['--accounts', '20', '--chain-id', String(chainId), '--hardfork', HARDFORK]
  return node === 'ours' ? [...common, '--chain-type', 'l1'] : [...common, '--disable-code-size-limit']
}

/** The child loads the node, as the process of a test does. All run with the Node version that Hardhat 3 needs. */
async function inProcess(node, { scenario: file, dist }) {
  const startMs = performance.now()
  const child = spawn(nodeOfHardhat3(), [IN_PROCESS, node, file, dist], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const chunk of child.stdout) output += chunk
  return { ...JSON.parse(output), seconds: (performance.now() - startMs) / 1_000 }
}
