import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { TARBALL_BYTES, UNPACKED_BYTES, entriesOf, problemsOf } from './tarball.mjs'

const MANIFEST = {
  name: 'pocketchain',
  bin: { pocketchain: 'dist/cli/main.js' },
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' }, './package.json': './package.json' },
}
const FILES: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify(MANIFEST),
  'dist/cli/main.js': '#!/usr/bin/env node\n',
  'dist/index.js': '',
  'dist/index.d.ts': '',
  'README.md': '',
  LICENSE: '',
  'CHANGELOG.md': '',
  'SECURITY.md': '',
  'contracts/LICENCES.md': '',
  'dist/cli/LICENCES.txt': '',
  'docs/guide.md': '',
  'dist/evm/wasm/fast.js': '',
  'dist/eth/wasm/keccak.js': '',
  'dist/store/wasm/writer.js': '',
  'dist/server/pages/wallet.html': '',
  'dist/server/pages/provider.js': '',
  'dist/server/pages/sponsor.html': '',
}

/** A tarball of these files; undefined removes one of FILES. */
function tarball(changes: Readonly<Record<string, string | undefined>> = {}, mode = 0o755): Buffer {
  const blocks = Object.entries({ ...FILES, ...changes }).flatMap(([path, content]) => {
    if (content === undefined) return []
    const head = Buffer.alloc(512)
    head.write(`package/${path}`)
    head.write(mode.toString(8).padStart(7, '0'), 100)
    head.write(content.length.toString(8).padStart(11, '0'), 124)
    head.write('0', 156)
    const body = Buffer.alloc(Math.ceil(content.length / 512) * 512)
    body.write(content)
    return [head, body]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1_024)]))
}

const problems = (changes: Readonly<Record<string, string | undefined>>, mode?: number): readonly string[] =>
  problemsOf(tarball(changes, mode), ['/home/me/pocketchain', '/home/me'])

test('a tarball with the expected files has no problem', () => {
  expect(problems({})).toEqual([])
  expect(entriesOf(tarball()).map(({ path }) => path)).toEqual(Object.keys(FILES))
})

test.each([
  'src/index.ts',
  'dist/index.test.js',
  'dist/index.js.map',
  'dist/eth/fixtures/block.json',
  'dist/eth/block.fixture.hex',
  'dist/.fingerprint',
  'scripts/setup.mjs',
  '.npmrc',
  'docs/screenshots/home-light.png',
])('%s must not be in it', (path) => {
  expect(problems({ [path]: '' })).toEqual([
    `${path} must not be in the tarball: remove it from "files" in package.json, or allow it in scripts/tarball.mjs`,
  ])
})

test('a missing target of exports, command or required file is named', () => {
  expect(problems({ 'dist/index.d.ts': undefined })).toEqual(['dist/index.d.ts is a target of "exports" and missing'])
  expect(problems({ 'dist/cli/main.js': undefined })).toEqual(['dist/cli/main.js is a command of "bin" and missing'])
  expect(problems({ LICENSE: undefined })).toEqual(['LICENSE is missing'])
  expect(problems({ 'dist/evm/wasm/fast.js': undefined })).toEqual(['dist/evm/wasm/fast.js is missing'])
  expect(problems({ 'package.json': undefined })).toEqual(['package.json is missing'])
})

test('the command has the executable mode and its first line', () => {
  expect(problems({}, 0o644)).toEqual(['dist/cli/main.js is a command and not executable'])
  expect(problems({ 'dist/cli/main.js': 'import "./run.js"\n' })).toEqual(['dist/cli/main.js is a command and not executable'])
})

test('paths of the machine are found, relative ones with the same words are not', () => {
  const found = (path: string) => `dist/index.js contains ${path}, a path of this machine: build it with relative paths`
  expect(problems({ 'dist/index.js': '"/home/me/pocketchain/src/a.ts"' })).toEqual([found('/home/me/pocketchain')])
  expect(problems({ 'dist/index.js': 'file:///home/me/x' })).toEqual([found('/home/me')])
  expect(problems({ 'dist/index.js': ' /home/me/.npm' })).toEqual([found('/home/me')])
  expect(problems({ 'dist/index.js': '"./home/me/x" "/home/meadow/"' })).toEqual([])
})

test('both sizes have a limit', () => {
  const large = 'x'.repeat(UNPACKED_BYTES)
  expect(problems({ 'dist/index.js': large })).toEqual([
    expect.stringMatching(`^the unpacked package has \\d+ bytes, the limit is ${UNPACKED_BYTES}: `),
  ])
  const random = randomBytes(Math.ceil(TARBALL_BYTES * 1.1)).toString('hex')
  expect(problems({ 'dist/index.js': random })).toEqual([
    expect.stringMatching(`^the tarball has \\d+ bytes, the limit is ${TARBALL_BYTES}: `),
  ])
})
