import { CADENCES, CHAOS_PROFILES, ExecutionNotes, LATEST_SECONDS, MAX_FIRST_BLOCK, cadenceProblem } from '../chain/index.ts'
import type { FleetOptions } from '../fleet/index.ts'
import type { Cadence } from '../chain/index.ts'
import { COMPAT, MIN_OP_GAS_LIMIT } from '../compat.ts'
import { Hex, isObject } from '../eth/index.ts'
import type { ListenOptions } from '../server/index.ts'
import type { StateFileOptions } from '../store/index.ts'
import type { BundlerChoices, ForkOptions, PocketchainOptions, SponsorChoices, WalletChoices } from './options.ts'

/** Throws RangeError for an unknown option or a wrong value. In JavaScript, and in a test runner that strips types, nothing else checks them. */
export function checkOptions(options: PocketchainOptions): void {
  checkObject(options, OPTIONS, 'createPocketchain')
  const { fork, fleet, cadence, fundedAccounts } = options
  if (fork !== undefined && fork.url === undefined) throw new RangeError(`fork must be ${FORK_SHAPE}`)
  if (fleet !== undefined && (fleet.database === undefined || fleet.nats === undefined || fleet.role === undefined))
    throw new RangeError(`fleet must be ${FLEET_SHAPE}`)
  if (isObject(cadence)) checkCadence(cadence)
  for (const { options: pair, reason, isExcluded } of EXCLUSIONS)
    if (isExcluded(options)) throw new RangeError(`${pair} exclude each other: ${reason}; omit one of them`)
  const accounts: readonly unknown[] = fundedAccounts ?? []
  for (const [index, account] of accounts.entries()) {
    const path = `fundedAccounts[${index}]`
    if (!isObject(account)) throw new RangeError(`${path} must be an object with address and balance, not ${String(account)}`)
    checkTable({ address: null, balance: null, ...account }, FUNDED_ACCOUNT, `${path}.`)
  }
}

/** Throws RangeError for an unknown option of `listen` or a wrong value: Node listens on every address if the host is empty. */
export function checkListenOptions(options: Partial<ListenOptions>): void {
  checkObject(options, LISTEN, 'listen')
}

/** Throws RangeError for an unknown option of `stateFile` or a wrong value. */
export function checkStateFileOptions(options: StateFileOptions): void {
  checkObject(options, STATE_FILE, 'stateFile')
}

const FLEET_CHAIN = 'the chain of a fleet is that of its database'
const NO_DATA_FEE = 'a chain of type l1 has no data fee'

/** Options of which one would have no effect with the other. The parts that use others check them. */
const EXCLUSIONS: readonly {
  readonly options: string
  readonly reason: string
  readonly isExcluded: (options: PocketchainOptions) => boolean
}[] = [
  { options: 'fleet and fork', reason: FLEET_CHAIN, isExcluded: ({ fleet, fork }) => fleet !== undefined && fork !== undefined },
  {
    options: 'fleet and stateFile',
    reason: FLEET_CHAIN,
    isExcluded: ({ fleet, stateFile }) => fleet !== undefined && stateFile !== undefined,
  },
  {
    options: 'fork.blockNumber and fork.transactionHash',
    reason: 'each names the block to fork from',
    isExcluded: ({ fork }) => fork?.blockNumber !== undefined && fork.transactionHash !== undefined,
  },
  {
    options: 'chainType and l1BaseFee',
    reason: NO_DATA_FEE,
    isExcluded: ({ chainType, l1BaseFee }) => chainType === 'l1' && l1BaseFee !== undefined,
  },
  {
    options: 'chainType and l1BlobBaseFee',
    reason: NO_DATA_FEE,
    isExcluded: ({ chainType, l1BlobBaseFee }) => chainType === 'l1' && l1BlobBaseFee !== undefined,
  },
]

function checkObject(options: unknown, table: Table, method: string): void {
  if (!isObject(options)) throw new RangeError(`${method} takes an object of options, not ${String(options)}`)
  checkTable(options, table, '', method)
}

/** `prefix`: the path of the object, such as `wallet.`, and empty for the options of the method. */
function checkTable(options: object, table: Table, prefix: string, place = prefix.slice(0, -1)): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue
    const path = `${prefix}${name}`
    if (!Object.hasOwn(table, name))
      throw new RangeError(`unknown option ${path}; the options of ${place} are ${Object.keys(table).join(', ')}`)
    const { expected, accepts, fields } = table[name]!
    if (!accepts(value))
      throw new RangeError(`${path} must be ${expected}, not ${typeof value === 'string' ? `"${value}"` : String(value)}`)
    if (fields !== undefined && isObject(value)) checkTable(value, fields, `${path}.`)
  }
}

function checkCadence(cadence: Readonly<Record<string, unknown>>): void {
  const fields = new Map<unknown, object>(Object.entries(CADENCES)).get(cadence['kind'])
  if (fields === undefined)
    throw new RangeError(`cadence.kind must be one of ${Object.keys(CADENCES).join(', ')}, not ${String(cadence['kind'])}`)
  const unknown = Object.keys(cadence).find((name) => !(name in fields))
  if (unknown !== undefined) throw new RangeError(`unknown option cadence.${unknown}; this cadence has ${Object.keys(fields).join(', ')}`)
  const problem = cadenceProblem(cadence as Cadence) // of a known kind; its times may have any type
  if (problem !== null) throw new RangeError(`cadence: ${problem}`)
}

interface Kind {
  /** as in "must be a function" */
  readonly expected: string
  readonly accepts: (value: unknown) => boolean
  /** of an option that is an object */
  readonly fields?: Table
}

type Table = Readonly<Record<string, Kind>>

/** Fails to compile if an option is missing. */
type TableOf<T> = { readonly [Name in keyof Required<T>]: Kind }

/** A value that the part which uses it checks. */
const checkedLater: Kind = { expected: '', accepts: () => true }
const text: Kind = { expected: 'a string', accepts: (value) => typeof value === 'string' }
const flag: Kind = { expected: 'true or false', accepts: (value) => typeof value === 'boolean' }
const nonEmptyText: Kind = { expected: 'a string that is not empty', accepts: (value) => text.accepts(value) && value !== '' }
const bytes: Kind = { expected: 'a Uint8Array, such as the bytes of a file', accepts: (value) => value instanceof Uint8Array }
const list: Kind = { expected: 'an array', accepts: Array.isArray }
const callback: Kind = { expected: 'a function', accepts: (value) => typeof value === 'function' }
const wholeNumber: Kind = { expected: 'a whole number such as 1', accepts: (value) => Number.isSafeInteger(value) && Number(value) >= 0 }
const positive: Kind = { expected: 'a whole number from 1 on', accepts: (value) => wholeNumber.accepts(value) && value !== 0 }
const integer: Kind = { expected: 'a whole number such as -1', accepts: Number.isSafeInteger }
const wei = bigintTo(2n ** 256n - 1n, 'a bigint such as 10n ** 18n, from 0 to 2n ** 256n - 1n')
/** As in the dev methods: all ether is less than 2^128 wei, so the price of a unit of gas cannot exceed it. */
const price = bigintTo(2n ** 128n - 1n, 'wei as a bigint such as 10n ** 9n, from 0 to 2n ** 128n - 1n')

function wholeNumberTo(max: number, unit?: string): Kind {
  return {
    expected: `a whole number${unit === undefined ? '' : ` of ${unit}`} from 0 to ${max}`,
    accepts: (value) => wholeNumber.accepts(value) && Number(value) <= max,
  }
}

function bigintTo(max: bigint, expected: string): Kind {
  return { expected, accepts: (value) => typeof value === 'bigint' && value >= 0n && value <= max }
}

function oneOf(...names: readonly unknown[]): Kind {
  return { expected: `one of ${names.join(', ')}`, accepts: (value) => names.includes(value) }
}

/** An object is a profile of the caller. */
function oneOfOrObject(...names: readonly unknown[]): Kind {
  const { expected, accepts } = oneOf(...names)
  return { expected, accepts: (value) => accepts(value) || (typeof value === 'object' && value !== null) }
}

function nullOr({ expected, accepts }: Kind): Kind {
  return { expected: `${expected}, or null`, accepts: (value) => value === null || accepts(value) }
}

function object(fields: Table, expected: string): Kind {
  return { expected, accepts: isObject, fields }
}

function objectOrFalse(fields: Table): Kind {
  return { expected: 'an object of options, or false', accepts: (value) => value === false || isObject(value), fields }
}

const FUNDED_ACCOUNT: Table = {
  address: { expected: '0x and 40 hex digits', accepts: (value) => Hex.isHex(value, 40) },
  balance: wei,
}

const WALLET: TableOf<WalletChoices> = {
  chains: list,
  keys: object({ memory: list, keystore: checkedLater }, 'an object with memory or keystore'),
  maxCalls: wholeNumber,
  maxCallDataBytes: wholeNumber,
  confirmation: oneOf('preconfirmed', 'sealed'),
  disabledMethods: list,
  sponsorship: flag,
  unsponsoredChains: list,
  allowHttpLoopback: flag,
  policy: checkedLater,
  latencyMs: wholeNumber,
  answerWithinMs: nullOr(wholeNumber),
  connect: callback,
  fetch: callback,
}

const BUNDLER: TableOf<BundlerChoices> = {
  key: text,
  rules: oneOf('strict', 'relaxed', 'off', true, false),
  minStake: wei,
  minUnstakeDelay: bigintTo(0xffff_ffffn, 'seconds as a bigint such as 86_400n, from 0 to 2n ** 32n - 1n'),
}

const SPONSOR: TableOf<SponsorChoices> = {
  signer: text,
  owner: text,
  name: text,
  icon: nullOr(text),
  policies: list,
  validForSeconds: wholeNumber,
  depositWei: wei,
}

const FORK: TableOf<ForkOptions> = {
  url: { expected: 'a string, or an array of strings', accepts: (value) => [value].flat().every((each) => typeof each === 'string') },
  blockNumber: integer,
  transactionHash: text,
  chainId: wholeNumber,
  storageCaching: flag,
  cachePath: text,
  timeoutMs: wholeNumber,
  retries: wholeNumber,
  backoffMs: wholeNumber,
  headers: { expected: 'an object of headers', accepts: isObject },
  computeUnitsPerSecond: nullOr(wholeNumber),
  noRateLimit: flag,
  ca: text,
}
const FORK_SHAPE = "an object with the url of the chain to fork, such as { url: 'https://mainnet.base.org' }"

const FLEET: TableOf<FleetOptions> = {
  nats: text,
  database: text,
  role: oneOf('sequencer', 'standby', 'replica'),
  outageMs: wholeNumber,
  onDeposed: callback,
}
const FLEET_SHAPE = 'an object with database (a URL of PostgreSQL), nats (URLs) and role'

const OPTIONS: TableOf<PocketchainOptions> = {
  cadence: oneOfOrObject(...Object.keys(CADENCES)),
  clock: oneOfOrObject('real', 'manual'),
  chaos: oneOfOrObject(...Object.keys(CHAOS_PROFILES)),
  seed: text,
  order: oneOf('fees', 'fifo'),
  compat: oneOf(...Object.keys(COMPAT)),
  latest: oneOf('sealed', 'promised'),
  chainType: oneOf('op', 'l1'),
  hardfork: text,
  tier1: oneOf('on', 'off', 'shadow'),

  chainId: positive,
  accounts: wholeNumberTo(1_000),
  number: wholeNumberTo(MAX_FIRST_BLOCK),
  timestamp: wholeNumberTo(LATEST_SECONDS, 'seconds'),
  prune: wholeNumber,
  stateHistory: wholeNumber,
  workers: wholeNumberTo(64),

  mnemonic: text,
  derivationPath: text,
  fundedAccounts: list,
  autoImpersonate: flag,
  clientVersion: text,

  fork: object(FORK, FORK_SHAPE),
  genesis: text,
  importedChain: bytes,
  stateFile: bytes,
  data: text,
  codeSizeLimit: nullOr(wholeNumber),
  factories: flag,
  withAccounts: flag,

  baseFee: price,
  // The header's extra data has eight bytes for it.
  minBaseFee: bigintTo(2n ** 64n - 1n, 'wei as a bigint such as 10n ** 9n, from 0 to 2n ** 64n - 1n'),
  minGasPrice: price,
  l1BaseFee: price,
  l1BlobBaseFee: price,
  balance: wei,
  gasLimit: {
    expected: `gas as a bigint such as 60_000_000n, from ${MIN_OP_GAS_LIMIT} to ${Number.MAX_SAFE_INTEGER}`,
    accepts: (value) => typeof value === 'bigint' && value >= MIN_OP_GAS_LIMIT && value <= BigInt(Number.MAX_SAFE_INTEGER),
  },
  transactionGasCap: {
    expected: 'gas as a bigint from 1n to 2n ** 64n - 1n, or null for no cap',
    accepts: (value) => value === null || (typeof value === 'bigint' && value >= 1n && value < 2n ** 64n),
  },

  wallet: objectOrFalse(WALLET),
  bundler: objectOrFalse(BUNDLER),
  sponsor: objectOrFalse(SPONSOR),
  fleet: object(FLEET, FLEET_SHAPE),
  observer: { expected: 'an object with functions', accepts: isObject },
  executionNotes: { expected: 'an ExecutionNotes', accepts: (value) => value instanceof ExecutionNotes },

  signal: { expected: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal },
  onImported: callback,
  onMining: callback,
  onForkProgress: callback,
  onNote: callback,
  onError: callback,
}

const LISTEN: TableOf<ListenOptions> = {
  host: nonEmptyText,
  port: wholeNumberTo(65_535),
  rawHttp: flag,
  keys: nullOr(nonEmptyText),
  ipc: nullOr(nonEmptyText),
  tlsFolder: nullOr(nonEmptyText),
  allowOrigins: list,
  allowHosts: list,
  cors: flag,
}

const STATE_FILE: TableOf<StateFileOptions> = { pastStates: flag }
