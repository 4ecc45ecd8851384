import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, binOf } from './setup.mjs'
import { tally } from './tally.mjs'

const passed = { state: 'passed', words: '' } as const
const failed = { state: 'failed', words: '' } as const
const noPackage = { state: 'skipped', words: 'draws a page needs the package playwright-core' } as const
const noSharedFolder = { state: 'skipped', words: 'vectors of the shared folder' } as const

test('counts the tests', () => {
  expect(tally([passed, passed, failed, noSharedFolder], 0, false)).toEqual({ line: '2 passed, 1 failed, 1 skipped', failures: 1 })
})

test('an error outside of every test is a failure', () => {
  expect(tally([passed], 1, false)).toEqual({ line: '1 passed, 1 failed, 0 skipped', failures: 1 })
})

test('a run without tests is a failure', () => {
  expect(tally([], 0, false).failures).toBe(1)
})

test('a test skipped for a missing package fails in CI only', () => {
  expect(tally([passed, noPackage, noSharedFolder], 0, false)).toEqual({ line: '1 passed, 0 failed, 2 skipped', failures: 0 })
  expect(tally([passed, noPackage, noSharedFolder], 0, true)).toEqual({ line: '1 passed, 1 failed, 1 skipped', failures: 1 })
})

test('as a vitest reporter, counts tests of all outcomes, and a file that does not load as one failure', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tally-'))
  try {
    const vitest = `import { expect, test } from '${join(ROOT, 'node_modules/vitest/dist/index.js')}'\n`
    const outcomes = "test('good', () => {}); test('bad', () => { expect(1).toBe(2) }); test.skip('later', () => {}); test.todo('some day')"
    const second = "let attempts = 0; test('second', { retry: 1 }, () => { expect(attempts++).toBe(1) })"
    const expected = "test.fails('expected', { retry: 1 }, () => { expect(1).toBe(2) })"
    const noted = "test('page', (context) => { context.skip('needs the package nowhere') })"
    writeFileSync(join(folder, 'outcomes.test.ts'), `${vitest}${outcomes};${second};${expected};${noted}`)
    writeFileSync(join(folder, 'broken.test.ts'), "throw new Error('does not load')")
    const file = join(folder, 'tally.json')
    const args = [binOf('vitest'), 'run', '--root', folder, `--reporter=${join(ROOT, 'scripts/tally.mjs')}`]
    const printed = await new Promise((done) => {
      execFile(process.execPath, args, { env: { ...process.env, POCKETCHAIN_TALLY: file, CI: 'true' } }, (_, out) => done(out))
    })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ line: '3 passed, 3 failed, 2 skipped', failures: 3 })
    expect(printed).toMatch(/passed at attempt 2: outcomes\.test\.ts > second\n {2}expected \+?0 to be 1\b/)
    expect(printed).not.toContain('> expected')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
