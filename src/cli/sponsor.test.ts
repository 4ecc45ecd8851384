import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { finish, start } from './cli.fixture.ts'
import type { TestTerminal } from './cli.fixture.ts'

const POLICIES = [{ name: 'mine', perDay: '1000', apiKeys: ['a-secret-api-key'] }]

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-sponsor-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** Runs a node until `work` ends. Returns its output. */
async function running(argv: readonly string[], work: (url: string) => Promise<void>, world: TestTerminal = {}): Promise<string> {
  const command = start(['--port', '0', '--json', '--tls-folder', join(folder, 'tls'), ...argv], world)
  try {
    const ready = JSON.parse(await command.waitForOutput(/^.*\n/)) as { readonly urls: { readonly http: string } }
    await work(ready.urls.http)
  } finally {
    command.stop()
    await command.exit
  }
  return command.out() + command.err()
}

/** Returns the result, or the code of the error. */
async function ask(url: string, method: string, ...params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json', origin: 'http://localhost:3000' }
  const response = await fetch(url, { method: 'POST', headers, body })
  const { result, error } = (await response.json()) as { readonly result?: unknown; readonly error?: { readonly code: number } }
  return error?.code ?? result
}

const METHOD_NOT_FOUND = -32_601

describe('the sponsor of the command', () => {
  test('exists unless --no-sponsor is set', async () => {
    await running([], async (url) => {
      expect(await ask(url, 'pocketchain_sponsorStatus')).toMatchObject({ policies: [{ name: 'everything' }] })
      expect(await ask(`${url}/paymaster`, 'pm_getPaymasterData')).toBe(-32_602)
    })
    await running(['--no-sponsor'], async (url) => {
      expect(await ask(url, 'pocketchain_sponsorStatus')).toBe(METHOD_NOT_FOUND)
      expect((await fetch(`${url}/paymaster`, { method: 'POST' })).status).toBe(404)
      expect(await ask(url, 'eth_supportedEntryPoints')).toHaveLength(4)
    })
  })

  test('applies the policies of a file, and prints no API key of them', async () => {
    const output = await running(['--sponsor-policies', file('policies.json', JSON.stringify(POLICIES))], async (url) => {
      const status = await ask(url, 'pocketchain_sponsorStatus')
      expect(status).toMatchObject({ policies: [{ name: 'mine', apiKeys: 1 }] })
      expect(JSON.stringify(status)).not.toContain('a-secret-api-key')
    })
    expect(output).not.toContain('a-secret-api-key')
  })

  test('applies the policies of the configuration file', async () => {
    file('pocketchain.config.json', JSON.stringify({ sponsorPolicies: POLICIES }))
    const work = async (url: string) => expect(await ask(url, 'pocketchain_sponsorStatus')).toMatchObject({ policies: [{ name: 'mine' }] })
    await running([], work, { folder })
  })

  test('does not sponsor batches with --no-bundler, and the wallet reports no paymasterService', async () => {
    await running(['--no-bundler', '--wallet-policy', 'approve'], async (url) => {
      expect(await ask(url, 'eth_supportedEntryPoints')).toBe(METHOD_NOT_FOUND)
      const [account] = (await ask(`${url}/wallet`, 'eth_requestAccounts')) as readonly string[]
      const capabilities = await ask(`${url}/wallet`, 'wallet_getCapabilities', account, ['0x7a69'])
      expect(capabilities).toMatchObject({ '0x7a69': { paymasterService: { supported: false } } })
    })
  })
})

describe('a paymaster URL over http on this machine', () => {
  test.each([
    [[], 4_200],
    [['--allow-http-loopback'], expect.objectContaining({ status: 'pending' })],
  ])('with %j', async (argv, wanted) => {
    await running(['--wallet-policy', 'approve', ...argv], async (url) => {
      const [from] = (await ask(`${url}/wallet`, 'eth_requestAccounts')) as readonly string[]
      const capabilities = { paymasterService: { url: `${url}/paymaster/rpc` } }
      const batch = { version: '2.0.0', from, chainId: '0x7a69', atomicRequired: true, calls: [{ to: from }], capabilities }
      expect(await ask(`${url}/wallet`, 'wallet_sendCalls', batch)).toEqual(wanted)
    })
  })
})

describe('unusable policies', () => {
  test.each([
    ['nothing there', null, 'cannot be read'],
    ['no JSON', '[', 'is not JSON'],
    ['no list', '{}', 'policies'],
    ['a slip in a name', '[{"name":"a","perDai":"1"}]', 'policies[0].perDai'],
    ['an amount that is none', '[{"name":"a"},{"name":"b","total":"lots"}]', 'policies[1].total'],
  ])('in a file with %s: exit code 3 and the path', async (_, text, sentence) => {
    const path = text === null ? join(folder, 'nothing.json') : file('policies.json', text)
    const { code, out, err } = await finish(['--port', '0', '--sponsor-policies', path])
    expect([code, out, err]).toEqual([3, '', expect.stringContaining(sentence)])
    expect(err).toContain(`--sponsor-policies ${path}: `)
  })

  test('in the configuration file: exit code 2 and the key', async () => {
    const path = file('pocketchain.config.json', '{"sponsorPolicies":[{"name":"a","until":"soon"}]}')
    const { code, err } = await finish(['--port', '0'], { folder })
    expect([code, err]).toEqual([2, expect.stringContaining(`${path}: sponsorPolicies: policies[0].until`)])
  })
})
