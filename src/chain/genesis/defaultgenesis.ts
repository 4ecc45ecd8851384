import { Address, EMPTY_CODE_HASH, Hash, Hex } from '../../eth/index.ts'
import { L1_FORKS, OP_FORKS, executeTransaction, impliedL1Fork, rulesAt } from '../../evm/index.ts'
import type { Account, BlockContext, ChainConfig, L1Fork, Message, OpFork, World } from '../../evm/index.ts'
import { encodeExtraData } from '../sequencing/basefee.ts'
import type { FeeParameters } from '../sequencing/basefee.ts'
import { contractOf } from './defaultcontract.ts'
import type { DefaultContract, Predeploy } from './defaultcontract.ts'
import type { Genesis } from './genesis.ts'
import { requestQueues } from './requestqueues.ts'
import { StateHistory, captureWrites } from '../state/history.ts'
import predeploys from './predeploys.json' with { type: 'json' }
import sponsor from './sponsor.json' with { type: 'json' }

export interface DefaultGenesisOptions {
  readonly chainId: number
  /** number of the first block, 0 by default */
  readonly number?: number
  /** seconds */
  readonly timestamp: number
  /** an OP fork makes an OP chain; an L1 fork a chain without deposits, data fees and OP predeploys */
  readonly hardfork: OpFork | L1Fork
  readonly gasLimit: bigint
  /** wei */
  readonly baseFeePerGas: bigint
  readonly feeParameters: FeeParameters
  readonly accounts: readonly { readonly address: Address; readonly balance: bigint }[]
  /** Bytes; `null` for no limit. */
  readonly codeSizeLimit: number | null
  /** `null` for no cap. */
  readonly transactionGasCap: bigint | null
  /** False omits the CREATE2 factories, for scripts that deploy them by their published transactions. */
  readonly factories?: boolean
  /** Contracts in addition to the default ones. */
  readonly contracts?: readonly DefaultContract[]
  /**
   * Calls executed in order on the genesis state; their writes are part of block 0. `precomputed` applies the precomputed result of the
   * sponsor set-up for the published dev keys on chain id 31337, which saves 20 ms per start.
   */
  readonly calls?: readonly GenesisCall[] | 'precomputed'
}

/** A call from a caller with unlimited ether that does not exist afterwards. It must succeed. */
export interface GenesisCall {
  readonly to: Address
  readonly data: Uint8Array
  /** wei */
  readonly value?: bigint
}

/** Receives the priority fees; also the header's fee recipient. */
export const SEQUENCER_FEE_VAULT = Address.from('0x4200000000000000000000000000000000000011')
/** Base's launch parameters (specs.optimism.io). Since Holocene the elasticity comes from the extra data. */
export const DEFAULT_FEE_PARAMETERS: FeeParameters = { denominator: 125n, elasticity: 6n, minBaseFee: 5_000_000n }
/** Of a new chain: Base's. */
export const DEFAULT_HARDFORK: OpFork = 'azul'

/** The chain id for which the deployed code in predeploys.json was captured. */
const SNAPSHOT_CHAIN_ID = 31_337

/** Returns the genesis used when no genesis file is given: OP predeploys (on OP chains), common contracts, and funded accounts. */
export function defaultGenesis(options: DefaultGenesisOptions): Genesis {
  const config = configOf(options.chainId, options.hardfork, 0, options)
  const { number = 0 } = options
  const rules = rulesAt(config, number, options.timestamp)
  const blobGas = rules.op === null && rules.has('cancun') ? 0n : null
  return {
    config,
    number,
    timestamp: options.timestamp,
    extraData: encodeExtraData(options.feeParameters, rules),
    gasLimit: options.gasLimit,
    gasUsed: 0n,
    difficulty: 0n,
    mixHash: Hash.zero,
    nonce: new Uint8Array(8),
    coinbase: config.op === null ? Address.zero : SEQUENCER_FEE_VAULT,
    parentHash: Hash.zero,
    baseFeePerGas: options.baseFeePerGas,
    excessBlobGas: blobGas,
    blobGasUsed: blobGas,
    state: genesisState(options, config),
    contractsMayDiffer: true,
  }
}

const BLOCK_FORKS: readonly L1Fork[] = L1_FORKS.slice(0, L1_FORKS.indexOf('paris') + 1)
const TIMESTAMP_FORKS: readonly L1Fork[] = ['shanghai', 'cancun', 'prague', 'osaka']

type ConfiguredLimits = Pick<DefaultGenesisOptions, 'codeSizeLimit' | 'transactionGasCap'>

/** Returns a configuration with all forks up to `hardfork`, active from `activation` (seconds). */
export function configOf(chainId: number, hardfork: OpFork | L1Fork, activation: number, limits: ConfiguredLimits): ChainConfig {
  return isOpFork(hardfork) ? opConfig(chainId, hardfork, activation, limits) : l1Config(chainId, hardfork, activation, limits)
}

function isOpFork(fork: OpFork | L1Fork): fork is OpFork {
  return (OP_FORKS as readonly string[]).includes(fork)
}

function l1Config(chainId: number, hardfork: L1Fork, activation: number, limits: ConfiguredLimits): ChainConfig {
  const timed = TIMESTAMP_FORKS.slice(0, TIMESTAMP_FORKS.indexOf(hardfork) + 1)
  return {
    chainId,
    l1: [
      ...BLOCK_FORKS.map((fork) => ({ fork, block: 0, timestamp: null })),
      ...timed.map((fork) => ({ fork, block: null, timestamp: activation })),
    ],
    op: null,
    blobSchedule: {},
    depositContract: null,
    transactionGasCap: limits.transactionGasCap,
    codeSizeLimit: limits.codeSizeLimit,
  }
}

/** An OP chain's configuration. */
export function opConfig(chainId: number, hardfork: OpFork, activation: number, limits: ConfiguredLimits): ChainConfig {
  return {
    ...l1Config(chainId, impliedL1Fork(hardfork), activation, limits),
    op: {
      activations: OP_FORKS.slice(0, OP_FORKS.indexOf(hardfork) + 1).map((fork) => ({
        fork,
        timestamp: fork === 'bedrock' ? 0 : activation,
      })),
      elasticity: 6n,
      denominator: 50n,
      denominatorCanyon: 250n,
    },
    blobSchedule: {},
  }
}

function genesisState(options: DefaultGenesisOptions, config: ChainConfig): Genesis['state'] {
  const accounts = new Map<Address, Account>()
  const storage = new Map<Address, Map<Hash, bigint>>()
  const codes = new Map<Hash, Uint8Array>()
  const defaults = (predeploys.accounts as readonly Predeploy[]).filter(({ op }) => !op || config.op !== null).map(contractOf)
  const queues = config.op === null && rulesAt(config, 0, options.timestamp).has('prague') ? requestQueues() : []
  for (const { address, account, code, storage: slots } of [...defaults, ...queues, ...(options.contracts ?? [])]) {
    if (code.length > 0) codes.set(account.codeHash, code)
    accounts.set(address, account)
    if (slots.size > 0) storage.set(address, new Map(slots))
  }
  for (const { address, balance } of options.accounts) {
    const before = accounts.get(address) ?? { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }
    accounts.set(address, { ...before, balance: before.balance + balance })
  }
  const snapshot = { accounts, storage, codes }
  // The default contracts are deployed without a code size limit, whatever limit is configured for transactions.
  const unlimited = { ...config, codeSizeLimit: null }
  const state = options.chainId === SNAPSHOT_CHAIN_ID ? snapshot : redeployForChainId(snapshot, unlimited)
  const { calls = [] } = options
  const called =
    calls === 'precomputed' ? applyPrecomputed(state, config) : calls.length === 0 ? state : applyCalls(state, calls, unlimited)
  return options.factories === false ? withoutFactories(called) : called
}

/** Each factory, with the account that its pre-signed deployment transaction recovers to. */
const FACTORIES: ReadonlySet<string> = new Set(
  ['CREATE2 deployer', 'Safe singleton factory', 'CreateX'].flatMap((name) => [name, `${name}, sender`]),
)

function withoutFactories(state: Genesis['state']): Genesis['state'] {
  const accounts = new Map(state.accounts)
  for (const { name, address } of predeploys.accounts) if (FACTORIES.has(name)) accounts.delete(Address.from(address))
  return { ...state, accounts }
}

/**
 * Redeploys the contracts whose code contains the chain id (EIP-712 domains): their creation code runs through the CREATE2 deployer as on
 * real chains, so the addresses stay the same.
 */
function redeployForChainId(snapshot: Genesis['state'], config: ChainConfig): Genesis['state'] {
  const accounts = new Map(snapshot.accounts)
  const storage = new Map(snapshot.storage)
  const codes = new Map(snapshot.codes)
  const places = predeploys.create2.map((entry) => Address.from(entry.address))
  for (const place of places)
    for (const gone of [place, Address.create(place, 1n)]) {
      accounts.delete(gone)
      storage.delete(gone)
    }
  const writes = captureGenesisWrites({ accounts, storage, codes }, (world) => {
    for (const entry of predeploys.create2) deploy(entry, config, world)
  })
  for (const place of places)
    for (const made of [place, Address.create(place, 1n)]) {
      const account = writes.accounts.get(made)
      if (account !== undefined && account !== null) accounts.set(made, account)
      const slots = writes.storage.get(made)
      if (slots !== undefined) storage.set(made, new Map(slots))
    }
  for (const [codeHash, code] of writes.codes) codes.set(codeHash, code)
  return { accounts, storage, codes }
}

/** Returns the contracts that belong to every chain: entry points, factories, Multicall3; not the predeploys of OP chains. */
export function commonContracts(): readonly DefaultContract[] {
  return (predeploys.accounts as readonly Predeploy[]).filter(({ op }) => !op).map(contractOf)
}

/** Addresses of the contracts whose code contains the chain id, and of what they create. */
export const CHAIN_ID_CONTRACTS: ReadonlySet<Address> = new Set(
  predeploys.create2.flatMap(({ address }) => [Address.from(address), Address.create(Address.from(address), 1n)]),
)

/** Deploys the contracts whose code contains the chain id where there is no code, then executes the calls. */
export function setUpContracts(world: World, calls: readonly GenesisCall[], config: ChainConfig): void {
  const caller = world.account(GENESIS_CALL.from)
  world.setBalance(GENESIS_CALL.from, CALLER_BALANCE)
  for (const entry of predeploys.create2) if (world.codeSizeAt(Address.from(entry.address)) === 0) deploy(entry, config, world)
  for (const [i, call] of calls.entries()) {
    // A contract that is deployed already cannot be deployed again.
    if (!execute(call, config, world) && !isDeployment(call)) throw new Error(`call ${i} of the set-up, to ${call.to}, failed`)
  }
  world.setAccount(GENESIS_CALL.from, caller)
}

function isDeployment({ to }: GenesisCall): boolean {
  return predeploys.create2.some(({ deployer }) => Address.from(deployer) === to)
}

function deploy(entry: (typeof predeploys.create2)[number], config: ChainConfig, world: World): void {
  const salt = Hex.toBytes(entry.salt)
  const initCode = Hex.toBytes(entry.initCode)
  const data = new Uint8Array(salt.length + initCode.length)
  data.set(salt)
  data.set(initCode, salt.length)
  const isDone = execute({ to: Address.from(entry.deployer), data }, config, world)
  if (!isDone || world.account(Address.from(entry.address)) === null) {
    throw new Error(`${entry.name} could not be deployed for chain ${config.chainId}`)
  }
}

/** Same result as `applyCalls` for the calls that scripts/sponsor.mjs ran in advance. */
function applyPrecomputed(before: Genesis['state'], { chainId }: ChainConfig): Genesis['state'] {
  if (chainId !== SNAPSHOT_CHAIN_ID) throw new RangeError(`the precomputed calls are for chain ${SNAPSHOT_CHAIN_ID}, not ${chainId}`)
  const accounts = new Map(before.accounts)
  const storage = new Map(before.storage)
  const codes = new Map(before.codes)
  for (const entry of sponsor.accounts as readonly PrecomputedAccount[]) {
    const address = Address.from(entry.address)
    const code = entry.code === undefined ? null : Hex.toBytes(entry.code)
    const codeHash = code === null ? (accounts.get(address)?.codeHash ?? EMPTY_CODE_HASH) : Hash.keccak(code)
    if (code !== null) codes.set(codeHash, code)
    accounts.set(address, { nonce: BigInt(entry.nonce), balance: BigInt(entry.balance), codeHash })
    const slots = Object.entries(entry.storage ?? {}).map(([slot, value]) => [Hash.from(slot), BigInt(value)] as const)
    if (slots.length > 0) storage.set(address, new Map([...(storage.get(address) ?? []), ...slots]))
  }
  return { accounts, storage, codes }
}

/** Executes the calls and keeps all their writes except those to the caller's account. */
function applyCalls(before: Genesis['state'], calls: readonly GenesisCall[], config: ChainConfig): Genesis['state'] {
  const caller = before.accounts.get(GENESIS_CALL.from) ?? null
  const rich = { nonce: 0n, balance: CALLER_BALANCE, codeHash: EMPTY_CODE_HASH }
  const accounts = new Map(before.accounts).set(GENESIS_CALL.from, rich)
  const writes = captureGenesisWrites({ ...before, accounts }, (world) => {
    for (const [i, call] of calls.entries())
      if (!execute(call, config, world)) throw new Error(`call ${i} of the genesis, to ${call.to}, failed`)
  })
  for (const [address, account] of writes.accounts) {
    if (account === null) accounts.delete(address)
    else accounts.set(address, account)
  }
  if (caller === null) accounts.delete(GENESIS_CALL.from)
  else accounts.set(GENESIS_CALL.from, caller)
  const storage = new Map(before.storage)
  for (const [address, slots] of writes.storage) storage.set(address, withoutZeroSlots([...(storage.get(address) ?? []), ...slots]))
  return { accounts, storage, codes: new Map([...before.codes, ...writes.codes]) }
}

/** Drops slots of value 0. */
function withoutZeroSlots(slots: readonly (readonly [Hash, bigint])[]): Map<Hash, bigint> {
  return new Map([...new Map(slots)].filter(([, value]) => value !== 0n))
}

function captureGenesisWrites(state: Genesis['state'], work: (world: World) => void) {
  const history = new StateHistory(state)
  return captureWrites(history.at(history.version), work)
}

function execute(call: GenesisCall, config: ChainConfig, world: World): boolean {
  const options = { skipNonce: true, skipFees: true, skipGasCap: true }
  return executeTransaction({ ...GENESIS_CALL, ...call }, genesisContext(config), world, options).outcome.kind === 'success'
}

/** Wei; below the maximum, so that a transfer to a funded account does not overflow. */
const CALLER_BALANCE = 10n ** 27n

const GENESIS_CALL: Omit<Message, 'to' | 'data'> = {
  type: 0,
  from: Address.zero,
  nonce: 0n,
  gas: 30_000_000n,
  value: 0n,
  maxFeePerGas: 0n,
  maxPriorityFeePerGas: 0n,
  accessList: [],
  maxFeePerBlobGas: 0n,
  blobVersionedHashes: [],
  authorizationList: [],
  deposit: null,
  raw: null,
}

/** The contracts are compiled for Cancun. On a chain of an older fork they are deployed by Cancun's rules; a call to code with newer opcodes halts there. */
function deploymentConfig(config: ChainConfig): ChainConfig {
  return rulesAt(config, 0, 0).has('cancun') ? config : l1Config(config.chainId, 'cancun', 0, config)
}

function genesisContext(chain: ChainConfig): BlockContext {
  const config = deploymentConfig(chain)
  return {
    config,
    rules: rulesAt(config, 0, 0),
    env: {
      number: 0,
      timestamp: 0,
      gasLimit: GENESIS_CALL.gas,
      coinbase: Address.zero,
      prevRandao: Hash.zero,
      difficulty: 0n,
      baseFeePerGas: 0n,
      blobBaseFee: 1n,
      parentBeaconBlockRoot: null,
      blockHash: () => null,
    },
  }
}

/** An account after the precomputed calls. */
interface PrecomputedAccount {
  readonly address: string
  readonly nonce: number
  readonly balance: string
  /** Unchanged when absent. */
  readonly code?: string
  /** Only the written slots. */
  readonly storage?: Readonly<Record<string, string>>
}
