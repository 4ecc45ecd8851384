import { Command, CommanderError, Option as CommanderOption } from 'commander'
import { CommandError, EXIT } from './exit.ts'
import { OPTIONS, OPTION_ROWS, longName } from './options.ts'
import type { Option, OptionName } from './options.ts'

/** What was said on the command line, as text; an option that was not given is absent. */
export type Given = ReadonlyMap<OptionName, string>

export type CommandName = 'start' | 'demo'

/** What the arguments ask for. */
export interface Said {
  readonly command: CommandName
  readonly given: Given
  /** of the demo */
  readonly isHeadless: boolean
}

/** What was asked for instead of a start: a help page or the version. */
export interface Printed {
  /** null: the version */
  readonly print: string | null
}

/** Reads the arguments. Throws CommandError for an unknown command or flag, a missing value, and a flag that the demo cannot take. */
export function readArguments(args: readonly string[]): Said | Printed {
  const given = new Map<OptionName, string>()
  let printed = ''
  const command = describe()
  command.exitOverride().configureOutput({ writeOut: (text) => (printed += text), writeErr: () => undefined })
  for (const [name, row] of OPTION_ROWS) command.addOption(commanderOption(row, (value) => collect(given, name, row, value)))
  const demo = describeDemo(command)
  try {
    command.parse(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { print: printed }
    throw new CommandError(EXIT.usage, `${error.message.replace(/^error: /, '')}\nTry pocketchain --help.`)
  }
  if (command.getOptionValueSource('version') === 'cli') return { print: null }
  for (const [name, row] of OPTION_ROWS) if (!given.has(name) && wasSwitched(command, row)) given.set(name, 'true')
  if (command.args[0] !== 'demo') return { command: 'start', given, isHeadless: false }
  for (const name of given.keys()) assertOfDemo(name)
  if (!given.has('port')) given.set('port', '0') // beside a node that may run on 8545
  return { command: 'demo', given, isHeadless: demo.opts()['headless'] === true }
}

function describe(): Command {
  const command = new Command('pocketchain')
  return command
    .description('A layer 2 that pre-confirms every 200 ms, on your own machine.')
    .usage('[options] | demo [options]')
    .allowExcessArguments(true)
    .addHelpText('after', `\n${FOOTER}`)
    .helpOption('-h, --help', 'print this page')
    .helpCommand(false)
    .option('-V, --version', 'print the version')
    .action(() => {
      const [word] = command.args
      if (word !== undefined)
        command.error(`error: unknown command ${JSON.stringify(word)}: there is demo, and without a command the node starts`)
    })
}

// --- the demo -------------------------------------------------------------------------------------------------------

/** What the demo takes, beside --headless. The command above reads the values; here they are for the page of help. */
function describeDemo(command: Command): Command {
  const demo = command
    .command('demo')
    .summary('a node, an app and a sponsored batch of two calls, step by step')
    .description(
      'Starts a node, and in it an app, a customer without ether and a sponsor: the app asks for a batch of two calls, the sponsor pays its fee,\nand the chain pre-confirms and seals it. Each step is printed with its time. Nothing is kept, and no network is used.',
    )
    .usage('[options]')
    .allowExcessArguments(false)
    .addHelpText('after', `\n${DEMO_FOOTER}`)
    .option('--headless', 'a script answers what the wallet asks; without it you do, on the page whose link is printed')
    .action(() => undefined)
  for (const name of DEMO_OPTIONS) demo.addOption(new CommanderOption(OPTIONS[name].flag, description(OPTIONS[name], DEMO_DEFAULTS[name])))
  return demo
}

const DEMO_OPTIONS = [
  'port',
  'cadence',
  'blockTime',
  'flashblockTime',
  'chainId',
  'sponsorPolicies',
  'tlsFolder',
  'noColor',
] as const satisfies readonly OptionName[]

/** Where the demo's default is another than the node's. */
const DEMO_DEFAULTS: Partial<Record<OptionName, string>> = { port: '0' }

/** What the story cannot do without. */
const NEEDED: Partial<Record<OptionName, string>> = { noBundler: 'the bundler', noSponsor: 'the sponsor', noWallet: 'the wallet' }

function assertOfDemo(name: OptionName): void {
  if (DEMO_OPTIONS.some((each) => each === name)) return
  const flag = `--${longName(OPTIONS[name].flag)}`
  const why =
    NEEDED[name] === undefined
      ? `${flag} is not for the demo, which takes ${DEMO_OPTIONS.map((each) => `--${longName(OPTIONS[each].flag)}`).join(', ')}`
      : `the demo needs ${NEEDED[name]}: leave ${flag} out`
  throw new CommandError(EXIT.usage, `${why}\nTry pocketchain demo --help.`)
}

// --- options --------------------------------------------------------------------------------------------------------

function commanderOption(row: Option<unknown>, take: (value: string) => string): CommanderOption {
  const option = new CommanderOption(row.flag, description(row)).helpGroup(`${row.section}:`)
  return option.required || option.optional ? option.argParser(take) : option
}

function description(row: Option<unknown>, defaultText = row.defaultText): string {
  const shown = defaultText ?? (SHOWN.has(typeof row.default) ? `${row.default as string | number}` : null)
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
  $ pocketchain demo                              a sponsored batch from the click to the sealed block
  $ pocketchain --port 0 --json                   any free port; machines read the first line
  $ pocketchain --cadence instant                 a block for every transaction, as test suites like it
  $ pocketchain -b 1 --flashblock-time 100        blocks every second, promised every 100 ms
  $ pocketchain --clock manual --timestamp 1700000000   the same hashes in every run
  $ pocketchain --genesis genesis.json --import chain.rlp

Every option is also a variable (POCKETCHAIN_BLOCK_TIME) and a key (blockTime) of the pocketchain.config.js or .json that is found
from the current folder upward. Flags win over variables, variables over the file.
Exit codes: 0 stopped, 1 could not start, 2 wrong option, 3 unusable file.`

const DEMO_FOOTER = `Examples:
  $ pocketchain demo                              you answer, on a page in your browser
  $ pocketchain demo --headless                   a script answers: for a first look, and for CI
  $ pocketchain demo --headless --cadence instant
  $ pocketchain demo --sponsor-policies policies.json   what becomes of it under policies of your own

Exit codes: 0 all of it happened, or you pressed Ctrl-C; 1 something did not, and the last line says what; 2 wrong option, 3 unusable file.`
