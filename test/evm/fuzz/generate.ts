import { Address, Hash } from '../../../src/eth/index.ts'
import type { AccessListItem } from '../../../src/eth/index.ts'
import { L1_FORKS, NONCE_MAX } from '../../../src/evm/index.ts'
import { COINBASE, contextOf, type Fork } from './block.ts'
import { CodeGenerator, type ProgramContext } from './codegenerator.ts'
import type { AccountOf, After, Item, MessageOf, Program } from './program.ts'
import { Random } from './random.ts'

const CONTRACTS = [0x1000n, 0x1001n, 0x1002n, 0x1003n].map(Address.fromBigint)
const DELEGATED = [0xde00n, 0xde01n, 0xde02n].map(Address.fromBigint)
/** has ether, no code */
const PLAIN = Address.fromBigint(0xe0an)
/** exists but is empty: kept only by the oldest forks */
const EMPTY = Address.fromBigint(0xe3n)
/** its touch survives a revert (mainnet block 2675119) */
const RIPEMD_160 = Address.fromBigint(3n)
const MISSING = Address.fromBigint(0xdead00n)
const SENDER = Address.fromBigint(0x5e4de7n)
const ETHER = 10n ** 18n

const NEWEST: readonly (readonly [number, Fork])[] = [
  [10, 'osaka'],
  [8, 'prague'],
  [4, 'cancun'],
]
const OTHERS: readonly (readonly [number, Fork])[] = [
  ...L1_FORKS,
  'fjord' as const,
  'isthmus' as const,
  'jovian' as const,
  'azul' as const,
  'karst' as const,
]
  .filter((fork) => !fork.startsWith('bpo'))
  .map((fork) => [0.9, fork])

/** number of messages */
const COUNTS = [
  [5, 1],
  [3, 2],
  [1, 3],
  [0.7, 7],
] as const
const STAYING: readonly (readonly [number, After])[] = [
  [6, 'keep'],
  [2, 'undo'],
  [2, 'rebase'],
  [1, 'reopen'],
]
/** Transitions between states, to check that an engine's caches do not leak. */
const STATE_TRANSITIONS: readonly (readonly [number, After])[] = [
  [1, 'keep'],
  [1, 'undo'],
  [2, 'rebase'],
  [3, 'reopen'],
  [2, 'back'],
]

/** Program `index` of `seed`, deterministic. */
export function generate(seed: number, index: number, fork: Fork | null = null): Program {
  const random = new Random(seed, index)
  const chosen = fork ?? random.weighted([...NEWEST, ...OTHERS])
  const { has } = contextOf(chosen).rules
  const contracts = CONTRACTS.slice(0, random.between(1, CONTRACTS.length))
  const addresses = [...contracts, ...contracts, ...DELEGATED, PLAIN, EMPTY, MISSING, SENDER, COINBASE]
  const around: ProgramContext = {
    addresses,
    contracts: has('prague') ? [...contracts, ...contracts, ...DELEGATED] : contracts,
    has,
    depth: random.between(1, 2),
    statements: 8,
  }
  const accounts = [
    { address: SENDER, nonce: 5n, balance: 10n * ETHER, code: [], storage: [] },
    { address: PLAIN, nonce: 0n, balance: 1n, code: [], storage: [] },
    ...(random.chance(0.2) ? [{ address: RIPEMD_160, nonce: 0n, balance: 0n, code: [], storage: [] }] : []),
    { address: EMPTY, nonce: 0n, balance: 0n, code: [], storage: [] },
    ...contracts.map((address, index) =>
      contract(random, address, random.chance(0.7) ? callingOnly(contracts.slice(index + 1), around) : around),
    ),
    ...DELEGATED.map((address) => delegated(random, address, addresses)),
    ...collidingAccount(random, contracts),
  ]
  const count = random.weighted(COUNTS)
  const afters = count > 3 ? STATE_TRANSITIONS : STAYING
  const messages = Array.from({ length: count }, () => message(random, around, afters))
  return { fork: chosen, codeSizeLimit: random.chance(0.03) ? null : 24_576, accounts, messages }
}

/** Contracts that all call each other would spend all gas on calls. */
function callingOnly(later: readonly Address[], around: ProgramContext): ProgramContext {
  return { ...around, contracts: later.length > 0 ? later : [PLAIN] }
}

function contract(random: Random, address: Address, around: ProgramContext): AccountOf<readonly Item[]> {
  const statements = random.between(3, 30)
  return {
    address,
    nonce: random.weighted([
      [20, 1n],
      [1, 0n],
      [1, NONCE_MAX],
      [1, NONCE_MAX - 1n],
    ]),
    balance: random.weighted([
      [3, 0n],
      [3, 1_000n],
      [3, ETHER],
      [0.2, 2n ** 255n],
    ]),
    code: new CodeGenerator(random, { ...around, statements }).program(),
    storage: storageOf(random),
  }
}

function storageOf(random: Random): [bigint, bigint][] {
  const slots = [0n, 1n, 2n, 3n].filter(() => random.chance(0.65))
  return slots.map((slot) => [slot, random.chance(0.85) ? BigInt(random.between(1, 2)) : random.bits(256) | 1n])
}

/**
 * EIP-7702 delegation to a contract, a precompile, an absent account, another delegating account or itself. Code that starts with 0xef on
 * older forks.
 */
function delegated(random: Random, address: Address, addresses: readonly Address[]): AccountOf<readonly Item[]> {
  const target = random.chance(0.85) ? random.pick([...addresses, address]) : Address.fromBigint(BigInt(random.between(1, 17)))
  const bytes = Uint8Array.of(0xef, 0x01, 0x00, ...Address.toBytes(target))
  return { address, nonce: 1n, balance: ETHER, code: [{ kind: 'bytes', bytes }], storage: storageOf(random) }
}

/** An account at the address of the first contract's next CREATE, or the sender's. */
function collidingAccount(random: Random, [creator = SENDER]: readonly Address[]): AccountOf<readonly Item[]>[] {
  if (!random.chance(0.15)) return []
  const address = random.chance(0.8) ? Address.create(creator, 1n) : Address.create(SENDER, 5n)
  const nothing = { address, nonce: 0n, balance: 0n, code: [], storage: [] }
  return [
    random.pick<AccountOf<readonly Item[]>>([
      { ...nothing, balance: 7n },
      { ...nothing, nonce: 1n },
      { ...nothing, code: [{ kind: 'bytes', bytes: Uint8Array.of(0) }] },
      { ...nothing, balance: 1n, storage: [[0n, 1n]] },
    ]),
  ]
}

function message(random: Random, around: ProgramContext, afters: readonly (readonly [number, After])[]): MessageOf<readonly Item[]> {
  const creates = random.chance(0.12)
  const coder = new CodeGenerator(random, { ...around, statements: random.between(2, 12) })
  return {
    caller: random.chance(0.95) ? SENDER : random.pick(DELEGATED),
    to: creates ? null : random.chance(0.85) ? random.pick(around.contracts) : random.pick([...around.addresses, ...PRECOMPILED]),
    data: creates
      ? coder.initCode(new CodeGenerator(random, around).program())
      : [{ kind: 'bytes', bytes: random.bytes(random.chance(0.5) ? 0 : random.below(100)) }],
    value: random.weighted([
      [6, 0n],
      [2, 1n],
      [1, BigInt(random.below(10_000))],
      [0.3, ETHER],
    ]),
    gas: random.weighted([
      [0.5, 30_000n],
      [3, 100_000n],
      [8, 400_000n],
      [3, 1_000_000n],
      [0.05, 10_000_000n],
    ]),
    accessList: random.chance(0.2) ? accessListOf(random, around.addresses) : [],
    blobs: random.chance(0.1) ? random.between(1, 6) : 0,
    moved: random.chance(0.01) ? [[MISSING, Address.fromBigint(4n)]] : [],
    masked: random.chance(0.01) ? [Address.fromBigint(2n)] : [],
    after: random.weighted(afters),
  }
}

const PRECOMPILED = [1n, 2n, 3n, 4n, 5n, 9n].map(Address.fromBigint)

function accessListOf(random: Random, addresses: readonly Address[]): AccessListItem[] {
  return Array.from({ length: random.between(1, 3) }, () => ({
    address: random.pick(addresses),
    storageKeys: [0n, 1n, 2n, 3n].filter(() => random.chance(0.4)).map((slot) => Hash.fromBigint(slot)),
  }))
}
