import { Address, DecodeError, EMPTY_CODE_HASH, Hash, Hex } from '../../eth/index.ts'
import { L1_FORKS, OP_FORKS, impliedL1Fork } from '../../evm/index.ts'
import type { Account, Activation, BlobParameters, ChainConfig, L1Fork, OpActivation } from '../../evm/index.ts'
import { DEFAULT_CODE_SIZE_LIMIT, DEFAULT_TRANSACTION_GAS_CAP } from './genesis.ts'
import type { Genesis } from './genesis.ts'

type Json = { readonly [key: string]: unknown }

/**
 * Parses a genesis file in geth's format. Keys of `alloc` may lack 0x; slots of value zero are dropped. Without `config`, `rulesAfter` supplies
 * the rules from block 1, and block 0 is under Cancun if the file has blob gas, else under Paris. `onIgnored` receives the keys of forks without
 * rules here, such as `amsterdamTime`, if there are any. Throws GenesisError.
 */
export function parseGenesis(
  text: string,
  rulesAfter: (genesisTimestamp: number) => ChainConfig,
  onIgnored: (keys: readonly string[]) => void = () => {},
): Genesis {
  const file = object(parse(text), 'file')
  if (file['stateHash'] !== undefined && file['stateHash'] !== null)
    throw new GenesisError('stateHash', 'is only the root of a state, which has to be in alloc; use a file with all accounts')
  const timestamp = number(file['timestamp'] ?? '0x0', 'timestamp')
  const rules = file['config'] === null || file['config'] === undefined ? null : object(file['config'], 'config')
  const ignored = rules === null ? [] : ignoredForks(rules)
  if (ignored.length > 0) onIgnored(ignored)
  return {
    config: rules === null ? startingAsIn(file, timestamp, rulesAfter(timestamp)) : parseConfig(rules),
    number: number(file['number'] ?? '0x0', 'number'),
    timestamp,
    extraData: bytes(file['extraData'] ?? '0x', 'extraData'),
    gasLimit: quantity(file['gasLimit'], 'gasLimit'),
    gasUsed: quantity(file['gasUsed'] ?? '0x0', 'gasUsed'),
    difficulty: quantity(file['difficulty'] ?? '0x0', 'difficulty'),
    mixHash: hash(file['mixHash'] ?? Hash.zero, 'mixHash'),
    nonce: nonce(file['nonce'] ?? '0x0'),
    coinbase: address(file['coinbase'] ?? Address.zero, 'coinbase'),
    parentHash: hash(file['parentHash'] ?? Hash.zero, 'parentHash'),
    baseFeePerGas: optional(file['baseFeePerGas'], 'baseFeePerGas'),
    excessBlobGas: optional(file['excessBlobGas'], 'excessBlobGas'),
    blobGasUsed: optional(file['blobGasUsed'], 'blobGasUsed'),
    state: parseAlloc(object(file['alloc'], 'alloc')),
  }
}

/** Returns `rules` with the forks up to Cancun from `timestamp` on (seconds) if the file has the fields that Cancun added to headers. */
function startingAsIn(file: Json, timestamp: number, rules: ChainConfig): ChainConfig {
  const field = ['excessBlobGas', 'blobGasUsed'].find((name) => file[name] !== null && file[name] !== undefined)
  if (field === undefined) return rules
  if (!rules.l1.some(({ fork }) => fork === 'cancun'))
    throw new GenesisError(field, 'is a field of Cancun and later; set the hardfork to cancun or later, or remove the field')
  const isUpToCancun = (fork: L1Fork) => L1_FORKS.indexOf(fork) <= L1_FORKS.indexOf('cancun')
  return {
    ...rules,
    l1: rules.l1.map((each) => (each.timestamp !== null && isUpToCancun(each.fork) ? { ...each, timestamp } : each)),
    op: rules.op && {
      ...rules.op,
      activations: rules.op.activations.map((each) => (isUpToCancun(impliedL1Fork(each.fork)) ? { ...each, timestamp } : each)),
    },
  }
}

/** geth's keys for the activation block of a fork; `paris` has its own function. */
const BLOCK_KEYS: Partial<Record<L1Fork, readonly string[]>> = {
  homestead: ['homesteadBlock'],
  tangerine: ['eip150Block'],
  spurious: ['eip158Block', 'eip155Block'],
  byzantium: ['byzantiumBlock'],
  constantinople: ['constantinopleBlock'],
  petersburg: ['petersburgBlock', 'constantinopleBlock'],
  istanbul: ['istanbulBlock'],
  berlin: ['berlinBlock'],
  london: ['londonBlock'],
}
const BOMB_KEYS = ['muirGlacierBlock', 'arrowGlacierBlock', 'grayGlacierBlock'] as const

function parseConfig(config: Json): ChainConfig {
  const l1: Activation[] = []
  for (const fork of L1_FORKS) {
    const activation = fork === 'paris' ? paris(config, l1) : activationOf(fork, config)
    if (activation !== null) l1.push(activation)
  }
  const optimism = config['optimism']
  return {
    chainId: number(config['chainId'] ?? 1, 'config.chainId'),
    l1,
    op: optimism === undefined || optimism === null ? null : parseOp(config, object(optimism, 'config.optimism')),
    blobSchedule: parseBlobSchedule(config['blobSchedule']),
    bombDelays: BOMB_KEYS.filter((key) => config[key] !== undefined && config[key] !== null).map((key) =>
      number(config[key], `config.${key}`),
    ),
    depositContract:
      config['depositContractAddress'] === undefined ? null : address(config['depositContractAddress'], 'config.depositContractAddress'),
    transactionGasCap: DEFAULT_TRANSACTION_GAS_CAP,
    codeSizeLimit: DEFAULT_CODE_SIZE_LIMIT,
  }
}

function activationOf(fork: L1Fork, config: Json): Activation | null {
  if (fork === 'frontier') return { fork, block: 0, timestamp: null }
  const keys = BLOCK_KEYS[fork]
  if (keys === undefined) {
    const key = `${fork}Time`
    return config[key] === undefined || config[key] === null ? null : { fork, block: null, timestamp: number(config[key], `config.${key}`) }
  }
  const key = keys.find((name) => config[name] !== undefined && config[name] !== null)
  return key === undefined ? null : { fork, block: number(config[key], `config.${key}`), timestamp: null }
}

/** The fork times that parseConfig reads, and the one that concerns only how an OP chain is derived from L1. */
const KNOWN_TIMES: ReadonlySet<string> = new Set([...L1_FORKS, ...OP_FORKS, 'pectraBlobSchedule'].map((fork) => `${fork}Time`))

/** Clients ignore unknown keys. A time above the exact numbers is the way of some tools to write that a fork is not scheduled. */
function ignoredForks(config: Json): readonly string[] {
  return Object.keys(config).filter((key) => key.endsWith('Time') && !KNOWN_TIMES.has(key) && isTime(config[key]))
}

function isTime(value: unknown): boolean {
  return (typeof value === 'number' || typeof value === 'string') && value !== '' && Number.isSafeInteger(Number(value))
}

/**
 * The merge, which does not start before the `earlier` forks: at a configured block, from the start if no block was ever mined, or at block 0 if
 * it is past and all earlier forks start there. `null` for another block, which geth does not write down; Shanghai then includes it.
 */
function paris(config: Json, earlier: readonly Activation[]): Activation | null {
  const firstBlock = Math.max(0, ...earlier.map(({ block }) => block ?? 0))
  const named = config['mergeNetsplitBlock'] ?? config['bedrockBlock']
  if (named !== undefined && named !== null)
    return { fork: 'paris', block: Math.max(number(named, 'config.mergeNetsplitBlock'), firstBlock), timestamp: null }
  const isNeverMined = isZero(config['terminalTotalDifficulty'], 'config.terminalTotalDifficulty')
  const isPast = config['terminalTotalDifficultyPassed'] === true || typeof config['shanghaiTime'] === 'number'
  return isNeverMined || (isPast && firstBlock === 0) ? { fork: 'paris', block: firstBlock, timestamp: null } : null
}

/** geth writes large difficulties as inexact JSON numbers; only zero matters here. */
function isZero(value: unknown, field: string): boolean {
  if (value === undefined || value === null) return false
  return typeof value === 'number' ? value === 0 : quantity(value, field) === 0n
}

function parseOp(config: Json, optimism: Json): NonNullable<ChainConfig['op']> {
  const activations: OpActivation[] = [{ fork: 'bedrock', timestamp: 0 }]
  for (const fork of OP_FORKS) {
    const value = config[`${fork}Time`]
    if (value !== undefined && value !== null) activations.push({ fork, timestamp: number(value, `config.${fork}Time`) })
  }
  const denominator = BigInt(number(optimism['eip1559Denominator'] ?? 50, 'config.optimism.eip1559Denominator'))
  return {
    activations,
    elasticity: BigInt(number(optimism['eip1559Elasticity'] ?? 6, 'config.optimism.eip1559Elasticity')),
    denominator,
    denominatorCanyon: BigInt(
      number(optimism['eip1559DenominatorCanyon'] ?? Number(denominator), 'config.optimism.eip1559DenominatorCanyon'),
    ),
  }
}

function parseBlobSchedule(value: unknown): Partial<Record<L1Fork, BlobParameters>> {
  if (value === undefined || value === null) return {}
  const schedule: Partial<Record<L1Fork, BlobParameters>> = {}
  for (const fork of L1_FORKS) {
    const entry = object(value, 'config.blobSchedule')[fork]
    if (entry === undefined) continue
    const path = `config.blobSchedule.${fork}`
    const fields = object(entry, path)
    schedule[fork] = {
      target: number(fields['target'], `${path}.target`),
      max: number(fields['max'], `${path}.max`),
      baseFeeUpdateFraction: BigInt(number(fields['baseFeeUpdateFraction'], `${path}.baseFeeUpdateFraction`)),
    }
  }
  return schedule
}

function parseAlloc(alloc: Json): Genesis['state'] {
  const accounts = new Map<Address, Account>()
  const storage = new Map<Address, Map<Hash, bigint>>()
  const codes = new Map<Hash, Uint8Array>()
  for (const [key, value] of Object.entries(alloc)) {
    const path = `alloc.${key}`
    const fields = object(value, path)
    const owner = address(key.startsWith('0x') ? key : `0x${key}`, path)
    const code = bytes(fields['code'] ?? '0x', `${path}.code`)
    const codeHash = code.length === 0 ? EMPTY_CODE_HASH : Hash.keccak(code)
    if (code.length > 0) codes.set(codeHash, code)
    accounts.set(owner, {
      balance: quantity(fields['balance'] ?? '0x0', `${path}.balance`),
      nonce: quantity(fields['nonce'] ?? '0x0', `${path}.nonce`),
      codeHash,
    })
    const slots = parseStorage(object(fields['storage'] ?? {}, `${path}.storage`), `${path}.storage`)
    if (slots.size > 0) storage.set(owner, slots)
  }
  return { accounts, storage, codes }
}

function parseStorage(fields: Json, path: string): Map<Hash, bigint> {
  const slots = new Map<Hash, bigint>()
  for (const [slot, value] of Object.entries(fields)) {
    const word = quantity(value, `${path}.${slot}`)
    if (word !== 0n) slots.set(Hash.fromBigint(quantity(slot, `${path}.${slot}`)), word)
  }
  return slots
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new GenesisError('file', `is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function object(value: unknown, field: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new GenesisError(field, 'must be an object')
  return value as Json // each value is validated before use
}

/** Parses an integer of at most 256 bits. */
function quantity(value: unknown, field: string): bigint {
  const result = integer(value, field)
  if (result >> 256n !== 0n) throw new GenesisError(field, `has more than 256 bits: ${JSON.stringify(value)}`)
  return result
}

/** Parses hex with 0x, 64 hex digits without it (geth writes both in alloc), decimal text, or a JSON number. */
function integer(value: unknown, field: string): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  if (typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value)) return BigInt(value)
  if (typeof value === 'string' && /^[0-9a-fA-F]{64}$/.test(value)) return BigInt(`0x${value}`)
  if (typeof value === 'string' && /^[0-9]+$/.test(value)) return BigInt(value)
  throw new GenesisError(field, `must be a quantity such as "0x1" or 1, not ${JSON.stringify(value)}`)
}

function optional(value: unknown, field: string): bigint | null {
  return value === undefined || value === null ? null : quantity(value, field)
}

function number(value: unknown, field: string): number {
  const result = Number(quantity(value, field))
  if (!Number.isSafeInteger(result)) throw new GenesisError(field, `is too large: ${JSON.stringify(value)}`)
  return result
}

function bytes(value: unknown, field: string): Uint8Array {
  if (typeof value !== 'string' || !/^0x([0-9a-fA-F]{2})*$/.test(value)) throw new GenesisError(field, 'must be 0x-prefixed bytes')
  return Hex.toBytes(value)
}

function nonce(value: unknown): Uint8Array {
  const result = new Uint8Array(8)
  const word = quantity(value, 'nonce')
  if (word >> 64n !== 0n) throw new GenesisError('nonce', `has more than 8 bytes: ${JSON.stringify(value)}`)
  new DataView(result.buffer).setBigUint64(0, word)
  return result
}

function hash(value: unknown, field: string): Hash {
  return asGenesisError(field, () => Hash.from(value as Hex))
}

function address(value: unknown, field: string): Address {
  return asGenesisError(field, () => Address.from(value as Hex))
}

function asGenesisError<T>(field: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof DecodeError) throw new GenesisError(field, error.message)
    throw error
  }
}

/** Invalid genesis file; the message names the field. */
export class GenesisError extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(`genesis ${field} ${message}`)
    this.name = 'GenesisError'
    this.field = field
  }
}
