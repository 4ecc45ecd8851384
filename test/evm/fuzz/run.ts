import { parseArgs } from 'node:util'
import { L1_FORKS, OP_FORKS } from '../../../src/evm/index.ts'
import type { Fork } from './block.ts'
import { OURS, TRACED } from './engines.ts'
import { describeFinding, fuzz, type Progress } from './fuzz.ts'
import { TIER1_OPTIONS, configureRun } from '../tier1run.ts'

// `npm run fuzz -- --seed 1 --programs 100000`: compares the engine with @ethereumjs/evm on random programs.
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    programs: { type: 'string', default: '10000' },
    first: { type: 'string', default: '0' },
    fork: { type: 'string' },
    minimise: { type: 'boolean', default: true },
    traced: { type: 'boolean', default: false },
    findings: { type: 'string', default: '20' },
    ...TIER1_OPTIONS,
  },
  allowNegative: true,
})

configureRun(values, (difference) => say(`\nDIFFERENCE ${difference}\n`))

const start = performance.now()
let [printed, last] = [start, 0]
const end = await fuzz({
  engine: values.traced ? TRACED : OURS,
  seed: Number(values.seed),
  first: Number(values.first),
  programs: Number(values.programs),
  fork: values.fork === undefined ? null : forkNamed(values.fork),
  minimise: values.minimise,
  findingsMax: Number(values.findings),
  onFinding: (finding) => say(`\nMISMATCH ${describeFinding(finding)}\n`),
  onProgress: (progress) => {
    const now = performance.now()
    if (now - printed < 1_000) return
    say(`${line(progress)}, ${Math.round(((progress.programs - last) * 1_000) / (now - printed))} programs/s`)
    ;[printed, last] = [now, progress.programs]
  },
})
say(`${line(end)} in ${Math.round((performance.now() - start) / 1_000)} s`)
process.exitCode = end.findings === 0 ? 0 : 1

function line({ programs, runs, findings, kinds }: Progress): string {
  const endings = [...kinds].map(([kind, count]) => `${count} ${kind}`).join(', ')
  return `${programs} programs, ${runs} runs, ${findings} mismatches (${endings})`
}

function forkNamed(name: string): Fork {
  const fork = [...L1_FORKS, ...OP_FORKS].find((known) => known === name)
  if (fork === undefined) throw new RangeError(`there is no fork "${name}"`)
  return fork
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
