import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { checkLayers, importsOf } from './layers.mjs'

/** A small tree without findings: every test below adds one violation. */
const GOOD_TREE = {
  'package.json': JSON.stringify({
    name: 'tiny',
    exports: { '.': './dist/index.js' },
    scripts: { docs: 'node dist/cli/docs.js' },
    dependencies: { ws: '1.0.0' },
    devDependencies: { viem: '1.0.0' },
  }),
  'src/compat.ts': 'export const CHAIN_ID = 31337',
  'src/eth/index.ts': "export { encode } from './receipt.ts'\nexport type { Log } from './log.ts'",
  'src/eth/receipt.ts':
    "import type { Log } from './log.ts'\nimport { CHAIN_ID } from '../compat.ts'\nexport const encode = (log: Log) => [log, CHAIN_ID]",
  'src/eth/log.ts': 'export interface Log { readonly data: string }',
  'src/chain/index.ts': "export { seal } from './sealing/block.ts'",
  'src/chain/sealing/block.ts':
    "import { encode } from '../../eth/index.ts'\nimport { deep } from '../deep.ts'\nexport const seal = [encode, deep]",
  'src/chain/deep.ts':
    "import type { Stats } from 'node:fs'\nimport { WebSocket } from 'ws'\nexport const deep: (Stats | typeof WebSocket)[] = [WebSocket]",
  'src/index.ts': "export { seal } from './chain/index.ts'",
  'src/cli/main.ts': "import { seal } from '../index.ts'\nvoid seal",
  'src/cli/docs.ts': "import { readFileSync } from 'node:fs'\nimport { CHAIN_ID } from '../compat.ts'\nvoid [CHAIN_ID, readFileSync]",
  'src/testing/index.ts': "export { seal } from '../index.ts'",
  'src/eth/receipt.test.ts':
    "import { encode } from './receipt.ts'\nimport { seal } from '../chain/index.ts'\nimport { http } from 'viem'\nvoid [encode, seal, http]",
  'test/whole.test.ts': "import { seal } from '../src/index.ts'\nimport { encode } from '../src/eth/index.ts'\nvoid [seal, encode]",
}

let root: string | undefined

function findings(added: Record<string, string>): string[] {
  root = mkdtempSync(join(tmpdir(), 'layers-'))
  for (const [path, text] of Object.entries({ ...GOOD_TREE, ...added })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return checkLayers(root).map(({ file, line, message }) => `${file}:${line}: ${message}`)
}

afterEach(() => {
  if (root !== undefined) rmSync(root, { recursive: true, force: true })
  root = undefined
})

test('a correct tree has no findings', () => {
  expect(findings({})).toEqual([])
})

describe('imports point downward', () => {
  test('an import of a higher layer is reported with its line', () => {
    const found = findings({
      'src/eth/log.ts': "export interface Log { readonly data: string }\nimport type { X } from '../store/index.ts'\nexport type Y = X",
      'src/store/index.ts': 'export type X = 1',
    })
    expect(found).toEqual([expect.stringMatching(/^src\/eth\/log\.ts:2: eth imports store, a module of a higher layer: .*port/)])
  })

  test('only the top layer imports src/index.ts', () => {
    const found = findings({ 'src/server/index.ts': "export type { seal } from '../index.ts'" })
    expect(found).toEqual([expect.stringMatching(/^src\/server\/index\.ts:1: server imports index, a module of a higher layer/)])
  })

  test('modules of one layer do not import each other', () => {
    const found = findings({
      'src/wallet/index.ts': "export * from '../bundler/index.ts'",
      'src/bundler/index.ts': 'export const send = 1',
    })
    expect(found).toContainEqual(expect.stringMatching(/^src\/wallet\/index\.ts:1: wallet imports bundler, a module of its own layer/))
  })

  test('compat.ts is the lowest layer and imports no module', () => {
    const found = findings({ 'src/compat.ts': "import type { Log } from './eth/index.ts'\nexport const CHAIN_ID: Log | number = 31337" })
    expect(found).toContainEqual(expect.stringMatching(/^src\/compat\.ts:1: compat imports eth, a module of a higher layer/))
  })

  test('a type written as import(…) and an import at run time count like any other', () => {
    const found = findings({
      'src/eth/log.ts': "export type Log = import('../store/index.ts').X\nexport const later = () => import('../rpc/index.ts')",
      'src/store/index.ts': 'export type X = 1',
      'src/rpc/index.ts': 'export const y = 1',
    })
    expect(found.map((line) => line.split(': ')[0])).toEqual(['src/eth/log.ts:1', 'src/eth/log.ts:2'])
  })
})

describe('a module is imported through its entry points', () => {
  test('an import of a file inside a module names the entry point', () => {
    const found = findings({ 'src/chain/deep.ts': "import { encode } from '../eth/receipt.ts'\nexport const deep = encode" })
    expect(found).toEqual([
      expect.stringMatching(/^src\/chain\/deep\.ts:1: imports a file inside eth\/ .*import from '\.\.\/eth\/index\.ts'/),
    ])
  })

  test('the same holds for tests, in src/ and outside', () => {
    const found = findings({
      'src/eth/log.test.ts': "import { deep } from '../chain/deep.ts'\nvoid deep",
      'test/inner.test.ts': "\nimport { deep } from '../src/chain/deep.ts'\nvoid deep",
    })
    expect(found.map((line) => line.split(' (')[0])).toEqual([
      'src/eth/log.test.ts:1: imports a file inside chain/',
      'test/inner.test.ts:2: imports a file inside chain/',
    ])
  })

  test('a fixture of a module serves all tests', () => {
    const added = {
      'src/chain/world.fixture.ts': 'export const x = 1',
      'test/inner.test.ts': "import { x } from '../src/chain/world.fixture.ts'\nvoid x",
    }
    expect(findings(added)).toEqual([])
  })

  test('an import by the name of the package is reported', () => {
    const found = findings({ 'src/chain/deep.ts': "import { encode } from 'tiny/eth'\nexport const deep = encode" })
    expect(found).toEqual([expect.stringMatching(/^src\/chain\/deep\.ts:1: imports its own package by name/)])
  })

  test('a file outside of every module is reported', () => {
    const found = findings({ 'src/helpers/index.ts': 'export const x = 1' })
    expect(found).toEqual([expect.stringMatching(/^src\/helpers\/index\.ts:1: "helpers" is not a declared module/)])
  })
})

describe('there are no import cycles', () => {
  test('two files that import each other are one finding that names both lines', () => {
    const found = findings({ 'src/eth/log.ts': "import { encode } from './receipt.ts'\nexport type Log = typeof encode" })
    expect(found).toEqual([
      expect.stringMatching(/^src\/eth\/log\.ts:1: import cycle: src\/eth\/log\.ts:1 → src\/eth\/receipt\.ts:1 → src\/eth\/log\.ts: /),
    ])
  })

  test('type imports alone make a cycle, and so does the index.ts of the own module', () => {
    const found = findings({
      'src/eth/log.ts':
        "export interface Log { readonly next: unknown }\nimport type { encode } from './index.ts'\nexport type E = typeof encode",
    })
    expect(found).toHaveLength(1)
    expect(found[0]).toContain('import cycle: ')
  })

  test('modules of the top layer import each other in one direction only', () => {
    const found = findings({
      'src/index.ts': "export { seal } from './chain/index.ts'\nexport type T = typeof import('./testing/index.ts')",
    })
    expect(found).toEqual([expect.stringMatching(/import cycle: src\/index\.ts:2 → src\/testing\/index\.ts:1 → src\/index\.ts/)])
  })
})

test('an import of Node in a module that runs in a browser is reported', () => {
  const found = findings({ 'src/chain/deep.ts': "import { readFileSync } from 'node:fs'\nexport const deep = readFileSync" })
  expect(found).toEqual([expect.stringMatching(/^src\/chain\/deep\.ts:1: imports "node:fs", and runs in a browser: /)])
})

describe('the value imports of a product stay within its declared modules', () => {
  test('an import that leaves them is reported, however far down it is', () => {
    const found = findings({
      'src/wallet/index.ts': "export * from './send.ts'",
      'src/wallet/send.ts': "export const send = () => import('./later.ts')",
      'src/wallet/later.ts': "import { seal } from '../chain/index.ts'\nexport const later = seal",
    })
    expect(found).toEqual([
      expect.stringMatching(/^src\/wallet\/later\.ts:1: wallet reaches chain by this value import, and may reach only/),
    ])
  })

  test('type imports are free', () => {
    const found = findings({ 'src/wallet/index.ts': "import type { seal } from '../chain/index.ts'\nexport type Seal = typeof seal" })
    expect(found).toEqual([])
  })

  test('a second entry point belongs to it', () => {
    const found = findings({
      'src/bundler/index.ts': 'export const send = 1',
      'src/bundler/methods.ts': "import { seal } from '../chain/index.ts'\nexport const rows = [seal]",
    })
    expect(found).toEqual([expect.stringMatching(/^src\/bundler\/methods\.ts:1: bundler reaches chain/)])
  })
})

describe('pages', () => {
  test('have layers and no cycles, type imports included', () => {
    const found = findings({
      'pages/wallet/parts.tsx': "import type { Page } from './page.tsx'\nexport const part = (page: Page) => page",
      'pages/wallet/page.tsx':
        "import { part } from './parts.tsx'\nimport { ledger } from '../sponsor/ledger.tsx'\nexport type Page = [typeof part, typeof ledger]",
      'pages/sponsor/ledger.tsx': 'export const ledger = 1',
    })
    expect(found).toEqual([
      expect.stringMatching(/^pages\/wallet\/page\.tsx:1: import cycle: /),
      expect.stringMatching(/^pages\/wallet\/page\.tsx:2: wallet imports sponsor, a module of a higher layer/),
    ])
  })

  test('share only types with src/', () => {
    const found = findings({ 'pages/wallet/page.tsx': "import { encode } from '../../src/eth/index.ts'\nexport const page = encode" })
    expect(found).toEqual([expect.stringMatching(/^pages\/wallet\/page\.tsx:1: imports a value of src\/eth\/index\.ts/)])
  })
})

describe('no shipped file is unused', () => {
  test('a file without importers is reported', () => {
    expect(findings({ 'src/eth/orphan.ts': 'export const x = 1' })).toEqual([
      'src/eth/orphan.ts:1: nothing uses this file: import it or delete it',
    ])
  })

  test('files that only import each other are reported', () => {
    const found = findings({ 'src/eth/one.ts': "export * from './two.ts'", 'src/eth/two.ts': 'export const x = 1' })
    expect(found).toEqual([
      expect.stringMatching(/^src\/eth\/one\.ts:1: nothing uses this file/),
      expect.stringMatching(/^src\/eth\/two\.ts:1: only files that are themselves unused use it \(src\/eth\/one\.ts\)/),
    ])
  })

  test('a file that only tests use is reported, unless its name marks it as a test file', () => {
    const testOf = (file: string): string => `import { x } from './${file}'\nvoid x`
    const found = findings({ 'src/eth/sample.ts': 'export const x = 1', 'src/eth/sample.test.ts': testOf('sample.ts') })
    expect(found).toEqual([
      expect.stringMatching(/^src\/eth\/sample\.ts:1: only tests use it: .* rename it to src\/eth\/sample\.fixture\.ts/),
    ])
    if (root !== undefined) rmSync(root, { recursive: true, force: true })
    expect(findings({ 'src/eth/sample.fixture.ts': 'export const x = 1', 'src/eth/sample.test.ts': testOf('sample.fixture.ts') })).toEqual(
      [],
    )
  })

  test('a worker started by its URL is used', () => {
    const worker = "export const start = () => new URL('./worker.ts', import.meta.url)"
    expect(findings({ 'src/chain/deep.ts': `${worker}\nexport const deep = 1`, 'src/chain/worker.ts': 'export {}' })).toEqual([])
  })
})

describe('shipped code imports only runtime dependencies', () => {
  test('a development dependency is reported', () => {
    const found = findings({ 'src/chain/deep.ts': "import { http } from 'viem/utils'\nexport const deep = http" })
    expect(found).toEqual([expect.stringMatching(/^src\/chain\/deep\.ts:1: imports "viem", which is not among the dependencies/)])
  })

  test('an import of a test or a fixture is reported', () => {
    const found = findings({
      'src/chain/deep.ts': "import { x } from '../../test/world.ts'\nexport const deep = x",
      'test/world.ts': 'export const x = 1',
    })
    expect(found).toEqual([expect.stringMatching(/^src\/chain\/deep\.ts:1: imports test\/world\.ts, which is not shipped/)])
  })
})

test('imports in strings and comments are ignored', () => {
  expect(importsOf('a.ts', "// import x from './x.ts'\nconst text = `import y from './y.ts'`\nimport z from './z.ts'")).toEqual([
    { specifier: './z.ts', line: 3, typeOnly: false },
  ])
})
