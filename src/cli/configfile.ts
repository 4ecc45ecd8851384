import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CommandError, EXIT } from './exit.ts'

/** A configuration file. */
export interface ConfigFile {
  readonly path: string
  readonly values: Readonly<Record<string, unknown>>
}

/** File names in order of precedence. */
const NAMES = ['pocketchain.config.js', 'pocketchain.config.mjs', 'pocketchain.config.json'] as const

/** Returns the nearest configuration file from `folder` upward, or null. Throws CommandError if it cannot be read or is not an object. */
export async function findConfig(folder: string): Promise<ConfigFile | null> {
  const path = nearest(folder)
  if (path === null) return null
  const values = path.endsWith('.json') ? fromJson(path) : await fromModule(path)
  if (typeof values !== 'object' || values === null || Array.isArray(values)) throw unusable(path, 'must contain one object of options')
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
    throw unusable(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Returns the default export of a module. */
async function fromModule(path: string): Promise<unknown> {
  try {
    const module: unknown = await import(pathToFileURL(path).href)
    return typeof module === 'object' && module !== null && 'default' in module ? module.default : null
  } catch (error) {
    throw unusable(path, `cannot be loaded: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function unusable(path: string, reason: string): CommandError {
  return new CommandError(EXIT.usage, `${path} ${reason}`)
}
