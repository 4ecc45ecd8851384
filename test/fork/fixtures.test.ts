import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, test } from 'vitest'
import { start } from '../../src/cli/cli.fixture.ts'
import { vitestFixtures } from '../../src/testing/index.ts'
import type { VitestContext } from '../../src/testing/index.ts'
import { startNode } from '../node.fixture.ts'
import { ALICE, BOB, send } from './upstream.fixture.ts'

const SMALL = { sponsor: false, wallet: false, bundler: false } as const
const WHALE = '0x000000000000000000000000000000000000beef'

// The options of a file-scoped fixture are read when the file is loaded.
const upstream = await startNode({ ...SMALL, cadence: 'instant' })
await send(upstream, { to: WHALE, value: '0x7' })
afterAll(() => upstream[Symbol.asyncDispose]())

const fixtures = vitestFixtures({ fork: { url: upstream.url, blockNumber: 1, storageCaching: false }, sponsor: false, bundler: false })
const forked = test.extend<VitestContext>(fixtures)

describe('the fixture of Vitest with a fork', () => {
  forked('provides a fork with a wallet', async ({ chain, wallet }) => {
    expect(chain.fork).toMatchObject({ url: upstream.url, blockNumber: 1 })
    expect(await chain.request({ method: 'eth_getBalance', params: [WHALE, 'latest'] })).toBe('0x7')
    expect(await wallet.provider('http://localhost:3000').request({ method: 'eth_chainId' })).toBe('0x7a69')
    await chain.request({ method: 'eth_sendTransaction', params: [{ from: ALICE, to: WHALE, value: '0x1' }] })
    expect(await chain.request({ method: 'eth_getBalance', params: [WHALE, 'latest'] })).toBe('0x8')
  })

  forked('restores the fork block for the next test', async ({ chain }) => {
    expect(await chain.request({ method: 'eth_blockNumber', params: [] })).toBe('0x1')
    expect(await chain.request({ method: 'eth_getBalance', params: [WHALE, 'latest'] })).toBe('0x7')
  })
})

describe('a configuration file', () => {
  it.each([
    ['pocketchain.config.json', (options: string) => options],
    ['pocketchain.config.mjs', (options: string) => `export default ${options}`],
  ])('%s configures a fork', async (name, textOf) => {
    const folder = mkdtempSync(join(tmpdir(), 'pocketchain-fork-'))
    try {
      writeFileSync(
        join(folder, name),
        textOf(JSON.stringify({ forkUrl: [`${upstream.url}@1`], noStorageCaching: true, cadence: 'instant' })),
      )
      const command = start(['--port', '0', '--json'], { folder })
      expect(JSON.parse(await command.waitForOutput(/^.*\n/))).toMatchObject({
        blockNumber: 1,
        fork: { url: upstream.url, blockNumber: 1 },
      })
      command.stop()
      expect(await command.exit).toBe(0)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

it('keeps what a fork sends out of the forked chain', async () => {
  expect(await upstream.ask('eth_getBalance', WHALE)).toBe('0x7')
  expect(await upstream.ask('eth_getTransactionCount', BOB)).toBe('0x0')
})
