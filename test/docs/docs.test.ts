import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { format, promisify } from 'node:util'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { binOf } from '../../scripts/setup.mjs'
import { finish, start } from '../../src/cli/cli.fixture.ts'
import type { Started } from '../../src/cli/cli.fixture.ts'
import { VERSION } from '../../src/index.ts'
import { parsePolicies } from '../../src/paymaster/index.ts'
import { appFolder } from '../apps.fixture.ts'
import { freePort } from '../fleet/servers.fixture.ts'
import { codeBlocks, expectedOutputs, likeness, relativeLinks } from './markdown.fixture.ts'
import type { CodeBlock } from './markdown.fixture.ts'

// Runs the code blocks of the documentation and compares the output with the documented output.
//
// - `ts`: runs as a module, or, when it imports vitest, as the tests it holds. All of them are type-checked. Those that import permissionless use the
//   packages of test/apps/permissionless.
// - `sh`: each line runs in a shell. `npm start` runs as the command itself. PROVEN_ELSEWHERE lists the lines that other tests cover.
// - `yaml`: a workflow; its steps run one after the other with `bash -e`, as on GitHub, in a folder where the package is installed. Except npm's own.
// - `dockerfile`: its ENTRYPOINT and HEALTHCHECK run as processes, without the image.
// - `json`: an object is the first line of --json; an array is a list of sponsor policies, written to policies.json in the working directory.
// - no language: a diagram, or output of the command.
//
// 127.0.0.1:8545 is a new node for each block; a first line `// npm start -- …` or `# npm start -- …` gives its flags.
// `// → …` and `# → …` give the output of a line, where `…` matches any text.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = ['README.md', 'CONTRIBUTING.md', 'docs/guide.md', 'docs/architecture.md']
const ADDRESS = '127.0.0.1:8545'

/** Lines of `sh` blocks that are not run here, and the test that covers each. */
const PROVEN_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['npm test', 'this test is part of it'],
  ['npm run build', 'scripts/setup.test.ts, and npm test builds before its tests'],
  ['npm install ../pocketchain', "npm's own: links the folder"],
])

const COMMAND = join(ROOT, 'dist', 'cli', 'main.js')
const CAST = join(ROOT, 'node_modules', '.bin', 'cast')

const APP = appFolder('permissionless')

/** Inside the repository and inside the app, so that imports resolve their packages; git and the linters ignore them. */
const scratch = scratchIn(ROOT)
const appScratch = APP === null ? null : scratchIn(APP)
const scratches = appScratch === null ? [scratch] : [scratch, appScratch]
afterAll(() => {
  for (const each of scratches) rmSync(each, { recursive: true, force: true })
})

function scratchIn(root: string): string {
  const path = join(root, `dist.docs-${process.pid}`)
  mkdirSync(path, { recursive: true })
  return path
}

/** Working directory of shell lines, with the files that the pages mention. */
const folder = mkdtempSync(join(tmpdir(), 'pocketchain-docs-'))
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

// Certificates are written to the home directory of the user.
vi.stubEnv('HOME', folder)

const pages = PAGES.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
const blocks = pages.flatMap(({ path, text }) => codeBlocks(path, text))

const modules = blocks.filter((block) => block.language === 'ts' && (appScratch !== null || !needsApp(block)))
const policies = blocks.filter(({ language, text }) => language === 'json' && text.startsWith('['))
for (const { text } of policies) writeFileSync(join(folder, 'policies.json'), text)

// A file-scoped fixture must be declared at the top level.
for (const block of modules.filter(extendsTests)) await import(pathToFileURL(writeModule(block, 'run', block.text)).href)

describe('TypeScript in the pages', () => {
  it('is type-correct', async () => {
    for (const block of modules) writeModule(block, 'checked', block.text)
    const include = scratches.map((each) => join(each, '*.checked.ts'))
    writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include }))
    await promisify(execFile)(process.execPath, [binOf('typescript', 'tsc'), '--noEmit', '-p', scratch]).catch((error: unknown) => {
      expect.fail((error as { stdout: string }).stdout)
    })
  })

  // The tests in the code blocks register here.
  for (const block of modules.filter((each) => holdsTests(each) && !extendsTests(each)))
    describe(block.title, () => import(pathToFileURL(writeModule(block, 'run', block.text)).href))

  it.each(modules.filter((block) => !holdsTests(block)).map((block) => [block.title, block] as const))('%s', (_, block) => runModule(block))
})

describe('shell commands in the pages', () => {
  it.for(blocks.filter(({ language }) => language === 'sh').map((block) => [block.title, block] as const))(
    '%s',
    async ([, block], context) => {
      if (block.text.includes('cast ') && !existsSync(CAST)) context.skip('needs the package @foundry-rs/cast')
      await using node = await startFor(block)
      let exports = ''
      for (const line of block.lines.filter((each) => each !== '' && !each.startsWith('#'))) {
        if (line.startsWith('export ')) exports += `${line}\n`
        else await runLine(line, exports, node.url)
      }
    },
  )

  it('contain every line that is listed as covered by other tests', () => {
    const lines = blocks.flatMap(({ language, lines }) => (language === 'sh' ? lines.map(commandOf) : []))
    for (const line of PROVEN_ELSEWHERE.keys()) expect(lines).toContain(line)
  })
})

describe('recipes for CI and containers', () => {
  it.for(blocks.filter(({ language }) => language === 'yaml').map((block) => [block.title, block] as const))('%s', async ([, block]) => {
    const bin = join(folder, 'node_modules', '.bin')
    mkdirSync(bin, { recursive: true })
    symlinkSync(COMMAND, join(bin, 'pocketchain'))
    const port = await freePort()
    const pidOf = () => Number(readFileSync(join(folder, 'chain.pid'), 'utf8'))
    try {
      for (const step of stepsOf(block).filter((each) => !/^npm (ci|test)$/.test(each))) {
        const script = step.replaceAll(ADDRESS, `127.0.0.1:${port}`).replace('.bin/pocketchain', `$& --port ${port}`)
        await promisify(execFile)('bash', ['-ec', script], { cwd: folder })
      }
      expect(readFileSync(join(folder, 'chain.log'), 'utf8')).toContain(`Listening on 127.0.0.1:${port}`)
      await vi.waitFor(() => expect(isRunning(pidOf())).toBe(false), 10_000)
    } finally {
      if (existsSync(join(folder, 'chain.pid')) && isRunning(pidOf())) process.kill(pidOf())
    }
  })

  it.for(blocks.filter(({ language }) => language === 'dockerfile').map((block) => [block.title, block] as const))(
    '%s',
    async ([, block]) => {
      const [, ...args] = wordsAfter(block, 'ENTRYPOINT')
      const [, ...check] = wordsAfter(block, 'HEALTHCHECK CMD')
      const command = await started(args)
      const url = urlIn(command.out())
      const healthCheck = check.map((word) => word.replace(ADDRESS, new URL(url).host))
      await promisify(execFile)(process.execPath, healthCheck)
      await stopped(command)
      await expect(promisify(execFile)(process.execPath, healthCheck)).rejects.toMatchObject({ code: 1 })
    },
  )
})

describe('code blocks of the pages', () => {
  it('have only languages that are run', () => {
    expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(['', 'dockerfile', 'json', 'sh', 'ts', 'yaml']))
  })

  it('show the printed banner', async () => {
    const shown = blocks.filter(({ language, text }) => language === '' && text.includes('Listening on'))
    expect(shown.length).toBeGreaterThan(0)
    const command = await started([])
    for (const { lines } of shown) expectLines(command.out(), lines)
    await stopped(command)
  })

  it('show the printed journal', async () => {
    const [shown] = blocks.filter(({ language, text }) => language === '' && text.includes('flashblock 4'))
    const command = await started([])
    const url = urlIn(command.out())
    await ask(url, 'eth_sendTransaction', [await transfer(url)])
    const line = await command.waitForOutput(/^\d.*flashblock \d+\.\d+ .*$/m)
    expect(shown?.lines.map(shapeOf)).toEqual([shapeOf(line)])
    await stopped(command)
  })

  it('show policies that the sponsor accepts', () => {
    expect(policies.length).toBeGreaterThan(0)
    for (const { text } of policies) expect(() => parsePolicies(JSON.parse(text))).not.toThrow()
  })

  it('show every key of the first line of --json', async () => {
    const shown = blocks.filter((block) => block.language === 'json' && !policies.includes(block))
    expect(shown.length).toBeGreaterThan(0)
    const command = start(['--port', '0', '--json'])
    const ready: unknown = JSON.parse(await command.waitForOutput(/^.*\n/))
    for (const { text } of shown) {
      expect(keysOf(JSON.parse(text))).toEqual(keysOf(ready))
      expect(JSON.parse(text)).toHaveProperty('version', VERSION)
    }
    await stopped(command)
  })
})

describe('names in the pages', () => {
  it.each(pages.map(({ path, text }) => [path, text] as const))('%s leads to files that exist', (path, text) => {
    const links = relativeLinks(text).map((link) => join(ROOT, dirname(path), link))
    const files = [...text.matchAll(/\b(?:src\/)?((?:eth|evm|chain|store|stream|rpc|server|cli)\/[\w/.]+\.ts)\b/g)]
    const missing = [...links, ...files.map(([, file]) => join(ROOT, 'src', file ?? ''))].filter((file) => !existsSync(file))
    expect(missing).toEqual([])
  })

  it('have limits with the values of the code', () => {
    const rows = [
      ...(pages.find(({ path }) => path === 'README.md')?.text ?? '').matchAll(/^\| .* \| ([\d,]+)( \w+)? \| `(\w+)` in `([\w/.]+)` \|$/gm),
    ]
    expect(rows.length).toBeGreaterThan(10)
    for (const [, amount = '', unit = '', name = '', file = ''] of rows) {
      const [, value] = new RegExp(`^export const ${name} = ([\\d_* n]+)$`, 'm').exec(readFileSync(join(ROOT, file), 'utf8')) ?? []
      expect(product(value ?? ''), name).toBe(Number(amount.replaceAll(',', '')) * (UNITS[unit.trim()] ?? 1))
    }
  })
})

const UNITS: Readonly<Record<string, number>> = { KiB: 1_024, MiB: 1_024 ** 2, s: 1_000 }

/** Evaluates a product: `2 * 3` is 6. */
function product(expression: string): number {
  return expression.split('*').reduce((all, factor) => all * Number(factor.replaceAll(/[_n]/g, '')), 1)
}

// --- TypeScript -----------------------------------------------------------------------------------------------------

function needsApp({ text }: CodeBlock): boolean {
  return text.includes("from 'permissionless")
}

function extendsTests({ text }: CodeBlock): boolean {
  return text.includes('.extend<')
}

function holdsTests({ text }: CodeBlock): boolean {
  return text.includes("from 'vitest'")
}

function writeModule(block: CodeBlock, kind: 'checked' | 'run', text: string): string {
  const path = join((needsApp(block) ? appScratch : null) ?? scratch, `${block.path.replaceAll(/\W/g, '-')}-${block.line}.${kind}.ts`)
  writeFileSync(path, `${text}\nexport {}\n`)
  return path
}

async function runModule(block: CodeBlock): Promise<void> {
  await using node = await startFor(block)
  const path = writeModule(block, 'run', block.text.replaceAll(ADDRESS, new URL(node.url).host))
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  process.chdir(folder) // for the files that a page writes
  try {
    await import(pathToFileURL(path).href)
    const printed = log.mock.calls.map((values) => format(...values))
    const expected = expectedOutputs(block.lines)
    expect(printed).toHaveLength(expected.length)
    for (const [i, output] of expected.entries()) expect(printed[i]).toMatch(likeness(output))
  } finally {
    process.chdir(ROOT)
    log.mockRestore()
  }
}

// --- shell ----------------------------------------------------------------------------------------------------------

/** `exports` are the variables set by earlier lines. */
async function runLine(line: string, exports: string, url: string): Promise<void> {
  const command = commandOf(line)
  if (PROVEN_ELSEWHERE.has(command)) return
  const args = /^npm start(?: --silent)?(?: -- (.*))?$/.exec(command)
  if (args !== null) return runCommand(wordsOf(args[1]?.replaceAll(ADDRESS, new URL(url).host)))
  const path = [join(ROOT, 'node_modules', '.bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
  const script = `${exports}${command}`.replaceAll(ADDRESS, new URL(url).host)
  const { stdout } = await promisify(execFile)('sh', ['-ec', script], {
    cwd: folder,
    env: { ...process.env, PATH: path },
  })
  const [expected] = expectedOutputs([line])
  if (expected !== undefined) expect(stdout.trim()).toMatch(likeness(expected))
}

/** Runs the command until it responds or exits. The exit code is 0 in both cases. */
async function runCommand(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) {
    expect(await finish(args)).toMatchObject({ code: 0, err: '' })
    return
  }
  if (args.includes('audit')) {
    expect(await finish(args)).toMatchObject({ code: 0, out: expect.stringContaining('Feed: flashblock stream') })
    return
  }
  if (args.includes('demo')) {
    // A script supplies the input that the page leaves to the reader.
    expect(await finish([...new Set([...args, '--headless'])])).toMatchObject({ code: 0, err: '' })
    return
  }
  const command = await started(args)
  expect(await ask(urlIn(command.out()), 'eth_chainId', [])).toMatch(/^0x/)
  await stopped(command)
}

/** The scripts of a workflow: `run: command`, or the lines below `run: |`. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function stepsOf({ text }: CodeBlock): readonly string[] {
  return [...text.matchAll(/\brun: (?:\|\n((?: {10}.*(?:\n|$))+)|(.*))/g)].map(([, lines, line]) => (lines ?? line ?? '').trim())
}

/** The JSON array after an instruction of a Dockerfile. */
function wordsAfter({ lines }: CodeBlock, instruction: string): readonly string[] {
  const line = lines.find((each) => each.startsWith(`${instruction} `)) ?? ''
  return JSON.parse(line.slice(instruction.length)) as readonly string[] // the form of the page
}

/** Removes the trailing comment. */
function commandOf(line: string): string {
  return line.replace(/\s+#.*$/, '')
}

/** Splits at spaces outside of quotes. */
function wordsOf(text = ''): readonly string[] {
  return (text.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^(["'])(.*)\1$/, '$2'))
}

// --- the node -------------------------------------------------------------------------------------------------------

interface Node extends AsyncDisposable {
  readonly url: string
}

async function startFor(block: CodeBlock): Promise<Node> {
  const args = /^(?:\/\/|#) npm start(?: -- (.*))?$/.exec(block.lines[0] ?? '')
  const command = await started(wordsOf(args?.[1]))
  return { url: urlIn(command.out()), [Symbol.asyncDispose]: () => stopped(command) }
}

/** Resolves files that a page names in the folder of this run. */
const FILE = /^[\w-]+\.(json|rlp)$/

/** Uses any free port instead of the port in the page. */
async function started(args: readonly string[]): Promise<Started> {
  const command = start([...args.map((arg) => (FILE.test(arg) ? join(folder, arg) : arg)), '--port', '0'])
  await command.waitForOutput(/Listening on|"event":"ready"/)
  return command
}

async function stopped(command: Started): Promise<void> {
  command.stop()
  expect(await command.exit).toBe(0)
  expect(command.err().replaceAll(SLOW_START, '')).toBe('')
}

/** On a loaded machine a fork takes longer than the second after which the command reports it. */
const SLOW_START = /^pocketchain: Warning: forking: .*\n/gm

function urlIn(output: string): string {
  return /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] ?? ''
}

async function ask(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return ((await response.json()) as { result?: unknown }).result
}

async function transfer(url: string): Promise<object> {
  const [from, to] = (await ask(url, 'eth_accounts', [])) as readonly string[]
  return { from, to, value: '0x1' }
}

// --- comparing ------------------------------------------------------------------------------------------------------

/** Removes numbers and hashes from a line. */
function shapeOf(line: string): string {
  return line.replaceAll(/0x[0-9a-f]+…?/g, '0x').replaceAll(/\d[\d,]*/g, '0')
}

/** Expects the lines in this order; `…` in the page matches any lines in between. */
function expectLines(output: string, lines: readonly string[]): void {
  const port = new URL(urlIn(output)).port
  const printed = output.replaceAll(`127.0.0.1:${port}`, ADDRESS).trim().split('\n')
  const wanted = lines.filter((line) => line.trim() !== '…').map((line) => likeness(line))
  for (const line of printed) if (wanted[0]?.test(line) === true) wanted.shift()
  expect(wanted).toEqual([])
}

function keysOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner).map((name) => `${key}.${name}`)])
}
