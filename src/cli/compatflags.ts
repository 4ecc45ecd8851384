// Flags of anvil, Hardhat and Ganache, so that a script written for them starts this node or gets an error with the reason.

/** The accounts of `ganache --deterministic`. */
const GANACHE_WORDS = ['--mnemonic', 'myth like bonus scare over problem client lizard pioneer submit female collect'] as const

/** Flags with the same meaning under another name. */
export const ALIASES: Readonly<Record<string, string>> = {
  '--blockTime': '--block-time',
  '--base-fee': '--block-base-fee-per-gas',
  '--block-gas-limit': '--gas-limit',
  '--no-mine': '--no-mining',
  '--init': '--genesis',
  '--auto-unlock': '--auto-impersonate',
  '--silent': '--quiet',
  '--no-create2': '--disable-default-create2-deployer',
  '--hostname': '--host',
  '--ipcpath': '--ipc',
  '--no-colour': '--no-color',
  '--rpc-url': '--fork-url',
  '--fork': '--fork-url',
  '--cups': '--compute-units-per-second',
  '--no-rpc-rate-limit': '--no-rate-limit',
  '--fork-retries': '--retries',
  '--chain': '--chain-id',
  '--no-console-log': '--disable-console-log',
  '--enable-trace-printing': '--print-traces',
  '--verbosity': '--verbose',
  '--tx-gas-limit': '--transaction-gas-cap',
  // Ganache
  '--server.port': '--port',
  '--server.host': '--host',
  '--chain.chainId': '--chain-id',
  '--chain.hardfork': '--hardfork',
  '-k': '--hardfork',
  '--wallet.mnemonic': '--mnemonic',
  '--wallet.totalAccounts': '--accounts',
  '--wallet.defaultBalance': '--balance',
  '--defaultBalanceEther': '--balance',
  '-e': '--balance',
  '--wallet.hdPath': '--derivation-path',
  '--hdPath': '--derivation-path',
  '--miner.blockTime': '--block-time',
  '--miner.blockGasLimit': '--gas-limit',
  '--gasLimit': '--gas-limit',
  '-l': '--gas-limit',
  '--miner.defaultGasPrice': '--gas-price',
  '--gasPrice': '--gas-price',
  '-g': '--gas-price',
  '--database.dbPath': '--data',
  '--db': '--data',
  '--fork.url': '--fork-url',
  '--fork.blockNumber': '--fork-block-number',
  '--chain.allowUnlimitedContractSize': '--disable-code-size-limit',
  '--allowUnlimitedContractSize': '--disable-code-size-limit',
  '--logging.quiet': '--quiet',
  '--logging.verbose': '--verbose',
}

/** Flags that are replaced by others. */
export const EXPANSIONS: Readonly<Record<string, readonly string[]>> = {
  '-d': GANACHE_WORDS,
  '--deterministic': GANACHE_WORDS,
  '--wallet.deterministic': GANACHE_WORDS,
}

const NO_UNLOCK = 'all accounts of the node are unlocked; impersonate others with --auto-impersonate or anvil_impersonateAccount'
const NO_KEYS =
  'private keys are not taken from the command line, where other users of the machine see them; use --mnemonic, --keystore or personal_importRawKey'

/** Unsupported features. Ignoring one would look like success, so the flag is an error. */
export const REFUSED: Readonly<Record<string, string>> = {
  '--config': 'name the options as flags, or in pocketchain.config.json; a configuration of Hardhat is a program of another tool',
  '--disable-pool-balance-checks': 'the pool checks balances; use anvil_setBalance for a sender without ether',
  '--account': `${NO_KEYS}; --accounts sets the number of dev accounts`,
  '--fork.network': 'name an endpoint of the chain with --fork-url <url>',
  '--wallet.accounts': NO_KEYS,
  '--unlock': NO_UNLOCK,
  '-u': NO_UNLOCK,
  '--wallet.unlockedAccounts': NO_UNLOCK,
  '--miner.instamine': 'use --cadence instant for a block per transaction, or --no-mining for blocks on request',
}

/** Flags without effect: true if a value follows, `number` if a number may. They are named once on stderr. */
export const IGNORED: Readonly<Record<string, boolean | 'number'>> = {
  '--threads': true,
  '-j': true,
  '--memory-limit': true,
  '--celo': false,
  '--optimism': false,
  '--network': true,
  '-n': true,
  '--mixed-mining': false,
  '--slots-in-an-epoch': true,
  '--disable-block-gas-limit': false,
  '--disable-min-priority-fee': false,
  '--max-persisted-states': true,
  '--prune-history': 'number',
  '--transaction-block-keeper': true,
  '--steps-tracing': false,
  '--no-request-size-limit': false,
  '--color': true,
  '--jobs': true,
  '--max-transactions': true,
  '--disable-gas-limit': false,
  '--no-priority-fee': false,
  '--tracing': false,
  '--enable-tx-gas-limit': false,
  '--md': false,
  '--odyssey': false,
  '--logging.debug': false,
  '--wallet.lock': false,
  '--chain.vmErrorsOnRPCResponse': true,
  '--chain.asyncRequestProcessing': true,
  '--miner.extraData': true,
  '--server.ws': true,
  '-i': true,
  '--networkId': true,
  '--network-id': true,
  '--chain.networkId': true,
}

interface TranslatedFlags {
  readonly args: readonly string[]
  /** flags that were removed */
  readonly ignored: readonly string[]
  /** the first flag of an unsupported feature, with its sentence */
  readonly refused: { readonly flag: string; readonly sentence: string } | null
}

/** Replaces aliases and removes ignored flags, up to `--`. */
export function translateFlags(argv: readonly string[]): TranslatedFlags {
  const args: string[] = []
  const ignored: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i] ?? ''
    if (arg === '--') return { args: [...args, ...argv.slice(i)], ignored, refused: null }
    const [flag, value] = split(arg)
    const sentence = own(REFUSED, flag)
    if (sentence !== undefined) return { args, ignored, refused: { flag, sentence } }
    const hasValue = own(IGNORED, flag)
    const expansion = own(EXPANSIONS, flag)
    if (expansion !== undefined) {
      args.push(...expansion)
      continue
    }
    if (hasValue === undefined) {
      const name = own(ALIASES, flag) ?? flag
      args.push(value === null ? name : `${name}=${value}`)
      continue
    }
    ignored.push(flag)
    const next = argv[i + 1] ?? '-'
    const isValue = hasValue === 'number' ? /^\d+$/.test(next) : hasValue && !next.startsWith('-')
    if (isValue && value === null) i++
  }
  return { args, ignored, refused: null }
}

/** Reads own properties only: a flag may be called `constructor`. */
function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

/** Splits `--port=1` into flag and value; short flags are not split. */
function split(arg: string): readonly [string, string | null] {
  const at = arg.startsWith('--') ? arg.indexOf('=') : -1
  return at < 0 ? [arg, null] : [arg.slice(0, at), arg.slice(at + 1)]
}
