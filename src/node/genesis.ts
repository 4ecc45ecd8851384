import {
  DEFAULT_CODE_SIZE_LIMIT,
  DEFAULT_FEE_PARAMETERS,
  DEFAULT_HARDFORK,
  DEFAULT_TRANSACTION_GAS_CAP,
  GenesisError,
  configOf,
  defaultGenesis,
  parseGenesis,
  smartAccountContracts,
} from '../chain/index.ts'
import { COMPAT } from '../compat.ts'
import type { Clock, DefaultGenesisOptions, FeeParameters, Genesis, GenesisCall } from '../chain/index.ts'
import { Address, EMPTY_CODE_HASH, Secp256k1 } from '../eth/index.ts'
import { OP_FORKS } from '../evm/index.ts'
import type { ChainConfig, L1Fork, OpFork, WriteSet } from '../evm/index.ts'
import type { Store } from '../store/index.ts'
import { bundlerKey, hasDefaultMnemonic, sponsorKeys } from './keys.ts'
import type { DevAccount } from './keys.ts'
import type { StartOptions, GenesisCalls, GenesisParts, PocketchainOptions } from './options.ts'

const CHAIN_ID = 31_337
const ETHER = 10n ** 18n
export const GAS_LIMIT = 60_000_000n
/** Balance of the bundler's account, which pays the gas of bundles and is refunded by them. */
const BUNDLER_BALANCE = 1_000n * ETHER
/** Balance of the sponsor for deposits beyond the initial ones. */
const SPONSOR_BALANCE = 1_000n * ETHER
const SPONSOR_DEPOSIT = 100n * ETHER
const BASE_FEE = 1_000_000_000n

export async function genesisPartsOf(options: PocketchainOptions): Promise<GenesisParts> {
  const hasAccounts = options.withAccounts === true && options.genesis === undefined
  return { genesisCalls: await genesisCallsOf(options), genesisContracts: hasAccounts ? await smartAccountContracts() : [] }
}

/** Returns the calls that deploy the sponsor's paymasters and their deposits. They are part of every genesis, so that a chain can be restarted with or without a sponsor. */
async function genesisCallsOf(options: PocketchainOptions): Promise<GenesisCalls> {
  const { genesis, stateFile, fork, chainId = CHAIN_ID } = options
  if (genesis !== undefined) return []
  // A state file may be of another chain.
  if (chainId === CHAIN_ID && hasDefaultMnemonic(options) && stateFile === undefined && fork === undefined) return 'precomputed'
  return sponsorCallsOf(options)
}

async function sponsorCallsOf(options: PocketchainOptions): Promise<readonly GenesisCall[]> {
  const { depositCall, sponsorDeployments } = await import('../paymaster/index.ts')
  const { owner, signer } = sponsorKeys(options)
  const deployments = sponsorDeployments(Secp256k1.address(owner), Secp256k1.address(signer))
  return deployments.flatMap((each) => [
    { to: each.deployer, data: each.data },
    { ...depositCall(each), value: SPONSOR_DEPOSIT },
  ])
}

/** Returns the number of the first block. A genesis that cannot be parsed is refused when it is used. */
export function firstBlockOf({ number, genesis }: PocketchainOptions): number {
  if (number !== undefined || genesis === undefined) return number ?? 0
  try {
    return parseGenesis(genesis, () => configOf(CHAIN_ID, DEFAULT_HARDFORK, 0, limitsOf({}))).number
  } catch (error) {
    if (error instanceof GenesisError) return 0
    throw error
  }
}

export function genesisOf(options: StartOptions, accounts: readonly DevAccount[], clock: Clock): Genesis {
  const limits = limitsOf(options)
  const hardfork = chainHardforkOf(options)
  if (options.genesis !== undefined) {
    let hasConfig = true
    // A genesis without hardforks gets the configured one from block 1 on; block 0 keeps its fields.
    const genesis = parseGenesis(
      options.genesis,
      (time) => {
        hasConfig = false
        return configOf(options.chainId ?? CHAIN_ID, hardfork, time + 1, limits)
      },
      (keys) => noteForks(options, keys),
    )
    noteIgnored(options, hasConfig ? ['hardfork', 'chainType', 'factories', 'withAccounts'] : ['factories', 'withAccounts'])
    const { chainId } = options
    return {
      ...genesis,
      number: options.number ?? genesis.number,
      timestamp: options.timestamp ?? genesis.timestamp,
      baseFeePerGas: options.baseFee ?? genesis.baseFeePerGas,
      state: withBalances(genesis.state, [
        ...(options.balance === undefined ? [] : accounts.map(({ address }) => ({ address, balance: options.balance ?? 0n }))),
        ...chosenAccounts(options),
      ]),
      config: withChosenLimits({ ...genesis.config, ...(chainId === undefined ? {} : { chainId }) }, options),
    }
  }
  const genesis = defaultGenesis({
    ...limits,
    hardfork,
    feeParameters: feeParametersOf(options),
    chainId: options.chainId ?? CHAIN_ID,
    number: options.number ?? 0,
    timestamp: options.timestamp ?? Math.floor(clock.nowMs() / 1_000),
    gasLimit: options.gasLimit ?? GAS_LIMIT,
    baseFeePerGas: options.baseFee ?? BASE_FEE,
    factories: options.factories ?? true,
    contracts: options.genesisContracts,
    calls: options.genesisCalls,
    accounts: fundedAccounts(options, accounts),
  })
  // Earlier versions did not fund the bundler of a chain that began without one.
  return options.bundler === false ? { ...genesis, mayLack: [bundlerAddress(options)] } : genesis
}

/** Returns the configuration with the limits that the options name. */
export function withChosenLimits(config: ChainConfig, options: PocketchainOptions): ChainConfig {
  const {
    codeSizeLimit = config.codeSizeLimit,
    transactionGasCap = COMPAT[options.compat ?? 'default'].hasTransactionGasCap ? config.transactionGasCap : null,
  } = options
  return { ...config, codeSizeLimit, transactionGasCap }
}

const FILE_DECIDES = {
  hardfork: 'the hardfork',
  chainType: 'the chain type',
  factories: 'the CREATE2 factories',
  withAccounts: 'the smart account contracts',
} as const

/** Reports options that have no effect, because the genesis file determines what they set. */
function noteIgnored(options: StartOptions, names: readonly (keyof typeof FILE_DECIDES)[]): void {
  const ignored = names.filter((name) => options[name] !== undefined).map((name) => FILE_DECIDES[name])
  if (ignored.length > 0) options.onNote(`the genesis file determines ${ignored.join(' and ')}; the option for it has no effect`)
}

/** Reports forks of the genesis file that are not supported. */
function noteForks({ onNote }: StartOptions, keys: readonly string[]): void {
  const what = 'the genesis file schedules forks that are not supported, and blocks keep the rules of earlier ones'
  onNote(`${what}: ${keys.join(', ')}; remove these keys if that is meant`)
}

/** Returns the state with these balances, in wei. */
function withBalances(state: WriteSet, funded: DefaultGenesisOptions['accounts']): WriteSet {
  if (funded.length === 0) return state
  const accounts = new Map(state.accounts)
  for (const { address, balance } of funded)
    accounts.set(address, { ...(accounts.get(address) ?? { nonce: 0n, codeHash: EMPTY_CODE_HASH }), balance })
  return { ...state, accounts }
}

function bundlerAddress(options: PocketchainOptions): Address {
  return Secp256k1.address(bundlerKey(options))
}

/** The option `fundedAccounts`, whose addresses may have any letter case. */
export function chosenAccounts({
  fundedAccounts = [],
}: PocketchainOptions): readonly { readonly address: Address; readonly balance: bigint }[] {
  return fundedAccounts.map(({ address, balance }) => ({ address: Address.from(address), balance }))
}

/** Returns the accounts that have ether from the start, with their balances in wei. */
export function fundedAccounts(options: PocketchainOptions, accounts: readonly DevAccount[]): DefaultGenesisOptions['accounts'] {
  const chosen = chosenAccounts(options)
  const own = [
    ...accounts.map(({ address }) => ({ address, balance: options.balance ?? 10_000n * ETHER })),
    { address: bundlerAddress(options), balance: BUNDLER_BALANCE },
    { address: Secp256k1.address(sponsorKeys(options).owner), balance: SPONSOR_BALANCE },
  ]
  return [...own.filter(({ address }) => !chosen.some((each) => each.address === address)), ...chosen]
}

export function limitsOf({
  compat = 'default',
  codeSizeLimit = DEFAULT_CODE_SIZE_LIMIT,
  transactionGasCap = COMPAT[compat].hasTransactionGasCap ? DEFAULT_TRANSACTION_GAS_CAP : null,
}: PocketchainOptions): Pick<DefaultGenesisOptions, 'codeSizeLimit' | 'transactionGasCap'> {
  return { codeSizeLimit, transactionGasCap }
}

/** Returns the timestamp of a stored block 0, unless the options set one. */
export function storedTimestamp({ timestamp }: PocketchainOptions, store: Store): Pick<PocketchainOptions, 'timestamp'> {
  const stored = store.timestampOf(0)
  return timestamp !== undefined || stored === null ? {} : { timestamp: stored }
}

export function feeParametersOf({ minBaseFee }: PocketchainOptions): FeeParameters {
  return minBaseFee === undefined ? DEFAULT_FEE_PARAMETERS : { ...DEFAULT_FEE_PARAMETERS, minBaseFee }
}

export function chainHardforkOf({ chainType = 'op', hardfork = 'latest' }: PocketchainOptions): OpFork | L1Fork {
  return chainType === 'op' ? opForkOf(hardfork) : l1ForkOf(hardfork)
}

/** Proof-of-stake forks: earlier ones need a miner. */
const L1_HARDFORKS: readonly L1Fork[] = ['paris', 'shanghai', 'cancun', 'prague', 'osaka']

function l1ForkOf(name: string): L1Fork {
  const lowerCase = name.toLowerCase()
  const fork = lowerCase === 'latest' ? L1_HARDFORKS.at(-1) : L1_HARDFORKS.find((each) => each === lowerCase)
  if (fork !== undefined) return fork
  throw new RangeError(
    `hardfork must be one of ${[...L1_HARDFORKS, 'latest'].join(', ')} with --chain-type l1, not ${JSON.stringify(name)}`,
  )
}

/** The OP fork that an L1 name stands for: the newest one of Base. */
const OP_FORK_OF: Readonly<Record<string, OpFork>> = { cancun: 'holocene', prague: 'jovian', osaka: 'azul', latest: DEFAULT_HARDFORK }

function opForkOf(name: string): OpFork {
  const fork = OP_FORKS.find((each) => each === name.toLowerCase()) ?? OP_FORK_OF[name.toLowerCase()]
  // Earlier forks have other data fee rules, which are not supported.
  if (fork !== undefined && OP_FORKS.indexOf(fork) >= OP_FORKS.indexOf('fjord')) return fork
  const known = [...OP_FORKS.slice(OP_FORKS.indexOf('fjord')), ...Object.keys(OP_FORK_OF)]
  throw new RangeError(`hardfork must be one of ${known.join(', ')}, not ${JSON.stringify(name)}`)
}
