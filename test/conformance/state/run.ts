import { parseArgs } from 'node:util'
import { failuresOf, forkOf, readStateTests, type StateTest } from './statetest.ts'
import { TIER1_OPTIONS, configureRun } from '../../evm/tier1run.ts'

// `npm run test:state [-- file or folder] [--traced] [--tier1 on|shadow]`: runs all state tests of a file, and a negative control.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    traced: { type: 'boolean', default: false },
    ...TIER1_OPTIONS,
  },
})

configureRun(values, (difference) => say(`DIFFERENCE ${difference}`))
const [path = '../shared/vectors/statetests'] = positionals
const start = performance.now()
const tests = readStateTests(path)
const failures = judge(tests)
const cases = tests.reduce((sum, { post }) => sum + Object.values(post).flat().length, 0)
say(`${cases - failures} of ${cases} cases in ${Math.round((performance.now() - start) / 1_000)} s`)
const canFail = control(tests.filter((each) => forkOf(each) === 'osaka'))
process.exitCode = cases > 0 && failures === 0 && canFail ? 0 : 1

function judge(all: readonly StateTest[]): number {
  let [found, printed] = [0, performance.now()]
  for (const [index, each] of all.entries()) {
    for (const failure of failuresOf(each, forkOf(each), { traced: values.traced })) {
      found++
      say(`FAILED ${failure}`)
    }
    if (performance.now() - printed < 1_000) continue
    printed = performance.now()
    say(`${index + 1} of ${all.length} tests, ${found} failures`)
  }
  return found
}

/** Negative control: under the rules of the previous fork many Osaka tests must fail. */
function control(osaka: readonly StateTest[]): boolean {
  const failed = osaka.filter((each) => failuresOf(each, 'prague').length > 0).length
  say(`negative control: ${failed} of ${osaka.length} Osaka tests fail under Prague rules`)
  return osaka.length === 0 || failed > osaka.length / 10
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
