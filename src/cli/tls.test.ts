import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { start } from './cli.fixture.ts'

let folder = ''
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'pocketchain-cli-tls-')), 'kept')
})
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

/** One POST of JSON-RPC over TLS. */
function post(url: string, ca: string, body: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method: 'POST', ca, headers: { 'content-type': 'application/json' }, agent: false }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
      answer.on('end', () => resolve(JSON.parse(text)))
    })
    asking.on('error', reject)
    asking.end(JSON.stringify(body))
  })
}

async function textAt(url: string): Promise<string> {
  return (await fetch(url)).text()
}

describe('the sponsor of the command', () => {
  test('has its URL in the banner, with the commands that make clients trust it', async () => {
    const command = start(['--port', '0', '--tls-folder', folder])
    const port = /:(\d+)\n$/.exec(await command.waitForOutput(/Listening on .*\n$/))?.[1]
    const fetched = `curl -so ca.pem http://127.0.0.1:${port}/ca.pem && `
    for (const line of [
      `  sponsor      https://127.0.0.1:${port}/paymaster/rpc\n`,
      `    Node       ${fetched}export NODE_EXTRA_CA_CERTS=$PWD/ca.pem\n`,
      `    Chromium   ${fetched}certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n pocketchain -i ca.pem\n`,
    ])
      expect(command.out()).toContain(line)
    const ledger = new RegExp(`^    ledger     (http://127\\.0\\.0\\.1:${port}/sponsor\\?key=[0-9a-f]{64}#secret=[0-9a-f]{64})$`, 'm')
    const [, link = ''] = ledger.exec(command.out()) ?? []
    expect((await fetch(link, { redirect: 'manual' })).headers.get('location')).toBe('/sponsor')
    expect(existsSync(folder)).toBe(false)
    command.stop()
    await command.exit
  })

  test('has its URL in the first line of --json, and serves clients that trust the certificate', async () => {
    const command = start(['--port', '0', '--json', '--tls-folder', folder])
    const { paymaster, urls } = JSON.parse(await command.waitForOutput(/^.*\n/))
    expect(paymaster).toEqual({
      url: `${urls.http.replace('http:', 'https:')}/paymaster/rpc`,
      httpUrl: `${urls.http}/paymaster/rpc`,
      ca: `${urls.http}/ca.pem`,
    })
    const ca = await textAt(paymaster.ca)
    expect(readdirSync(folder).toSorted()).toEqual(['ca-key.pem', 'ca.pem'])
    const unknown = { jsonrpc: '2.0', id: 7, method: 'pm_noSuch', params: [] }
    expect(await post(paymaster.url, ca, unknown)).toMatchObject({ id: 7, error: { code: -32601 } })
    command.stop()
    await command.exit
    expect(command.err()).toBe('')
  })

  test('is absent from the output without a sponsor', async () => {
    const quiet = start(['--port', '0', '--no-sponsor'])
    await quiet.waitForOutput(/Listening on .*\n$/)
    expect(quiet.out()).not.toContain('paymaster')
    quiet.stop()
    await quiet.exit
    const json = start(['--port', '0', '--json', '--no-sponsor'])
    expect(JSON.parse(await json.waitForOutput(/^.*\n/))).toMatchObject({ paymaster: null })
    json.stop()
    await json.exit
  })

  test('a folder with damaged certificates is reported in one sentence, once, and HTTP works', async () => {
    const damaged = join(folder, '..')
    writeFileSync(join(damaged, 'ca.pem'), 'scribble')
    writeFileSync(join(damaged, 'ca-key.pem'), 'scribble')
    const command = start(['--port', '0', '--json', '--tls-folder', damaged])
    const { paymaster } = JSON.parse(await command.waitForOutput(/^.*\n/))
    for (let i = 0; i < 2; i++) await expect(post(paymaster.url, '', {})).rejects.toThrow('alert internal error')
    expect(await textAt(paymaster.ca)).toContain('Nothing was overwritten')
    expect((await textAt(paymaster.httpUrl)).length).toBeGreaterThan(0)
    command.stop()
    expect(await command.exit).toBe(0)
    expect(command.err().split('\n')).toEqual([
      expect.stringMatching(/TLS connections fail: .*ca-key\.pem cannot be used for TLS: it is not a private key\. .*--tls-folder$/),
      '',
    ])
  })
})
