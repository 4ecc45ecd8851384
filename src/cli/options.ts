import { MAX_FIRST_BLOCK, MAX_FLASHBLOCK_MS, MIN_FLASHBLOCK_MS } from '../chain/index.ts'
import type { CadenceKind, ChaosName, PoolOrder } from '../chain/index.ts'
import { COMPAT } from '../compat.ts'
import type { Role } from '../fleet/index.ts'
import type { CompatName, LatestState } from '../compat.ts'
import type { Tier1Mode } from '../evm/index.ts'
import type { ChainType } from '../index.ts'
import { anything } from '../jsonrpc/schema.ts'
import type { Schema } from '../jsonrpc/schema.ts'
import type { BundlerRules } from '../bundler/index.ts'
import type { Policy } from '../wallet/index.ts'
import { VERBOSITY } from './log/verbosity.ts'
import {
  blockGas,
  ether,
  forkUrl,
  fundedAccounts,
  chainId,
  host,
  httpHeader,
  ipcPath,
  level,
  listenHost,
  listOf,
  nameOf,
  nodeUrl,
  nullIfFalse,
  origin,
  seconds,
  secretUrl,
  seed64,
  text,
  toggle,
  transactionHash,
  wei,
  wholeNumber,
} from './values.ts'

/** One option. Flag, variable, configuration key, help and docs derive from this row. */
export interface Option<T> {
  /** as commander writes it: `-p, --port <number>` */
  readonly flag: string
  /** title of its section in help and docs */
  readonly section: string
  /** one line of help */
  readonly help: string
  /** parses the text of a flag or variable and the value of a configuration file */
  readonly schema: Schema<T>
  readonly default: T
  /** shown in the help instead of the default value */
  readonly defaultText?: string
  /** variables of other nodes, accepted in addition to POCKETCHAIN_… */
  readonly variables?: readonly string[]
  /** may be given several times; the values are joined by `separator` */
  readonly repeatable?: boolean
  /** a comma by default */
  readonly separator?: '\n'
  /** a flag without a value whose value is how often it is given */
  readonly isCounted?: boolean
}

/** The sponsor's policies: the path of a file, or a list in the configuration file. */
export type PolicySource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'list'; readonly list: readonly unknown[]; readonly source: string }

/** The faults of `--chaos`: a named profile, the path of a file, or rates in the configuration file. */
export type ChaosSource =
  | { readonly kind: 'name'; readonly name: ChaosName }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'profile'; readonly profile: unknown }

const CHAOS_NAMES: Readonly<Record<ChaosName, 0>> = { calm: 0, normal: 0, rough: 0 }

function isChaosName(text: string): text is ChaosName {
  return Object.hasOwn(CHAOS_NAMES, text)
}

/** Bits of entropy by the number of words of a mnemonic (BIP-39). */
export const MNEMONIC_BITS = { '12': 128, '15': 160, '18': 192, '21': 224, '24': 256 } as const

/** All options. The key is the name in a configuration file. */
export const OPTIONS = {
  ...section('Server', {
    port: option({
      flag: '-p, --port <number>',
      help: 'port for HTTP and WebSocket, 0 for any free port',
      schema: wholeNumber(0, 65_535),
      default: 8_545,
    }),
    host: option({
      flag: '--host <address>',
      help: 'address to listen on; printed URLs have the first one',
      schema: listOf(listenHost),
      default: ['127.0.0.1'],
      defaultText: '127.0.0.1',
      repeatable: true,
      variables: ['ANVIL_IP_ADDR'],
    }),
    ipc: optional({
      flag: '--ipc [path]',
      help: 'Unix socket (on Windows a named pipe) that serves JSON-RPC too, /tmp/anvil.ipc without a path as in anvil',
      schema: nullIfFalse(ipcPath),
    }),
    explorerOf: optional({
      flag: '--explorer-of <url>',
      help: 'serve a read-only explorer for the node at this URL; no chain is started',
      schema: nodeUrl,
      defaultText: 'this node',
    }),
    allowOrigin: option({
      flag: '--allow-origin <origin>',
      help: 'origin whose pages may use the node, * for all; pages on loopback always may',
      schema: listOf(origin),
      default: [],
      defaultText: 'loopback',
      repeatable: true,
    }),
    allowHost: option({
      flag: '--allow-host <name>',
      help: 'host name or address other than loopback under which pages may reach the node; programs, which send no Origin, may use any name',
      schema: listOf(host),
      default: [],
      defaultText: 'loopback',
      repeatable: true,
    }),
    noCors: toggleOption({
      flag: '--no-cors',
      help: 'send no CORS headers; only pages of the node itself may use it',
    }),
    keys: optional({
      flag: '--keys <file>',
      help: 'JSON file of API keys for /public, with rates and method classes; it is read again when it changes',
      schema: text,
      defaultText: 'everyone may use /public',
    }),
    tlsFolder: optional({
      flag: '--tls-folder <dir>',
      help: 'folder of the https certificates and their certificate authority, which are created when first needed and valid on this machine only',
      schema: text,
      defaultText: '~/.pocketchain',
    }),
    compat: option({
      flag: '--compat <profile>',
      help: 'compatibility profile for behaviour in which nodes differ: default, geth, strict, or anvil, which includes --latest promised and --transaction-gas-cap 0',
      schema: nameOf<CompatName>(COMPAT),
      default: 'default',
    }),
    clientVersion: optional({
      flag: '--client-version <text>',
      help: 'result of web3_clientVersion on the dedicated tier; tools such as hardhat-network-helpers accept known dev nodes only',
      schema: text,
      defaultText: 'anvil/v1.7.1/pocketchain/<version>',
    }),
    latest: optional({
      flag: '--latest <state>',
      help: 'state of reads at `latest`: sealed, or promised, which includes pre-confirmed transactions (for cast, forge and Ignition)',
      schema: nameOf<LatestState>({ sealed: 0, promised: 0 }),
      defaultText: 'sealed; promised with --compat anvil',
    }),
    workers: optional({
      flag: '--workers <number>',
      help: 'worker threads for long calls; 0 starts no thread at all, also none that recovers the senders of transactions',
      schema: wholeNumber(0, 64),
      defaultText: 'cores minus one, at most 4; 2 on two cores, 0 on one',
    }),
    tier1: option({
      flag: '--tier1 <mode>',
      help: 'on compiles bytecode that uses much gas to WebAssembly, off interprets all, shadow does both and reports differences',
      schema: nameOf<Tier1Mode>({ off: 0, on: 0, shadow: 0 }),
      default: 'on',
    }),
    autoImpersonate: toggleOption({
      flag: '--auto-impersonate',
      help: 'eth_sendTransaction works from any address',
    }),
  }),
  ...section('Accounts', {
    accounts: option({
      flag: '-a, --accounts <number>',
      help: 'number of dev accounts',
      schema: wholeNumber(0, 1_000),
      default: 10,
    }),
    balance: optional({
      flag: '--balance <eth>',
      help: 'balance of each dev account',
      schema: ether,
      defaultText: '10000, or that of the genesis file',
    }),
    mnemonic: optional({
      flag: '-m, --mnemonic <words>',
      help: 'mnemonic of the dev accounts',
      schema: text,
      defaultText: 'test test … junk',
    }),
    mnemonicRandom: optional({
      flag: '--mnemonic-random [words]',
      help: 'use a random mnemonic of 12, 15, 18, 21 or 24 words',
      schema: nullIfFalse(nameOf<keyof typeof MNEMONIC_BITS>(MNEMONIC_BITS, { true: '12' })),
    }),
    mnemonicSeedUnsafe: optional({
      flag: '--mnemonic-seed-unsafe <number>',
      help: 'draw the mnemonic from this seed, as anvil; everyone who has the seed has the keys',
      schema: seed64,
    }),
    fundAccounts: option({
      flag: '--fund-accounts <address[:eth]>',
      help: 'further account with ether from the start, 10000 or the amount after the colon',
      schema: fundedAccounts,
      default: [],
      defaultText: 'none',
      repeatable: true,
    }),
    derivationPath: option({
      flag: '--derivation-path <path>',
      help: 'derivation path of the dev accounts, without the index',
      schema: text,
      default: "m/44'/60'/0'/0/",
    }),
  }),
  ...section('Wallet', {
    noWallet: toggleOption({
      flag: '--no-wallet',
      help: 'start without the wallet; /wallet is 404',
    }),
    walletPolicy: option({
      flag: '--wallet-policy <name>',
      help: 'answer to requests of apps: ask the user on the approval page, approve all or reject all',
      schema: nameOf<Policy>({ ask: 0, approve: 0, reject: 0 }),
      default: 'ask',
    }),
    keystore: optional({
      flag: '--keystore <file>',
      help: 'file with further accounts of the wallet; its password is in POCKETCHAIN_KEYSTORE_PASSWORD',
      schema: text,
    }),
    keystorePasswordFile: optional({
      flag: '--keystore-password-file <file>',
      help: 'file whose first line is the password of the keystore',
      schema: text,
    }),
    allowHttpLoopback: toggleOption({
      flag: '--allow-http-loopback',
      help: 'accept http URLs of paymaster services on this machine; others must be https',
    }),
  }),
  ...section('User operations', {
    noBundler: toggleOption({
      flag: '--no-bundler',
      help: 'start without the bundler: no ERC-4337 methods, and no sponsored batches in the wallet',
    }),
    bundlerRules: optional<BundlerRules>({
      flag: '--bundler-rules <name>',
      help: 'rules of ERC-7562: strict refuses violations as a public bundler does, relaxed accepts them with a warning, off does not look for them',
      schema: nameOf<BundlerRules>({ strict: 0, relaxed: 0, off: 0 }),
      defaultText: 'relaxed; strict in a fleet',
    }),
    bundlerMinStake: optional({
      flag: '--bundler-min-stake <wei>',
      help: 'least stake with which a factory or paymaster counts as staked',
      schema: wei,
      defaultText: '0.1 ether',
    }),
    bundlerUnstakeDelay: optional({
      flag: '--bundler-unstake-delay <seconds>',
      help: 'least delay for which that stake is bound',
      schema: wholeNumber(0, 0xffff_ffff),
      defaultText: '86400',
    }),
    noSponsor: toggleOption({
      flag: '--no-sponsor',
      help: 'start without the gas sponsor; /paymaster and /sponsor are 404',
    }),
    sponsorPolicies: optional<PolicySource>({
      flag: '--sponsor-policies <file>',
      help: 'JSON file with the list of policies of the sponsor; a configuration file may contain the list itself',
      schema: {
        json: anything.json,
        parse: (value, source) =>
          Array.isArray(value) ? { kind: 'list', list: value, source } : { kind: 'file', path: text.parse(value, source) },
      },
      defaultText: 'sponsor everything',
    }),
  }),
  ...section('Chain', {
    chainId: optional({
      flag: '--chain-id <number>',
      help: 'chain id, or the name of a chain such as base or base-sepolia',
      schema: chainId,
      defaultText: '31337, or that of the genesis file',
    }),
    chainType: optional({
      flag: '--chain-type <type>',
      help: 'op: L1 attributes, data fees and predeploys of an OP chain; l1: none of these, as Ethereum',
      schema: nameOf<ChainType>({ op: 0, l1: 0 }),
      defaultText: 'op, or that of the genesis file or the forked chain',
    }),
    hardfork: optional({
      flag: '--hardfork <name>',
      help: 'hardfork, an OP name such as karst or an L1 name such as prague',
      schema: text,
      defaultText: 'azul, osaka with --chain-type l1, or that of the genesis file or the forked chain',
    }),
    codeSizeLimit: optional({
      flag: '--code-size-limit <bytes>',
      help: 'maximum size of contract code',
      schema: wholeNumber(1, 0xffff_ffff),
      defaultText: '24576, EIP-170',
    }),
    disableCodeSizeLimit: toggleOption({
      flag: '--disable-code-size-limit',
      help: 'no limit on contract code',
    }),
    disableCreate2: toggleOption({
      flag: '--disable-default-create2-deployer',
      help: 'genesis without the CREATE2 factories, for scripts that deploy them',
    }),
    withAccounts: toggleOption({
      flag: '--with-accounts',
      help: 'genesis with factories of smart accounts at their published addresses: Safe 1.4.1 with its ERC-4337 module, SimpleAccount 0.6 to 0.8',
    }),
  }),
  ...section('Fork', {
    forkUrl: option({
      flag: '-f, --fork-url <url>',
      help: 'fork the chain of this JSON-RPC endpoint, with @BLOCK from that block; repeated: the next one is used when one fails',
      schema: listOf(forkUrl),
      default: [],
      defaultText: 'no fork',
      repeatable: true,
    }),
    forkBlockNumber: optional({
      flag: '--fork-block-number <number>',
      help: 'block to fork from; negative: relative to the head',
      schema: wholeNumber(-1_000_000_000, Number.MAX_SAFE_INTEGER),
      defaultText: '2 below the head of an OP chain, 5 of others',
    }),
    forkTransactionHash: optional({
      flag: '--fork-transaction-hash <hash>',
      help: 'fork from the block before this transaction, and execute the transactions of its block up to it',
      schema: transactionHash,
    }),
    forkChainId: optional({
      flag: '--fork-chain-id <number>',
      help: 'chain id of the forked chain; with --fork-block-number and a cached block the start needs no request',
      schema: wholeNumber(1, Number.MAX_SAFE_INTEGER),
    }),
    forkHeader: option({
      flag: '--fork-header <header>',
      help: 'HTTP header of requests to the host of the first --fork-url, such as "Authorization: Bearer …"; in the variable one per line',
      schema: listOf(httpHeader, '\n'),
      default: [],
      repeatable: true,
      separator: '\n',
    }),
    timeout: optional({
      flag: '--timeout <ms>',
      help: 'time limit of a request to the forked chain',
      schema: wholeNumber(1, 3_600_000),
      defaultText: '45000',
    }),
    retries: optional({
      flag: '--retries <number>',
      help: 'how often a failed request to the forked chain is repeated',
      schema: wholeNumber(0, 1_000),
      defaultText: '5',
    }),
    forkRetryBackoff: optional({
      flag: '--fork-retry-backoff <ms>',
      help: 'pause before a request is repeated, which doubles each time',
      schema: wholeNumber(0, 600_000),
      defaultText: '1000',
    }),
    computeUnitsPerSecond: optional({
      flag: '--compute-units-per-second <number>',
      help: 'rate limit of the endpoint, 20 units per request',
      schema: wholeNumber(1, 1_000_000_000),
      defaultText: 'adapts to refusals',
    }),
    noRateLimit: toggleOption({
      flag: '--no-rate-limit',
      help: 'send requests to the forked chain as fast as possible',
    }),
    noStorageCaching: toggleOption({
      flag: '--no-storage-caching',
      help: 'keep nothing of the forked chain on disk',
    }),
    cachePath: optional({
      flag: '--cache-path <dir>',
      help: 'folder in which fetched state is kept',
      schema: text,
      defaultText: "pocketchain in the user's cache folder; none for a URL of this computer, whose state may change at the same block hash",
    }),
  }),
  ...section('Blocks and time', {
    cadence: optional({
      flag: '--cadence <name>',
      help: 'preconf: flashblocks every 200 ms; native: a block every 200 ms; instant: a block per transaction; manual: blocks on request',
      schema: nameOf<CadenceKind>({ preconf: 0, native: 0, instant: 0, manual: 0 }, { automine: 'instant', flashblocks: 'preconf' }),
      defaultText: 'preconf',
    }),
    noMining: toggleOption({
      flag: '--no-mining',
      help: 'the same as --cadence manual',
    }),
    blockTime: optional({
      flag: '-b, --block-time <seconds>',
      help: 'time between sealed blocks',
      schema: seconds,
      defaultText: '2; native 0.2',
    }),
    flashblockTime: optional({
      flag: '--flashblock-time <ms>',
      help: 'time between flashblocks, under preconf',
      schema: wholeNumber(MIN_FLASHBLOCK_MS, MAX_FLASHBLOCK_MS),
      defaultText: '200',
    }),
    clock: optional({
      flag: '--clock <kind>',
      help: 'real: the time of the machine, also on a fork of an old block; manual: time advances with pocketchain_tick only',
      schema: nameOf<'real' | 'manual'>({ real: 0, manual: 0 }),
      defaultText: 'real; a fork continues from the time of its block',
    }),
    number: optional({
      flag: '--number <number>',
      help: 'number of the first block; only in memory, and state files then contain accounts but no blocks',
      schema: wholeNumber(0, MAX_FIRST_BLOCK),
      defaultText: '0, or that of the genesis file',
    }),
    timestamp: optional({
      flag: '--timestamp <seconds>',
      help: 'Unix time of block 0',
      schema: wholeNumber(1, 0xffff_ffff, 'seconds since 1970, such as 1700000000,'),
      defaultText: 'now, or that of the genesis file',
    }),
    chaos: optional<ChaosSource>({
      flag: '--chaos <profile>',
      help: 'faults at random from --seed: calm, normal, rough, or a JSON file of rates; a configuration file may contain the rates',
      schema: {
        json: anything.json,
        parse: (value, source) => {
          if (typeof value === 'object' && value !== null) return { kind: 'profile', profile: value }
          const given = text.parse(value, source)
          return isChaosName(given) ? { kind: 'name', name: given } : { kind: 'file', path: given }
        },
      },
      defaultText: 'no faults',
    }),
    seed: optional({
      flag: '--seed <text>',
      help: 'seed of all randomness; with --clock manual and --timestamp two runs give the same hashes',
      schema: text,
      defaultText: 'pocketchain',
    }),
    order: option({
      flag: '--order <by>',
      help: 'order of pool transactions: fees or fifo',
      schema: nameOf<PoolOrder>({ fees: 0, fifo: 0 }),
      default: 'fees',
    }),
  }),
  ...section('Gas and fees', {
    gasLimit: optional({
      flag: '--gas-limit <gas>',
      help: 'gas limit of a block',
      schema: blockGas,
      defaultText: '60000000',
    }),
    baseFee: optional({
      flag: '--block-base-fee-per-gas <wei>',
      help: 'base fee of block 0',
      schema: wei,
      defaultText: '1000000000, or that of the genesis file',
    }),
    transactionGasCap: optional({
      flag: '--transaction-gas-cap <gas>',
      help: 'maximum gas limit of a transaction (EIP-7825), 0 for no cap',
      schema: wei,
      defaultText: '16777216; 0 with --compat anvil',
    }),
    minBaseFee: optional({
      flag: '--min-base-fee <wei>',
      help: 'minimum base fee',
      schema: wei,
      defaultText: '5000000',
    }),
    gasPrice: optional({
      flag: '--gas-price <wei>',
      help: 'minimum gas price of a transaction',
      schema: wei,
      defaultText: '0',
    }),
  }),
  ...section('Simulated L1', {
    l1BaseFee: optional({
      flag: '--l1-base-fee <wei>',
      help: 'base fee of the simulated L1, which determines the data fee',
      schema: wei,
      defaultText: '1000000000',
    }),
    l1BlobBaseFee: optional({
      flag: '--l1-blob-base-fee <wei>',
      help: 'blob base fee of the simulated L1',
      schema: wei,
      defaultText: '1',
    }),
  }),
  ...section('Fleet', {
    fleet: optional({
      flag: '--fleet <url>',
      help: 'join the fleet of this NATS server (nats://user:password@host:4222; several of a cluster with commas); needs --database',
      schema: secretUrl('a URL such as nats://127.0.0.1:4222', ['nats', 'tls']),
      defaultText: 'one process',
    }),
    database: optional({
      flag: '--database <url>',
      help: 'PostgreSQL database of the fleet (postgres://user:password@host:5432/name)',
      schema: secretUrl('a URL such as postgres://user@127.0.0.1:5432/pocketchain', ['postgres', 'postgresql']),
      defaultText: 'none',
    }),
    role: option({
      flag: '--role <role>',
      help: 'part in the fleet: the sequencer makes blocks, a replica follows it and answers reads, a standby is a replica that takes over',
      schema: nameOf<Role>({ sequencer: 0, standby: 0, replica: 0 }),
      default: 'sequencer',
    }),
  }),
  ...section('Storage', {
    data: optional({
      flag: '--data <dir>',
      help: 'persist the chain in this directory and continue from it; every sealed block is durable before it is announced',
      schema: text,
      defaultText: 'in memory',
    }),
    prune: optional({
      flag: '--prune <blocks>',
      help: 'with --data: number of blocks whose state is kept; blocks, receipts and logs are all kept',
      schema: wholeNumber(1, 1_000_000_000),
      defaultText: 'all',
    }),
    stateHistory: optional({
      flag: '--state-history <blocks>',
      help: 'without --data: number of blocks whose state is kept; older state is error 4444',
      schema: wholeNumber(1, 1_000_000_000),
      defaultText: '8192',
    }),
  }),
  ...section('Start from files', {
    genesis: optional({
      flag: '--genesis <file>',
      help: "genesis in geth's JSON format; it gives the dev accounts no ether unless they are in it or --balance is set",
      schema: text,
    }),
    import: optional({
      flag: '--import <file>',
      help: 'blocks to import before the start, in the RLP format of geth export',
      schema: text,
    }),
    loadState: optional({
      flag: '--load-state <file>',
      help: "continue from a state file of pocketchain or anvil (balances are kept), or take the accounts of a genesis in geth's format",
      schema: text,
    }),
    dumpState: optional({
      flag: '--dump-state <file>',
      help: 'write a state file when the node stops, which anvil reads too',
      schema: text,
    }),
    state: optional({
      flag: '--state <file>',
      help: 'both: continue from this file if it exists, and write it when the node stops',
      schema: text,
    }),
    preserveHistoricalStates: toggleOption({
      flag: '--preserve-historical-states',
      help: 'also write the state of older blocks to state files, for the chain that continues from them (with --data at most the last 64)',
    }),
    stateInterval: optional({
      flag: '-s, --state-interval <seconds>',
      help: 'also write the state file at this interval',
      schema: seconds,
    }),
  }),
  ...section('Output', {
    configOut: optional({
      flag: '--config-out <file>',
      help: 'write accounts and settings as JSON with the keys of anvil',
      schema: text,
    }),
    quiet: toggleOption({
      flag: '-q, --quiet',
      help: 'print errors only',
    }),
    json: toggleOption({
      flag: '--json',
      help: 'one JSON line when ready, then one per event',
    }),
    verbose: option({
      flag: '-v, --verbose',
      help: 'print more, up to -vvvv: blocks and requests, errors of requests, call trees of failed transactions, call trees of all',
      schema: level,
      default: 0,
      defaultText: VERBOSITY[0].prints,
      isCounted: true,
    }),
    abi: option<readonly string[]>({
      flag: '--abi <path>',
      help: 'JSON ABI, artifact or folder of them, for the names of custom errors, functions and events in the log',
      schema: listOf(text),
      default: [],
      defaultText: 'out/ and artifacts/ of the current folder, when a name is needed',
      repeatable: true,
    }),
    printTraces: toggleOption({
      flag: '--print-traces',
      help: 'print the call tree of every transaction, as -vvvv',
    }),
    disableConsoleLog: toggleOption({
      flag: '--disable-console-log',
      help: 'do not print console.log of contracts',
    }),
    noColor: toggleOption({
      flag: '--no-color',
      help: 'plain text',
    }),
  }),
} as const

/** The value of each option, typed by its schema. */
export type Settings = { readonly [K in OptionName]: (typeof OPTIONS)[K]['default'] }
export type OptionName = keyof typeof OPTIONS

/** All rows, without the types of their values. */
export const OPTION_ROWS: readonly (readonly [OptionName, Option<unknown>])[] = Object.entries(OPTIONS) as [OptionName, Option<unknown>][] // keys of the literal above

/** Titles of the sections, in order. */
export const SECTIONS: readonly string[] = [...new Set(OPTION_ROWS.map(([, row]) => row.section))]

/** `POCKETCHAIN_BLOCK_TIME` for `--block-time`. */
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

type OptionRow<T> = Omit<Option<T>, 'section'>

/** Adds the title of their section to the rows. */
function section<R extends Readonly<Record<string, OptionRow<unknown>>>>(
  title: string,
  rows: R,
): { readonly [K in keyof R]: R[K] & { readonly section: string } } {
  const titled = Object.entries(rows).map(([name, row]) => [name, { ...row, section: title }])
  return Object.fromEntries(titled) as ReturnType<typeof section<R>> // the same keys, each with its section
}

function option<T>(row: Omit<OptionRow<T>, 'default'> & { readonly default: NoInfer<T> }): OptionRow<T> {
  return row
}

/** Boolean option, false by default. */
function toggleOption(row: Omit<OptionRow<boolean>, 'schema' | 'default'>): OptionRow<boolean> {
  return { ...row, schema: toggle, default: false }
}

/** Option with the default null; the module that uses it decides. */
function optional<T>(row: Omit<OptionRow<T>, 'default'>): OptionRow<T | null> {
  return { ...row, default: null }
}
