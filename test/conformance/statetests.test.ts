import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { failuresOf, forkOf, readStateTests } from './state/statetest.ts'

/**
 * The state tests of execution-spec-tests 5.4.0 for Prague and Osaka: one transaction each, checked by state root and logs. Every 10th
 * here; `npm run test:state` runs all 6,338.
 */
const FILE = fileURLToPath(new URL('../../../shared/vectors/statetests/eest-core-state.ndjson.br', import.meta.url))
const STEP = 10

describe.skipIf(!existsSync(FILE))('state tests', () => {
  const tests = existsSync(FILE) ? readStateTests(FILE).filter((_, index) => index % STEP === 0) : []

  test('every sampled case has the expected state root and logs', () => {
    expect(tests.flatMap((each) => failuresOf(each, forkOf(each)))).toEqual([])
    expect(tests.length).toBeGreaterThan(200)
  }, 120_000)

  test('negative control: Osaka cases fail under Prague rules', () => {
    const osaka = tests.filter((each) => forkOf(each) === 'osaka')
    const share = osaka.filter((each) => failuresOf(each, 'prague').length > 0).length / osaka.length
    expect(share).toBeGreaterThan(0.2)
    expect(share).toBeLessThan(0.5)
  }, 120_000)
})
