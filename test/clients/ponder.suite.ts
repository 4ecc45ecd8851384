import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ANVIL } from '../anvil.fixture.ts'
import { COMMAND, runSuite } from './substitute.fixture.ts'
import type { Outcome } from './substitute.fixture.ts'

/** A checkout of github.com/ponder-sh/ponder with its packages installed (`pnpm install --filter ponder...`). Its tests use port 8545. */
const FOLDER = process.env['PONDER_DIR']
const CORE = join(FOLDER ?? '', 'packages/core')

describe.skipIf(FOLDER === undefined || ANVIL === null)("ponder's tests of its core (PONDER_DIR)", () => {
  beforeAll(() => prepare())

  it('pass with this node in place of anvil, except those that fail with anvil', async ({ annotate }) => {
    const reference = await runSuite({ folder: CORE, anvil: `exec ${ANVIL} "$@"` })
    const ours = await runSuite({ folder: CORE, anvil: `exec ${COMMAND} "$@" --chain-type l1` })
    await annotate(`anvil ${countsOf(reference)}, this node ${countsOf(ours)}`)
    expect(reference.passed.length).toBeGreaterThan(200)
    expect(ours.failed.filter((title) => !reference.failed.includes(title))).toEqual([])
  }, 1_800_000)
})

/** Compiles the contracts of the tests, for which ponder uses forge, and writes the ABIs that its generator would write. */
function prepare(): void {
  const tests = join(CORE, 'src/_test')
  if (existsSync(join(tests, 'generated.ts'))) return
  const files = readdirSync(join(tests, 'contracts/src'))
  const sources = Object.fromEntries(files.map((file) => [file, { content: readFileSync(join(tests, 'contracts/src', file), 'utf8') }]))
  const settings = { evmVersion: 'paris', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } }
  const { compile } = createRequire(import.meta.url)('solc') as { readonly compile: (input: string) => string }
  const { contracts } = JSON.parse(compile(JSON.stringify({ language: 'Solidity', sources, settings }))) as SolcOutput
  const abis = Object.entries(contracts).map(([file, byName]) => {
    const name = basename(file, '.sol')
    const { abi, evm } = byName[name]!
    mkdirSync(join(tests, 'contracts/out', file), { recursive: true })
    writeFileSync(
      join(tests, 'contracts/out', file, `${name}.json`),
      JSON.stringify({ abi, bytecode: { object: `0x${evm.bytecode.object}` } }),
    )
    return `export const ${name === 'ERC20' ? 'erc20' : name.toLowerCase()}ABI = ${JSON.stringify(abi)} as const\n`
  })
  writeFileSync(join(tests, 'generated.ts'), abis.join(''))
}

/** The used part of the compiler's output: contracts by file and name. */
interface SolcOutput {
  readonly contracts: Readonly<
    Record<string, Readonly<Record<string, { readonly abi: unknown; readonly evm: { readonly bytecode: { readonly object: string } } }>>>
  >
}

function countsOf({ passed, failed }: Outcome): string {
  return `${passed.length} pass, ${failed.length} fail`
}
