import { Address } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { StateOverlay, World, activePrecompiles, rulesAt } from '../../evm/index.ts'
import type { Account, BlockContext, ExecuteOptions, Rules, StateReader } from '../../evm/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { OVERRIDDEN_ACCOUNTS, OVERRIDDEN_SLOTS, SIMULATED_WITHDRAWALS } from '../limits.ts'
import type { Schema } from '../method.ts'
import { address, arrayOf, bytes, mapOf, maybe, object, quantity, quantityNumber, storageSlot, uint64 } from '../../jsonrpc/schema.ts'
import type { Infer } from '../../jsonrpc/schema.ts'

const slots = mapOf<Hash, Hash>(storageSlot, storageSlot, OVERRIDDEN_SLOTS)

const accountFields = object({
  balance: maybe(quantity),
  nonce: maybe(uint64),
  code: maybe(bytes),
  state: maybe(slots),
  stateDiff: maybe(slots),
  movePrecompileToAddress: maybe(address),
  MovePrecompileToAddress: maybe(address),
})

type AccountOverride = Partial<Omit<Infer<typeof accountFields>, 'MovePrecompileToAddress'>>

/** alloy sends `MovePrecompileToAddress`, which geth takes too. */
const accountOverride: Schema<AccountOverride> = {
  json: accountFields.json,
  parse: (value, path) => {
    const { MovePrecompileToAddress: moved, ...fields } = accountFields.parse(value, path)
    return moved === undefined ? fields : { ...fields, movePrecompileToAddress: fields.movePrecompileToAddress ?? moved }
  },
}

export type StateOverrides = ReadonlyMap<Address, AccountOverride>

/** Accounts as a call reads them. `state` replaces the storage, `stateDiff` patches it. */
export const stateOverrides: Schema<StateOverrides> = mapOf<Address, AccountOverride>(address, accountOverride, OVERRIDDEN_ACCOUNTS)

/** EIP-4895, amounts in gwei. */
export const withdrawal = object({ index: uint64, validatorIndex: uint64, address, amount: uint64 })

const blockFields = object({
  number: maybe(quantityNumber),
  difficulty: maybe(quantity),
  time: maybe(quantityNumber),
  gasLimit: maybe(quantity),
  feeRecipient: maybe(address),
  prevRandao: maybe(storageSlot),
  baseFeePerGas: maybe(quantity),
  blobBaseFee: maybe(quantity),
  beaconRoot: maybe(storageSlot),
  withdrawals: maybe(arrayOf(withdrawal, SIMULATED_WITHDRAWALS)),
  coinbase: maybe(address),
  random: maybe(storageSlot),
  baseFee: maybe(quantity),
  blockNumber: maybe(quantityNumber),
  timestamp: maybe(quantityNumber),
})

export type BlockOverrides = Omit<Infer<typeof blockFields>, 'coinbase' | 'random' | 'baseFee' | 'blockNumber' | 'timestamp'>

/**
 * The block environment of a call. Absent fields keep their values. alloy and old versions of geth send `coinbase`, `random` and `baseFee`,
 * clients of erigon `blockNumber` and `timestamp`, which alloy reads too.
 */
export const blockOverrides: Schema<BlockOverrides> = {
  json: blockFields.json,
  parse: (value, path) => {
    const { coinbase, random, baseFee, blockNumber, timestamp, ...fields } = blockFields.parse(value, path)
    return {
      ...fields,
      number: fields.number ?? blockNumber,
      time: fields.time ?? timestamp,
      feeRecipient: fields.feeRecipient ?? coinbase,
      prevRandao: fields.prevRandao ?? random,
      baseFeePerGas: fields.baseFeePerGas ?? baseFee,
    }
  },
}

/** Moved and overridden precompiles, as options of the executor. */
export type PrecompileOverrides = Required<Pick<ExecuteOptions, 'movedPrecompiles' | 'maskedPrecompiles'>>

export const NO_PRECOMPILE_OVERRIDES: PrecompileOverrides = { movedPrecompiles: new Map(), maskedPrecompiles: new Set() }

/**
 * A state in which the storage of some accounts is empty: of those whose `state` is overridden. Writing zeros to their slots is not sufficient on a
 * fork, where not all slots are known.
 */
export class ReplacedStorage implements StateReader {
  readonly #state: StateReader
  readonly #replaced = new Set<Address>()

  private constructor(state: StateReader) {
    this.#state = state
  }

  /** `state` with all storage, for overrides that follow one another; null if none of them replaces any. */
  static of(state: StateReader, overrides: readonly (StateOverrides | undefined)[]): ReplacedStorage | null {
    return overrides.some((each) => replacedBy(each).length > 0) ? new ReplacedStorage(state) : null
  }

  /** To be called before `overrideState`. */
  replace(overrides: StateOverrides | undefined): void {
    for (const target of replacedBy(overrides)) this.#replaced.add(target)
  }

  account(address: Address): Account | null {
    return this.#state.account(address)
  }

  code(codeHash: Hash, owner?: Address): Uint8Array {
    return this.#state.code(codeHash, owner)
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#replaced.has(address) ? 0n : this.#state.storage(address, slot)
  }

  /** The known slots, which `World.clearStorage` sets to zero. */
  slots(address: Address): Iterable<Hash> {
    return this.#state.slots(address)
  }
}

function replacedBy(overrides: StateOverrides | undefined): readonly Address[] {
  return [...(overrides ?? [])].flatMap(([target, { state }]) => (state === undefined ? [] : [target]))
}

/** A state with overrides, for several calls. */
interface OverriddenState {
  /** `apply` adds what a call changed */
  readonly state: StateOverlay
  readonly precompiles: PrecompileOverrides
}

/** Applies the overrides once, below what calls then change. Throws RpcError as `overrideState`. */
export function overriddenState(base: StateReader, overrides: StateOverrides | undefined, rules: Rules): OverriddenState {
  const replaced = ReplacedStorage.of(base, [overrides])
  replaced?.replace(overrides)
  const below = replaced ?? base
  const state = new StateOverlay(below)
  const world = new World(below)
  try {
    const precompiles = overrideState(world, overrides, rules)
    state.apply(world.writes())
    return { state, precompiles }
  } finally {
    world.release()
  }
}

/** Writes the overrides into `world`, in order of address so that errors are stable. Throws RpcError -32000 in geth's words. */
export function overrideState(world: World, overrides: StateOverrides | undefined, rules: Rules): PrecompileOverrides {
  if (overrides === undefined) return NO_PRECOMPILE_OVERRIDES
  const precompiles = { movedPrecompiles: new Map<Address, Address>(), maskedPrecompiles: new Set<Address>() }
  for (const target of [...overrides.keys()].sort()) {
    const override = overrides.get(target)
    if (override === undefined) continue
    placePrecompile(target, override, precompiles, overrides, rules)
    overrideAccount(world, target, override)
  }
  world.beginTransaction()
  return precompiles
}

/** The context with the overridden fields; the rules follow the overridden number and time. */
export function overrideBlock(context: BlockContext, overrides: BlockOverrides | undefined): BlockContext {
  if (overrides === undefined) return context
  // A single call runs in no block that pays withdrawals or stores the beacon root; eth_simulateV1 makes such blocks.
  for (const key of ['beaconRoot', 'withdrawals'] as const) {
    if (overrides[key] === undefined) continue
    throw new RpcError(CODE.invalidParams, `block override "${key}" is not supported for this method`)
  }
  const number = overrides.number ?? context.env.number
  const timestamp = overrides.time ?? context.env.timestamp
  return {
    config: context.config,
    rules: rulesAt(context.config, number, timestamp),
    env: {
      ...context.env,
      number,
      timestamp,
      gasLimit: overrides.gasLimit ?? context.env.gasLimit,
      coinbase: overrides.feeRecipient ?? context.env.coinbase,
      prevRandao: overrides.prevRandao ?? context.env.prevRandao,
      difficulty: overrides.difficulty ?? context.env.difficulty,
      baseFeePerGas: overrides.baseFeePerGas ?? context.env.baseFeePerGas,
      blobBaseFee: overrides.blobBaseFee ?? context.env.blobBaseFee,
    },
  }
}

/** An overridden precompile becomes an ordinary account; a moved one works at its new address. */
function placePrecompile(
  target: Address,
  override: AccountOverride,
  precompiles: { movedPrecompiles: Map<Address, Address>; maskedPrecompiles: Set<Address> },
  overrides: StateOverrides | undefined,
  rules: Rules,
): void {
  if (precompiles.movedPrecompiles.has(target)) throw refusal(target, 'has already been overridden by a precompile')
  const isPrecompile = activePrecompiles(rules).has(target)
  const to = override.movePrecompileToAddress
  if (to !== undefined) {
    if (!isPrecompile) throw refusal(target, 'is not a precompile')
    if (overrides?.has(to) === true) throw refusal(to, 'is already overridden')
    precompiles.movedPrecompiles.set(to, target)
  }
  if (isPrecompile) precompiles.maskedPrecompiles.add(target)
}

function overrideAccount(world: World, target: Address, override: AccountOverride): void {
  const { balance, nonce, code, state, stateDiff } = override
  if (state !== undefined && stateDiff !== undefined) throw refusal(target, "has both 'state' and 'stateDiff'")
  if (nonce !== undefined) world.setNonce(target, nonce)
  if (code !== undefined) world.setCode(target, code)
  if (balance !== undefined) world.setBalance(target, balance)
  if (state !== undefined) world.clearStorage(target)
  // Storage needs an account.
  if ((state ?? stateDiff) !== undefined && world.account(target) === null) world.setBalance(target, 0n)
  for (const [slot, value] of state ?? stateDiff ?? []) world.setStorage(target, slot, BigInt(value))
}

function refusal(target: Address, reason: string): RpcError {
  return new RpcError(CODE.server, `account ${Address.checksum(target)} ${reason}`)
}
