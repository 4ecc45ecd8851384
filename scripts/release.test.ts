import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { notesOf, refusals } from './release.mjs'
import { ROOT } from './setup.mjs'

const CHANGELOG = '# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n### Added\n\n- A.\n\n## [1.1.0]\n\n- B.\n'

let root: string
const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: root })

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'release-'))
  writeFileSync(join(root, 'package.json'), '{ "version": "1.2.0" }')
  writeFileSync(join(root, 'CHANGELOG.md'), CHANGELOG)
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message', 'first')
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

test('a committed version with its section in the changelog can be released', () => {
  expect(refusals(root)).toEqual([])
})

test('uncommitted changes are refused with their names', () => {
  for (const name of ['a', 'b', 'c', 'd']) writeFileSync(join(root, name), '')
  expect(refusals(root)).toEqual(['the working tree has 4 uncommitted changes (?? a, ?? b, ?? c, …): commit or remove them'])
})

test('a version without a section, or with an empty one, is refused', () => {
  writeFileSync(join(root, 'package.json'), '{ "version": "1.3.0" }')
  git('commit', '--quiet', '--all', '--message', 'second')
  expect(refusals(root)).toEqual(['CHANGELOG.md has no section "## [1.3.0]": rename "Unreleased" and put an empty one above it'])
  writeFileSync(join(root, 'CHANGELOG.md'), CHANGELOG.replace('## [1.2.0]', '## [1.3.0]\n\n## [1.2.0]'))
  git('commit', '--quiet', '--all', '--message', 'third')
  expect(refusals(root)).toEqual(['the section "## [1.3.0]" of CHANGELOG.md is empty: describe the release there'])
})

test('a tagged version is refused', () => {
  git('tag', 'v1.2.0')
  expect(refusals(root)).toEqual(['the tag v1.2.0 exists: raise the version in package.json and src/rpc/version.ts, and run npm run lock'])
})

test('the notes are the section of the version, without those of other versions', () => {
  expect(notesOf(CHANGELOG, '1.2.0')).toBe('### Added\n\n- A.')
  expect(notesOf(CHANGELOG, '1.1.0')).toBe('- B.')
  expect(notesOf(CHANGELOG, '1.2')).toBeNull()
})

test('the changelog of this repository has notes for its version', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  expect(notesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version)).toMatch(/\S/)
})
