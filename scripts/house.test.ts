import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { checkHouse, importsOf } from './house.mjs'

/** A small house in good order: every test below adds to it what one rule forbids. */
const GOOD_HOUSE = {
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
    "import { readFileSync } from 'node:fs'\nimport { WebSocket } from 'ws'\nexport const deep = [readFileSync, WebSocket]",
  'src/index.ts': "export { seal } from './chain/index.ts'",
  'src/cli/main.ts': "import { seal } from '../index.ts'\nvoid seal",
  'src/cli/docs.ts': "import { CHAIN_ID } from '../compat.ts'\nvoid CHAIN_ID",
  'src/testing/index.ts': "export { seal } from '../index.ts'",
  'src/eth/receipt.test.ts':
    "import { encode } from './receipt.ts'\nimport { seal } from '../chain/index.ts'\nimport { http } from 'viem'\nvoid [encode, seal, http]",
  'test/whole.test.ts': "import { seal } from '../src/index.ts'\nimport { encode } from '../src/eth/index.ts'\nvoid [seal, encode]",
}

let root: string | undefined

function findings(added: Record<string, string>): string[] {
  root = mkdtempSync(join(tmpdir(), 'house-'))
  for (const [path, text] of Object.entries({ ...GOOD_HOUSE, ...added })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return checkHouse(root).map(({ file, line, message }) => `${file}:${line}: ${message}`)
}

afterEach(() => {
  if (root !== undefined) rmSync(root, { recursive: true, force: true })
  root = undefined
})

test('a house in good order has no findings', () => {
  expect(findings({})).toEqual([])
})

describe('imports point downward', () => {
  test('a lower room that imports a higher one is reported with its line', () => {
    const found = findings({
      'src/eth/log.ts': "export interface Log { readonly data: string }\nimport type { X } from '../store/index.ts'\nexport type Y = X",
      'src/store/index.ts': 'export type X = 1',
    })
    expect(found).toEqual([expect.stringMatching(/^src\/eth\/log\.ts:2: eth imports the higher room store: .*port/)])
  })

  test('only the top floor reaches the composition root', () => {
    const found = findings({ 'src/server/index.ts': "export type { seal } from '../index.ts'" })
    expect(found).toEqual([expect.stringMatching(/^src\/server\/index\.ts:1: server imports the higher room index/)])
  })

  test('neighbours of one floor do not know each other', () => {
    const found = findings({
      'src/wallet/index.ts': "export * from '../bundler/index.ts'",
      'src/bundler/index.ts': 'export const send = 1',
    })
    expect(found).toEqual([expect.stringMatching(/^src\/wallet\/index\.ts:1: wallet imports its neighbour bundler/)])
  })

  test('compat.ts stands below all and imports no room', () => {
    const found = findings({ 'src/compat.ts': "import type { Log } from './eth/index.ts'\nexport const CHAIN_ID: Log | number = 31337" })
    expect(found).toContainEqual(expect.stringMatching(/^src\/compat\.ts:1: compat imports the higher room eth/))
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

describe('a room is entered through its door', () => {
  test('an import of a file behind the door names the door', () => {
    const found = findings({ 'src/chain/deep.ts': "import { encode } from '../eth/receipt.ts'\nexport const deep = encode" })
    expect(found).toEqual([
      expect.stringMatching(/^src\/chain\/deep\.ts:1: goes past the door of eth\/ .*import from '\.\.\/eth\/index\.ts'/),
    ])
  })

  test('tests are held to it as well, in the house and outside', () => {
    const found = findings({
      'src/eth/log.test.ts': "import { deep } from '../chain/deep.ts'\nvoid deep",
      'test/inner.test.ts': "\nimport { deep } from '../src/chain/deep.ts'\nvoid deep",
    })
    expect(found.map((line) => line.split(' (')[0])).toEqual([
      'src/eth/log.test.ts:1: goes past the door of chain/',
      'test/inner.test.ts:2: goes past the door of chain/',
    ])
  })

  test('but a fixture of a room serves the tests of all', () => {
    const added = {
      'src/chain/world.fixture.ts': 'export const x = 1',
      'test/inner.test.ts': "import { x } from '../src/chain/world.fixture.ts'\nvoid x",
    }
    expect(findings(added)).toEqual([])
  })

  test('the name of the package is not a way around', () => {
    const found = findings({ 'src/chain/deep.ts': "import { encode } from 'tiny/eth'\nexport const deep = encode" })
    expect(found).toEqual([expect.stringMatching(/^src\/chain\/deep\.ts:1: imports its own package by name/)])
  })

  test('a file outside of every room is reported', () => {
    const found = findings({ 'src/helpers/index.ts': 'export const x = 1' })
    expect(found).toEqual([expect.stringMatching(/^src\/helpers\/index\.ts:1: "helpers" is not a room/)])
  })
})

describe('nothing goes in circles', () => {
  test('two files that import each other are one finding that names both lines', () => {
    const found = findings({ 'src/eth/log.ts': "import { encode } from './receipt.ts'\nexport type Log = typeof encode" })
    expect(found).toEqual([
      expect.stringMatching(/^src\/eth\/log\.ts:1: import cycle: src\/eth\/log\.ts:1 → src\/eth\/receipt\.ts:1 → src\/eth\/log\.ts: /),
    ])
  })

  test('types alone make a cycle, and so does the own door', () => {
    const found = findings({
      'src/eth/log.ts':
        "export interface Log { readonly next: unknown }\nimport type { encode } from './index.ts'\nexport type E = typeof encode",
    })
    expect(found).toHaveLength(1)
    expect(found[0]).toContain('import cycle: ')
  })

  test('the top floor may call each other in one direction only', () => {
    const found = findings({
      'src/index.ts': "export { seal } from './chain/index.ts'\nexport type T = typeof import('./testing/index.ts')",
    })
    expect(found).toEqual([expect.stringMatching(/import cycle: src\/index\.ts:2 → src\/testing\/index\.ts:1 → src\/index\.ts/)])
  })
})

describe('nothing lies unused', () => {
  test('a file that nobody imports', () => {
    expect(findings({ 'src/eth/orphan.ts': 'export const x = 1' })).toEqual([
      'src/eth/orphan.ts:1: nothing uses this file: import it or delete it',
    ])
  })

  test('an island of files that only use each other', () => {
    const found = findings({ 'src/eth/one.ts': "export * from './two.ts'", 'src/eth/two.ts': 'export const x = 1' })
    expect(found).toEqual([
      expect.stringMatching(/^src\/eth\/one\.ts:1: nothing uses this file/),
      expect.stringMatching(/^src\/eth\/two\.ts:1: only files that are themselves unused use it \(src\/eth\/one\.ts\)/),
    ])
  })

  test('a file that only tests use, unless its name says that it is for tests', () => {
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

  test('a worker that is started by its address is used', () => {
    const worker = "export const start = () => new URL('./worker.ts', import.meta.url)"
    expect(findings({ 'src/chain/deep.ts': `${worker}\nexport const deep = 1`, 'src/chain/worker.ts': 'export {}' })).toEqual([])
  })
})

describe('what is shipped stands by itself', () => {
  test('a package that is only there for development', () => {
    const found = findings({ 'src/chain/deep.ts': "import { http } from 'viem/utils'\nexport const deep = http" })
    expect(found).toEqual([expect.stringMatching(/^src\/chain\/deep\.ts:1: imports "viem", which is not among the dependencies/)])
  })

  test('a test or a fixture', () => {
    const found = findings({
      'src/chain/deep.ts': "import { x } from '../../test/world.ts'\nexport const deep = x",
      'test/world.ts': 'export const x = 1',
    })
    expect(found).toEqual([expect.stringMatching(/^src\/chain\/deep\.ts:1: imports test\/world\.ts, which is not shipped/)])
  })
})

test('what looks like an import in a string or a comment is none', () => {
  expect(importsOf('a.ts', "// import x from './x.ts'\nconst text = `import y from './y.ts'`\nimport z from './z.ts'")).toEqual([
    { specifier: './z.ts', line: 3, typeOnly: false },
  ])
})
