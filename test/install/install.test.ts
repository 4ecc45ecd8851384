import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { rolldown } from 'rolldown'
import { http, createWalletClient, parseEther, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestContext } from 'vitest'
import { withExtraCertificates } from '../../scripts/certificates.mjs'
import { NODE_PACKAGE, nodeBinary } from '../../scripts/nodebinary.mjs'
import { ROOT, SetUpFailed } from '../../scripts/setup.mjs'
import { pack, problemsOf } from '../../scripts/tarball.mjs'

// The package as users get it: packed, installed in an empty folder without install scripts, and used as a command and as a library.

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const BOB = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const INSTALL_MS = 240_000

let folder = ''
let tarball = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-package-'))
  mkdirSync(join(folder, 'tarball'))
  tarball = pack(ROOT, join(folder, 'tarball'))
}, INSTALL_MS)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Finished {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a program to its end, with this version of Node first in PATH. */
function run(node: string, program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Finished> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env: environment(node, env) }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err })
    })
  })
}

/** Without the variables of the npm and vitest that run this test. */
function environment(node: string, extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(withExtraCertificates()).filter(
    ([name]) => !/^(npm_(?!config_(registry|cache|userconfig)$)|vitest|node_env|tinypool)/i.test(name),
  )
  return { ...Object.fromEntries(own), PATH: `${dirname(node)}${delimiter}${process.env['PATH']}`, ...extra }
}

const UNREACHABLE = /\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)\b/

/** Skips the test if the registry cannot be reached; a skip for this reason counts as a failure in CI. */
function skipUnreachable(context: TestContext, packageName: string, output: string): void {
  const [reason] = UNREACHABLE.exec(output) ?? []
  if (reason !== undefined) context.skip(`needs the package ${packageName}, and the registry cannot be reached (${reason})`)
}

function emptyProject(name: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), '{ "private": true, "type": "module" }\n')
  return path
}

async function install(context: TestContext, node: string, project: string): Promise<void> {
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--fetch-retries', '0']
  const { code, err } = await run(node, 'npm', ['install', ...options, tarball], project)
  if (code !== 0) skipUnreachable(context, 'lmdb', err)
  expect([code, err.includes('npm error') ? err : '']).toEqual([0, ''])
}

interface Ready {
  readonly pid: number
  readonly version: string
  readonly privateKeys: readonly `0x${string}`[]
  readonly urls: { readonly http: string }
}

/** Starts the command through npx, passes the first line of --json to `use`, and stops the node by its process id. */
async function withNode(
  node: string,
  project: string,
  args: readonly string[],
  use: (ready: Ready) => Promise<void>,
): Promise<number | null> {
  const npx = spawn('npx', ['pocketchain', '--port', '0', '--json', '--cadence', 'instant', ...args], {
    cwd: project,
    env: environment(node),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let err = ''
  npx.stderr.on('data', (data: Buffer) => (err += data.toString()))
  const ended = new Promise<number | null>((resolve) => npx.once('close', resolve))
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(npx.stdout).once('line', resolve)
    void ended.then((code) => reject(new Error(`npx ended with ${code}: ${err}`)))
  })
  const ready = JSON.parse(line) as Ready // the format of the first line
  try {
    await use(ready)
  } finally {
    process.kill(ready.pid, 'SIGINT')
  }
  return ended
}

const LIBRARY = `
import { readFileSync } from 'node:fs'
import { VERSION, createPocketchain } from 'pocketchain'
const { exports } = JSON.parse(readFileSync('node_modules/pocketchain/package.json', 'utf8'))
for (const path of Object.keys(exports)) {
  if (path !== './package.json') await import('pocketchain' + path.slice(1))
}
const { vitestFixtures } = await import('pocketchain/testing')
await using node = await createPocketchain({ cadence: 'instant' })
const chainId = await node.request({ method: 'eth_chainId' })
const bundled = import.meta.resolve('pocketchain').endsWith('/dist/exports/index.js')
const files = process.report.getReport().sharedObjects
console.log(JSON.stringify({ VERSION, chainId, bundled, fixtures: typeof vitestFixtures, lmdb: files.some((file) => file.includes('lmdb')) }))
await node.close()
`.replace('await using', 'const') // Node 20 has no syntax for it

/** Signatures that arrive at once start the thread that recovers senders, whose script is not beside the bundle. */
const BUNDLED_APP = `
import { VERSION, createPocketchain } from 'pocketchain'
const node = await createPocketchain()
const pairing = await node.request({ method: 'eth_call', params: [{ to: '0x0000000000000000000000000000000000000008', data: '0x' }] })
const [from] = await node.request({ method: 'eth_accounts' })
const fees = { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1' }
const sign = (nonce) =>
  node.request({ method: 'eth_signTransaction', params: [{ from, to: from, gas: '0x5208', ...fees, nonce: '0x' + nonce.toString(16) }] })
const signed = await Promise.all(Array.from({ length: 300 }, (_, nonce) => sign(nonce)))
const { url } = await node.listen()
const send = async (raw) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [raw] })
  return (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json()
}
const sent = await Promise.all(signed.map(send))
const page = await (await fetch(url + '/wallet')).text()
console.log(JSON.stringify({ VERSION, pairing, sent: sent.filter(({ result }) => result !== undefined).length, page }))
await node.close()
`

test('the tarball contains what is needed, and nothing of the tests, the sources and this machine', () => {
  expect(basename(tarball)).toBe(`pocketchain-${version}.tgz`)
  expect(problemsOf(readFileSync(tarball))).toEqual([])
})

describe.each([20, 22, 24])('on Node %i, installed without install scripts', (major) => {
  test(
    'it runs as a command and as a library, and opens LMDB only for a data directory',
    async (context) => {
      const node = binaryOf(context, major)
      const project = emptyProject(`node${major}`)
      await install(context, node, project)

      const shown = await run(node, 'npx', ['pocketchain', '--version'], project)
      expect({ ...shown, err: linesOf(shown.err) }).toEqual({ code: 0, out: `${version}\n`, err: [] })

      for (const args of [[], ['--data', 'chain']]) {
        const code = await withNode(node, project, args, async (ready) => {
          expect(ready.version).toBe(version)
          const account = privateKeyToAccount(ready.privateKeys[0]!)
          const client = createWalletClient({ account, chain: foundry, transport: http(ready.urls.http) }).extend(publicActions)
          expect(await client.getChainId()).toBe(31_337)
          const hash = await client.sendTransaction({ to: BOB, value: parseEther('1') })
          expect((await client.waitForTransactionReceipt({ hash })).status).toBe('success')
          expect(await client.getBalance({ address: BOB })).toBe(parseEther('10001'))
          const page = await fetch(`${ready.urls.http}/wallet`)
          expect([page.status, (await page.text()).includes('<html')]).toEqual([200, true])
        })
        expect(code).toBe(0)
      }
      expect(readdirSync(join(project, 'chain'))).toContain('pocketchain.mdb')

      writeFileSync(join(project, 'library.js'), LIBRARY)
      const library = await run(node, node, ['library.js'], project)
      expect(library.err).toBe('')
      expect(JSON.parse(library.out)).toEqual({ VERSION: version, chainId: '0x7a69', bundled: true, fixtures: 'function', lmdb: false })
    },
    INSTALL_MS,
  )
})

test(
  'without the binary of LMDB a data directory is refused with one sentence, and a chain in memory runs',
  async (context) => {
    const project = emptyProject('nolmdb')
    const node = process.execPath
    await install(context, node, project)
    const refused = () => run(node, 'npx', ['pocketchain', '--port', '0', '--data', 'chain'], project)
    const sentence = (reason: string) =>
      `pocketchain: a data directory needs the package lmdb with its binary for ${process.platform}-${process.arch}, which cannot be loaded ` +
      `(${reason}); install again with "npm install --include=optional", or start without --data to keep the chain in memory`

    renameSync(join(project, 'node_modules', '@lmdb'), join(folder, 'lmdb-binary'))
    const noBinary = await refused()
    expect([noBinary.code, linesOf(noBinary.err)]).toEqual([2, [expect.stringMatching(/No native build was found/)]])
    renameSync(join(project, 'node_modules', 'lmdb'), join(folder, 'lmdb-package'))
    const noPackage = await refused()
    expect(noPackage.code).toBe(2)
    const [line = ''] = linesOf(noPackage.err)
    const [reason = ''] = /Cannot find package 'lmdb' imported from [^)]+/.exec(line) ?? []
    expect(line).toBe(sentence(reason))
    expect(existsSync(join(project, 'chain'))).toBe(false)
    expect(await withNode(node, project, [], async ({ urls }) => expect((await fetch(`${urls.http}/health`)).status).toBe(200))).toBe(0)
  },
  INSTALL_MS,
)

test(
  'an app that bundles the library runs without its packages and files beside it, but for the pages',
  async (context) => {
    const project = emptyProject('bundled')
    await install(context, process.execPath, project)
    writeFileSync(join(project, 'app.js'), BUNDLED_APP)
    const bundle = await rolldown({ cwd: project, input: 'app.js', platform: 'node', onLog: () => undefined })
    const out = join(folder, 'bundle', 'app.mjs')
    await bundle.write({ file: out, format: 'esm', codeSplitting: false })
    await bundle.close()

    const { err, out: printed } = await run(process.execPath, process.execPath, [out], dirname(out))
    expect(err).toBe('')
    const page = expect.stringContaining('wallet.html is missing')
    expect(JSON.parse(printed)).toEqual({ VERSION: version, pairing: `0x${'0'.repeat(63)}1`, sent: 300, page })
  },
  INSTALL_MS,
)

test(
  'npx runs the tarball itself in an empty folder',
  async (context) => {
    const project = join(folder, 'npx')
    mkdirSync(project)
    const name = basename(tarball)
    writeFileSync(join(project, name), readFileSync(tarball))
    // npx installs into its cache; a cache of its own proves an installation and leaves nothing behind.
    const env = { npm_config_cache: join(folder, 'cache'), npm_config_ignore_scripts: 'true', npm_config_fetch_retries: '0' }
    const { code, out, err } = await run(process.execPath, 'npx', ['--yes', `./${name}`, '--version'], project, env)
    if (code !== 0) skipUnreachable(context, 'lmdb', err)
    expect([code, out]).toEqual([0, `${version}\n`])
  },
  INSTALL_MS,
)

/** Installs the version if it is not the one that runs this test. */
function binaryOf(context: TestContext, major: number): string {
  try {
    return nodeBinary(major)
  } catch (error) {
    if (!(error instanceof SetUpFailed)) throw error
    return context.skip(`needs the package ${NODE_PACKAGE}@${major}, which cannot be installed: ${error.message}`)
  }
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('npm '))
}
