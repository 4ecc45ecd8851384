import { findConfig } from './configfile.ts'
import type { ConfigFile } from './configfile.ts'
import { readArguments } from './command.ts'
import type { CommandName, Given, Printed } from './command.ts'
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
  /** what to run */
  readonly command: CommandName
  /** of the demo: a script answers in a person's stead */
  readonly isHeadless: boolean
}

/**
 * Flags win over variables, variables over the configuration file. The demo, which is the same wherever it is started, takes flags alone. Throws
 * CommandError with exit code 2.
 */
export async function readSettings(argv: readonly string[], env: Variables, folder: string): Promise<Asked | Printed> {
  const { args, ignored, refused } = translate(argv)
  if (refused !== null) throw new CommandError(EXIT.usage, `${refused.flag}: ${refused.sentence}`)
  const said = readArguments(args)
  if ('print' in said) return said
  const isDemo = said.command === 'demo'
  const file = isDemo ? null : await findConfig(folder)
  assertKnownKeys(file)
  const found = new Map(OPTION_ROWS.map(([name, row]) => [name, valueOf(name, row, said.given, isDemo ? {} : env, file)]))
  assertConsistent(found)
  const settings = Object.fromEntries([...found].map(([name, { value }]) => [name, value]))
  const warnings = ignored.length === 0 ? [] : [`without meaning here, ignored: ${[...new Set(ignored)].join(', ')}`]
  return { settings: settings as unknown as Settings, warnings, command: said.command, isHeadless: said.isHeadless } // each value was read by its own row
}

/** A value and who said it: the higher wins. */
interface Found {
  readonly value: unknown
  readonly rank: (typeof RANK)[keyof typeof RANK]
  /** such as `--port` or `POCKETCHAIN_PORT` */
  readonly source: string
}

const RANK = { nobody: 0, file: 1, variable: 2, flag: 3 } as const

function valueOf(name: OptionName, row: Option<unknown>, given: Given, env: Variables, file: ConfigFile | null): Found {
  const flag = given.get(name)
  const long = `--${longName(row.flag)}`
  if (flag !== undefined) return { value: read(row, flag, long), rank: RANK.flag, source: long }
  for (const variable of [variableOf(row), ...(row.variables ?? [])]) {
    const value = env[variable]
    if (value !== undefined && value !== '') return { value: read(row, value, variable), rank: RANK.variable, source: variable }
  }
  const value = file?.values[name]
  if (value === undefined || value === null) return { value: row.default, rank: RANK.nobody, source: long }
  const source = `${file?.path}: ${name}`
  const isList = row.readList !== undefined && Array.isArray(value)
  return { value: isList ? row.readList?.(value, source) : read(row, textOf(value, source), source), rank: RANK.file, source }
}

/** A switch and what has no meaning beside it. */
const CONTRADICTIONS: readonly (readonly [OptionName, OptionName])[] = [
  ['noSponsor', 'sponsorPolicies'],
  ['noWallet', 'walletPolicy'],
  ['noWallet', 'allowHttpLoopback'],
]

/** A flag may overrule what a variable or a file says, and silence it; but what nothing overruled is not left out in silence. Throws CommandError. */
function assertConsistent(found: ReadonlyMap<OptionName, Found>): void {
  for (const [off, beside] of CONTRADICTIONS) {
    const [one, other] = [found.get(off), found.get(beside)]
    if (one?.value !== true || other === undefined || other.rank < one.rank || other.value === false) continue
    throw new CommandError(EXIT.usage, `${one.source} and ${other.source} exclude each other`)
  }
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
