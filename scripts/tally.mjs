// A vitest reporter that counts tests and writes the summary line, which `npm test` prints last.
import { writeFileSync } from 'node:fs'

/** Skip reason of a test whose package could not be installed: `context.skip('needs the package X')`. */
const WANTS_PACKAGE = /\bneeds the (?:npm |Debian )?package\b/

export default class Tally {
  onTestRunEnd(
    /** @type {ReadonlyArray<import('vitest/node').TestModule>} */ modules,
    /** @type {ReadonlyArray<unknown>} */ unhandledErrors,
  ) {
    const file = process.env['POCKETCHAIN_TALLY']
    if (file === undefined) return
    const outcomes = modules.flatMap(outcomesOf)
    for (const line of modules.flatMap(retriedOf)) process.stdout.write(`${line}\n`)
    writeFileSync(file, JSON.stringify(tally(outcomes, unhandledErrors.length, isSet(process.env['CI']))))
  }
}

/**
 * The count of a run. A file that cannot be loaded, an error that no test caught and a test that never ended count as failures; so does,
 * in CI, a test that was skipped because a package was missing, because CI is where everything must have been there.
 * @param {ReadonlyArray<Outcome>} outcomes @param {number} unhandledErrors @param {boolean} inCi
 */
export function tally(outcomes, unhandledErrors, inCi) {
  let passed = 0
  let failures = unhandledErrors
  let skipped = 0
  for (const { state, words } of outcomes) {
    if (state === 'passed') passed++
    else if (state === 'skipped' && !(inCi && WANTS_PACKAGE.test(words))) skipped++
    else failures++
  }
  if (passed + failures + skipped === 0) failures = 1 // a run of nothing proves nothing
  return { line: `${passed} passed, ${failures} failed, ${skipped} skipped`, failures }
}

/** @typedef {{ state: 'passed' | 'failed' | 'skipped' | 'pending', words: string }} Outcome */

const MAX_REASON_CHARACTERS = 1_000

/** @returns {Outcome[]} */
function outcomesOf(/** @type {import('vitest/node').TestModule} */ module) {
  /** @type {Outcome[]} */
  const outcomes = []
  for (const test of module.children.allTests()) {
    const result = test.result()
    const note = result.state === 'skipped' ? (result.note ?? '') : ''
    outcomes.push({ state: result.state, words: `${test.fullName} ${note}` })
  }
  // Errors outside of tests: the file did not load, or a hook of a suite threw.
  for (const suite of [module, ...module.children.allSuites()]) {
    for (const error of suite.errors()) outcomes.push({ state: 'failed', words: error.message })
  }
  return outcomes
}

/** @returns {string[]} lines for each test that passed after a failure: its name, and what failed before */
function retriedOf(/** @type {import('vitest/node').TestModule} */ module) {
  // A test that is expected to fail uses all attempts.
  const tests = [...module.children.allTests('passed')].filter(({ options }) => options.fails !== true)
  return tests.flatMap((test) => {
    const failures = test.diagnostic()?.retryCount ?? 0
    if (failures === 0) return []
    const reasons = (test.result().errors ?? []).map(({ message }) => `  ${message.slice(0, MAX_REASON_CHARACTERS)}`)
    return [`passed at attempt ${failures + 1}: ${module.relativeModuleId} > ${test.fullName}`, ...reasons]
  })
}

function isSet(/** @type {string | undefined} */ value) {
  return value !== undefined && value !== '' && value !== 'false'
}
