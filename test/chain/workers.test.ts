import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { ROOT, build } from '../../scripts/setup.mjs'

const TARGET = '0x00000000000000000000000000000000c0ffee00'
/** Its access list grows with each run, and each run burns all gas in the cheapest opcodes: the request exceeds its limit of five seconds. */
const HEAVY = [{ to: TARGET, gas: '0x2faf080' }, 'latest', { [TARGET]: { code: `0x5a5450${'5b'.repeat(1_000)}620075305a1160035700` } }]

beforeAll(() => build(), 120_000)

it('the command serves other requests during a heavy request, and exits at once on a signal', async () => {
  const child = spawn(process.execPath, [join(ROOT, 'dist/cli/main.js'), '--port', '0', '--json', '--workers', '2'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal)))
  const url = await new Promise<string>((resolve) => {
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
      if (out.includes('\n')) resolve(JSON.parse(out.slice(0, out.indexOf('\n'))).urls.http)
    })
  })
  let isOver = false
  const heavy = ask(url, 'eth_createAccessList', HEAVY).finally(() => (isOver = true))
  const numbers = new Set<unknown>()
  while (numbers.size < 2) numbers.add((await ask(url, 'eth_blockNumber')).result)
  expect(isOver).toBe(false)
  child.kill('SIGTERM')
  expect(await heavy).toMatchObject({ error: { code: -32_000, message: 'the node is closing' } })
  expect(await exit).toBe(0)
})

async function ask(url: string, method: string, params: readonly unknown[] = []): Promise<{ readonly result?: unknown }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await response.json()) as { readonly result?: unknown } // a JSON-RPC answer
}
