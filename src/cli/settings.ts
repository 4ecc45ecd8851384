import { RpcError } from '../jsonrpc/index.ts'
import { findConfig } from './configfile.ts'
import type { ConfigFile } from './configfile.ts'
import { readArguments } from './command.ts'
import type { AuditRequest, GivenFlags, ParsedArguments, PrintRequest } from './command.ts'
import { RANK, settingsOf, settleOptions } from './consistency.ts'
import type { Resolved } from './consistency.ts'
import { CommandError, EXIT } from './exit.ts'
import { translateFlags } from './compatflags.ts'
import { OPTION_ROWS, longName, variableOf } from './options.ts'
import type { Option, OptionName, Settings } from './options.ts'

export type Variables = Readonly<Record<string, string | undefined>>

/** A command to run, with its settings. */
export interface Invocation {
  readonly settings: Settings
  /** lines for stderr */
  readonly warnings: readonly string[]
  readonly command: ParsedArguments['command']
  /** only for the demo: a script approves instead of the user */
  readonly isHeadless: boolean
  /** blocks to check, for `fleet verify` */
  readonly range: NonNullable<ParsedArguments['range']>
}

/**
 * Reads the settings: flags override variables, variables override the configuration file. The demo reads flags only, so that it is the same
 * everywhere. Throws CommandError with exit code 2.
 */
export async function readSettings(
  argv: readonly string[],
  env: Variables,
  folder: string,
): Promise<Invocation | AuditRequest | PrintRequest> {
  const { args, ignored, refused } = translateFlags(argv)
  if (refused !== null) throw new CommandError(EXIT.usage, `${refused.flag}: ${refused.sentence}`)
  const parsed = readArguments(args)
  if ('print' in parsed || parsed.command === 'audit') return parsed
  const { command, given, isHeadless, range = {} } = parsed
  const isDemo = command === 'demo'
  const file = isDemo ? null : await findConfig(folder)
  assertKnownKeys(file)
  const resolved = new Map(OPTION_ROWS.map(([name, row]) => [name, resolve(name, row, given, isDemo ? {} : env, file)]))
  // The commands of `pocketchain fleet` start no chain.
  const withoutEffect = command === 'start' || isDemo ? settleOptions(resolved) : []
  const warnings = [
    ...(ignored.length === 0 ? [] : [`ignored flags of other nodes: ${[...new Set(ignored)].join(', ')}`]),
    ...withoutEffect,
  ]
  return { settings: settingsOf(resolved), warnings, command, isHeadless, range }
}

function resolve(name: OptionName, row: Option<unknown>, given: GivenFlags, env: Variables, file: ConfigFile | null): Resolved {
  const flag = `--${longName(row.flag)}`
  const text = given.get(name)
  if (text !== undefined) return { value: parse(row, text, flag), rank: RANK.flag, source: flag }
  for (const variable of [variableOf(row), ...(row.variables ?? [])]) {
    const value = env[variable]
    if (value !== undefined && value !== '') return { value: parse(row, value, variable), rank: RANK.variable, source: variable }
  }
  const value = file?.values[name]
  if (value === undefined || value === null) return { value: row.default, rank: RANK.default, source: flag }
  const source = `${file?.path}: ${name}`
  return { value: parse(row, value, source), rank: RANK.file, source }
}

function parse({ schema }: Option<unknown>, value: unknown, source: string): unknown {
  try {
    return schema.parse(value, source)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    throw new CommandError(EXIT.usage, error.message.replace(/^invalid /, ''))
  }
}

function assertKnownKeys(file: ConfigFile | null): void {
  const known = new Set<string>(OPTION_ROWS.map(([name]) => name))
  const unknown = Object.keys(file?.values ?? {}).find((key) => !known.has(key))
  if (unknown !== undefined) throw new CommandError(EXIT.usage, `${file?.path}: ${unknown} is not an option`)
}
