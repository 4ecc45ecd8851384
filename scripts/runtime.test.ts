import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
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

/** Which files these are: a module that is built again is another one. */
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

test('a change builds the modules of its program anew, and no others', async () => {
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

test('a tree without a program has nothing to build of it', async () => {
  await buildRuntime(root)
  expect(runtimeIsCurrent(root)).toBe(true)
  expect([existsSync(join(root, WRITER)), existsSync(join(root, 'src/evm/wasm'))]).toEqual([true, false])
})

test('sources that do not compile are named with the reason', async () => {
  write('src/store/writer/index.ts', "export function answer(): i32 { return 'forty-two' }\n")
  await expect(buildRuntime(root)).rejects.toThrow(/src\/store\/writer\/index\.ts does not compile[^]*forty-two/)
  expect(runtimeIsCurrent(root)).toBe(false)
})
