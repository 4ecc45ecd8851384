import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { VERSION } from './version.ts'

test('the version is that of package.json', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string }
  expect(VERSION).toBe(version)
})
