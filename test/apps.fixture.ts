import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, SetUpFailed, install } from '../scripts/setup.mjs'

/** Returns the folder of an app under test/apps/ with its packages installed; null if they cannot be installed, in CI an error. */
export function appFolder(name: string): string | null {
  const folder = join(ROOT, 'test', 'apps', name)
  try {
    install(folder)
    return folder
  } catch (error) {
    if (process.env['CI'] !== undefined || !(error instanceof SetUpFailed)) throw error
    return null
  }
}

/** Creation code by contract name, as 0x hex, of one Solidity file in an app's folder. Throws Error with the compiler's messages. */
export function compiled(folder: string, file: string): Readonly<Record<string, `0x${string}`>> {
  const { compile } = createRequire(import.meta.url)('solc') as Compiler
  const input = {
    language: 'Solidity',
    sources: { [file]: { content: readFileSync(join(folder, file), 'utf8') } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'cancun',
      outputSelection: { [file]: { '*': ['evm.bytecode.object'] } },
    },
  }
  const found = (path: string) => ({ contents: readFileSync(join(folder, 'node_modules', path), 'utf8') })
  const { errors = [], contracts } = JSON.parse(compile(JSON.stringify(input), { import: found })) as Output
  const wrong = errors.filter(({ severity }) => severity === 'error')
  if (wrong.length > 0) throw new Error(wrong.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return Object.fromEntries(Object.entries(contracts[file] ?? {}).map(([name, { evm }]) => [name, `0x${evm.bytecode.object}` as const]))
}

/** The used part of solc's interface. */
interface Compiler {
  readonly compile: (input: string, callbacks: { readonly import: (path: string) => { readonly contents: string } }) => string
}

interface Output {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Readonly<
    Record<string, Readonly<Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>>>
  >
}
