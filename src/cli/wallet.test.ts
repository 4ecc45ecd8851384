import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { finish, start } from './cli.fixture.ts'
import type { TestTerminal } from './cli.fixture.ts'

/** The key 0x0707…07 with a test password; scrypt with n = 4,096, which is fast. */
const KEYSTORE = {
  address: '4a62316623ad457f02cdc5d997ded67a383ec569',
  crypto: {
    cipher: 'aes-128-ctr',
    ciphertext: '9f4cd58bc46770d0776c46c7b8ce320bd8369112825009a0beadae481a7c31e0',
    cipherparams: { iv: 'b9b1dc4a08a7fec5b74443f1a7e2206a' },
    kdf: 'scrypt',
    kdfparams: { dklen: 32, n: 4096, p: 1, r: 8, salt: '44eb039332c61fe3a563fe59dc26029f6a103e005ff5ad7f70a0a9019e0feac3' },
    mac: '9a73f611b3c866dde4d2ef54043f8bf2451d8541e82a1afe6efa338ffc91f32b',
  },
  id: '5e6eeb7f-2ea5-41d2-95c8-7f17b84dad7b',
  version: 3,
}
const KEPT = `0x${KEYSTORE.address}`
const PASSWORD = 'correct horse'
const SECRET = '0707070707'

let folder = ''
let keystore = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-wallet-'))
  keystore = join(folder, 'key.json')
  writeFileSync(keystore, JSON.stringify(KEYSTORE), { mode: 0o600 })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Ready {
  readonly urls: { readonly http: string }
  readonly wallet: { readonly url: string; readonly approvalUrl: string; readonly controlToken: string } | null
}

/** Runs a node until `work` ends. Returns its output. */
async function running(argv: readonly string[], work: (ready: Ready) => Promise<void> | void, world: TestTerminal = {}): Promise<string> {
  const command = start(['--port', '0', '--json', ...argv], world)
  try {
    await work(JSON.parse(await command.waitForOutput(/^.*\n/)) as Ready)
  } finally {
    command.stop()
    await command.exit
  }
  return command.out() + command.err()
}

async function ask(
  { wallet }: Ready,
  method: string,
  params: readonly unknown[] = [],
  headers: Record<string, string> = {},
): Promise<unknown> {
  const answer = await fetch(String(wallet?.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${wallet?.controlToken}`, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await answer.json()) as { readonly result?: unknown; readonly error?: unknown }
  return error ?? result
}

describe('the wallet of the command', () => {
  test('has a one-time link in the banner', async () => {
    const command = start(['--port', '0'])
    await command.waitForOutput(/Listening on .*\n$/)
    const [, link = ''] =
      / {2}wallet {7}(http:\/\/127\.0\.0\.1:\d+\/wallet\?key=[0-9a-f]{64}#secret=[0-9a-f]{64})\n/.exec(command.out()) ?? []
    const entered = await fetch(link, { redirect: 'manual' })
    expect([entered.status, entered.headers.get('set-cookie')]).toEqual([303, expect.stringContaining('HttpOnly')])
    command.stop()
    await command.exit
  })

  test('has both credentials in the first line of --json, and in no later output', async () => {
    let secrets: readonly string[] = []
    const output = await running(['--verbose', '--cadence', 'instant'], async (ready) => {
      const { url, approvalUrl, controlToken } = ready.wallet ?? { url: '', approvalUrl: '', controlToken: '' }
      expect(url).toBe(`${ready.urls.http}/wallet`)
      expect(approvalUrl.startsWith(`${url}?key=`)).toBe(true)
      expect(await ask(ready, 'pocketchain_approvals')).toEqual([])
      expect((await fetch(approvalUrl, { redirect: 'manual' })).status).toBe(303)
      expect(await ask(ready, 'pocketchain_setApprovalPolicy', ['approve'])).toBe(null)
      expect(await ask(ready, 'eth_requestAccounts')).toHaveLength(10)
      await ask(ready, 'eth_sendTransaction', [{ to: KEPT, value: '0x1' }])
      const { searchParams, hash } = new URL(approvalUrl)
      secrets = [controlToken, searchParams.get('key') ?? '', hash.slice('#secret='.length)]
      for (const secret of secrets) expect(secret).toMatch(/^[0-9a-f]{64}$/)
    })
    const [, ...rest] = output.split('\n')
    expect(rest.join('\n')).toContain('"event"')
    for (const secret of secrets) expect(rest.join('\n')).not.toContain(secret)
  })

  test('does not exist with --no-wallet', async () => {
    const output = await running(['--no-wallet'], async ({ urls, wallet }) => {
      expect(wallet).toBe(null)
      expect((await fetch(`${urls.http}/wallet`)).status).toBe(404)
    })
    expect(output).not.toContain('/wallet')
    const command = start(['--port', '0', '--no-wallet'])
    await command.waitForOutput(/Listening on .*\n$/)
    expect(command.out()).not.toContain('/wallet')
    command.stop()
    await command.exit
  })

  test.each([
    ['approve', expect.arrayContaining([expect.stringMatching(/^0x/)])],
    ['reject', expect.objectContaining({ code: 4001 })],
  ])('--wallet-policy %s answers requests of apps', async (policy, wanted) => {
    await running(['--wallet-policy', policy], async (ready) => {
      expect(await ask(ready, 'eth_requestAccounts', [], { origin: 'http://localhost:3000' })).toEqual(wanted)
    })
  })

  test.each(['variable', 'file'])('--keystore adds its accounts, its password from a %s, and its keys are in no output', async (kind) => {
    const file = join(folder, 'password')
    writeFileSync(file, `${PASSWORD}\nnot this\n`)
    const argv = kind === 'file' ? ['--keystore-password-file', file] : []
    const env = kind === 'file' ? {} : { POCKETCHAIN_KEYSTORE_PASSWORD: PASSWORD }
    const output = await running(
      ['--keystore', keystore, '--wallet-policy', 'approve', ...argv],
      async (ready) => {
        expect(await ask(ready, 'eth_requestAccounts')).toContain(KEPT)
        expect(await ask(ready, 'pocketchain_walletState')).toMatchObject({
          accounts: expect.arrayContaining([expect.objectContaining({ address: KEPT, source: 'keystore' })]),
        })
      },
      { env },
    )
    for (const secret of [SECRET, PASSWORD]) expect(output).not.toContain(secret)
  })

  test('the banner lists the accounts of the keystore', async () => {
    const command = start(['--port', '0', '--keystore', keystore], { env: { POCKETCHAIN_KEYSTORE_PASSWORD: PASSWORD } })
    await command.waitForOutput(/Listening on .*\n$/)
    expect(command.out().toLowerCase()).toContain(`keystore   ${KEPT}`)
    expect(command.out()).not.toContain(SECRET)
    command.stop()
    await command.exit
  })
})

describe('the command does not start with', () => {
  const env = { POCKETCHAIN_KEYSTORE_PASSWORD: PASSWORD }

  test('a keystore without its password or with a wrong one', async () => {
    const none = await finish(['--port', '0', '--keystore', keystore])
    expect([none.code, none.err]).toEqual([2, expect.stringContaining('POCKETCHAIN_KEYSTORE_PASSWORD')])
    const wrong = await finish(['--port', '0', '--keystore', keystore], { env: { POCKETCHAIN_KEYSTORE_PASSWORD: 'wrong one' } })
    expect([wrong.code, wrong.err]).toEqual([3, expect.stringContaining('--keystore')])
    expect(wrong.err).not.toContain('wrong one')
  })

  test('a keystore that is missing or readable by others, or a missing password file', async () => {
    const missing = await finish(['--port', '0', '--keystore', join(folder, 'nothing')], { env })
    expect([missing.code, missing.err]).toEqual([3, expect.stringContaining('nothing')])
    const noPassword = await finish(['--port', '0', '--keystore', keystore, '--keystore-password-file', join(folder, 'nothing')])
    expect([noPassword.code, noPassword.err]).toEqual([3, expect.stringContaining('--keystore-password-file')])
    if (process.platform === 'win32') return
    chmodSync(keystore, 0o644)
    const open = await finish(['--port', '0', '--keystore', keystore], { env })
    expect([open.code, open.err]).toEqual([3, expect.stringContaining('chmod 600')])
  })

  test.each([
    [['--wallet-policy', 'maybe'], '--wallet-policy: expected one of ask, approve, reject'],
    [['--keystore', 'x', '--no-wallet'], 'exclude each other'],
    [['--keystore-password-file', 'x'], 'requires --keystore'],
  ])('%j: 2', async (argv, sentence) => {
    const { code, err } = await finish(['--port', '0', ...argv])
    expect([code, err]).toEqual([2, expect.stringContaining(sentence)])
  })
})
