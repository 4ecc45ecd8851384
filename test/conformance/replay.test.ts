import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { PocketchainOptions } from '../../src/index.ts'
import { startNode } from '../node.fixture.ts'

// Replays the test run of a real dapp (Safe contracts), captured on another node: exactly the requests that failed there must fail here.

const SHARED = fileURLToPath(new URL('../../../shared/', import.meta.url))
const WORKLOAD = `${SHARED}vectors/workloads/safe-contracts_914d0f8`
const SNAPSHOT = `${SHARED}vectors/workloads/snapshot.json`
const REQUESTS = 5_272
const TIMEOUT_MS = 120_000

/** A block per transaction and twenty accounts, as the capture was configured. */
const CAPTURED = { cadence: 'instant', accounts: 20 } as const

describe.skipIf(!existsSync(SNAPSHOT))('the captured test run of Safe contracts', { timeout: TIMEOUT_MS }, () => {
  it('fails in exactly the captured failures on the chain of the capture', async () => {
    const report = await replay({ ...CAPTURED, genesis: capturedGenesis() })
    expect(report).toContain('unexpected failures 0; expected but succeeded 0; agreement 100.000 %')
  })

  it('does the same on a layer 2 with the gas limit of the capture and no L1 data fee', async () => {
    // The run deploys the Safe factory by its known transaction, from an account that is funded with exactly its gas cost on an L1.
    const free = { l1BaseFee: 0n, l1BlobBaseFee: 0n, factories: false }
    const report = await replay({ ...CAPTURED, ...free, gasLimit: 100_000_000n })
    expect(report).toContain('unexpected failures 0; expected but succeeded 0; agreement 100.000 %')
  })
})

async function replay(options: PocketchainOptions): Promise<string> {
  await using running = await startNode(options)
  const files = ['--file', `${WORKLOAD}.jsonl.gz`, '--snapids', `${WORKLOAD}.snapids.json`, '--snapshot', SNAPSHOT]
  const args = [`${SHARED}tools/replay-scenario.mjs`, ...files, '--url', running.url, '--tx-failure', 'receipt']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toContain(`${REQUESTS} requests in`)
  console.log(stdout.split('\n').slice(0, 2).join('\n'))
  return stdout
}

/** A geth genesis from the first line of the capture: Shanghai rules and twenty funded accounts. */
function capturedGenesis(): string {
  const [first = ''] = gunzipSync(readFileSync(`${WORKLOAD}.jsonl.gz`))
    .toString()
    .split('\n', 1)
  const { providerConfig } = JSON.parse(first) as { readonly providerConfig: ProviderConfig }
  const { chainId, coinbase, mining, genesisState } = providerConfig
  return JSON.stringify({
    config: { chainId, ...Object.fromEntries(FORKS.map((fork) => [fork, 0])) },
    coinbase,
    gasLimit: `0x${mining.blockGasLimit.toString(16)}`,
    timestamp: '0x65e1b55d',
    difficulty: '0x0',
    alloc: Object.fromEntries(Object.entries(genesisState).map(([address, { balance }]) => [address, { balance }])),
  })
}

interface ProviderConfig {
  readonly chainId: number
  readonly coinbase: string
  readonly mining: { readonly blockGasLimit: number }
  readonly genesisState: Readonly<Record<string, { readonly balance: string }>>
}

const FORKS = [
  'homesteadBlock',
  'eip150Block',
  'eip155Block',
  'eip158Block',
  'byzantiumBlock',
  'constantinopleBlock',
  'petersburgBlock',
  'istanbulBlock',
  'berlinBlock',
  'londonBlock',
  'terminalTotalDifficulty',
  'shanghaiTime',
]
