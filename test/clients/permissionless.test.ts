import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createPocketchain } from 'pocketchain'
import type { Pocketchain, Server } from 'pocketchain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chargesOf, differences, ledgerOf } from '../../bench/operations.mjs'
import * as eth from '../../src/eth/index.ts'
import * as rpc from '../../src/rpc/index.ts'
import { appFolder } from '../apps.fixture.ts'

// An app with its own packages in another process: test/apps/permissionless.

const { ENTRY_POINTS, Hex } = eth
const APP = appFolder('permissionless')
/** Kinds of accounts, in the order of the app. */
const KINDS = [
  ...['simple 0.6', 'simple 0.7', 'simple 0.8', '7702 simple 0.8', '7702 simple 0.8 of viem'],
  ...['safe 1.4.1', 'coinbase 1', 'coinbase 1.1'],
]

describe.skipIf(APP === null)('permissionless', () => {
  /** the node's log lines */
  const bugs: unknown[] = []
  let node: Pocketchain
  let server: Server

  beforeAll(async () => {
    // The app waits for sealed blocks, which viem reads.
    node = await createPocketchain({
      wallet: false,
      withAccounts: true,
      bundler: { rules: 'strict' },
      cadence: { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 200 },
      onError: (error) => bugs.push(error),
    })
    server = await node.listen({ port: 0 })
  })

  afterAll(async () => {
    await node.close()
    expect(bugs).toEqual([])
  })

  function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return node.request({ method, params })
  }

  it.each([
    ['accounts of every version over HTTP', KINDS, () => ({ PAYMASTER_URL: `${server.url}/paymaster` })],
    ['an account over HTTPS, with the CA that the command names', ['simple 0.8'], () => ({ ...secure(), KIND: 'simple 0.8' })],
  ])('completes sponsored operations of %s', async (_, kinds, environment) => {
    const known = new Set((await ledgerOf(ask)).map(({ id }) => id))
    const operations = await run({ RPC_URL: server.url, ...environment() })
    expect(operations.map(({ name, allowance }) => `${name}: ${allowance}`)).toEqual(kinds.flatMap((name) => [`${name}: 1`, `${name}: 3`]))
    const entries = (await ledgerOf(ask)).filter(({ id }) => !known.has(id))
    expect(entries).toHaveLength(operations.length)
    for (const { hash, sender, payer, version, actualGasCost, ...outcome } of operations) {
      expect(outcome).toMatchObject({ success: true, balance: '0' })
      expect(entries.find(({ userOpHash }) => userOpHash === hash)).toMatchObject({
        ...{ version, success: true, sender: expect.stringMatching(new RegExp(sender, 'i')) },
        ...{ paymaster: expect.stringMatching(new RegExp(payer, 'i')), cost: Hex.fromQuantity(BigInt(actualGasCost)) },
      })
    }
  })

  it('has the cost of the chain in the ledger, to the wei', async () => {
    const entries = await ledgerOf(ask)
    const { paymasters } = (await ask('pocketchain_sponsorStatus')) as { paymasters: readonly { version: '0.6'; address: string }[] }
    for (const { version, address } of paymasters) {
      const charges = await chargesOf({ eth, rpc }, ask, { paymaster: address, entryPoint: ENTRY_POINTS[version] })
      expect(charges.length).toBeGreaterThan(0)
      expect(
        differences(
          entries.filter((entry) => entry.version === version),
          charges,
        ),
      ).toEqual([])
    }
  })

  let ca: string | null = null

  function secure(): Environment {
    ca ??= mkdtempSync(join(tmpdir(), 'pocketchain-ca-'))
    const file = join(ca, 'ca.pem')
    writeFileSync(file, server.ca())
    return { PAYMASTER_URL: `${server.httpsUrl}/paymaster/rpc`, NODE_EXTRA_CA_CERTS: file }
  }

  afterAll(() => {
    if (ca !== null) rmSync(ca, { recursive: true, force: true })
  })
})

type Environment = Readonly<Record<string, string>>

/** A line of the app's output; amounts in decimals. */
interface Operation {
  readonly name: string
  readonly version: string
  readonly hash: string
  readonly success: boolean
  readonly sender: string
  readonly payer: string
  readonly actualGasCost: string
  readonly allowance: string
  readonly balance: string
}

async function run(environment: Environment): Promise<readonly Operation[]> {
  const options = { cwd: APP ?? '.', env: { ...process.env, ...environment }, timeout: 110_000 }
  const { stdout } = await promisify(execFile)(process.execPath, ['app.mjs'], options)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Operation) // what it prints
}
