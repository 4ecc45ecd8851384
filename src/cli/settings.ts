import { findConfig } from './configfile.ts'
import type { ConfigFile } from './configfile.ts'
import { readArguments } from './command.ts'
import type { Given, Printed } from './command.ts'
import { CommandError, EXIT } from './exit.ts'
import { translate } from './foreign.ts'
import { OPTION_ROWS, longName, variableOf } from './options.ts'
import type { Option, OptionName, Settings } from './options.ts'
import { BadValue } from './values.ts'

export type Variables = Readonly<Record<string, string | undefined>>

/** Everything that was asked for, and what to say about it before the start. */
export interface Asked {
  readonly settings: Settings
  readonly warnings: readonly string[]
}

/** Flags win over variables, variables over the configuration file. Throws CommandError with exit code 2. */
export async function readSettings(argv: readonly string[], env: Variables, folder: string): Promise<Asked | Printed> {
  const { args, ignored, refused } = translate(argv)
  if (refused !== null) throw new CommandError(EXIT.usage, `${refused.flag}: ${refused.sentence}`)
  const given = readArguments(args)
  if ('print' in given) return given
  const file = await findConfig(folder)
  assertKnownKeys(file)
  const settings = Object.fromEntries(OPTION_ROWS.map(([name, row]) => [name, valueOf(name, row, given, env, file)]))
  const warnings = ignored.length === 0 ? [] : [`without meaning here, ignored: ${[...new Set(ignored)].join(', ')}`]
  return { settings: settings as unknown as Settings, warnings } // each value was read by its own row
}

function valueOf(name: OptionName, row: Option<unknown>, given: Given, env: Variables, file: ConfigFile | null): unknown {
  const flag = given.get(name)
  if (flag !== undefined) return read(row, flag, `--${longName(row.flag)}`)
  for (const variable of [variableOf(row), ...(row.variables ?? [])]) {
    const value = env[variable]
    if (value !== undefined && value !== '') return read(row, value, variable)
  }
  const value = file?.values[name]
  if (value === undefined || value === null) return row.default
  const source = `${file?.path}: ${name}`
  return read(row, textOf(value, source), source)
}

function textOf(value: unknown, source: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return `${value}`
  if (Array.isArray(value)) return value.map((item) => textOf(item, source)).join(',')
  throw new CommandError(EXIT.usage, `${source} must be text, a number, true, false or a list of such`)
}

function read(row: Option<unknown>, value: string, source: string): unknown {
  try {
    return row.read(value)
  } catch (error) {
    if (!(error instanceof BadValue)) throw error
    throw new CommandError(EXIT.usage, `${source} ${error.message}`)
  }
}

function assertKnownKeys(file: ConfigFile | null): void {
  const known = new Set<string>(OPTION_ROWS.map(([name]) => name))
  const unknown = Object.keys(file?.values ?? {}).find((key) => !known.has(key))
  if (unknown !== undefined) throw new CommandError(EXIT.usage, `${file?.path}: ${unknown} is not an option`)
}
