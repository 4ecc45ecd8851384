import { Address, EMPTY_CODE_HASH, Hash, Hex } from '../eth/index.ts'
import { L1_FORKS, OP_FORKS, executeTransaction, rulesAt } from '../evm/index.ts'
import type { Account, BlockContext, ChainConfig, L1Fork, Message, OpFork, World } from '../evm/index.ts'
import { encodeExtraData } from './basefee.ts'
import type { FeeParameters } from './basefee.ts'
import type { Genesis } from './genesis.ts'
import { StateHistory, writesOf } from './state.ts'
import predeploys from './predeploys.json' with { type: 'json' }

export interface DefaultGenesisOptions {
  readonly chainId: number
  /** seconds */
  readonly timestamp: number
  readonly hardfork: OpFork
  readonly gasLimit: bigint
  /** wei */
  readonly baseFeePerGas: bigint
  readonly feeParameters: FeeParameters
  readonly accounts: readonly { readonly address: Address; readonly balance: bigint }[]
  /** bytes; null: no limit */
  readonly codeSizeLimit: number | null
  /** null: no cap */
  readonly transactionGasCap: bigint | null
  /** false: without the factories that anybody can deploy by a known transaction, for scripts that send it */
  readonly factories?: boolean
}

/** Tips go here; also the header's fee recipient. */
export const SEQUENCER_FEE_VAULT = Address.from('0x4200000000000000000000000000000000000011')
/** Base's launch parameters (facts of specs.optimism.io; the elasticity of blocks comes from the extra data since Holocene). */
export const DEFAULT_FEE_PARAMETERS: FeeParameters = { denominator: 125n, elasticity: 6n, minBaseFee: 5_000_000n }
/** The newest rules there are. */
export const DEFAULT_HARDFORK: OpFork = 'azul'
export const DEFAULT_TRANSACTION_GAS_CAP = 16_777_216n
export const DEFAULT_CODE_SIZE_LIMIT = 24_576

/** The chain id that the snapshot of deployed code was taken for. */
const SNAPSHOT_CHAIN_ID = 31_337

/** The genesis of a chain nobody named a file for: OP predeploys, the tools that everybody expects, and rich accounts. */
export function defaultGenesis(options: DefaultGenesisOptions): Genesis {
  const config = defaultConfig(options)
  return {
    config,
    number: 0,
    timestamp: options.timestamp,
    extraData: encodeExtraData(options.feeParameters, rulesAt(config, 0, options.timestamp)),
    gasLimit: options.gasLimit,
    gasUsed: 0n,
    difficulty: 0n,
    mixHash: Hash.zero,
    nonce: new Uint8Array(8),
    coinbase: SEQUENCER_FEE_VAULT,
    parentHash: Hash.zero,
    baseFeePerGas: options.baseFeePerGas,
    excessBlobGas: null,
    blobGasUsed: null,
    state: stateOf(options, config),
  }
}

/** Which L1 rules an OP fork runs on. */
const EXECUTION: Readonly<Record<OpFork, L1Fork>> = {
  bedrock: 'paris',
  regolith: 'paris',
  canyon: 'shanghai',
  delta: 'shanghai',
  ecotone: 'cancun',
  fjord: 'cancun',
  granite: 'cancun',
  holocene: 'cancun',
  isthmus: 'prague',
  jovian: 'prague',
  azul: 'osaka',
}

const MERGED: readonly L1Fork[] = L1_FORKS.slice(0, L1_FORKS.indexOf('paris') + 1)
const TIMED: readonly L1Fork[] = ['shanghai', 'cancun', 'prague', 'osaka']

/** All rules up to `hardfork`, from `activation` (seconds) on. */
export function opConfig(
  chainId: number,
  hardfork: OpFork,
  activation: number,
  limits: Pick<DefaultGenesisOptions, 'codeSizeLimit' | 'transactionGasCap'>,
): ChainConfig {
  const timed = TIMED.slice(0, TIMED.indexOf(EXECUTION[hardfork]) + 1)
  return {
    chainId,
    l1: [
      ...MERGED.map((fork) => ({ fork, block: 0, timestamp: null })),
      ...timed.map((fork) => ({ fork, block: null, timestamp: activation })),
    ],
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
    depositContract: null,
    transactionGasCap: limits.transactionGasCap,
    codeSizeLimit: limits.codeSizeLimit,
  }
}

function defaultConfig(options: DefaultGenesisOptions): ChainConfig {
  return opConfig(options.chainId, options.hardfork, 0, options)
}

function stateOf(options: DefaultGenesisOptions, config: ChainConfig): Genesis['state'] {
  const accounts = new Map<Address, Account>()
  const storage = new Map<Address, Map<Hash, bigint>>()
  const codes = new Map<Hash, Uint8Array>()
  for (const entry of predeploys.accounts as readonly Predeploy[]) {
    const address = Address.from(entry.address)
    const code = Hex.toBytes(entry.code)
    const codeHash = code.length === 0 ? EMPTY_CODE_HASH : Hash.keccak(code)
    if (code.length > 0) codes.set(codeHash, code)
    accounts.set(address, { nonce: BigInt(entry.nonce ?? 0), balance: BigInt(entry.balance ?? 0), codeHash })
    const slots = Object.entries(entry.storage ?? {})
    if (slots.length > 0) storage.set(address, new Map(slots.map(([slot, value]) => [Hash.from(slot), BigInt(value)])))
  }
  for (const { address, balance } of options.accounts) {
    accounts.set(address, { nonce: 0n, balance: balance + (accounts.get(address)?.balance ?? 0n), codeHash: EMPTY_CODE_HASH })
  }
  const snapshot = { accounts, storage, codes }
  const state = options.chainId === SNAPSHOT_CHAIN_ID ? snapshot : deployAgain(snapshot, config)
  return options.factories === false ? withoutFactories(state) : state
}

/** Each with the account that its transaction, signed by nobody's key, deploys it from. */
const FACTORIES: ReadonlySet<string> = new Set(
  ['CREATE2 deployer', 'Safe singleton factory', 'CreateX'].flatMap((name) => [name, `${name}, sender`]),
)

function withoutFactories(state: Genesis['state']): Genesis['state'] {
  const accounts = new Map(state.accounts)
  for (const { name, address } of predeploys.accounts) if (FACTORIES.has(name)) accounts.delete(Address.from(address))
  return { ...state, accounts }
}

/**
 * Code that holds the chain id (EIP-712 domains) is deployed anew for another chain: its creation code runs through the
 * CREATE2 deployer as it did on every real chain, so it comes out at the same address.
 */
function deployAgain(snapshot: Genesis['state'], config: ChainConfig): Genesis['state'] {
  const accounts = new Map(snapshot.accounts)
  const storage = new Map(snapshot.storage)
  const codes = new Map(snapshot.codes)
  const places = predeploys.create2.map((entry) => Address.from(entry.address))
  for (const place of places)
    for (const gone of [place, Address.create(place, 1n)]) {
      accounts.delete(gone)
      storage.delete(gone)
    }
  const history = new StateHistory({ accounts, storage, codes })
  const writes = writesOf(history.at(history.version), (world) => {
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

function deploy(entry: (typeof predeploys.create2)[number], config: ChainConfig, world: World): void {
  const salt = Hex.toBytes(entry.salt)
  const initCode = Hex.toBytes(entry.initCode)
  const data = new Uint8Array(salt.length + initCode.length)
  data.set(salt)
  data.set(initCode, salt.length)
  const message = { ...DEPLOYMENT, to: Address.from(entry.deployer), data }
  const { outcome } = executeTransaction(message, genesisContext(config), world, {
    skipNonce: true,
    skipFees: true,
    skipGasCap: true,
  })
  if (outcome.kind !== 'success' || world.account(Address.from(entry.address)) === null) {
    throw new Error(`${entry.name} could not be deployed for chain ${config.chainId}`)
  }
}

const DEPLOYMENT: Omit<Message, 'to' | 'data'> = {
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

function genesisContext(config: ChainConfig): BlockContext {
  return {
    config,
    rules: rulesAt(config, 0, 0),
    env: {
      number: 0,
      timestamp: 0,
      gasLimit: DEPLOYMENT.gas,
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

interface Predeploy {
  readonly name: string
  readonly address: string
  readonly code: string
  readonly nonce?: number
  readonly balance?: string
  readonly storage?: Readonly<Record<string, string>>
}
