import { ether, gas, hosts, integer, list, oneOf, orOff, seconds, text, timestamp, wei, yes } from './values.ts'
import type { Reader } from './values.ts'

/** One option: flag, variable, configuration key, help and docs are made from this row. */
export interface Option<T> {
  /** as commander writes it: `-p, --port <number>` */
  readonly flag: string
  readonly section: Section
  /** one line of help */
  readonly help: string
  readonly read: Reader<T>
  readonly default: T
  /** what help says instead of the default's own text */
  readonly defaultText?: string
  /** variables beyond POCKETCHAIN_…, for those who come from another node */
  readonly variables?: readonly string[]
  /** may be given several times; the values are joined by commas */
  readonly repeatable?: boolean
  /** for a list in a configuration file whose items are no text; `source` says where it stands */
  readonly readList?: (list: readonly unknown[], source: string) => T
}

/** Where the sponsor's policies stand: in a file of their own, or in the configuration file. */
export type PolicyPlace =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'list'; readonly list: readonly unknown[]; readonly source: string }

export type Section = (typeof SECTIONS)[number]

export const SECTIONS = [
  'Server',
  'Accounts',
  'Wallet',
  'User operations',
  'Chain',
  'Blocks and time',
  'Gas and fees',
  'Simulated L1',
  'Storage',
  'Start from files',
  'Output',
] as const

export const CADENCE_NAMES = ['preconf', 'native', 'instant', 'manual'] as const
export type CadenceName = (typeof CADENCE_NAMES)[number]

/** Every option the command knows. The key is its name in a configuration file. */
export const OPTIONS = {
  port: option({
    flag: '-p, --port <number>',
    section: 'Server',
    help: 'port for HTTP and WebSocket, 0 takes any free one',
    read: integer(0, 65_535),
    default: 8_545,
  }),
  host: option({
    flag: '--host <address>',
    section: 'Server',
    help: 'address to listen on',
    read: text,
    default: '127.0.0.1',
    variables: ['ANVIL_IP_ADDR'],
  }),
  allowOrigin: option({
    flag: '--allow-origin <origin>',
    section: 'Server',
    help: 'let pages of this origin use the node, * for all; pages on loopback always may',
    read: list,
    default: [],
    defaultText: 'loopback',
    repeatable: true,
  }),
  allowHost: option({
    flag: '--allow-host <name>',
    section: 'Server',
    help: 'a host name or address beyond loopback by which pages may reach this node; programs, which send no Origin, may use any name',
    read: hosts,
    default: [],
    defaultText: 'loopback',
    repeatable: true,
  }),
  noCors: option({
    flag: '--no-cors',
    section: 'Server',
    help: 'send no CORS headers; only pages served by the node itself may use it',
    read: yes,
    default: false,
  }),
  tlsFolder: optional({
    flag: '--tls-folder <dir>',
    section: 'Server',
    help: 'where the certificates of https are kept: those of an authority of this machine alone, made when first needed',
    read: text,
    defaultText: '~/.pocketchain',
  }),
  compat: option({
    flag: '--compat <profile>',
    section: 'Server',
    help: 'behaviour where nodes differ: default, geth, strict, or anvil, which includes --latest promised',
    read: oneOf(['default', 'geth', 'strict', 'anvil']),
    default: 'default',
  }),
  clientVersion: optional({
    flag: '--client-version <text>',
    section: 'Server',
    help: 'what web3_clientVersion returns on the dedicated tier; tools such as hardhat-network-helpers accept known dev nodes only',
    read: text,
    defaultText: 'anvil/v1.7.1/pocketchain/<version>',
  }),
  latest: optional({
    flag: '--latest <state>',
    section: 'Server',
    help: 'state that reads at `latest` see: sealed, or promised, which includes pre-confirmed transactions (for cast, forge and Ignition)',
    read: oneOf(['sealed', 'promised']),
    defaultText: 'sealed; promised with --compat anvil',
  }),
  workers: optional({
    flag: '--workers <number>',
    section: 'Server',
    help: 'threads for calls that take long, 0 to run them beside everything else',
    read: integer(0, 64),
    defaultText: 'one less than cores, but 2 on two, at most 4; none on a single one',
  }),
  tier1: option({
    flag: '--tier1 <mode>',
    section: 'Server',
    help: 'experimental, for code that burns much gas: on compiles it, shadow runs it both ways and reports differences',
    read: oneOf(['off', 'on', 'shadow']),
    default: 'off',
  }),
  autoImpersonate: option({
    flag: '--auto-impersonate',
    section: 'Server',
    help: 'eth_sendTransaction works from any address',
    read: yes,
    default: false,
  }),

  accounts: option({
    flag: '-a, --accounts <number>',
    section: 'Accounts',
    help: 'how many dev accounts',
    read: integer(0, 1_000),
    default: 10,
  }),
  balance: option({
    flag: '--balance <eth>',
    section: 'Accounts',
    help: 'what each of them holds',
    read: ether,
    default: 10_000n * 10n ** 18n,
    defaultText: '10000',
  }),
  mnemonic: optional({
    flag: '-m, --mnemonic <words>',
    section: 'Accounts',
    help: 'the words their keys come from',
    read: text,
    defaultText: 'test test … junk',
  }),
  mnemonicRandom: optional({
    flag: '--mnemonic-random [words]',
    section: 'Accounts',
    help: 'draw new words (12, 15, 18, 21 or 24) instead',
    read: orOff(oneOf(['12', '15', '18', '21', '24'], { true: '12' })),
  }),
  derivationPath: option({
    flag: '--derivation-path <path>',
    section: 'Accounts',
    help: 'where in the tree of keys the accounts begin',
    read: text,
    default: "m/44'/60'/0'/0/",
  }),

  noWallet: option({
    flag: '--no-wallet',
    section: 'Wallet',
    help: 'start the node alone; nothing is at /wallet',
    read: yes,
    default: false,
  }),
  walletPolicy: option({
    flag: '--wallet-policy <name>',
    section: 'Wallet',
    help: 'what becomes of what apps ask for: ask a person on the page, approve or reject it all',
    read: oneOf(['ask', 'approve', 'reject']),
    default: 'ask',
  }),
  keystore: optional({
    flag: '--keystore <file>',
    section: 'Wallet',
    help: 'accounts of the wallet beyond the dev accounts, in a file that the password in POCKETCHAIN_KEYSTORE_PASSWORD opens',
    read: text,
  }),
  keystorePasswordFile: optional({
    flag: '--keystore-password-file <file>',
    section: 'Wallet',
    help: 'the first line of this file is the password',
    read: text,
  }),
  allowHttpLoopback: option({
    flag: '--allow-http-loopback',
    section: 'Wallet',
    help: 'a sponsor that an app names may be reached over http on this machine; otherwise it must be https',
    read: yes,
    default: false,
  }),

  noBundler: option({
    flag: '--no-bundler',
    section: 'User operations',
    help: 'no bundler: the methods of ERC-4337 do not exist, and the wallet sponsors nothing',
    read: yes,
    default: false,
  }),
  noSponsor: option({
    flag: '--no-sponsor',
    section: 'User operations',
    help: 'no gas sponsor; nothing is at /paymaster and /sponsor',
    read: yes,
    default: false,
  }),
  sponsorPolicies: optional<PolicyPlace>({
    flag: '--sponsor-policies <file>',
    section: 'User operations',
    help: 'whom and what the sponsor pays for, as a list in JSON; in a configuration file the list itself may stand here',
    read: (path) => ({ kind: 'file', path: text(path) }),
    readList: (list, source) => ({ kind: 'list', list, source }),
    defaultText: 'everything',
  }),

  chainId: optional({
    flag: '--chain-id <number>',
    section: 'Chain',
    help: 'chain id',
    read: integer(1, Number.MAX_SAFE_INTEGER),
    defaultText: '31337, or that of the genesis file',
  }),
  chainType: option({
    flag: '--chain-type <type>',
    section: 'Chain',
    help: 'op: L1 attributes, data fees and predeploys of an OP chain; l1: none of these, as Ethereum',
    read: oneOf(['op', 'l1']),
    default: 'op',
  }),
  hardfork: optional({
    flag: '--hardfork <name>',
    section: 'Chain',
    help: 'newest rules in force, an OP name such as jovian or an L1 name such as prague',
    read: text,
    defaultText: 'the newest',
  }),
  codeSizeLimit: optional({
    flag: '--code-size-limit <bytes>',
    section: 'Chain',
    help: 'largest contract code',
    read: integer(1, 0xffff_ffff),
    defaultText: '24576, EIP-170',
  }),
  disableCodeSizeLimit: option({
    flag: '--disable-code-size-limit',
    section: 'Chain',
    help: 'no limit on contract code',
    read: yes,
    default: false,
  }),
  disableCreate2: option({
    flag: '--disable-default-create2-deployer',
    section: 'Chain',
    help: 'a genesis without the CREATE2 factories, for scripts that deploy them',
    read: yes,
    default: false,
  }),

  cadence: optional({
    flag: '--cadence <name>',
    section: 'Blocks and time',
    help: 'preconf: blocks promised every 200 ms; native: a block every 200 ms; instant: a block per transaction; manual: when told',
    read: oneOf(CADENCE_NAMES, { automine: 'instant', flashblocks: 'preconf' }),
    defaultText: 'preconf',
  }),
  noMining: option({
    flag: '--no-mining',
    section: 'Blocks and time',
    help: 'the same as --cadence manual',
    read: yes,
    default: false,
  }),
  blockTime: optional({
    flag: '-b, --block-time <seconds>',
    section: 'Blocks and time',
    help: 'time between sealed blocks',
    read: seconds,
    defaultText: '2; native 0.2',
  }),
  flashblockTime: optional({
    flag: '--flashblock-time <ms>',
    section: 'Blocks and time',
    help: 'time between flashblocks, under preconf',
    read: integer(10, 60_000),
    defaultText: '200',
  }),
  clock: option({
    flag: '--clock <kind>',
    section: 'Blocks and time',
    help: 'real, or manual: time stands still until pocketchain_tick moves it',
    read: oneOf(['real', 'manual']),
    default: 'real',
  }),
  timestamp: optional({
    flag: '--timestamp <seconds>',
    section: 'Blocks and time',
    help: 'Unix time of block 0',
    read: timestamp,
    defaultText: 'now',
  }),
  seed: optional({
    flag: '--seed <text>',
    section: 'Blocks and time',
    help: 'what randomness grows from; with --clock manual and --timestamp two runs give the same hashes',
    read: text,
    defaultText: 'pocketchain',
  }),
  order: option({
    flag: '--order <by>',
    section: 'Blocks and time',
    help: 'order of waiting transactions: fees or fifo',
    read: oneOf(['fees', 'fifo']),
    default: 'fees',
  }),

  gasLimit: optional({
    flag: '--gas-limit <gas>',
    section: 'Gas and fees',
    help: 'gas of a block',
    read: gas,
    defaultText: '60000000',
  }),
  baseFee: optional({
    flag: '--block-base-fee-per-gas <wei>',
    section: 'Gas and fees',
    help: 'base fee of block 0',
    read: wei,
    defaultText: '1000000000',
  }),
  transactionGasCap: optional({
    flag: '--transaction-gas-cap <gas>',
    section: 'Gas and fees',
    help: 'gas one transaction may ask for (EIP-7825), 0 for no cap',
    read: wei,
    defaultText: '16777216',
  }),
  minBaseFee: optional({
    flag: '--min-base-fee <wei>',
    section: 'Gas and fees',
    help: 'the base fee never falls below',
    read: wei,
    defaultText: '5000000',
  }),
  gasPrice: optional({
    flag: '--gas-price <wei>',
    section: 'Gas and fees',
    help: 'transactions that offer less are refused',
    read: wei,
    defaultText: '0',
  }),

  l1BaseFee: optional({
    flag: '--l1-base-fee <wei>',
    section: 'Simulated L1',
    help: 'base fee of the simulated L1; the data fee follows from it',
    read: wei,
    defaultText: '1000000000',
  }),
  l1BlobBaseFee: optional({
    flag: '--l1-blob-base-fee <wei>',
    section: 'Simulated L1',
    help: 'blob base fee of the simulated L1',
    read: wei,
    defaultText: '1',
  }),

  data: optional({
    flag: '--data <dir>',
    section: 'Storage',
    help: 'keep the chain in this directory and go on from there; every sealed block is on disk before it is announced',
    read: text,
    defaultText: 'in memory',
  }),
  prune: optional({
    flag: '--prune <blocks>',
    section: 'Storage',
    help: 'with --data: keep the state of so many blocks only; blocks, receipts and logs all stay',
    read: integer(1, 1_000_000_000),
    defaultText: 'all of it',
  }),
  stateHistory: optional({
    flag: '--state-history <blocks>',
    section: 'Storage',
    help: 'without --data: blocks whose state stays readable; older answers code 4444',
    read: integer(1, 1_000_000_000),
    defaultText: '8192',
  }),

  genesis: optional({
    flag: '--genesis <file>',
    section: 'Start from files',
    help: "genesis in geth's JSON format",
    read: text,
  }),
  import: optional({
    flag: '--import <file>',
    section: 'Start from files',
    help: 'blocks to run before the start, RLP as geth exports them',
    read: text,
  }),

  loadState: optional({
    flag: '--load-state <file>',
    section: 'Start from files',
    help: "go on from a state file, ours or anvil's; of a genesis in geth's format its accounts are taken",
    read: text,
  }),
  dumpState: optional({
    flag: '--dump-state <file>',
    section: 'Start from files',
    help: 'write the chain as a state file when the node ends, which anvil reads too',
    read: text,
  }),
  state: optional({
    flag: '--state <file>',
    section: 'Start from files',
    help: 'both: go on from this file when it is there, and write it at the end',
    read: text,
  }),
  stateInterval: optional({
    flag: '-s, --state-interval <seconds>',
    section: 'Start from files',
    help: 'write the state file every so often too',
    read: seconds,
  }),

  configOut: optional({
    flag: '--config-out <file>',
    section: 'Output',
    help: 'write accounts and settings as JSON, with the keys anvil uses',
    read: text,
  }),
  quiet: option({
    flag: '-q, --quiet',
    section: 'Output',
    help: 'print nothing but errors',
    read: yes,
    default: false,
  }),
  json: option({
    flag: '--json',
    section: 'Output',
    help: 'one JSON line when ready, then one per event',
    read: yes,
    default: false,
  }),
  verbose: option({
    flag: '-v, --verbose',
    section: 'Output',
    help: 'a line for every sealed block too',
    read: yes,
    default: false,
  }),
  noColor: option({
    flag: '--no-color',
    section: 'Output',
    help: 'plain text',
    read: yes,
    default: false,
  }),
} as const

/** Options of the table, typed by their readers. */
export type Settings = { readonly [K in OptionName]: (typeof OPTIONS)[K]['default'] }
export type OptionName = keyof typeof OPTIONS

/** The rows with their types forgotten, for those who treat all alike. */
export const OPTION_ROWS: readonly (readonly [OptionName, Option<unknown>])[] = Object.entries(OPTIONS) as [OptionName, Option<unknown>][] // keys of the literal above

/** `POCKETCHAIN_BLOCK_TIME` for `--block-time`: the long flag, so that help needs no second list. */
export function variableOf({ flag }: Option<unknown>): string {
  return `POCKETCHAIN_${longName(flag).toUpperCase().replaceAll('-', '_')}`
}

/** `block-time` of `-b, --block-time <seconds>`. */
export function longName(flag: string): string {
  return /--([a-z0-9-]+)/.exec(flag)?.[1] ?? flag
}

export function takesValue(flag: string): boolean {
  return flag.includes('<') || flag.includes('[')
}

function option<T>(row: Omit<Option<T>, 'default'> & { readonly default: NoInfer<T> }): Option<T> {
  return row
}

/** An option that may be absent: its default is decided where it is used. */
function optional<T>(row: Omit<Option<T>, 'default'>): Option<T | null> {
  return { ...row, default: null }
}
