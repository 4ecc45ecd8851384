import { Hex } from '../../../src/eth/index.ts'
import type { Fork } from './block.ts'
import { ORACLE } from './engines.ts'
import { generate } from './generate.ts'
import { type Engine, firstDifference, type ExecutionWorld, type Mismatch, type Observed, observe } from './compare.ts'
import { minimise } from './minimise.ts'
import { disassemble } from './opcodes.ts'
import { assemble, type Case, printCase, type Program } from './program.ts'
import { Random } from './random.ts'

export interface FuzzOptions<World extends ExecutionWorld> {
  readonly engine: Engine<World>
  readonly seed: number
  readonly first: number
  readonly programs: number
  readonly fork: Fork | null
  readonly minimise: boolean
  /** ends the run after this many findings, which tend to have the same cause */
  readonly findingsMax: number
  readonly onProgress: (progress: Progress) => void
  readonly onFinding: (finding: Finding) => void
}

export interface Progress {
  readonly programs: number
  /** cases run: each program with all its gas, and again with less */
  readonly runs: number
  readonly findings: number
  /** messages by outcome, to check the distribution */
  readonly kinds: ReadonlyMap<string, number>
}

export interface Finding {
  readonly seed: number
  readonly index: number
  readonly case: Case
  /** the exception of the engine, or the difference */
  readonly problem: Mismatch | string
}

/** Runs random programs in an engine and in the oracle. */
export async function fuzz<World extends ExecutionWorld>(options: FuzzOptions<World>): Promise<Progress> {
  const { engine, seed, first, programs, fork } = options
  const kinds = new Map<string, number>()
  let [done, runs, findings] = [0, 0, 0]
  for (let index = first; index < first + programs && findings < options.findingsMax; index++) {
    const program = generate(seed, index, fork)
    const wanted = await observe(assemble(program), ORACLE)
    for (const { kind } of wanted) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    for (const variant of [program, ...withLessGas(program, wanted, new Random(seed + 1, index))]) {
      runs++
      if ((await problemOf(variant, engine, variant === program ? wanted : null)) === null) continue
      findings++
      options.onFinding(await findingOf(variant, index, options))
      break
    }
    done++
    options.onProgress({ programs: done, runs, findings, kinds })
  }
  return { programs: done, runs, findings, kinds }
}

/** Null if both agree. */
async function problemOf<World extends ExecutionWorld>(
  program: Program,
  engine: Engine<World>,
  wanted: readonly Observed[] | null = null,
): Promise<Mismatch | string | null> {
  const it = assemble(program)
  const expected = wanted ?? (await observe(it, ORACLE))
  try {
    return firstDifference(await observe(it, engine), expected)
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
}

/** The same program with less gas: at a random point, and by one gas. */
function* withLessGas(program: Program, wanted: readonly Observed[], random: Random): Iterable<Program> {
  const at = random.below(program.messages.length)
  const used = Number(wanted[at]?.gasUsed ?? 0n)
  if (used === 0) return
  for (const gas of [random.below(used), used - 1, used]) {
    const messages = program.messages.map((message, index) => (index === at ? { ...message, gas: BigInt(gas) } : message))
    if (random.chance(0.5)) yield { ...program, messages }
  }
}

async function findingOf<World extends ExecutionWorld>(program: Program, index: number, options: FuzzOptions<World>): Promise<Finding> {
  const { engine, seed } = options
  const fails = async (smaller: Program) => (await problemOf(smaller, engine)) !== null
  const smallest = options.minimise ? await minimise(program, fails) : program
  const problem = (await problemOf(smallest, engine)) ?? 'gone when tried again: the engine kept something from an earlier program'
  return { seed, index, case: assemble(smallest), problem }
}

/** Readable form: the program, and both results where they differ. */
export function describeFinding({ seed, index, case: it, problem }: Finding): string {
  const accounts = it.accounts
    .filter(({ code, storage }) => code !== '0x' || storage.length > 0)
    .map(
      ({ address, code, storage }) =>
        `  ${address}${storage.map(([slot, value]) => ` [${slot}]=${value}`).join('')} ${disassemble(Hex.toBytes(code))}`,
    )
  const messages = it.messages.map(({ to, gas, value, data, after }) => {
    return `  to ${to ?? `new ${disassemble(Hex.toBytes(data))}`} gas ${gas} value ${value} then ${after}`
  })
  const lines = typeof problem === 'string' ? [`  ${problem}`] : differences(problem)
  const head = `program ${index} of seed ${seed}, ${it.fork}`
  return [head, ...accounts, 'messages', ...messages, 'result', ...lines, `case ${printCase(it)}`].join('\n')
}

function differences({ message, fields, ours, oracle }: Mismatch): string[] {
  return fields.flatMap((field) => [
    `  message ${message} ${field}:`,
    `    ours   ${indent(ours[field])}`,
    `    oracle ${indent(oracle[field])}`,
  ])
}

function indent(text: string | bigint): string {
  return String(text).replaceAll('\n', '\n           ')
}
