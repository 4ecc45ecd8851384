import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { PocketchainOptions } from '../../src/index.ts'
import { startNode } from '../node.fixture.ts'

// The test run of a real dapp (Safe contracts), as it was captured on another node: the same requests must fail here, and no others.

const SHARED = fileURLToPath(new URL('../../../shared/', import.meta.url))
const WORKLOAD = `${SHARED}vectors/workloads/safe-contracts_914d0f8`
const SNAPSHOT = `${SHARED}vectors/workloads/snapshot.json`
const REQUESTS = 5_272
const TIMEOUT_MS = 120_000

/** A block per transaction and twenty accounts, as the capture was configured. */
const CAPTURED = { cadence: 'instant', accounts: 20 } as const

describe.skipIf(!existsSync(SNAPSHOT))('the captured test run of Safe contracts', { timeout: TIMEOUT_MS }, () => {
  it('fails where it failed before, and nowhere else, on the chain it was captured on', async () => {
    const report = await replay({ ...CAPTURED, codeSizeLimit: null, transactionGasCap: null, genesis: capturedGenesis() })
    expect(report).toContain('unexpected failures 0; expected but succeeded 0; agreement 100.000 %')
  })

  it('does the same on our own layer 2, with the gas limit of the capture and an L1 that charges nothing', async () => {
    // The run deploys the Safe factory by its known transaction, from an account with exactly the gas that costs on an L1.
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

/** A geth genesis of what the first line of the capture says: rules of Shanghai, twenty funded accounts, nothing else. */
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
