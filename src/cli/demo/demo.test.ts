import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { finish, start } from '../cli.fixture.ts'
import type { Started } from '../cli.fixture.ts'

const COMMAND = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))
const STEPS = ['start', 'sponsor', 'customer', 'connect', 'quote', 'approve', 'pre-confirmed', 'sealed', 'paid']

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-demo-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** All tests share one folder of certificates. */
function demo(...argv: readonly string[]): readonly string[] {
  return ['demo', '--tls-folder', join(folder, 'tls'), ...argv]
}

function policies(list: readonly unknown[]): string {
  const file = join(folder, 'policies.json')
  writeFileSync(file, JSON.stringify(list))
  return file
}

/** Returns the names of the printed steps. */
function stepsOf(out: string): readonly string[] {
  return [...out.matchAll(/^ {2}([a-z-]+) +[\d,]+ ms {2}/gm)].map(([, name]) => name ?? '')
}

describe('the headless demo', () => {
  test('prints every step with its duration, and the payment of the sponsor', async () => {
    const { code, out, err } = await finish(demo('--headless'))
    expect([code, err]).toEqual([0, ''])
    expect(stepsOf(out)).toEqual(STEPS)
    for (const kind of ['connect', 'upgrade', 'batch']) expect(out).toContain(`${kind}: approved by the script`)
    expect(out).toMatch(/batch 0x[0-9a-f]{64}\n/)
    expect(out).toMatch(/operation {3}0x[0-9a-f]{64}\n/)
    expect(out).toMatch(/flashblock \d+\.\d+, status 200\n/)
    expect(out).toMatch(/sealed +[\d,]+ ms {2}block \d+, 0x[0-9a-f]{64}\n/)
    expect(out).toContain('customer 0 wei\n')
    expect(out).toMatch(/sponsor {2}[\d,]{9,} wei \(0\.\d+ ETH\), under the policy "everything"/)
    expect(out).toMatch(/total +[\d,]+ ms\n\nWhat to do next\n/)
    expect(out).not.toContain('key=')
  }, 20_000)

  test.each(['instant', 'native'])(
    'runs under --cadence %s',
    async (cadence) => {
      const { code, out } = await finish(demo('--headless', '--cadence', cadence))
      expect([code, stepsOf(out)]).toEqual([0, STEPS])
    },
    20_000,
  )

  test('applies the given policies', async () => {
    const file = policies([
      { name: 'everything else', until: '2020-01-01' },
      { name: 'coffee', perUser: '1000000000000000000' },
    ])
    const { code, out } = await finish(demo('--headless', '--sponsor-policies', file))
    expect([code, out]).toEqual([0, expect.stringContaining('under the policy "coffee"')])
  }, 20_000)

  test('exits with 1 and one sentence if the sponsor rejects the batch, before its approval', async () => {
    const { code, out, err } = await finish(demo('--headless', '--sponsor-policies', policies([{ name: 'poor', perOperation: '1' }])))
    expect([code, stepsOf(out)]).toEqual([1, STEPS.slice(0, 4)])
    expect(err).toMatch(/^pocketchain: the demo failed at the step "quote": .*more than the limit per operation \(code 4300\)\n$/)
    expect(out).not.toContain('batch: approved')
    expect(out).not.toContain('What to do next')
  }, 20_000)

  test('exits with 1 if the certificate cannot be created', async () => {
    const file = join(folder, 'no-folder')
    writeFileSync(file, '')
    const { code, err } = await finish(['demo', '--headless', '--tls-folder', join(file, 'tls')])
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^pocketchain: the demo failed at the step "sponsor": .*no-folder.*--tls-folder\n$/),
    ])
  })

  test('exits with 1 if the port is in use', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as AddressInfo
    const { code, err } = await finish(demo('--headless', '--port', String(port)))
    taken.close()
    expect([code, err]).toEqual([1, expect.stringContaining(`port ${port} on 127.0.0.1 is in use`)])
  })

  test.each([
    [['--cadence', 'manual'], 2, '--cadence manual produces none'],
    [['--no-bundler'], 2, 'the demo requires the bundler; remove --no-bundler'],
    [['--no-sponsor'], 2, 'the demo requires the sponsor; remove --no-sponsor'],
    [['--no-wallet'], 2, 'the demo requires the wallet; remove --no-wallet'],
    [['--data', 'x'], 2, '--data is not an option of the demo, which accepts --port'],
    [['--nope'], 2, "unknown option '--nope'"],
    [['more'], 2, 'too many arguments'],
    [['--sponsor-policies', '/nothing/there.json'], 3, '/nothing/there.json'],
  ])('%j: %i', async (argv, wanted, sentence) => {
    const { code, out, err } = await finish(demo('--headless', ...argv))
    expect([code, out, err]).toEqual([wanted, '', expect.stringContaining(sentence)])
  })

  test('prints help with examples', async () => {
    const { code, out, err } = await finish(['demo', '--help'])
    expect([code, err]).toEqual([0, ''])
    for (const text of ['Usage: pocketchain demo', '--headless', '--sponsor-policies', 'Examples:', '(0)']) expect(out).toContain(text)
  })
})

describe('the demo with approvals in the browser', () => {
  test('waits for the approvals of the browser that followed its link', async () => {
    const command = start(demo())
    const browser = await openPage(command)
    for (const kind of ['connect', 'upgrade', 'batch']) {
      await browser.approve(kind)
    }
    await command.waitForOutput(/runs until Ctrl-C/)
    expect(stepsOf(command.out())).toEqual(STEPS)
    for (const kind of ['connect', 'upgrade', 'batch']) expect(command.out()).toContain(`${kind}: you approved`)
    // It stays alive, and every printed page answers.
    const pages = [...command.out().matchAll(/^ *(http:\S+) +#/gm)].map(([, url]) => url ?? '')
    expect(pages).toHaveLength(3)
    for (const page of pages) expect((await fetch(page)).status).toBe(200)
    command.stop()
    expect([await command.exit, command.err()]).toEqual([0, ''])
  }, 20_000)

  test('exits with 1 if the user rejects', async () => {
    const command = start(demo())
    const browser = await openPage(command)
    await browser.answer('connect', 'pocketchain_reject')
    expect(await command.exit).toBe(1)
    expect(command.err()).toBe('pocketchain: the demo failed at the step "connect": User rejected the request (code 4001)\n')
  }, 20_000)

  test('exits with 0 if it is stopped while it waits', async () => {
    const command = start(demo())
    await command.waitForOutput(/answer here: /)
    command.stop()
    expect([await command.exit, command.err()]).toEqual([0, ''])
    expect(command.out()).not.toContain('What to do next')
  })
})

interface Browser {
  readonly approve: (kind: string) => Promise<void>
  readonly answer: (kind: string, method: string) => Promise<void>
}

/** Redeems the printed link and answers as the approval page does. */
async function openPage(command: Started): Promise<Browser> {
  const [, link = ''] = /answer here: (\S+)\n/.exec(await command.waitForOutput(/answer here: \S+\n/)) ?? []
  const redeemed = await fetch(link, { redirect: 'manual' })
  expect(redeemed.status).toBe(303)
  const cookie = (redeemed.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? ''
  const { origin, hash } = new URL(link)
  const headers = { 'content-type': 'application/json', cookie, origin, 'x-pocketchain-page': hash.slice('#secret='.length) }
  const ask = async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
    const response = await fetch(`${origin}/wallet`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return ((await response.json()) as { readonly result?: unknown }).result
  }
  const answer = async (kind: string, method: string): Promise<void> => {
    for (;;) {
      const waiting = (await ask('pocketchain_approvals')) as readonly { readonly id: string; readonly kind: string }[]
      const question = waiting.find((each) => each.kind === kind)
      if (question !== undefined) return void (await ask(method, question.id))
    }
  }
  return { answer, approve: (kind) => answer(kind, 'pocketchain_approve') }
}

/** `npm test` builds it before. */
describe.skipIf(!existsSync(COMMAND))('the built command', () => {
  test('runs the headless demo in less than 10 s from a cold start', async () => {
    const begunMs = performance.now()
    const child = spawn(process.execPath, [COMMAND, ...demo('--headless')], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    let [out, err] = ['', '']
    child.stdout.on('data', (data) => (out += String(data)))
    child.stderr.on('data', (data) => (err += String(data)))
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect([code, err, stepsOf(out)]).toEqual([0, '', STEPS])
    expect(performance.now() - begunMs).toBeLessThan(10_000)
  }, 30_000)
})
