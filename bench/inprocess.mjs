// The same calls without a socket: through the node's request function, by the engine only, and by @ethereumjs/evm only.
import { pathToFileURL } from 'node:url'
import { ethereumjs } from './ethereumjs.mjs'

/** Runs per sample take at least this long, above the resolution of the clock. */
const SAMPLE_MS = 2
/** For runs shorter than the whole measurement. */
const SAMPLES_MIN = 3
const CALL_GAS = 30_000_000n

/**
 * A node in this process.
 * @param {string} dist folder of the build
 * @returns {Promise<{ rpc: (method: string, params?: readonly unknown[]) => Promise<any>, runners: () => Promise<Runner[]>, close: () =>
 * Promise<void> }>} `runners` run on the current head
 */
export async function inProcess(dist) {
  const load = (/** @type {string} */ module) => import(pathToFileURL(`${dist}/exports/${module}.js`).href)
  const [{ createPocketchain }, engine] = await Promise.all([import(pathToFileURL(`${dist}/exports/index.js`).href), load('evm')])
  const node = await createPocketchain()
  const rpc = (/** @type {string} */ method, /** @type {readonly unknown[]} */ params = []) => node.request({ method, params })
  return {
    rpc,
    close: () => node.close(),
    runners: async () => {
      const { view } = node.chain.head
      const site = { state: view.state(view.head), context: view.context(view.head) }
      return [
        {
          name: 'request',
          ready:
            ({ request }) =>
            () =>
              rpc('eth_call', [request, 'latest']),
        },
        { name: 'engine', ready: ({ request }) => ready(engine, site, request) },
        { name: '@ethereumjs/evm', ready: await asRunner(site) },
      ]
    },
  }
}

/** @typedef {{ name: string, ready: (work: import('./cases.mjs').Case) => () => unknown }} Runner */

async function asRunner(site) {
  const make = await ethereumjs(site)
  return ({ request }) => make(request)
}

/** The engine including transaction rules, on one World that is reverted after each run. */
function ready({ World, executeTransaction }, { state, context }, { from, to, data = '0x' }) {
  const world = new World(state)
  const message = {
    type: 2,
    from: (from ?? `0x${'00'.repeat(20)}`).toLowerCase(),
    to: to.toLowerCase(),
    nonce: 0n,
    gas: CALL_GAS,
    value: 0n,
    data: new Uint8Array(Buffer.from(data.slice(2), 'hex')),
    maxFeePerGas: 0n,
    maxPriorityFeePerGas: 0n,
    accessList: [],
    maxFeePerBlobGas: 0n,
    blobVersionedHashes: [],
    authorizationList: [],
    deposit: null,
    raw: null,
  }
  const free = { ...context, env: { ...context.env, baseFeePerGas: 0n } }
  const rules = { skipNonce: true, skipGasCap: true, skipFees: true }
  return () => {
    const mark = world.checkpoint()
    const revert = (/** @type {any} */ executed) => {
      world.revertTo(mark)
      return executed
    }
    const executed = executeTransaction(message, free, world, rules)
    return executed instanceof Promise ? executed.then(revert) : revert(executed)
  }
}

/** Runs repeatedly for `seconds`. @returns {Promise<{ minUs: number, medianUs: number, runs: number }>} microseconds per run */
export async function time(/** @type {() => unknown} */ run, /** @type {number} */ seconds) {
  const first = await timed(run, 1)
  const perSample = Math.max(1, Math.min(1_000, Math.floor(SAMPLE_MS / first)))
  const isSlow = first > seconds * 1_000
  const samples = isSlow ? [first] : []
  const endMs = performance.now() + seconds * 1_000 - first
  while (samples.length < (isSlow ? 1 : SAMPLES_MIN) || performance.now() < endMs) samples.push((await timed(run, perSample)) / perSample)
  samples.sort((a, b) => a - b)
  return { minUs: samples[0] * 1_000, medianUs: samples[samples.length >> 1] * 1_000, runs: samples.length * perSample }
}

/** Milliseconds. Awaits promises only: an await costs a tenth of a small call. */
async function timed(run, times) {
  const startMs = performance.now()
  for (let i = 0; i < times; i++) {
    const result = run()
    if (result instanceof Promise) await result
  }
  return performance.now() - startMs
}
