// A captured test run of an app, from the spawn of the process to its last answer: a cold process, one request at a time.
// `--scenario NAME.jsonl.gz`: a JSON line with the provider's configuration, then a JSON line per request ({ method, params }). Beside it
// NAME.snapids.json: the captured results of evm_snapshot, in order.
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { bodyOf } from '../compare.mjs'
import { Line, cpuOf } from '../load.mjs'
import { median } from '../table.mjs'

export async function scenario(participants) {
  const { scenario: file, rounds } = participants.options
  if (file === undefined) return
  const [head, ...lines] = gunzipSync(readFileSync(file)).toString().trim().split('\n')
  const { providerConfig } = JSON.parse(head)
  const run = {
    requests: lines.map((line) => JSON.parse(line)),
    snapshots: JSON.parse(readFileSync(file.replace(/jsonl\.gz$/, 'snapids.json'), 'utf8')),
  }
  const samples = new Map(participants.names.map((name) => [name, []]))
  process.env.BENCH_HARDFORK = HARDFORK
  for (let round = 0; round < rounds; round++) {
    for (const name of participants.names) {
      participants.say(`scenario: ${name}, ${round + 1} of ${rounds}`)
      samples.get(name).push(await replay(participants, name, optionsOf(name, providerConfig), run))
    }
  }
  delete process.env.BENCH_HARDFORK
  const cells = (what) => Object.fromEntries([...samples].map(([name, each]) => [name, median(each.map((sample) => sample[what]))]))
  const row = { group: 'scenario', name: `${run.requests.length.toLocaleString('en-US')} captured requests from the spawn` }
  participants.report.value({ ...row, unit: 's', better: 'less', cells: cells('seconds') })
  participants.report.value({ ...row, name: `${row.name}: CPU`, unit: 's', better: 'less', cells: cells('cpuSeconds') })
  participants.report.note(`scenario: errors per run: ${[...samples].map(([name, [first]]) => `${name} ${first.errors}`).join(', ')}.`)
}

const HARDFORK = 'shanghai'

/** Hardhat 2 has the accounts and the block per transaction of the capture by default, and no option for the fork, which its configuration reads. */
function optionsOf(name, { chainId }) {
  if (name === 'hardhat') return []
  const common = ['--accounts', '20', '--chain-id', String(chainId), '--hardfork', HARDFORK]
  return name === 'ours' ? [...common, '--chain-type', 'l1'] : [...common, '--disable-code-size-limit']
}

async function replay(participants, name, options, { requests, snapshots: captured }) {
  const startMs = performance.now()
  const peer = await participants.start(name, 'each', options)
  const line = await Line.open(peer, 1)
  const snapshots = new Snapshots(captured)
  let errors = 0
  for (const request of requests) {
    const answer = JSON.parse(await line.ask(bodyOf(snapshots.translated(request))))
    if (answer.error !== undefined) errors++
    snapshots.note(request, answer.result)
  }
  line.close()
  const sample = { seconds: (performance.now() - startMs) / 1_000, cpuSeconds: cpuOf(peer.pid) / 1e6, errors }
  await participants.stop(peer)
  return sample
}

/** Translates the captured ids of snapshots to those of a node. */
class Snapshots {
  #captured
  #ids = []

  constructor(captured) {
    this.#captured = captured
  }

  translated({ method, params = [] }) {
    if (method !== 'evm_revert') return { method, params }
    const index = this.#captured.lastIndexOf(params[0], this.#ids.length - 1)
    return { method, params: index < 0 ? params : [this.#ids[index]] }
  }

  note({ method }, result) {
    if (method === 'evm_snapshot') this.#ids.push(result)
  }
}
