import { Address, Hash } from '../eth/index.ts'
import type { Log } from '../eth/index.ts'
import { ConsoleCollector } from './console.ts'
import { rulesBlock } from './gasschedule.ts'
import type { Deadline } from './deadline.ts'
import type { Frame, FrameResult } from './frame.ts'
import { haltReason } from './haltreason.ts'
import { NO_HOOKS } from './hooks.ts'
import { readLog, TracerHooks } from './tracerhooks.ts'
import type { Instance, HostCallbacks } from './instance.ts'
import { reportMismatch, runInShadowMode, Tier, tier1ModeOf } from './jit/index.ts'
import { FUEL_PER_CLOCK_CHECK } from './limits.ts'
import type { BlockContext, BlockEnv, OnCallResult, Outcome, CallMessage } from './message.ts'
import { precompiledContracts } from './precompiles/table.ts'
import type { Rules } from './forks.ts'
import { F_BASE, F_PC, F_SP } from './runtime/frame.ts'
import {
  A_DESTROYED,
  BASE_FEE,
  BLOB_BASE_FEE,
  BLOB_COUNT,
  BLOB_HASHES,
  CHAIN_ID,
  COINBASE,
  FRAMES,
  GAS_LIMIT,
  GAS_PRICE,
  TIER1_RANKS,
  INPUT,
  INPUT_END,
  JOURNAL,
  LOGS,
  MOVED,
  MOVED_COUNT,
  MOVED_SIZE,
  NUMBER,
  ORIGIN,
  OUT_OF_TIME,
  RANDOM,
  RETURN,
  REVERT,
  RULES,
  STATUS_BITS,
  SUCCESS,
  TARGET,
  TIMESTAMP,
  TOUCHED,
  VALUE,
} from './runtime/layout.ts'
import type { World } from './world.ts'

/** Above any gas limit; the runtime counts gas in 63 bits. */
const GAS_MAX = 2n ** 62n
const UNLIMITED_FUEL = 0x7fff_ffff
const NO_OUTPUT = new Uint8Array()

/**
 * Runs one frame in the runtime instance of the world. The world is unchanged when the frame fails or throws.
 *
 * @throws {OutOfTime} the frame's deadline has passed
 * @throws {EngineOutOfMemory} the frame exceeds the memory of an instance
 */
export function runFrame(frame: Frame, context: BlockContext, world: World): FrameResult {
  const { instance } = world
  const mark = world.checkpoint()
  try {
    return execute(frame, context, world, instance)
  } catch (error) {
    throw rollBack(error, world, mark)
  }
}

/**
 * Reverts to `mark` and returns the error to throw. After `outOfMemory` the tables and the journal are consistent. Any other trap is a bug:
 * the memory is no longer trusted and the world is abandoned.
 */
export function rollBack(error: unknown, world: World, mark: number): unknown {
  if (world.isAbandoned) return error
  const { instance } = world
  const { runtime, tier } = instance
  if (isTrap(error) && runtime.trapReason.value === 0) {
    if (tier !== null) reportMismatch(tier, `a trap: ${String(error)}`)
    world.abandon()
    return error
  }
  world.revertTo(mark)
  return isTrap(error) ? engineOutOfMemory(instance) : error
}

function isTrap(error: unknown): boolean {
  return error instanceof Error && error.name === 'RuntimeError'
}

function engineOutOfMemory(instance: Instance): EngineOutOfMemory {
  instance.runtime.clearTrapReason()
  return new EngineOutOfMemory()
}

function execute(frame: Frame, context: BlockContext, world: World, instance: Instance): FrameResult {
  const callbacks = new FrameCallbacks(frame.deadline, context)
  instance.callbacks = callbacks
  writeBlockContext(instance, context)
  writeFrame(instance, frame, world)
  instance.hooks = frame.tracer === null ? NO_HOOKS : hooksFor(instance, frame, callbacks)
  if (tier1ModeOf(context.config) === 'off' && instance.tier === null) return run(frame, instance, callbacks)
  return runTiered(frame, context, instance, callbacks)
}

function run(frame: Frame, instance: Instance, callbacks: FrameCallbacks): FrameResult {
  const { runtime } = instance
  runtime.setFuel(frame.deadline === null ? UNLIMITED_FUEL : FUEL_PER_CLOCK_CHECK)
  callbacks.console = null // the shadow mode runs a frame twice
  const gas = frame.gas < GAS_MAX ? frame.gas : GAS_MAX
  const status = runtime.execute(frame.to === null ? 1 : 0, frame.data.length, gas)
  if (status === OUT_OF_TIME) throw outOfTime(frame.deadline)
  const isSuccess = status === SUCCESS
  return {
    outcome: outcomeOf(status, instance, callbacks),
    output: outputOf(instance),
    gasUsed: gas - runtime.gasLeft.value,
    refund: isSuccess ? runtime.refund.value : 0n,
    logs: isSuccess && frame.skipLogs !== true ? logsOf(instance) : [],
    destroyed: isSuccess ? destroyedOf(instance) : [],
    console: callbacks.console,
  }
}

function runTiered(frame: Frame, { config, rules }: BlockContext, instance: Instance, callbacks: FrameCallbacks): FrameResult {
  if (instance.isTraced) return run(frame, instance, callbacks)
  const tier = (instance.tier ??= new Tier(instance))
  const block = rulesBlock(config, rules)
  const mode = tier1ModeOf(config)
  if (mode === 'shadow') return runInShadowMode(instance, tier, block, () => run(frame, instance, callbacks))
  tier.prepare(block, mode === 'on')
  return run(frame, instance, callbacks)
}

/**
 * Executes a call in a new `world`, without reverting it, and passes its result to `onResult`. `gas` is the gas after the intrinsic gas.
 * Throws as `runFrame` does.
 */
export function runCall<T>(
  { from, to, data }: CallMessage,
  gas: number,
  context: BlockContext,
  world: World,
  deadline: Deadline,
  onResult: OnCallResult<T>,
): T {
  const { instance } = world
  const callbacks = new FrameCallbacks(deadline, context)
  instance.callbacks = callbacks
  writeBlockContext(instance, context)
  if (data.length > INPUT_END - INPUT) throw new EngineOutOfMemory()
  instance.bytes.set(data, INPUT)
  prepareTier(instance, context)
  let packed: number
  try {
    packed = instance.runtime.executeCall(instance.account(from), instance.account(to), data.length, gas, FUEL_PER_CLOCK_CHECK)
    if ((packed & STATUS) === OUT_OF_TIME) throw outOfTime(deadline)
  } catch (error) {
    throw rollBack(error, world, JOURNAL)
  }
  return onResult(outcomeOf(packed & STATUS, instance, callbacks), instance.bytes, RETURN, packed >>> STATUS_BITS, callbacks.console)
}

/** Without the shadow mode, which runs a message twice. */
function prepareTier(instance: Instance, { config, rules }: BlockContext): void {
  const isCompiled = tier1ModeOf(config) === 'on'
  if (isCompiled) instance.tier ??= new Tier(instance)
  instance.tier?.prepare(rulesBlock(config, rules), isCompiled)
}

const STATUS = 2 ** STATUS_BITS - 1

function outOfTime(deadline: Deadline | null): Error {
  deadline?.check()
  return new Error('the runtime reported a timeout before the deadline')
}

function hooksFor(instance: Instance, frame: Frame, callbacks: FrameCallbacks): TracerHooks {
  if (!instance.isTraced || frame.tracer === null) throw new Error('a tracer needs a world that is made with { traced: true }')
  const hooks = new TracerHooks(instance, frame.tracer, () => callbacks.checkDeadline())
  callbacks.onFailure = (reason) => (hooks.precompileError = reason)
  return hooks
}

// --- parameters ------------------------------------------------------------------------------------------------------------

function writeBlockContext(instance: Instance, context: BlockContext): void {
  const { blockContext: written } = instance
  if (written === context) return
  const { config, rules, env } = context
  if (written?.config !== config || written.rules !== rules) {
    instance.bytes.set(rulesBlock(config, rules), RULES)
    instance.setWord(CHAIN_ID, BigInt(config.chainId))
  }
  instance.blockContext = context
  instance.setAddress(COINBASE, env.coinbase)
  instance.setWord(NUMBER, BigInt(env.number))
  instance.setWord(TIMESTAMP, BigInt(env.timestamp))
  if (rules.has('paris')) instance.setKey(RANDOM, env.prevRandao)
  else instance.setWord(RANDOM, env.difficulty)
  instance.setWord(GAS_LIMIT, env.gasLimit)
  instance.setWord(BASE_FEE, env.baseFeePerGas ?? 0n)
  instance.setWord(BLOB_BASE_FEE, env.blobBaseFee ?? 0n)
}

function writeFrame(instance: Instance, frame: Frame, world: World): void {
  const { runtime } = instance
  if (frame.data.length > INPUT_END - INPUT) throw new EngineOutOfMemory()
  instance.copyAddress(ORIGIN, instance.account(frame.caller))
  if (frame.to !== null) instance.copyAddress(TARGET, instance.account(frame.to))
  // The nonce has been increased already.
  else instance.setAddress(TARGET, Address.create(frame.caller, world.nonce(frame.caller) - 1n))
  instance.setWord(VALUE, frame.value)
  instance.setWord(GAS_PRICE, frame.gasPrice)
  instance.bytes.set(frame.data, INPUT)
  if (frame.blobVersionedHashes.length > (TIER1_RANKS - BLOB_HASHES) / 32) throw new EngineOutOfMemory()
  instance.setU32(BLOB_COUNT, frame.blobVersionedHashes.length)
  for (let i = 0; i < frame.blobVersionedHashes.length; i++) instance.setKey(BLOB_HASHES + 32 * i, frame.blobVersionedHashes[i] as Hash) // below its length
  writeMovedPrecompiles(instance, frame)
  for (const address of frame.warm) runtime.warmAccount(instance.account(address))
  for (const { address, storageKeys } of frame.accessList) {
    const account = instance.account(address)
    runtime.warmAccount(account)
    for (const key of storageKeys) runtime.warmSlot(instance.slot(account, key))
  }
}

function writeMovedPrecompiles(instance: Instance, { movedPrecompiles, maskedPrecompiles }: Frame): void {
  instance.setU32(MOVED_COUNT, 0)
  if ((movedPrecompiles?.size ?? 0) === 0 && (maskedPrecompiles?.size ?? 0) === 0) return
  const moved = new Map<Address, number>()
  for (const address of maskedPrecompiles ?? []) moved.set(address, 0)
  for (const from of movedPrecompiles?.values() ?? []) moved.set(from, 0)
  for (const [to, from] of movedPrecompiles ?? []) moved.set(to, Number(from))
  if (moved.size > (BLOB_HASHES - MOVED) / MOVED_SIZE) throw new EngineOutOfMemory()
  instance.setU32(MOVED_COUNT, moved.size)
  let at = MOVED
  for (const [address, number] of moved) {
    instance.setAddress(at, address)
    instance.setU32(at + 20, number)
    at += MOVED_SIZE
  }
}

const NOOP = () => {}

/** Callbacks of one frame. */
class FrameCallbacks implements HostCallbacks {
  precompileError: string | null = null
  /** null: no call to the console address */
  console: ConsoleCollector | null = null
  onFailure: (reason: string) => void = NOOP
  /** at most the 256 hashes in range of BLOCKHASH; null: none yet */
  #hashes: Map<number, Uint8Array> | null = null
  readonly #env: BlockEnv
  readonly #rules: Rules
  readonly #deadline: Deadline | null

  constructor(deadline: Deadline | null, { env, rules }: BlockContext) {
    this.#env = env
    this.#rules = rules
    this.#deadline = deadline
  }

  /** Cached: a loop can call BLOCKHASH 2 million times for 20 gas each. */
  blockHash(number: number): Uint8Array {
    const hashes = (this.#hashes ??= new Map())
    let hash = hashes.get(number)
    if (hash === undefined) hashes.set(number, (hash = Hash.toBytes(this.#env.blockHash(number) ?? Hash.zero)))
    return hash
  }

  precompile(number: number) {
    return precompiledContracts(this.#rules).get(number) ?? null
  }

  refuel(): number {
    if (this.#deadline === null) return UNLIMITED_FUEL
    return performance.now() < this.#deadline.endMs ? FUEL_PER_CLOCK_CHECK : 0
  }

  checkDeadline(): void {
    this.#deadline?.check()
  }

  onPrecompileError(reason: string): void {
    this.precompileError = reason
    this.onFailure(reason)
  }

  onConsoleCall(memory: Uint8Array, at: number, size: number): void {
    this.console ??= new ConsoleCollector()
    this.console.add(memory, at, size)
  }
}

// --- results ---------------------------------------------------------------------------------------------------------------

function outcomeOf(status: number, instance: Instance, { precompileError }: FrameCallbacks): Outcome {
  if (status === SUCCESS) return SUCCEEDED
  if (status === REVERT) return REVERTED
  const pc = instance.u32(FRAMES + F_PC)
  const state = {
    op: pc === 0 ? 0xfe : (instance.bytes[pc] ?? 0),
    stackSize: (instance.u32(FRAMES + F_SP) - instance.u32(FRAMES + F_BASE)) / 32,
  }
  return { kind: 'halt', reason: haltReason(status, state, precompileError) }
}

const SUCCEEDED: Outcome = { kind: 'success' }
const REVERTED: Outcome = { kind: 'revert' }

function outputOf(instance: Instance): Uint8Array {
  const size = instance.runtime.returnSize.value
  return size === 0 ? NO_OUTPUT : instance.slice(RETURN, size)
}

function logsOf(instance: Instance): Log[] {
  const logs: Log[] = []
  let at = LOGS
  for (let left = instance.runtime.logCount.value; left > 0; left--) {
    logs.push(readLog(instance, at))
    at += instance.u32(at + 12)
  }
  return logs
}

/** Accounts that SELFDESTRUCT marked in this transaction. */
function destroyedOf(instance: Instance): Address[] {
  const epoch = instance.runtime.currentEpoch() >>> 0
  const destroyed: Address[] = []
  const end = instance.runtime.touchedEnd()
  for (let at = TOUCHED; at < end; at += 4) {
    const account = instance.u32(at)
    if (instance.u32(account + A_DESTROYED) === epoch) destroyed.push(instance.addressOf(account))
  }
  return destroyed.length > 1 ? [...new Set(destroyed)] : destroyed
}

/** The message exceeds the memory of the engine. */
export class EngineOutOfMemory extends Error {
  override readonly name = 'EngineOutOfMemory'

  constructor() {
    super('the message touches more state, or makes more logs and memory, than one execution may: do it in smaller ones')
  }
}
