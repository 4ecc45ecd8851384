import { Address, EMPTY_CODE_HASH, Hash, Hex } from '../../eth/index.ts'
import { L1_FORKS, OP_FORKS, executeTransaction, rulesAt } from '../../evm/index.ts'
import type { Account, BlockContext, ChainConfig, L1Fork, Message, OpFork, World } from '../../evm/index.ts'
import { encodeExtraData } from '../sequencing/basefee.ts'
import type { FeeParameters } from '../sequencing/basefee.ts'
import type { Genesis } from './genesis.ts'
import { StateHistory, writesOf } from '../state/history.ts'
import predeploys from './predeploys.json' with { type: 'json' }
import sponsor from './sponsor.json' with { type: 'json' }

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
  /**
   * what is done with all of this in place, one after the other: block 0 holds what comes of it. `prepared`: those that set up the sponsor of the
   * words that everybody knows, on the chain id 31337, whose outcome is known: running them would take 20 ms of every start
   */
  readonly calls?: readonly GenesisCall[] | 'prepared'
}

/** A call that somebody made who has any amount of ether and is nobody. It must succeed. */
export interface GenesisCall {
  readonly to: Address
  readonly data: Uint8Array
  /** wei */
  readonly value?: bigint
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
  // Of those that everybody gets without a transaction of theirs, none is too large.
  const limitless = { ...config, codeSizeLimit: null }
  const state = options.chainId === SNAPSHOT_CHAIN_ID ? snapshot : deployAgain(snapshot, limitless)
  const { calls = [] } = options
  const called = calls === 'prepared' ? prepared(state, config) : calls.length === 0 ? state : afterCalls(state, calls, limitless)
  return options.factories === false ? withoutFactories(called) : called
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
  const writes = written({ accounts, storage, codes }, (world) => {
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
  const isDone = execute({ to: Address.from(entry.deployer), data }, config, world)
  if (!isDone || world.account(Address.from(entry.address)) === null) {
    throw new Error(`${entry.name} could not be deployed for chain ${config.chainId}`)
  }
}

/** As `afterCalls`, of calls that were run before (scripts/sponsor.mjs). */
function prepared(before: Genesis['state'], { chainId }: ChainConfig): Genesis['state'] {
  if (chainId !== SNAPSHOT_CHAIN_ID) throw new RangeError(`what is prepared is for chain ${SNAPSHOT_CHAIN_ID}, not ${chainId}`)
  const accounts = new Map(before.accounts)
  const storage = new Map(before.storage)
  const codes = new Map(before.codes)
  for (const entry of sponsor.accounts as readonly Prepared[]) {
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

/** Takes over all that was written but for the caller, who was never there. */
function afterCalls(before: Genesis['state'], calls: readonly GenesisCall[], config: ChainConfig): Genesis['state'] {
  const caller = before.accounts.get(CALL.from) ?? null
  const rich = { nonce: 0n, balance: MOST, codeHash: EMPTY_CODE_HASH }
  const accounts = new Map(before.accounts).set(CALL.from, rich)
  const writes = written({ ...before, accounts }, (world) => {
    for (const [i, call] of calls.entries())
      if (!execute(call, config, world)) throw new Error(`call ${i} of the genesis, to ${call.to}, failed`)
  })
  for (const [address, account] of writes.accounts) {
    if (account === null) accounts.delete(address)
    else accounts.set(address, account)
  }
  if (caller === null) accounts.delete(CALL.from)
  else accounts.set(CALL.from, caller)
  const storage = new Map(before.storage)
  for (const [address, slots] of writes.storage) storage.set(address, nonZero([...(storage.get(address) ?? []), ...slots]))
  return { accounts, storage, codes: new Map([...before.codes, ...writes.codes]) }
}

/** A slot that is 0 is none. */
function nonZero(slots: readonly (readonly [Hash, bigint])[]): Map<Hash, bigint> {
  return new Map([...new Map(slots)].filter(([, value]) => value !== 0n))
}

function written(state: Genesis['state'], work: (world: World) => void) {
  const history = new StateHistory(state)
  return writesOf(history.at(history.version), work)
}

function execute(call: GenesisCall, config: ChainConfig, world: World): boolean {
  const options = { skipNonce: true, skipFees: true, skipGasCap: true }
  return executeTransaction({ ...CALL, ...call }, genesisContext(config), world, options).outcome.kind === 'success'
}

/** Wei of the caller: all ether there is would overflow where it is put. */
const MOST = 10n ** 27n

const CALL: Omit<Message, 'to' | 'data'> = {
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
      gasLimit: CALL.gas,
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

/** An account as it is afterwards. */
interface Prepared {
  readonly address: string
  readonly nonce: number
  readonly balance: string
  /** absent: that which it has */
  readonly code?: string
  /** of what it has, those slots that are written */
  readonly storage?: Readonly<Record<string, string>>
}

interface Predeploy {
  readonly name: string
  readonly address: string
  readonly code: string
  readonly nonce?: number
  readonly balance?: string
  readonly storage?: Readonly<Record<string, string>>
}
