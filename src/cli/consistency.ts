import { CommandError, EXIT } from './exit.ts'
import { OPTION_ROWS, longName } from './options.ts'
import type { Option, OptionName, Settings } from './options.ts'

/** The value of an option and its source. A higher rank overrides a lower one. */
export interface Resolved {
  readonly value: unknown
  readonly rank: (typeof RANK)[keyof typeof RANK]
  /** such as `--port` or `POCKETCHAIN_PORT` */
  readonly source: string
}

export const RANK = { default: 0, file: 1, variable: 2, flag: 3 } as const

type Values = Map<OptionName, Resolved>

/**
 * Removes options that have no effect, by two rules. Of two options that exclude each other, the one of the higher rank is used and the other one has
 * its default, as if it were not there; two of the same rank are an error. An option that requires another one is an error if it is a flag; a
 * variable or a key of the file, which may be meant for other starts, is named in a warning. Returns the warnings. Throws CommandError.
 */
export function settleOptions(values: Values): readonly string[] {
  const overridden = new Set<OptionName>()
  for (const rank of [RANK.flag, RANK.variable]) {
    for (const { pair, when } of EXCLUSIONS) {
      const [higher, lower] = pair.toSorted((a, b) => rankOf(values, b) - rankOf(values, a))
      if (rankOf(values, higher!) !== rank || rankOf(values, lower!) === rank || !excludes(values, pair, when)) continue
      overridden.add(lower!)
      reset(values, lower!)
    }
  }
  for (const { pair, reason, when } of EXCLUSIONS) {
    if (reason === null || !excludes(values, pair, when)) continue
    const [first, second] = pair.map((name) => values.get(name)!.source)
    throw new CommandError(EXIT.usage, `${first} and ${second} exclude each other: ${reason}; omit one of them`)
  }
  const warnings: string[] = []
  for (const { name, any, text, isStrict } of REQUIREMENTS) {
    if (!isGiven(values, name) || any.some((each) => isGiven(values, each))) continue
    const { source, rank } = values.get(name)!
    if (rank === RANK.flag || isStrict === true) throw new CommandError(EXIT.usage, `${source} ${text}`)
    if (!any.some((each) => overridden.has(each))) warnings.push(`${source} has no effect: it ${text}`)
    reset(values, name)
  }
  return warnings
}

interface Exclusion {
  readonly pair: readonly [OptionName, OptionName]
  /** null: the module that uses them reports two of the same rank */
  readonly reason: string | null
  /** false: these two values can be combined */
  readonly when?: (settings: Settings) => boolean
}

const NO_CHAIN = 'it starts no chain, and shows the one of another node'
/** Options that apply to the pages of `--explorer-of`, or are harmless with it. */
const OF_THE_EXPLORER: ReadonlySet<OptionName> = new Set([
  'explorerOf',
  'port',
  'host',
  'allowOrigin',
  'allowHost',
  'quiet',
  'json',
  'verbose',
  'noColor',
])

const FORK_BLOCK = 'the chain begins with the fork block'
const FLEET_CHAIN = 'the chain of a fleet is that of its database'
const STATE_ALONE = '--state replaces --load-state and --dump-state'
const ONE_MNEMONIC = 'each determines the dev accounts'

/** Options of which one has no effect with the other. */
const EXCLUSIONS: readonly Exclusion[] = [
  ...OPTION_ROWS.filter(([name]) => !OF_THE_EXPLORER.has(name)).map(([name]) => exclusion('explorerOf', name, NO_CHAIN)),

  exclusion('noSponsor', 'sponsorPolicies', 'no sponsor is started'),
  exclusion('noWallet', 'walletPolicy', 'no wallet is started'),
  exclusion('noWallet', 'allowHttpLoopback', 'no wallet is started'),
  exclusion('noWallet', 'keystore', 'no wallet is started'),
  exclusion('noBundler', 'bundlerRules', 'no bundler is started'),
  exclusion('noBundler', 'bundlerMinStake', 'no bundler is started'),
  exclusion('noBundler', 'bundlerUnstakeDelay', 'no bundler is started'),
  exclusion('noCors', 'allowOrigin', 'only pages of the node itself may use it'),

  exclusion('mnemonic', 'mnemonicRandom', ONE_MNEMONIC),
  exclusion('mnemonic', 'mnemonicSeedUnsafe', ONE_MNEMONIC),
  exclusion('mnemonicRandom', 'mnemonicSeedUnsafe', ONE_MNEMONIC),

  exclusion('disableCodeSizeLimit', 'codeSizeLimit', 'code has no limit or this one'),
  exclusion('chainType', 'l1BaseFee', 'a chain of type l1 has no data fee', ({ chainType }) => chainType === 'l1'),
  exclusion('chainType', 'l1BlobBaseFee', 'a chain of type l1 has no data fee', ({ chainType }) => chainType === 'l1'),

  exclusion('forkUrl', 'data', 'the directory keeps a chain from its block 0'),
  exclusion('forkUrl', 'genesis', FORK_BLOCK),
  exclusion('forkUrl', 'import', FORK_BLOCK),
  exclusion('forkUrl', 'number', FORK_BLOCK),
  exclusion('forkUrl', 'timestamp', "the time continues from the fork block's"),
  exclusion('forkBlockNumber', 'forkTransactionHash', 'each names the block to fork from'),

  exclusion('fleet', 'forkUrl', FLEET_CHAIN),
  exclusion('fleet', 'loadState', FLEET_CHAIN),
  exclusion('fleet', 'state', FLEET_CHAIN),
  exclusion('fleet', 'import', FLEET_CHAIN, ({ role }) => role !== 'sequencer'),
  exclusion('fleet', 'genesis', FLEET_CHAIN, ({ role }) => role !== 'sequencer'),

  exclusion('state', 'data', 'with --data, --load-state starts a new directory from a file, and --dump-state writes one'),
  exclusion('state', 'loadState', STATE_ALONE),
  exclusion('state', 'dumpState', STATE_ALONE),
  exclusion('data', 'stateHistory', '--prune limits the state that a directory keeps'),

  // cadence.ts
  exclusion('noMining', 'cadence', null, ({ cadence }) => cadence !== 'manual'),
  exclusion('noMining', 'blockTime', null),
  exclusion('noMining', 'flashblockTime', null),
  exclusion('cadence', 'blockTime', null, ({ cadence }) => cadence === 'instant' || cadence === 'manual'),
  exclusion('cadence', 'flashblockTime', null, ({ cadence }) => cadence !== 'preconf'),
]

function exclusion(first: OptionName, second: OptionName, reason: string | null, when?: Exclusion['when']): Exclusion {
  return { pair: [first, second], reason, ...(when === undefined ? {} : { when }) }
}

interface Requirement {
  readonly name: OptionName
  /** one of these has to be set */
  readonly any: readonly OptionName[]
  readonly text: string
  /** an error from every source: a process that does not join its fleet would begin a chain of its own */
  readonly isStrict?: true
}

/** Options that have no effect without `--fork-url`. */
export const OF_A_FORK = [
  'forkBlockNumber',
  'forkTransactionHash',
  'forkChainId',
  'forkHeader',
  'timeout',
  'retries',
  'forkRetryBackoff',
  'computeUnitsPerSecond',
  'noRateLimit',
  'noStorageCaching',
] as const satisfies readonly OptionName[] // not cachePath, which anvil accepts without a fork

/** Options that have no effect without another one. */
const REQUIREMENTS: readonly Requirement[] = [
  ...OF_A_FORK.map((name): Requirement => ({ name, any: ['forkUrl'], text: 'requires --fork-url <url>' })),
  { name: 'role', any: ['fleet', 'database'], text: 'needs --fleet <url> and --database <url>', isStrict: true },
  { name: 'keystorePasswordFile', any: ['keystore'], text: 'requires --keystore <file>' },
  { name: 'stateInterval', any: ['state', 'dumpState'], text: 'requires --state or --dump-state' },
  { name: 'prune', any: ['data', 'fleet'], text: 'requires --data <dir>; --state-history limits the state of a chain in memory' },
]

function excludes(values: Values, [first, second]: Exclusion['pair'], when: Exclusion['when']): boolean {
  return isGiven(values, first) && isGiven(values, second) && (when === undefined || when(settingsOf(values)))
}

export function settingsOf(values: ReadonlyMap<OptionName, Resolved>): Settings {
  return Object.fromEntries([...values].map(([name, { value }]) => [name, value])) as unknown as Settings // each value was parsed by the schema of its row
}

/** 0 for an option that is not given, or is off. */
function rankOf(values: Values, name: OptionName): number {
  return isGiven(values, name) ? values.get(name)!.rank : RANK.default
}

function isGiven(values: Values, name: OptionName): boolean {
  const { value, rank } = values.get(name)!
  return rank !== RANK.default && value !== null && value !== false && !(Array.isArray(value) && value.length === 0)
}

const ROWS: ReadonlyMap<OptionName, Option<unknown>> = new Map(OPTION_ROWS)

function reset(values: Values, name: OptionName): void {
  const row = ROWS.get(name)!
  values.set(name, { value: row.default, rank: RANK.default, source: `--${longName(row.flag)}` })
}
