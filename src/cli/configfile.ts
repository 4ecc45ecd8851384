import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CommandError, EXIT } from './exit.ts'

/** Values of a configuration file, and where it lies. */
export interface ConfigFile {
  readonly path: string
  readonly values: Readonly<Record<string, unknown>>
}

/** Tried in this order in every folder. */
const NAMES = ['pocketchain.config.js', 'pocketchain.config.mjs', 'pocketchain.config.json'] as const

/** The nearest configuration file from `folder` upward, or null. Throws CommandError when it holds no object. */
export async function findConfig(folder: string): Promise<ConfigFile | null> {
  const path = nearest(folder)
  if (path === null) return null
  const values = path.endsWith('.json') ? fromJson(path) : await fromModule(path)
  if (typeof values !== 'object' || values === null || Array.isArray(values)) throw broken(path, 'must hold one object of options')
  return { path, values: { ...values } }
}

function nearest(folder: string): string | null {
  const found = NAMES.map((name) => join(folder, name)).find((path) => existsSync(path))
  if (found !== undefined) return found
  const parent = dirname(folder)
  return parent === folder ? null : nearest(parent)
}

function fromJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw broken(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The module's default export. */
async function fromModule(path: string): Promise<unknown> {
  try {
    const module: unknown = await import(pathToFileURL(path).href)
    return typeof module === 'object' && module !== null && 'default' in module ? module.default : null
  } catch (error) {
    throw broken(path, `cannot be loaded: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function broken(path: string, what: string): CommandError {
  return new CommandError(EXIT.usage, `${path} ${what}`)
}
