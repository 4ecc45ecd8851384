import { Command, CommanderError, Option as CommanderOption } from 'commander'
import { SHELLS, completions, isShell } from './completions.ts'
import { CommandError, EXIT } from './exit.ts'
import { OPTIONS, OPTION_ROWS, longName } from './options.ts'
import type { Option, OptionName } from './options.ts'
import { unexpectedValue, unknownWord } from './usage.ts'

/** The text of each flag that was given. */
export type GivenFlags = ReadonlyMap<OptionName, string>

/** A command of `pocketchain fleet`. */
export type FleetCommand = 'fleet status' | 'fleet hand-over' | 'fleet verify'

/** Arguments that select a command. */
export interface ParsedArguments {
  readonly command: 'start' | 'demo' | FleetCommand
  readonly given: GivenFlags
  /** `--headless` of the demo */
  readonly isHeadless: boolean
  /** `--from` and `--to` of `fleet verify`, as they were given */
  readonly range?: { readonly from?: string; readonly to?: string }
}

/** The text of each option of the audit. */
export interface AuditArguments {
  readonly rpc?: string
  readonly ws?: string
  readonly minutes?: string
  readonly html?: string
  readonly json?: true
}

/** Arguments that request the help or the version. */
export interface PrintRequest {
  /** the help; null: the version */
  readonly print: string | null
}

export interface AuditRequest {
  readonly command: 'audit'
  readonly audit: AuditArguments
}

/** Parses the arguments. Throws CommandError for an unknown command or flag, a missing value, and a flag that the demo does not accept. */
export function readArguments(args: readonly string[]): ParsedArguments | AuditRequest | PrintRequest {
  const given = new Map<OptionName, string>()
  let printed = ''
  const command = startCommand(args)
  command.exitOverride().configureOutput({ writeOut: (text) => (printed += text), writeErr: () => undefined })
  for (const [name, row] of OPTION_ROWS) command.addOption(commanderOption(row, (value) => collect(given, name, row, value)))
  const demo = addDemoCommand(command)
  const audit = addAuditCommand(command)
  const fleet = addFleetCommand(command)
  addCompletionsCommand(command)
  try {
    command.parse(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { print: printed }
    const [, unknown = ''] = /unknown option '(.*)'/s.exec(error.message) ?? []
    throw new CommandError(EXIT.usage, `${unexpectedValue(unknown) ?? error.message.replace(/^error: /, '')}\nTry pocketchain --help.`)
  }
  if (command.getOptionValueSource('version') === 'cli') return { print: null }
  for (const [name, row] of OPTION_ROWS) if (!given.has(name) && isSetOnCommandLine(command, row)) given.set(name, 'true')
  if (command.args[0] === 'completions') return { print: completionsFor(command.args[1], given) }
  if (command.args[0] === 'audit') return { command: 'audit', audit: auditArguments(audit, given) }
  if (command.args[0] === 'fleet') return { command: fleetCommand(command.args, given), given, isHeadless: false, range: fleet.opts() }
  if (command.args[0] !== 'demo') return { command: 'start', given, isHeadless: false }
  for (const name of given.keys()) assertDemoOption(name)
  if (!given.has('port')) given.set('port', '0') // a node may be running on 8545
  return { command: 'demo', given, isHeadless: demo.opts()['headless'] === true }
}

function startCommand(args: readonly string[]): Command {
  const command = new Command('pocketchain')
  return command
    .description('A local layer 2 that pre-confirms every 200 ms.')
    .usage('[options] | demo [options] | audit [options] | fleet status|hand-over|verify | completions bash|zsh|fish')
    .allowExcessArguments(true)
    .addHelpText('after', `\n${FOOTER}`)
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .option('-V, --version', 'print the version')
    .action(() => {
      const [word] = command.args
      if (word !== undefined) command.error(`error: ${unknownWord(args, word)}`)
    })
}

// --- the demo -------------------------------------------------------------------------------------------------------

/** The values of the demo's options are parsed by the command above; here they are declared for its help. */
function addDemoCommand(command: Command): Command {
  const demo = command
    .command('demo')
    .summary('a node, an app and a sponsored batch of two calls, step by step')
    .description(
      'Starts a node with an app, a customer without ether and a sponsor: the app sends a batch of two calls, the sponsor pays its fee, and the\nchain pre-confirms and seals it. Each step is printed with its duration. Nothing is written to disk but certificates, and no network is used.',
    )
    .usage('[options]')
    .allowExcessArguments(false)
    .addHelpText('after', `\n${DEMO_FOOTER}`)
    .option('--headless', 'approve by a script; by default you approve on the page whose link is printed')
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

/** Defaults of the demo that differ from those of the node. */
const DEMO_DEFAULTS: Partial<Record<OptionName, string>> = { port: '0' }

/** Parts of the node that the demo requires. */
const REQUIRED_PARTS: Partial<Record<OptionName, string>> = { noBundler: 'the bundler', noSponsor: 'the sponsor', noWallet: 'the wallet' }

function assertDemoOption(name: OptionName): void {
  if (DEMO_OPTIONS.some((each) => each === name)) return
  const flag = `--${longName(OPTIONS[name].flag)}`
  const reason =
    REQUIRED_PARTS[name] === undefined
      ? `${flag} is not an option of the demo, which accepts ${DEMO_OPTIONS.map((each) => `--${longName(OPTIONS[each].flag)}`).join(', ')}`
      : `the demo requires ${REQUIRED_PARTS[name]}; remove ${flag}`
  throw new CommandError(EXIT.usage, `${reason}\nTry pocketchain demo --help.`)
}

// --- the audit ------------------------------------------------------------------------------------------------------

function addAuditCommand(command: Command): Command {
  return command
    .command('audit')
    .summary('watches the promises of any endpoint, and reports which were kept')
    .description(
      'Watches an endpoint with pre-confirmations until Ctrl-C, and reports for each promised transaction whether it was sealed as promised,\nchanged or retracted, with the times from sending to the promise and to the seal. Endpoints without promises: block times and reorganisations.',
    )
    .usage('--rpc URL [options]')
    .allowExcessArguments(false)
    .addHelpText('after', `\n${AUDIT_FOOTER}`)
    .option('--rpc <url>', 'JSON-RPC over HTTP, which sealed receipts are read from (by default that of --ws)')
    .option('--ws <url>', 'a flashblock stream, or JSON-RPC over WebSocket (by default that of --rpc)')
    .option('--minutes <n>', 'duration in minutes (by default until Ctrl-C)')
    .option('--html <file>', 'also writes the report as a page')
    .option('--json', 'prints the report as JSON')
    .action(() => undefined)
}

/** `--json` is an option of the node too, whose command takes it. */
function auditArguments(audit: Command, given: GivenFlags): AuditArguments {
  const foreign = [...given.keys()].find((name) => name !== 'json')
  if (foreign !== undefined) {
    const flag = `--${longName(OPTIONS[foreign].flag)}`
    throw new CommandError(EXIT.usage, `${flag} is not an option of the audit\nTry pocketchain audit --help.`)
  }
  return { ...audit.opts(), ...(given.has('json') ? { json: true } : {}) }
}

// --- the fleet ------------------------------------------------------------------------------------------------------

function addFleetCommand(command: Command): Command {
  const fleet = command
    .command('fleet')
    .summary('what the processes of a fleet do, and a planned change of the sequencer')
    .description(
      'status: the sequencer, the epoch of its lease, and head, lag and gaps of each process.\nhand-over: the sequencer seals what it has promised and ends its lease, so that a standby takes over; no promise is lost.\nverify: executes the blocks of the database again, and compares headers, hashes and state roots; it needs --database only.',
    )
    .usage('status|hand-over|verify --fleet URL --database URL [--json]')
    .argument('[action]', 'status, hand-over or verify')
    .option('--from <number>', 'verify: the first block that is executed; those before it are only loaded (1)')
    .option('--to <number>', 'verify: the last one (the newest)')
    .allowExcessArguments(false)
    .addHelpText('after', `\n${FLEET_FOOTER}`)
    .action(() => undefined)
  for (const name of FLEET_OPTIONS) fleet.addOption(new CommanderOption(OPTIONS[name].flag, description(OPTIONS[name])))
  return fleet
}

const FLEET_OPTIONS = ['fleet', 'database', 'json'] as const satisfies readonly OptionName[]

function fleetCommand([, action]: readonly string[], given: GivenFlags): FleetCommand {
  const other = [...given.keys()].find((name) => !FLEET_OPTIONS.some((each) => each === name))
  if (other !== undefined) {
    throw new CommandError(
      EXIT.usage,
      `--${longName(OPTIONS[other].flag)} is not an option of pocketchain fleet\nTry pocketchain fleet --help.`,
    )
  }
  if (action === 'status' || action === 'hand-over' || action === 'verify') return `fleet ${action}`
  throw new CommandError(
    EXIT.usage,
    `fleet: expected status, hand-over or verify, not ${JSON.stringify(action ?? '')}\nTry pocketchain fleet --help.`,
  )
}

// --- completions ----------------------------------------------------------------------------------------------------

function addCompletionsCommand(command: Command): void {
  command
    .command('completions')
    .summary('prints a script with which a shell completes commands and options')
    .usage(SHELLS.join('|'))
    .argument('[shell]', SHELLS.join(', '))
    .allowExcessArguments(false)
    .addHelpText('after', `\n${COMPLETIONS_FOOTER}`)
    .action(() => undefined)
}

function completionsFor(shell: string | undefined, given: GivenFlags): string {
  if (isShell(shell) && given.size === 0) return completions(shell)
  const wrong = given.size > 0 ? 'options have no effect here' : `expected ${SHELLS.join(', ')}, not ${JSON.stringify(shell ?? '')}`
  throw new CommandError(EXIT.usage, `completions: ${wrong}\nTry pocketchain completions --help.`)
}

// --- options --------------------------------------------------------------------------------------------------------

function commanderOption(row: Option<unknown>, take: (value: string) => string): CommanderOption {
  const option = new CommanderOption(row.flag, description(row)).helpGroup(`${row.section}:`)
  if (row.isCounted === true) return option.preset('1').argParser(take)
  return option.required || option.optional ? option.argParser(take) : option
}

function description(row: Option<unknown>, defaultText = row.defaultText): string {
  const shown = defaultText ?? (SHOWN.has(typeof row.default) ? `${row.default as string | number}` : null)
  return shown === null ? row.help : `${row.help} (${shown})`
}

/** Types of defaults that the help shows as they are. */
const SHOWN: ReadonlySet<string> = new Set(['string', 'number'])

function collect(given: Map<OptionName, string>, name: OptionName, row: Option<unknown>, value: string): string {
  const before = given.get(name)
  const joined =
    before === undefined
      ? value
      : row.isCounted === true
        ? String(Number(before) + 1)
        : row.repeatable === true
          ? `${before}${row.separator ?? ','}${value}`
          : value
  given.set(name, joined)
  return joined
}

/** True for a flag without a value that was given. */
function isSetOnCommandLine(command: Command, row: Option<unknown>): boolean {
  const key = new CommanderOption(row.flag).attributeName()
  return command.getOptionValueSource(key) === 'cli'
}

const FOOTER = `Examples:
  $ pocketchain                                   the chain on 127.0.0.1:8545
  $ pocketchain demo                              a sponsored batch from the click to the sealed block
  $ pocketchain audit --rpc URL                   which promises an endpoint keeps
  $ pocketchain --port 0 --json                   any free port; the first line is JSON for programs
  $ pocketchain --cadence instant                 a block for every transaction, for test suites
  $ pocketchain -b 1 --flashblock-time 100        blocks every second, flashblocks every 100 ms
  $ pocketchain --clock manual --timestamp 1700000000   the same hashes in every run
  $ pocketchain --genesis genesis.json --import chain.rlp

Every option is also a variable (POCKETCHAIN_BLOCK_TIME) and a key (blockTime) of the nearest pocketchain.config.js or .json, from the
current folder upward. Flags override variables, variables override the file, also where two options exclude each other: --genesis FILE
switches off a forkUrl of the file.
Exit codes: 0 stopped, 1 could not start, 2 wrong option, 3 unusable file.`

const DEMO_FOOTER = `Examples:
  $ pocketchain demo                              you approve, on a page in your browser
  $ pocketchain demo --headless                   a script approves, for CI
  $ pocketchain demo --headless --cadence instant
  $ pocketchain demo --sponsor-policies policies.json   the same under your own policies

Exit codes: 0 completed or stopped by Ctrl-C; 1 a step failed, which the last line names; 2 wrong option, 3 unusable file.`

const COMPLETIONS_FOOTER = `Examples:
  $ pocketchain completions bash >> ~/.bashrc
  $ pocketchain completions zsh > "\${fpath[1]}/_pocketchain"
  $ pocketchain completions fish > ~/.config/fish/completions/pocketchain.fish`

const FLEET_FOOTER = `Examples:
  $ pocketchain fleet status --fleet nats://127.0.0.1:4222 --database postgres://127.0.0.1/pocketchain
  $ POCKETCHAIN_FLEET=… POCKETCHAIN_DATABASE=… pocketchain fleet hand-over   URLs with passwords stay out of process lists

Exit codes: 0 done; 1 a server cannot be reached, no process answers, or the database is damaged; 2 wrong option.`

const AUDIT_FOOTER = `Examples:
  $ pocketchain audit --rpc http://127.0.0.1:8545
  $ pocketchain audit --rpc https://mainnet.base.org --ws wss://mainnet.flashblocks.base.org/ws --minutes 10
  $ pocketchain audit --rpc https://rpc.example --json --minutes 1 > report.json
  $ pocketchain audit --rpc http://127.0.0.1:8545 --html report.html

Feeds, the first that the endpoint offers: the flashblock stream, eth_subscribe newFlashblocks and newFlashblockTransactions, pendingLogs, heads.
Exit codes: 0 reported; 2 wrong option, or an endpoint that cannot be watched; 3 the page cannot be written.`
