import { Command, CommanderError, Option as CommanderOption } from 'commander'
import { CommandError, EXIT } from './exit.ts'
import { OPTION_ROWS } from './options.ts'
import type { Option, OptionName } from './options.ts'

/** What was said on the command line, as text; an option that was not given is absent. */
export type Given = ReadonlyMap<OptionName, string>

/** What was asked for instead of a start: the help page or the version. */
export interface Printed {
  /** null: the version */
  readonly print: string | null
}

/** Reads the arguments. Throws CommandError for an unknown flag or a missing value. */
export function readArguments(args: readonly string[]): Given | Printed {
  const given = new Map<OptionName, string>()
  let printed = ''
  const command = describe()
  command.exitOverride().configureOutput({ writeOut: (text) => (printed += text), writeErr: () => undefined })
  for (const [name, row] of OPTION_ROWS) command.addOption(commanderOption(row, (value) => collect(given, name, row, value)))
  try {
    command.parse(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { print: printed }
    throw new CommandError(EXIT.usage, `${error.message.replace(/^error: /, '')}\nTry pocketchain --help.`)
  }
  if (command.getOptionValueSource('version') === 'cli') return { print: null }
  for (const [name, row] of OPTION_ROWS) if (!given.has(name) && wasSwitched(command, row)) given.set(name, 'true')
  return given
}

function describe(): Command {
  return new Command('pocketchain')
    .description('A layer 2 that pre-confirms every 200 ms, on your own machine.')
    .usage('[options]')
    .allowExcessArguments(false)
    .addHelpText('after', `\n${FOOTER}`)
    .helpOption('-h, --help', 'print this page')
    .option('-V, --version', 'print the version')
}

function commanderOption(row: Option<unknown>, take: (value: string) => string): CommanderOption {
  const option = new CommanderOption(row.flag, description(row)).helpGroup(`${row.section}:`)
  return option.required || option.optional ? option.argParser(take) : option
}

function description(row: Option<unknown>): string {
  const shown = row.defaultText ?? (SHOWN.has(typeof row.default) ? `${row.default as string | number}` : null)
  return shown === null ? row.help : `${row.help} (${shown})`
}

/** Defaults that need no words of their own. */
const SHOWN: ReadonlySet<string> = new Set(['string', 'number'])

function collect(given: Map<OptionName, string>, name: OptionName, row: Option<unknown>, value: string): string {
  const before = given.get(name)
  const joined = row.repeatable === true && before !== undefined ? `${before},${value}` : value
  given.set(name, joined)
  return joined
}

/** A flag that stood without a value. */
function wasSwitched(command: Command, row: Option<unknown>): boolean {
  const key = new CommanderOption(row.flag).attributeName()
  return command.getOptionValueSource(key) === 'cli'
}

const FOOTER = `Examples:
  $ pocketchain                                   the chain on 127.0.0.1:8545
  $ pocketchain --port 0 --json                   any free port; machines read the first line
  $ pocketchain --cadence instant                 a block for every transaction, as test suites like it
  $ pocketchain -b 1 --flashblock-time 100        blocks every second, promised every 100 ms
  $ pocketchain --clock manual --timestamp 1700000000   the same hashes in every run
  $ pocketchain --genesis genesis.json --import chain.rlp

Every option is also a variable (POCKETCHAIN_BLOCK_TIME) and a key (blockTime) of the pocketchain.config.js or .json that is found
from the current folder upward. Flags win over variables, variables over the file.
Exit codes: 0 stopped, 1 could not start, 2 wrong option, 3 unusable file.`
