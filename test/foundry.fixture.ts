import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The binary of foundry's cast for this platform, null if it is not installed. Its npm wrapper does not forward exit codes. */
export const CAST = foundryBinary('cast')
export const FORGE = foundryBinary('forge')

const PROJECT = fileURLToPath(new URL('clients/foundry/', import.meta.url))
/** A compiler for forge's --use: forge downloads none of its own. */
export const SOLC = join(PROJECT, 'solc.mjs')

/** Set beside this process's own variables. */
interface ForgeOptions {
  readonly env: Readonly<Record<string, string>>
}

/** A copy of the project in test/clients/foundry/. */
export interface ForgeProject extends Disposable {
  /** Runs forge in the project and returns its stdout. Rejects if it exits with another code than 0. */
  readonly forge: (command: 'build' | 'create' | 'script' | 'test', ...args: readonly (string | ForgeOptions)[]) => Promise<string>
}

/** Copies and compiles the project, which takes about 3 s. */
export async function compiledForgeProject(): Promise<ForgeProject> {
  const folder = mkdtempSync(join(tmpdir(), 'pocketchain-forge-'))
  cpSync(PROJECT, folder, { recursive: true })
  const forge: ForgeProject['forge'] = async (command, ...args) => {
    const flags = args.filter((each) => typeof each === 'string')
    const env = Object.assign({}, process.env, ...args.map((each) => (typeof each === 'string' ? {} : each.env))) as NodeJS.ProcessEnv
    const { stdout } = await promisify(execFile)(FORGE!, [command, '--use', SOLC, ...flags], { cwd: folder, env })
    return stdout
  }
  await forge('build')
  return { forge, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

/** The path of a binary of Foundry for this platform, null if its package is not installed. */
export function foundryBinary(name: 'anvil' | 'cast' | 'forge'): string | null {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  try {
    return createRequire(import.meta.url).resolve(`@foundry-rs/${name}-${process.platform}-${arch}/bin/${name}`)
  } catch {
    return null
  }
}
