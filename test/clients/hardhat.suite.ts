import { execFileSync, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { nodeBinary } from '../../scripts/nodebinary.mjs'
import { ROOT } from '../../scripts/setup.mjs'
import { REFERENCE, SEQUENTIAL, command } from './peer.fixture.ts'

// The projects in hardhat2/ and hardhat3/ run their own tests against a node. hardhat-deploy 2 is absent: the registry lacks
// the version of @rocketh/node that it needs.

const SETUP = new URL('../../scripts/setup.mjs', import.meta.url).href
const L1 = ['--cadence', 'instant', '--compat', 'anvil', '--chain-type', 'l1']

/**
 * The tests that fail under OP rules. Senders also pay the L1 fee, but the matchers of ether subtract gas times price only; and each block begins with
 * the L1 attributes transaction, but the matchers of one balance and of tokens require a block with one transaction.
 */
const FAIL_WITH_OP = [
  'chai-matchers changeEtherBalance',
  'chai-matchers changeEtherBalances',
  'chai-matchers changeEtherBalances with the fee',
  'chai-matchers changeTokenBalance',
  'chai-matchers changeTokenBalances',
]

const PROJECTS = [
  {
    name: 'hardhat2',
    arguments: ['test'],
    executable: () => process.execPath,
    tests: 39,
    // anvil 1.7.1 has no hardhat_setPrevRandao.
    failsWithAnvil: ['network-helpers setPrevRandao'],
    failsWithOp: [...FAIL_WITH_OP, 'chai-matchers the block of a transaction has that transaction only'],
  },
  {
    name: 'hardhat3',
    arguments: ['test', 'mocha'],
    // Hardhat 3 needs Node 22.13.
    executable: () => (Number(process.versions.node.split('.')[0]) < 24 ? nodeBinary(24) : process.execPath),
    tests: 35,
    // and the result of its anvil_dropTransaction is a hash instead of a boolean.
    failsWithAnvil: ['network-helpers setPrevRandao', 'network-helpers dropTransaction'],
    failsWithOp: FAIL_WITH_OP,
  },
] as const

describe.each(PROJECTS)('$name', ({ name, arguments: args, executable, tests, failsWithAnvil, failsWithOp }) => {
  const folder = join(ROOT, 'test', 'clients', name)
  let node: string
  let env: NodeJS.ProcessEnv
  beforeAll(() => {
    node = executable()
    env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` }
    // npm omits the binaries of Hardhat 3 if it runs with an older Node.
    const program = `import { install } from ${JSON.stringify(SETUP)}; install(${JSON.stringify(folder)})`
    execFileSync(node, ['--input-type=module', '--eval', program], { env, stdio: ['ignore', 'inherit', 'inherit'] })
  })

  it('passes all tests with --chain-type l1 --compat anvil --cadence instant', async ({ annotate }) => {
    const { failures, passes, took } = await run(command('', ...L1))
    await annotate(`${passes} tests: ${took}`)
    expect(failures).toEqual([])
    expect(passes).toBe(tests)
  })

  it('passes with anvil all tests of methods that anvil has', async ({ annotate }) => {
    const { failures, passes, took } = await run(REFERENCE)
    await annotate(`${passes} tests: ${took}`)
    expect(failures).toEqual(failsWithAnvil)
  })

  it('with the OP rules differs in the L1 fee and the L1 attributes transaction only', async () => {
    const { failures, passes } = await run(command('', '--cadence', 'instant', '--compat', 'anvil'))
    expect(failures).toEqual(failsWithOp)
    expect(passes + failures.length).toBe(tests)
  })

  it.for([...SEQUENTIAL, REFERENCE])(
    'Ignition deploys four transactions in less than 10 s with $title',
    async ({ start }, { annotate }) => {
      const { failures, passes, durations } = await run({ title: '', start }, '--grep', 'hardhat-ignition')
      expect(failures).toEqual([])
      expect(passes).toBe(1)
      await annotate(`Ignition: ${durations[0]} ms`)
      expect(durations[0]).toBeLessThan(10_000)
    },
  )

  /** Runs the project's tests against a new node. */
  async function run({ start }: (typeof SEQUENTIAL)[number], ...more: readonly string[]): Promise<Outcome> {
    await using peer = await start()
    const hardhat = createRequire(join(folder, 'package.json')).resolve('hardhat/package.json')
    const { bin } = createRequire(import.meta.url)(hardhat) as { readonly bin: string | { readonly hardhat: string } }
    const script = join(dirname(hardhat), typeof bin === 'string' ? bin : bin.hardhat)
    const child = spawn(node, [script, ...args, ...more], {
      cwd: folder,
      env: { ...env, NODE_URL: peer.url, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (data: Buffer) => (out += data.toString()))
    child.stderr.on('data', (data: Buffer) => (err += data.toString()))
    // The exit code is the number of failed tests.
    await new Promise((resolve) => child.once('close', resolve))
    const json = out.slice(out.indexOf('{\n'), out.lastIndexOf('}') + 1)
    if (json === '') throw new Error(`${name} printed no report: ${out}${err}`)
    const { stats, tests, failures } = JSON.parse(json) as MochaReport
    return {
      passes: stats.passes,
      failures: failures.map(({ fullTitle }) => fullTitle),
      durations: tests.map(({ duration }) => duration),
      took: `${(stats.duration / 1000).toFixed(2)} s`,
    }
  }
})

interface Outcome {
  readonly passes: number
  /** the titles of the failed tests */
  readonly failures: readonly string[]
  readonly durations: readonly number[]
  readonly took: string
}

/** The used fields of the report by mocha's reporter json. */
interface MochaReport {
  readonly stats: { readonly passes: number; readonly duration: number }
  readonly tests: readonly { readonly fullTitle: string; readonly duration: number }[]
  readonly failures: readonly { readonly fullTitle: string }[]
}
