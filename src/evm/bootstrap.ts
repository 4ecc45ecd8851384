/**
 * The bytecode interpreter until our own engine stands: @ethereumjs/evm behind the port of `frame.ts`. Every import and
 * type of that library is in this file; transaction rules, fees and system calls are not.
 *
 * It is loaded on the first frame (170 ms; `loadInterpreter` does it ahead of time), because a node that serves reads
 * needs none of it.
 */
import type { Common, CustomCrypto, StateManagerInterface } from '@ethereumjs/common'
import type { EVMMockBlockchainInterface, EVMOpts, ExecResult, PrecompileFunc, PrecompileInput } from '@ethereumjs/evm'
import type { Account as EthereumAccount, Address as EthereumAddress } from '@ethereumjs/util'
import { Address, EMPTY_CODE_HASH, Hash, Hex, keccak256, Secp256k1, sha256 } from '../eth/index.ts'
import type { AccessListItem, Log } from '../eth/index.ts'
import { blake2Rounds, compressBlake2, compressBlake2InSlices } from './blake2.ts'
import type { ChainConfig, L1Fork, Rules } from './forks.ts'
import type { Frame, FrameResult } from './frame.ts'
import { HALT, type HaltPlace } from './halt.ts'
import { IDLE_INTERPRETERS_MAX, JUMP_TABLES_MAX } from './limits.ts'
import type { BlockContext, BlockEnv, Outcome } from './message.ts'
import type { Pace } from './pace.ts'
import { BLAKE2F, inputLimit, P256_VERIFY, p256Gas, POINT_EVALUATION, precompiles } from './precompiles.ts'
import type { Account } from './state.ts'
import { TransferRecorder } from './transfers.ts'
import type { World } from './world.ts'

/** The library, as it arrives. `interpreter` builds one instance for one rule set of one chain. */
type Library = Awaited<ReturnType<typeof load>>
type Interpreter = ReturnType<Library['interpreter']>

const NAMES: Readonly<Record<L1Fork, string>> = {
  frontier: 'chainstart',
  homestead: 'homestead',
  tangerine: 'tangerineWhistle',
  spurious: 'spuriousDragon',
  byzantium: 'byzantium',
  constantinople: 'constantinople',
  petersburg: 'petersburg',
  istanbul: 'istanbul',
  berlin: 'berlin',
  london: 'london',
  paris: 'paris',
  shanghai: 'shanghai',
  cancun: 'cancun',
  prague: 'prague',
  osaka: 'osaka',
  bpo1: 'osaka',
  bpo2: 'osaka',
}

const NOTHING = new Uint8Array()
const TRUE = Hash.toBytes(Hash.fromBigint(1n))
const ADDRESS_MASK = (1n << 160n) - 1n

let library: Promise<Library> | null = null
const idle = new WeakMap<ChainConfig, WeakMap<Rules, Interpreter[]>>()

/** Loads the library ahead of the first frame, so that no request waits for it. */
export async function loadInterpreter(): Promise<void> {
  await (library ??= load())
}

/**
 * Runs one frame. An interpreter is taken from the pool for as long as the frame runs and put back afterwards, so calls
 * may interleave as long as each has its own world.
 */
export async function runFrame(frame: Frame, context: BlockContext, world: World): Promise<FrameResult> {
  const loaded = await (library ??= load())
  const pool = poolOf(context)
  const interpreter = pool.pop() ?? loaded.interpreter(context.config, context.rules)
  const mark = world.checkpoint()
  try {
    const result = await interpreter.runFrame(frame, context, world)
    if (pool.length < IDLE_INTERPRETERS_MAX) pool.push(interpreter)
    return result
  } catch (error) {
    // Not an EVM halt but a bug below. The instance may be in any state and is left to the collector.
    world.revertTo(mark)
    throw error
  }
}

function poolOf({ config, rules }: BlockContext): Interpreter[] {
  let byRules = idle.get(config)
  if (byRules === undefined) idle.set(config, (byRules = new WeakMap()))
  let pool = byRules.get(rules)
  if (pool === undefined) byRules.set(rules, (pool = []))
  return pool
}

async function load() {
  const [evm, common, util, { verifyP256 }, { evaluatePoint }] = await Promise.all([
    import('@ethereumjs/evm'),
    import('@ethereumjs/common'),
    import('@ethereumjs/util'),
    import('./p256.ts'),
    import('./kzg.ts'),
  ])

  /** The library's account is mutable and made anew for each read. The root stands for "has storage" (EIP-7610). */
  class AccountView extends util.Account {
    readonly #world: World
    readonly #address: Address

    constructor(world: World, address: Address, { nonce, balance, codeHash }: Account) {
      super(nonce, balance, util.KECCAK256_RLP, codeHash === EMPTY_CODE_HASH ? util.KECCAK256_NULL : Hash.toBytes(codeHash))
      this.#world = world
      this.#address = address
    }

    override get storageRoot(): Uint8Array {
      for (const _ of this.#world.slots(this.#address)) return NOTHING
      return util.KECCAK256_RLP
    }

    override set storageRoot(_root: Uint8Array) {
      throw new Error('storage roots are not kept here')
    }
  }

  /** `World` in the library's shape. Everything resolves at once; a checkpoint is a number. */
  class WorldState implements StateManagerInterface {
    world: World | null = null
    marks: number[] = []
    readonly originalStorageCache = {
      get: async (address: EthereumAddress, key: Uint8Array) => shortest(this.#world.originalStorage(addressOf(address), Hash.from(key))),
      clear: () => {},
    }

    async getAccount(address: EthereumAddress): Promise<EthereumAccount | undefined> {
      const key = addressOf(address)
      const account = this.#world.account(key)
      return account === null ? undefined : new AccountView(this.#world, key, account)
    }

    async putAccount(address: EthereumAddress, account?: EthereumAccount): Promise<void> {
      this.#world.setAccount(addressOf(address), account === undefined ? null : plain(account))
    }

    async deleteAccount(address: EthereumAddress): Promise<void> {
      this.#world.setAccount(addressOf(address), null)
    }

    async modifyAccountFields(address: EthereumAddress, fields: { nonce?: bigint; balance?: bigint }): Promise<void> {
      const key = addressOf(address)
      if (fields.nonce !== undefined) this.#world.setNonce(key, fields.nonce)
      if (fields.balance !== undefined) this.#world.setBalance(key, fields.balance)
    }

    async putCode(address: EthereumAddress, code: Uint8Array): Promise<void> {
      this.#world.setCode(addressOf(address), code)
    }

    async getCode(address: EthereumAddress): Promise<Uint8Array> {
      return this.#world.codeAt(addressOf(address))
    }

    async getCodeSize(address: EthereumAddress): Promise<number> {
      return this.#world.codeAt(addressOf(address)).length
    }

    async getStorage(address: EthereumAddress, key: Uint8Array): Promise<Uint8Array> {
      return shortest(this.#world.storage(addressOf(address), Hash.from(key)))
    }

    async putStorage(address: EthereumAddress, key: Uint8Array, value: Uint8Array): Promise<void> {
      const word = value.length === 0 ? 0n : BigInt(Hex.fromBytes(value))
      this.#world.setStorage(addressOf(address), Hash.from(key), word)
    }

    async clearStorage(address: EthereumAddress): Promise<void> {
      this.#world.clearStorage(addressOf(address))
    }

    async checkpoint(): Promise<void> {
      this.marks.push(this.#world.checkpoint())
    }

    async commit(): Promise<void> {
      this.marks.pop()
    }

    async revert(): Promise<void> {
      this.#world.revertTo(this.marks.pop() ?? 0)
    }

    async getStateRoot(): Promise<Uint8Array> {
      throw new Error('state roots are not kept here')
    }

    async setStateRoot(): Promise<void> {
      throw new Error('state roots are not kept here')
    }

    async hasStateRoot(): Promise<boolean> {
      return false
    }

    clearCaches(): void {}

    shallowCopy(): StateManagerInterface {
      return new WorldState()
    }

    get #world(): World {
      if (this.world === null) throw new Error('no frame is running')
      return this.world
    }
  }

  class BlockHashes implements EVMMockBlockchainInterface {
    env: BlockEnv | null = null

    async getBlock(number: number): Promise<{ hash(): Uint8Array }> {
      const hash = this.env?.blockHash(number) ?? Hash.zero
      return { hash: () => Hash.toBytes(hash) }
    }

    async putBlock(): Promise<void> {}

    shallowCopy(): EVMMockBlockchainInterface {
      return new BlockHashes()
    }
  }

  class PocketEvm extends evm.EVM {
    readonly jumpTables = new Map<Uint8Array, unknown>()
    pace: Pace | null = null
    readonly #state: WorldState
    readonly #hashes: BlockHashes
    readonly #rules: Rules

    constructor(options: EVMOpts, rules: Rules) {
      const state = new WorldState()
      const hashes = new BlockHashes()
      super({ ...options, stateManager: state, blockchain: hashes })
      this.#state = state
      this.#hashes = hashes
      this.#rules = rules
      this.#copyFast()
    }

    async runFrame(frame: Frame, { env }: BlockContext, world: World): Promise<FrameResult> {
      this.#state.world = world
      this.#hashes.env = env
      this.pace = frame.pace
      const standard = this._precompiles
      this._precompiles = rearranged(standard, frame)
      const transfers = frame.transferLogs ? new TransferRecorder() : null
      if (transfers !== null) this.#listen(transfers)
      this.#warm(frame)
      const { execResult } = await this.runCall(callOptions(frame, env))
      const result: FrameResult = {
        outcome: outcomeOf(execResult),
        output: execResult.returnValue,
        gasUsed: execResult.executionGasUsed,
        refund: execResult.gasRefund ?? 0n,
        logs: logsOf(execResult, transfers),
        destroyed: this.#destroyed(execResult),
        accessed: this.#accessed(),
      }
      this.#rest(standard)
      return result
    }

    /** The library pads what these opcodes copy one number at a time: 3 ms for 24 KB, paid with 2,400 gas. */
    #copyFast(): void {
      const copy = (runState: RunState, source: Uint8Array) => {
        const [at, from, length] = runState.stack.popN(3) as [bigint, bigint, bigint]
        if (length === 0n) return
        const start = from > BigInt(source.length) ? source.length : Number(from)
        const data = new Uint8Array(Number(length))
        data.set(source.subarray(start, start + data.length))
        runState.memory.write(Number(at), data.length, data)
      }
      const handle = (opcode: number, handler: OpHandler) => {
        const entry = this._opcodeMap[opcode]
        if (entry !== undefined) this._opcodeMap[opcode] = { ...entry, opHandler: handler }
      }
      handle(0x37, (runState) => copy(runState, runState.interpreter.getCallData()))
      handle(0x39, (runState) => copy(runState, runState.interpreter.getCode()))
      handle(0x3c, async (runState) => {
        const [address] = runState.stack.popN(1) as [bigint]
        copy(runState, await this.#state.getCode(util.createAddressFromBigInt(address & ADDRESS_MASK)))
      })
    }

    /** Back to how an idle instance is: nothing of this frame is kept alive. */
    #rest(standard: Map<string, PrecompileFunc>): void {
      this._precompiles = standard
      this.events.removeAllListeners()
      this.journal.cleanJournal()
      delete this.journal.accessList
      this.transientStorage.clear()
      this.#state.world = null
      this.#state.marks = []
      this.#hashes.env = null
      this.pace = null
    }

    #warm(frame: Frame): void {
      if (frame.collectAccessList) this.journal.startReportingAccessList()
      if (!this.#rules.has('berlin')) return
      for (const address of precompiles(this.#rules)) this.journal.addAlwaysWarmAddress(address)
      for (const address of frame.warm) this.journal.addAlwaysWarmAddress(address)
      for (const { address, storageKeys } of frame.accessList) {
        this.journal.addAlwaysWarmAddress(address, frame.collectAccessList)
        for (const key of storageKeys) this.journal.addAlwaysWarmSlot(address, key, frame.collectAccessList)
      }
    }

    #destroyed({ selfdestruct, createdAddresses }: ExecResult): Address[] {
      const all = [...(selfdestruct?.keys() ?? [])].map((address) => Address.from(address))
      return this.#rules.has('cancun') ? all.filter((address) => createdAddresses?.has(address) === true) : all
    }

    #accessed(): AccessListItem[] | null {
      if (this.journal.accessList === undefined) return null
      return [...this.journal.accessList].map(([address, slots]) => ({
        address: Address.from(`0x${address}`),
        storageKeys: [...slots].map((slot) => Hash.from(`0x${slot}`)),
      }))
    }

    #listen(transfers: TransferRecorder): void {
      this.events.on('beforeMessage', (message) => {
        transfers.enter()
        const { caller, to, value, delegatecall } = message
        if (delegatecall || value === 0n) return
        // The address of a creation is not known yet (it is when the frame ends), nor does it have a code address.
        const target = to === undefined ? null : addressOf(to)
        // CALLCODE lends code and moves nothing.
        if (target !== null && target !== addressOf(message.codeAddress)) return
        transfers.transfer(addressOf(caller), target, value)
      })
      this.events.on('afterMessage', ({ execResult, createdAddress }) => {
        transfers.leave(execResult.exceptionError === undefined, createdAddress === undefined ? null : addressOf(createdAddress))
      })
      this.events.on('step', ({ opcode, stack, address, account }) => {
        if (opcode.name.startsWith('LOG')) transfers.log()
        const beneficiary = stack.at(-1)
        if (opcode.name !== 'SELFDESTRUCT' || beneficiary === undefined || account.balance === 0n) return
        transfers.transfer(addressOf(address), Address.fromBigint(beneficiary), account.balance)
      })
    }
  }

  function callOptions(frame: Frame, env: BlockEnv) {
    return {
      block: { header: headerOf(env) },
      caller: ethereumAddress(frame.caller),
      ...(frame.to === null ? {} : { to: ethereumAddress(frame.to) }),
      data: frame.data,
      value: frame.value,
      gasLimit: frame.gas,
      gasPrice: frame.gasPrice,
      blobVersionedHashes: [...frame.blobVersionedHashes],
      skipNonceIncrement: true,
    }
  }

  function headerOf(env: BlockEnv) {
    return {
      number: BigInt(env.number),
      coinbase: ethereumAddress(env.coinbase),
      timestamp: BigInt(env.timestamp),
      difficulty: env.difficulty,
      prevRandao: Hash.toBytes(env.prevRandao),
      gasLimit: env.gasLimit,
      baseFeePerGas: env.baseFeePerGas ?? 0n,
      getBlobGasPrice: () => env.blobBaseFee ?? 0n,
    }
  }

  function ethereumAddress(address: Address): EthereumAddress {
    return new util.Address(Address.toBytes(address))
  }

  function shortest(value: bigint): Uint8Array {
    return value === 0n ? NOTHING : util.bigIntToBytes(value)
  }

  /**
   * The library analyses a contract's jump destinations anew for each call: 0.3 ms for 20 KB of code, more than most
   * calls run. Here the newest analyses are kept, by the identity of the code.
   */
  function keepJumpTables(prototype: LoopPrototype): void {
    // `analyse` is pure in the code and the rule set.
    const analyse = prototype._getValidJumpDestinations
    prototype._getValidJumpDestinations = function (code) {
      if (!(this._evm instanceof PocketEvm)) return analyse.call(this, code)
      const tables = this._evm.jumpTables
      const table = tables.get(code) ?? analyse.call(this, code)
      tables.delete(code)
      tables.set(code, table)
      for (const oldest of tables.keys()) {
        if (tables.size <= JUMP_TABLES_MAX) break
        tables.delete(oldest)
      }
      return table
    }
  }

  /** The library's loop never lets go of the thread. */
  function keepPace(prototype: LoopPrototype): void {
    const step = prototype.runStep
    prototype.runStep = function (opcode) {
      const rest = this._evm instanceof PocketEvm ? (this._evm.pace?.rest() ?? null) : null
      return rest === null ? step.call(this, opcode) : rest.then(() => step.call(this, opcode))
    }
  }

  /** The class of the loop is not exported; its prototype is at hand in any run. */
  async function loopPrototype(): Promise<LoopPrototype> {
    const { runState } = await (await evm.createEVM()).runCode({ code: new Uint8Array(1) })
    return Object.getPrototypeOf(runState?.interpreter) as LoopPrototype // of the class just run
  }

  function interpreter(config: ChainConfig, rules: Rules): PocketEvm {
    const chain = common.createCustomCommon({ chainId: config.chainId }, common.Mainnet, {
      hardfork: NAMES[rules.l1],
      customCrypto: CRYPTO,
    })
    return new PocketEvm(
      {
        common: chain,
        bn254: new evm.NobleBN254(),
        params: withCodeSizeLimit(config.codeSizeLimit),
        allowUnlimitedContractSize: config.codeSizeLimit === null,
        allowUnlimitedInitCodeSize: config.codeSizeLimit === null,
        customPrecompiles: [...ownPrecompiles(chain, rules)].map(([address, run]) => ({ address, function: run })),
      },
      rules,
    )
  }

  function withCodeSizeLimit(limit: number | null) {
    if (limit === null) return evm.paramsEVM
    return {
      ...evm.paramsEVM,
      607: { ...evm.paramsEVM[607], maxCodeSize: limit },
      3860: { ...evm.paramsEVM[3860], maxInitCodeSize: limit * 2 },
    }
  }

  /** What the library has not, has at another price, does slowly or loads too early, and the input limits of OP chains. */
  function* ownPrecompiles(chain: Common, rules: Rules): Iterable<[Address, PrecompileFunc]> {
    const gas = p256Gas(rules)
    const active = precompiles(rules)
    if (active.has(P256_VERIFY)) {
      yield [P256_VERIFY, ({ data, gasLimit }) => charged(gas, gasLimit, () => (verifyP256(data) ? TRUE : NOTHING))]
    }
    if (active.has(BLAKE2F)) yield [BLAKE2F, compression]
    if (active.has(POINT_EVALUATION)) yield [POINT_EVALUATION, pointEvaluation]
    for (const [key, run] of evm.getActivePrecompiles(chain)) {
      const limit = inputLimit(rules, Address.from(`0x${key}`))
      if (limit !== null) yield [Address.from(`0x${key}`), limited(run, limit)]
    }
  }

  async function compression({ data, gasLimit, _EVM }: PrecompileInput): Promise<ExecResult> {
    const gas = BigInt(blake2Rounds(data))
    if (gasLimit < gas) return halted('out of gas', gasLimit)
    const pace = _EVM instanceof PocketEvm ? _EVM.pace : null
    const state = pace === null ? compressBlake2(data) : await compressBlake2InSlices(data, () => pace.look())
    return state === null ? halted('invalid input', gasLimit) : { executionGasUsed: gas, returnValue: state }
  }

  async function pointEvaluation({ data, gasLimit }: PrecompileInput): Promise<ExecResult> {
    const gas = 50_000n
    if (gasLimit < gas) return halted('out of gas', gasLimit)
    const answer = await evaluatePoint(data)
    return typeof answer === 'string' ? halted(answer, gasLimit) : { executionGasUsed: gas, returnValue: answer }
  }

  function limited(run: PrecompileFunc, limit: number): PrecompileFunc {
    return (input) => {
      return input.data.length > limit ? halted('input length exceeds the limit', input.gasLimit) : run(input)
    }
  }

  function charged(gas: bigint, gasLimit: bigint, run: () => Uint8Array): ExecResult {
    return gasLimit < gas ? halted('out of gas', gasLimit) : { executionGasUsed: gas, returnValue: run() }
  }

  function halted(reason: string, gasLimit: bigint): ExecResult {
    // The library types the reason as one of its own messages, but treats any other alike.
    const error = new evm.EVMError(reason as typeof evm.EVMError.errorMessages.INVALID_PROOF)
    return { executionGasUsed: gasLimit, returnValue: NOTHING, exceptionError: error }
  }

  const loop = await loopPrototype()
  keepJumpTables(loop)
  keepPace(loop)
  return { interpreter }
}

/** What is replaced in the library's loop. */
interface LoopPrototype {
  _getValidJumpDestinations: (this: Loop, code: Uint8Array) => unknown
  runStep: (this: Loop, opcode: unknown) => Promise<void>
}

interface Loop {
  readonly _evm: unknown
}

type RunState = NonNullable<ExecResult['runState']>
type OpHandler = (runState: RunState) => void | Promise<void>

/** KECCAK256, ECRECOVER and SHA256 in wasm: 9, 19 and 4 times faster than the library's own. */
const CRYPTO: CustomCrypto = {
  keccak256,
  sha256,
  ecrecover: (digest, v, r, s) => {
    const key = Secp256k1.recoverPublicKey(digest, BigInt(Hex.fromBytes(r)), BigInt(Hex.fromBytes(s)), Number(v - 27n))
    if (key === null) throw new RangeError('no key signed this')
    return key.subarray(1)
  },
}

function addressOf(address: EthereumAddress): Address {
  return Hex.fromBytes(address.bytes) as Address // the library's addresses are 20 bytes
}

function plain({ nonce, balance, codeHash }: EthereumAccount): Account {
  return { nonce, balance, codeHash: Hash.from(codeHash) }
}

function rearranged(standard: Map<string, PrecompileFunc>, frame: Frame): Map<string, PrecompileFunc> {
  const { movedPrecompiles: moved, maskedPrecompiles: masked } = frame
  if (moved === null && masked === null) return standard
  const map = new Map(standard)
  for (const address of masked ?? []) map.delete(address.slice(2))
  for (const from of moved?.values() ?? []) map.delete(from.slice(2))
  for (const [to, from] of moved ?? []) {
    const run = standard.get(from.slice(2))
    if (run !== undefined) map.set(to.slice(2), run)
  }
  return map
}

function logsOf({ logs = [], exceptionError }: ExecResult, transfers: TransferRecorder | null): Log[] {
  const emitted = logs.map(([address, topics, data]) => ({
    address: Address.from(address),
    topics: topics.map((topic) => Hash.from(topic)),
    data,
  }))
  if (exceptionError !== undefined) return []
  return transfers === null ? emitted : transfers.merge(emitted)
}

function outcomeOf({ exceptionError, runState }: ExecResult): Outcome {
  if (exceptionError === undefined) return { kind: 'success' }
  const error: string = exceptionError.error
  if (error === 'revert') return { kind: 'revert' }
  if (runState === undefined) return { kind: 'halt', reason: reasonOf(error, null) }
  // Out of gas behind a RETURN that was executed: the returned code could not be paid for.
  const returned = runState.opCode === 0xf3 && runState.code[runState.programCounter - 1] === 0xf3
  if (error === 'out of gas' && returned) return { kind: 'halt', reason: HALT.codeStoreOutOfGas() }
  return { kind: 'halt', reason: reasonOf(error, { opcode: runState.opCode, stackSize: runState.stack.length }) }
}

function reasonOf(error: string, place: HaltPlace | null): string {
  if (error.startsWith('invalid JUMP')) return HALT.invalidJump()
  return WORDS.get(error)?.(place) ?? error
}

const WORDS: ReadonlyMap<string, (place: HaltPlace | null) => string> = new Map([
  ['out of gas', HALT.outOfGas],
  ['code store out of gas', HALT.codeStoreOutOfGas],
  ['code size to deposit exceeds maximum code size', HALT.codeSize],
  ['initcode exceeds max initcode size', HALT.initCodeSize],
  ['invalid bytecode deployed', HALT.invalidCode],
  ['create collision', HALT.collision],
  ['static state change', HALT.writeProtection],
  ['insufficient balance', HALT.insufficientBalance],
  ['invalid opcode', HALT.invalidOpcode],
  ['stack underflow', HALT.stackUnderflow],
  ['stack overflow', HALT.stackOverflow],
])
