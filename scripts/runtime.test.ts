import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { buildRuntime, runtimeIsCurrent } from './runtime.mjs'
import { ROOT } from './setup.mjs'

let root: string

const ENGINE = ['native', 'fast', 'traced'].map((name) => `src/evm/wasm/${name}.ts`)
const WRITER = 'src/store/wasm/writer.ts'
const LAYOUT = 'const MB: usize = 1 << 20\nexport const MEMORY: usize = 1 * MB\n'

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

/** Inode numbers: a rebuilt module has another one. */
function inodes(files: readonly string[]): readonly number[] {
  return files.map((file) => statSync(join(root, file)).ino)
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'runtime-'))
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  write('src/store/writer/layout.ts', LAYOUT)
  write('src/store/writer/index.ts', 'export function answer(): i32 { return 42 }\n')
})

afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

test('a change rebuilds the modules of its program only', async () => {
  write('src/evm/runtime/layout.ts', LAYOUT)
  for (const entry of ['index', 'native']) write(`src/evm/runtime/${entry}.ts`, 'export function zero(): i32 { return 0 }\n')
  expect(runtimeIsCurrent(root)).toBe(false)
  await buildRuntime(root)
  expect(runtimeIsCurrent(root)).toBe(true)
  const [engine, writer] = [inodes(ENGINE), inodes([WRITER])]
  await buildRuntime(root)
  expect(inodes([...ENGINE, WRITER])).toEqual([...engine, ...writer])

  const before = readFileSync(join(root, WRITER), 'utf8')
  write('src/store/writer/index.ts', 'export function answer(): i32 { return 43 }\n')
  expect(runtimeIsCurrent(root)).toBe(false)
  await buildRuntime(root)
  expect(runtimeIsCurrent(root)).toBe(true)
  expect(inodes(ENGINE)).toEqual(engine)
  expect(readFileSync(join(root, WRITER), 'utf8')).not.toBe(before)
})

test('a tree without a program builds none of its modules', async () => {
  await buildRuntime(root)
  expect(runtimeIsCurrent(root)).toBe(true)
  expect([existsSync(join(root, WRITER)), existsSync(join(root, 'src/evm/wasm'))]).toEqual([true, false])
})

test('sources that do not compile are named with the reason', async () => {
  write('src/store/writer/index.ts', "export function answer(): i32 { return 'forty-two' }\n")
  await expect(buildRuntime(root)).rejects.toThrow(/src\/store\/writer\/index\.ts does not compile[^]*forty-two/)
  expect(runtimeIsCurrent(root)).toBe(false)
})

describe('the modules of ox', () => {
  const MODULES = ['hashes', 'secp256k1'].map((name) => `src/eth/wasm/${name}.ts`)

  /** A package with the layout of the installed one; only the version and the modules are relevant. */
  function installOx(version: string, module: string): void {
    write('node_modules/ox/package.json', JSON.stringify({ version }))
    write('node_modules/ox/LICENSE', 'The licence of ox\n')
    for (const name of ['hashes', 'secp256k1']) write(`node_modules/ox/dist/wasm/internal/${name}.wasm.js`, module)
  }

  beforeEach(() => {
    rmSync(join(root, 'src/store'), { recursive: true })
    unlinkSync(join(root, 'node_modules'))
  })

  test('are copied with the licence, and again from another version', async () => {
    installOx('1.0.0', "export const wasmBase64 = 'AGFzbQ=='\n")
    expect(runtimeIsCurrent(root)).toBe(true)
    write('src/eth/wasm.ts', '')
    expect(runtimeIsCurrent(root)).toBe(false)
    await buildRuntime(root)
    expect(runtimeIsCurrent(root)).toBe(true)
    for (const file of MODULES) expect(readFileSync(join(root, file), 'utf8')).toMatch(/ox 1\.0\.0\.\n[^]*The licence of ox[^]*'AGFzbQ=='/)
    const copied = inodes(MODULES)
    await buildRuntime(root)
    expect(inodes(MODULES)).toEqual(copied)

    installOx('1.0.1', "export const wasmBase64 = 'AGFzbQEA'\n")
    expect(runtimeIsCurrent(root)).toBe(false)
    await buildRuntime(root)
    for (const file of MODULES) expect(readFileSync(join(root, file), 'utf8')).toContain("'AGFzbQEA'")
  })

  test('are named in the error if a version has them elsewhere', async () => {
    write('src/eth/wasm.ts', '')
    installOx('2.0.0', 'export const compressed = 1\n')
    await expect(buildRuntime(root)).rejects.toThrow(/hashes\.wasm\.js contains no module in base64 \(ox 2\.0\.0\)/)
  })
})
