import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { format, promisify } from 'node:util'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { binOf } from '../../scripts/setup.mjs'
import { finish, start } from '../../src/cli/cli.fixture.ts'
import type { Started } from '../../src/cli/cli.fixture.ts'
import { parsePolicies } from '../../src/paymaster/index.ts'
import { codeBlocks, expectedOutputs, likeness, relativeLinks } from './markdown.fixture.ts'
import type { CodeBlock } from './markdown.fixture.ts'

// What the pages tell a reader to type is typed here, and does what they say.
//
// - `ts`: runs as a module, or, when it imports vitest, as the tests it holds. All of them are type-checked.
// - `sh`: each line runs in a shell. `npm start` runs as the command itself. What others prove is listed in PROVEN_ELSEWHERE.
// - `json`: an object is the line that --json prints first; a list is policies of the sponsor, and lies where commands work as policies.json.
// - no language: a picture, or what the command prints.
//
// 127.0.0.1:8545 is a node of its own for each block; a first line `// npm start -- …` or `# npm start -- …` says how it is started.
// `// → …` and `# → …` say what a line prints, where `…` stands for any text.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = ['README.md', 'CONTRIBUTING.md', 'docs/guide.md', 'docs/architecture.md']
const ADDRESS = '127.0.0.1:8545'

/** Lines of `sh` blocks that are not run here, and what proves them. */
const PROVEN_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['npm test', 'this test is part of it'],
  ['npm run build', 'scripts/setup.test.ts, and npm test builds before its tests'],
  ['npm install ../pocketchain', "npm's own: links the folder"],
])

const CAST = join(ROOT, 'node_modules', '.bin', 'cast')

/** Inside the repository, so that imports find its packages; git and the checks look past it. */
const scratch = join(ROOT, `dist.docs-${process.pid}`)
mkdirSync(scratch, { recursive: true })
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Where lines of shell work: files that the pages speak of lie there. */
const folder = mkdtempSync(join(tmpdir(), 'pocketchain-docs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// Certificates are made in the home of the user.
vi.stubEnv('HOME', folder)

const pages = PAGES.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
const blocks = pages.flatMap(({ path, text }) => codeBlocks(path, text))

const modules = blocks.filter(({ language }) => language === 'ts')
const policies = blocks.filter(({ language, text }) => language === 'json' && text.startsWith('['))
for (const { text } of policies) writeFileSync(join(folder, 'policies.json'), text)

// A fixture that lasts for a file belongs at the top of one.
for (const block of modules.filter(extendsTests)) await import(pathToFileURL(writeModule(block, 'run', block.text)).href)

describe('TypeScript in the pages', () => {
  it('is type-correct', async () => {
    for (const block of modules) writeModule(block, 'checked', block.text)
    writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify({ extends: '../tsconfig.json', include: ['*.checked.ts'] }))
    await promisify(execFile)(process.execPath, [binOf('typescript', 'tsc'), '--noEmit', '-p', scratch]).catch((error: unknown) => {
      expect.fail((error as { stdout: string }).stdout)
    })
  })

  // Their own tests register here.
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

  it('are all known: nothing is listed as proven elsewhere that no page says', () => {
    const lines = blocks.flatMap(({ language, lines }) => (language === 'sh' ? lines.map(commandOf) : []))
    for (const line of PROVEN_ELSEWHERE.keys()) expect(lines).toContain(line)
  })
})

describe('what the pages show', () => {
  it('has no language that nobody runs', () => {
    expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(['', 'json', 'sh', 'ts']))
  })

  it('is the banner as it is printed', async () => {
    const shown = blocks.filter(({ language, text }) => language === '' && text.includes('Listening on'))
    expect(shown.length).toBeGreaterThan(0)
    const command = await started([])
    for (const { lines } of shown) expectLines(command.out(), lines)
    await stopped(command)
  })

  it('is the journal as it is printed', async () => {
    const [shown] = blocks.filter(({ language, text }) => language === '' && text.includes('flashblock 4'))
    const command = await started([])
    const url = urlIn(command.out())
    await ask(url, 'eth_sendTransaction', [await transfer(url)])
    const line = await command.says(/^\d.*flashblock \d+\.\d+ .*$/m)
    expect(shown?.lines.map(shapeOf)).toEqual([shapeOf(line)])
    await stopped(command)
  })

  it('is policies that the sponsor takes', () => {
    expect(policies.length).toBeGreaterThan(0)
    for (const { text } of policies) expect(() => parsePolicies(JSON.parse(text))).not.toThrow()
  })

  it('is the first line of --json, key by key', async () => {
    const shown = blocks.filter((block) => block.language === 'json' && !policies.includes(block))
    expect(shown.length).toBeGreaterThan(0)
    const command = start(['--port', '0', '--json'])
    const ready: unknown = JSON.parse(await command.says(/^.*\n/))
    for (const { text } of shown) expect(keysOf(JSON.parse(text))).toEqual(keysOf(ready))
    await stopped(command)
  })
})

describe('what the pages name', () => {
  it.each(pages.map(({ path, text }) => [path, text] as const))('%s leads to files that exist', (path, text) => {
    const links = relativeLinks(text).map((link) => join(ROOT, dirname(path), link))
    const files = [...text.matchAll(/\b(?:src\/)?((?:eth|evm|chain|store|stream|rpc|server|cli)\/[\w/.]+\.ts)\b/g)]
    const missing = [...links, ...files.map(([, file]) => join(ROOT, 'src', file ?? ''))].filter((file) => !existsSync(file))
    expect(missing).toEqual([])
  })

  it('has limits with the values that the code has', () => {
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

/** 6 of `2 * 3` */
function product(expression: string): number {
  return expression.split('*').reduce((all, factor) => all * Number(factor.replaceAll(/[_n]/g, '')), 1)
}

// --- TypeScript -----------------------------------------------------------------------------------------------------

function extendsTests({ text }: CodeBlock): boolean {
  return text.includes('.extend<')
}

function holdsTests({ text }: CodeBlock): boolean {
  return text.includes("from 'vitest'")
}

function writeModule(block: CodeBlock, kind: 'checked' | 'run', text: string): string {
  const path = join(scratch, `${block.path.replaceAll(/\W/g, '-')}-${block.line}.${kind}.ts`)
  writeFileSync(path, `${text}\nexport {}\n`)
  return path
}

async function runModule(block: CodeBlock): Promise<void> {
  await using node = await startFor(block)
  const path = writeModule(block, 'run', block.text.replaceAll(ADDRESS, new URL(node.url).host))
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  process.chdir(folder) // files that a page writes belong there
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

/** `exports` are the variables that lines before this one set. */
async function runLine(line: string, exports: string, url: string): Promise<void> {
  const command = commandOf(line)
  if (PROVEN_ELSEWHERE.has(command)) return
  const args = /^npm start(?: --silent)?(?: -- (.*))?$/.exec(command)
  if (args !== null) return runCommand(wordsOf(args[1]))
  const path = [join(ROOT, 'node_modules', '.bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
  const script = `${exports}${command}`.replaceAll(ADDRESS, new URL(url).host)
  const { stdout } = await promisify(execFile)('sh', ['-ec', script], {
    cwd: folder,
    env: { ...process.env, PATH: path },
  })
  const [expected] = expectedOutputs([line])
  if (expected !== undefined) expect(stdout.trim()).toMatch(likeness(expected))
}

/** Runs the command until it answers, or to its end when it ends by itself. Exit code 0 either way. */
async function runCommand(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) {
    expect(await finish(args)).toMatchObject({ code: 0, err: '' })
    return
  }
  if (args.includes('demo')) {
    // Where the page leaves the answers to a reader, a script gives them.
    expect(await finish([...new Set([...args, '--headless'])])).toMatchObject({ code: 0, err: '' })
    return
  }
  const command = await started(args)
  expect(await ask(urlIn(command.out()), 'eth_chainId', [])).toMatch(/^0x/)
  await stopped(command)
}

/** Without the comment at its end. */
function commandOf(line: string): string {
  return line.replace(/\s+#.*$/, '')
}

/** Quoted words stay together. */
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

/** Files that a page names lie in the folder of this run. */
const FILE = /^[\w-]+\.(json|rlp)$/

/** On any free port, whatever the page says. */
async function started(args: readonly string[]): Promise<Started> {
  const command = start([...args.map((arg) => (FILE.test(arg) ? join(folder, arg) : arg)), '--port', '0'])
  await command.says(/Listening on|"event":"ready"/)
  return command
}

async function stopped(command: Started): Promise<void> {
  command.stop()
  expect(await command.exit).toBe(0)
  expect(command.err()).toBe('')
}

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

/** A line with its numbers and hashes taken out. */
function shapeOf(line: string): string {
  return line.replaceAll(/0x[0-9a-f]+…?/g, '0x').replaceAll(/\d[\d,]*/g, '0')
}

/** In this order, with others in between where the page says `…`. */
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
