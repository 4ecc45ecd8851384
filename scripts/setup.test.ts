import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ROOT, SetUpFailed, build, fingerprintOfSources, installIsCurrent } from './setup.mjs'

let root: string

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'setup-'))
})

afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

describe('packages are installed again', () => {
  const lock = (packages: object): string => JSON.stringify({ packages })
  const ws = { version: '8.23.0', integrity: 'sha512-a' }
  const installed = (wanted: object, present: object | undefined): boolean => {
    write('package-lock.json', lock({ '': {}, ...wanted }))
    if (present !== undefined) write('node_modules/.package-lock.json', lock(present))
    return installIsCurrent(root)
  }

  test('not if they match the lock file', () => {
    expect(installed({ 'node_modules/ws': ws }, { 'node_modules/ws': ws })).toBe(true)
  })

  test('not because a package of another platform is missing', () => {
    expect(installed({ 'node_modules/ws': ws, 'node_modules/darwin': { ...ws, optional: true } }, { 'node_modules/ws': ws })).toBe(true)
  })

  test.each([
    ['when node_modules is missing', undefined],
    ['when one is missing', {}],
    ['when one has another version', { 'node_modules/ws': { ...ws, version: '8.22.0' } }],
    ['when one has another content', { 'node_modules/ws': { ...ws, integrity: 'sha512-b' } }],
    ['when one is left over', { 'node_modules/ws': ws, 'node_modules/old': ws }],
  ])('%s', (_, present) => {
    expect(installed({ 'node_modules/ws': ws }, present)).toBe(false)
  })
})

describe('the build', () => {
  beforeEach(() => {
    const scripts = ['setup', 'bundle', 'unreachable'].map((name) => `scripts/${name}.mjs`)
    for (const file of ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'src/cli/codecache.ts', ...scripts]) {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      copyFileSync(join(ROOT, file), join(root, file))
    }
    const exports = {
      '.': { types: './dist/index.d.ts', node: './dist/exports/index.js', default: './dist/index.js' },
      './eth': { types: './dist/eth/index.d.ts', node: './dist/exports/eth.js', default: './dist/eth/index.js' },
    }
    const commands = { bin: { tiny: 'dist/cli/main.js' }, sideEffects: ['./dist/cli/main.js'] }
    write('package.json', JSON.stringify({ name: 'tiny', type: 'module', exports, ...commands }))
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
    write('src/index.ts', "export { answer } from './eth/index.ts'\n")
    write('src/eth/index.ts', "export { answer } from './answer.ts'\n")
    write('src/eth/answer.ts', 'export const answer: number = 42\n')
  })

  test('compiles sources with types, copies data, omits tests', () => {
    write('src/eth/snapshot.json', '{}')
    write('src/eth/answer.test.ts', "import { answer } from './answer.ts'\nvoid answer\n")
    write('src/eth/answer.fixture.hex', '00')
    build(root)
    expect(readFileSync(join(root, 'dist/index.js'), 'utf8')).toContain("from './eth/index.js'")
    const files = ['index.d.ts', 'eth/answer.js', 'eth/snapshot.json', 'eth/answer.test.js', 'eth/answer.fixture.hex']
    expect(files.map((file) => existsSync(join(root, 'dist', file)))).toEqual([true, true, true, false, false])
  })

  test('bundles the command to a file whose modules keep import.meta.url', () => {
    write('src/eth/answer.ts', "export const answer = 42\nexport const file = new URL('./snapshot.json', import.meta.url)\n")
    write('src/eth/later.ts', "import { file } from './answer.ts'\nexport const later = file.pathname\n")
    write(
      'src/cli/run.ts',
      "import { answer } from '../eth/answer.ts'\nvoid import('../eth/later.ts').then(({ later }) => console.log(answer, later))\n",
    )
    write('src/cli/main.ts', "#!/usr/bin/env node\nimport './run.ts'\n")
    build(root)
    const command = join(root, 'dist/cli/main.js')
    rmSync(join(root, 'dist/eth'), { recursive: true })
    expect(execFileSync(command, { encoding: 'utf8' })).toBe(`42 ${join(root, 'dist/eth/snapshot.json')}\n`)
  })

  test('bundles the exports to files that share modules and find data, JSON and threads in their places', () => {
    write('src/eth/snapshot.json', '{ "answer": 42 }')
    write(
      'src/eth/answer.ts',
      "/*! Some licence */\nimport data from './snapshot.json' with { type: 'json' }\nimport two from './wasm/two.ts'\nexport class Answer {\n  value = data.answer * two\n}\n",
    )
    write('src/eth/wasm/two.ts', 'export default 2\n')
    write('src/eth/index.ts', "export { Answer } from './answer.ts'\n")
    write(
      'src/index.ts',
      `export { Answer } from './eth/answer.ts'
export const read = () => import('./eth/snapshot.json', { with: { type: 'json' } })
export const thread = new URL('./rpc/thread.js', import.meta.url)
`,
    )
    write('src/rpc/thread.ts', "import { Answer } from '../eth/answer.ts'\nconsole.log('thread', new Answer().value)\n")
    write('src/cli/run.ts', 'console.log(7)\n')
    write('src/cli/main.ts', "#!/usr/bin/env node\nimport './run.ts'\n")
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { sideEffects: string[] }
    manifest.sideEffects.push('./dist/rpc/thread.js', './dist/exports/rpc-thread.js')
    write('package.json', JSON.stringify(manifest))
    build(root)
    for (const file of ['index.js', 'eth/index.js', 'eth/answer.js']) rmSync(join(root, 'dist', file))
    write(
      'user.js',
      `import { Answer, read, thread } from 'tiny'
import * as eth from 'tiny/eth'
const { default: data } = await read()
console.log(eth.Answer === Answer, new Answer().value, data.answer)
await import(thread.href)
`,
    )
    expect(execFileSync(process.execPath, ['user.js'], { cwd: root, encoding: 'utf8' })).toBe('true 84 42\nthread 84\n')
    const bundles = readdirSync(join(root, 'dist/exports')).map((name) => readFileSync(join(root, 'dist/exports', name), 'utf8'))
    expect(bundles.filter((text) => text.includes('Some licence'))).toHaveLength(1)
  })

  test('refuses a file name that its bundle would not find', () => {
    write('src/index.ts', "const file = './snapshot.json'\nexport const url = new URL(file, import.meta.url)\n")
    write('src/cli/run.ts', 'console.log(7)\n')
    write('src/cli/main.ts', "#!/usr/bin/env node\nimport './run.ts'\n")
    expect(() => build(root)).toThrow(SetUpFailed)
    expect(existsSync(join(root, 'dist'))).toBe(false)
  })

  describe('the bundle', () => {
    const folder = () => join(root, 'dist/cli')
    const caches = () => readdirSync(folder()).filter((name) => name.includes('.cache'))
    const run = (...flags: string[]) => execFileSync(process.execPath, [...flags, join(folder(), 'main.js')], { encoding: 'utf8' })

    beforeEach(() => {
      write(
        'src/cli/run.ts',
        "const names = ['ws', 'node:fs']\nvoid Promise.all([import('commander'), ...names.map((name) => import(name))]).then(() => console.log('ran'))\n",
      )
      write(
        'src/cli/main.ts',
        "#!/usr/bin/env node\nimport { saveBytecode } from './codecache.ts'\nimport './run.ts'\nsaveBytecode(true)\n",
      )
    })

    test('runs with the bytecode of its first run', () => {
      build(root)
      expect(run()).toBe('ran\n')
      const [cache = ''] = caches()
      const { ino } = statSync(join(folder(), cache))
      expect(run()).toBe('ran\n')
      expect(caches()).toEqual([cache])
      expect(statSync(join(folder(), cache)).ino).toBe(ino)
    })

    test('saves again what has been executed since', () => {
      write('src/cli/run.ts', 'export function later(text: string) {\n  return [...text].toReversed().join(text)\n}\n')
      const sizes = 'for (const name of readdirSync(folder)) if (name.includes(".cache")) console.log(statSync(join(folder, name)).size)'
      write(
        'src/cli/main.ts',
        `#!/usr/bin/env node
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { saveBytecode } from './codecache.ts'
import { later } from './run.ts'
const folder = import.meta.dirname
for (const isLast of [false, true, true]) {
  saveBytecode(isLast)
  ${sizes}
  later('abc')
}
`,
      )
      build(root)
      const [first = 0, second = 0, third = 0] = run().trim().split('\n').map(Number)
      expect(first).toBeGreaterThan(0)
      expect(second).toBeGreaterThan(first)
      expect(third).toBe(second)
    })

    test.each([
      ['in the middle', 200],
      ['at the end', -1],
    ])('replaces bytecode that is damaged %s', (_, at) => {
      build(root)
      run()
      const [cache = ''] = caches().map((name) => join(folder(), name))
      const saved = readFileSync(cache)
      const index = at < 0 ? saved.length + at : at
      const damaged = saved.with(index, (saved[index] ?? 0) ^ 0xff)
      writeFileSync(cache, damaged)
      expect(run()).toBe('ran\n')
      expect(Buffer.compare(readFileSync(cache), damaged)).not.toBe(0)
    })

    test('keeps the bytecode of three sets of flags', () => {
      build(root)
      for (const kilobytes of [901, 902, 903, 904]) expect(run(`--stack-size=${kilobytes}`)).toBe('ran\n')
      const kept = caches()
      expect(kept).toHaveLength(3)
      for (const kilobytes of [902, 903, 904]) run(`--stack-size=${kilobytes}`)
      expect(caches()).toEqual(kept)
    })

    test('runs where bytecode cannot be saved', () => {
      build(root)
      run()
      const [cache = ''] = caches()
      rmSync(join(folder(), cache))
      mkdirSync(join(folder(), cache))
      expect(run()).toBe('ran\n')
      expect(caches()).toEqual([cache])
    })

    test('is in strict mode, as modules are', () => {
      write('src/cli/run.ts', 'const frozen: { a: number } = Object.freeze({ a: 1 })\nfrozen.a = 2\n')
      build(root)
      expect(() => run()).toThrow('Cannot assign to read only property')
    })
  })

  test('keeps what can be loaded: not the modules of the bundle, nor declarations behind them', () => {
    write('src/eth/answer.ts', "import type { Kind } from './kind.ts'\nexport const answer: Kind = 42\n")
    write('src/eth/kind.ts', 'export type Kind = number\n')
    write('src/cli/options.ts', 'export const name = 7\n')
    write('src/cli/run.ts', "import { name } from './options.ts'\nconsole.log(name)\n")
    write('src/cli/main.ts', "#!/usr/bin/env node\nimport './run.ts'\n")
    write('src/server/pages/page.js', 'alert(1)\n')
    build(root)
    const files = ['eth/answer.js', 'eth/kind.d.ts', 'server/pages/page.js', 'eth/kind.js', 'cli/options.js', 'cli/options.d.ts']
    expect(files.map((file) => existsSync(join(root, 'dist', file)))).toEqual([true, true, true, false, false, false])
    expect(execFileSync(join(root, 'dist/cli/main.js'), { encoding: 'utf8' })).toBe('7\n')
  })

  test('keeps docstrings in declarations, and licences', () => {
    write('src/eth/answer.ts', '/** Of everything. */\nexport const answer: number = 42\n')
    write('src/eth/index.ts', "// Generated.\n/*! Some licence */\nexport { answer } from './answer.ts'\n")
    build(root)
    const texts = ['eth/answer.js', 'eth/answer.d.ts', 'eth/index.js'].map((file) => readFileSync(join(root, 'dist', file), 'utf8'))
    expect(texts).toEqual([expect.not.stringContaining('/*'), expect.stringContaining('/** Of'), expect.stringContaining('/*! Some')])
  })

  test('is not repeated without a change, and drops files without a source', () => {
    build(root)
    const first = statSync(join(root, 'dist')).ino
    build(root)
    expect(statSync(join(root, 'dist')).ino).toBe(first)
    write('src/index.ts', 'export const answer = 43\n')
    rmSync(join(root, 'src/eth'), { recursive: true })
    build(root)
    expect(readFileSync(join(root, 'dist/index.js'), 'utf8')).toContain('43')
    expect(existsSync(join(root, 'dist/eth'))).toBe(false)
  })

  test('that fails is reported, and the previous build remains', () => {
    build(root)
    write('src/eth/answer.ts', "export const answer: number = 'forty-two'\n")
    expect(() => build(root)).toThrow(SetUpFailed)
    expect(() => build(root)).toThrow(/src\/eth\/answer\.ts\(1,14\)/)
    expect(readFileSync(join(root, 'dist/eth/answer.js'), 'utf8')).toContain('42')
  })

  test('has one fingerprint per content, without tests', () => {
    const before = fingerprintOfSources(root)
    write('src/eth/answer.test.ts', 'export {}\n')
    expect(fingerprintOfSources(root)).toBe(before)
    utimesSync(join(root, 'src/eth/answer.ts'), 1, 1)
    expect(fingerprintOfSources(root)).not.toBe(before)
  })
})
