import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { buildPages, pagesAreCurrent } from './pages.mjs'
import { ROOT } from './setup.mjs'

let root: string

const FILES = [
  'app.js',
  'app.css',
  'provider.js',
  'wallet.html',
  'sponsor.js',
  'sponsor.css',
  'sponsor.html',
  'explorer.js',
  'explorer.css',
  'explorer.html',
]

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

function read(name: string): string {
  return readFileSync(join(root, 'src/server/pages', name), 'utf8')
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'pages-'))
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  write('pages/wallet/main.tsx', "import { render } from 'preact'\nimport './style.css'\nrender(<p>hello</p>, document.body)\n")
  write('pages/wallet/style.css', 'p { color: green }\n')
  write('pages/wallet/wallet.html', '<!doctype html><title>wallet</title>\n')
  write('pages/provider/main.ts', 'const script: Element | null = document.currentScript\nscript?.remove()\n')
  write('pages/sponsor/main.tsx', "import { render } from 'preact'\nimport './style.css'\nrender(<p>ledger</p>, document.body)\n")
  write('pages/sponsor/style.css', 'p { color: blue }\n')
  write('pages/sponsor/sponsor.html', '<!doctype html><title>sponsor</title>\n')
  write('pages/explorer/main.tsx', "import { render } from 'preact'\nimport './style.css'\nrender(<p>blocks</p>, document.body)\n")
  write('pages/explorer/style.css', 'p { color: green }\n')
  write('pages/explorer/explorer.html', '<!doctype html><title>explorer</title>\n')
})

afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

test('the pages are built to self-contained files, and not rebuilt without a change', async () => {
  expect(pagesAreCurrent(root)).toBe(false)
  await buildPages(root)
  expect(pagesAreCurrent(root)).toBe(true)
  expect(read('app.js')).toContain('hello')
  expect(read('app.js')).not.toMatch(/\bimport\b/)
  expect(read('app.js'), 'the same in a test as elsewhere, without names of sources').not.toContain('main.tsx')
  expect(read('app.css')).toContain('green')
  expect(read('provider.js')).toMatch(/^\(function\(\)/)
  expect(read('wallet.html')).toMatch(/^<!doctype html>/)
  expect([read('sponsor.js'), read('sponsor.css'), read('sponsor.html')]).toEqual([
    expect.stringContaining('ledger'),
    expect.stringMatching(/blue|#00f/),
    expect.stringContaining('<title>sponsor'),
  ])
  const inodes = FILES.map((name) => statSync(join(root, 'src/server/pages', name)).ino)
  await buildPages(root)
  expect(FILES.map((name) => statSync(join(root, 'src/server/pages', name)).ino)).toEqual(inodes)
})

test('a changed source and a changed or missing output are rebuilt; a changed test is not', async () => {
  await buildPages(root)
  write('pages/wallet/format.test.ts', 'export {}\n')
  expect(pagesAreCurrent(root)).toBe(true)
  write('pages/wallet/style.css', 'p { color: red }\n')
  expect(pagesAreCurrent(root)).toBe(false)
  await buildPages(root)
  expect(read('app.css')).toContain('red')
  rmSync(join(root, 'src/server/pages/provider.js'))
  expect(pagesAreCurrent(root)).toBe(false)
  await buildPages(root)
  write('src/server/pages/app.js', 'half')
  expect(pagesAreCurrent(root)).toBe(false)
})

test('a source that does not build is named, and the previous output remains', async () => {
  await buildPages(root)
  write('pages/provider/main.ts', 'const = 1\n')
  await expect(buildPages(root)).rejects.toThrow(/pages\/provider\/main\.ts does not build/)
  expect(read('provider.js')).toMatch(/^\(function\(\)/)
})

test('a tree without pages builds none', async () => {
  rmSync(join(root, 'pages'), { recursive: true })
  await buildPages(root)
  expect([pagesAreCurrent(root), existsSync(join(root, 'src'))]).toEqual([true, false])
})
