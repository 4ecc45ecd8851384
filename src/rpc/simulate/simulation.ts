import { Trie, toBlockEnv, nextBaseFee } from '../../chain/index.ts'
import type { View } from '../../chain/index.ts'
import { Address, Block, Bloom, EMPTY_OMMERS, EMPTY_ROOT, Hash, Header, Hex, Receipt, Withdrawal } from '../../eth/index.ts'
import type { Log, Transaction } from '../../eth/index.ts'
import {
  InvalidTransaction,
  NONCE_MAX,
  L2_TO_L1_MESSAGE_PASSER,
  World,
  beginBlock,
  endBlock,
  executeTransaction,
  nextExcessBlobGas,
  rulesAt,
} from '../../evm/index.ts'
import type { BlockContext, Deadline, Executed, Message, Rules } from '../../evm/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { blockJson, logJson } from '../json.ts'
import type { Json } from '../json.ts'
import { CALL_GAS } from '../limits.ts'
import { ReplacedStorage, overrideState } from '../execution/overrides.ts'
import type { PrecompileOverrides } from '../execution/overrides.ts'
import { toUnsignedTransaction } from '../execution/unsignedtransaction.ts'
import { assertChain, messageOf, senderOf } from '../execution/request.ts'
import type { CallRequest } from '../execution/request.ts'
import { revertMessage } from '../execution/revert.ts'
import { planBlocks } from './plan.ts'
import type { PlannedBlock, RequestedBlock } from './plan.ts'
import { SIMULATION_CODE, refusedCall } from './refusals.ts'

interface SimulationOptions {
  /** nonces, base fee and balances count as they would for real transactions */
  readonly validation: boolean
  /** movements of ether become logs */
  readonly traceTransfers: boolean
  readonly fullTransactions: boolean
  /** code of a call that no block can include for a reason without a code of its own */
  readonly otherRefusal: number
}

/** Default time between blocks: the slot of L1, the block time of the OP Stack. */
const L1_BLOCK_SECONDS = 12
const OP_BLOCK_SECONDS = 2
const ETHER = Address.from('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')

interface ExecutedCall {
  readonly tx: Transaction
  readonly executed: Executed
  /** without the logs of traced transfers */
  readonly receipt: Receipt
  /** the gas limit was lowered to the remaining gas of the simulation */
  readonly capped: boolean
}

/** Executes blocks on top of a block of a View, on one copy of its state. Runs once. */
export class Simulation {
  readonly #view: View
  readonly #base: Block
  readonly #options: SimulationOptions
  readonly #requested: readonly RequestedBlock[]
  readonly #replaced: ReplacedStorage | null
  readonly #world: World
  readonly #hashes = new Map<number, Hash>()
  #parent: Header
  /** deadline of the whole request */
  readonly #deadline: Deadline
  #gasLeft = CALL_GAS

  constructor(view: View, base: Block, requested: readonly RequestedBlock[], options: SimulationOptions, deadline: Deadline) {
    const state = view.state(base)
    this.#requested = requested
    this.#replaced = ReplacedStorage.of(
      state,
      requested.map(({ stateOverrides }) => stateOverrides),
    )
    this.#view = view
    this.#base = base
    this.#options = options
    this.#deadline = deadline
    this.#world = new World(this.#replaced ?? state, { traced: options.traceTransfers })
    this.#parent = base.header
    this.#hashes.set(base.header.number, Header.hash(base.header))
  }

  /** Returns the result of eth_simulateV1. Throws RpcError. */
  run(): readonly Json[] {
    const seconds = this.#view.config.op === null ? L1_BLOCK_SECONDS : OP_BLOCK_SECONDS
    try {
      return planBlocks(this.#base.header, this.#requested, seconds).map((planned) => this.#block(planned))
    } finally {
      this.#world.release()
    }
  }

  #block(planned: PlannedBlock): Json {
    this.#deadline.check()
    const rules = rulesAt(this.#view.config, planned.number, planned.timestamp)
    const frame = this.#frame(planned, rules)
    const context = this.#context(frame, planned, rules)
    this.#replaced?.replace(planned.state)
    const precompiles = overrideState(this.#world, planned.state, rules)
    beginBlock(context, this.#world)
    const ran: ExecutedCall[] = []
    for (const request of planned.calls) ran.push(this.#call(request, context, precompiles, ran))
    const block = this.#seal(frame, context, planned, ran)
    this.#parent = block.header
    this.#hashes.set(planned.number, block.hash)
    const { fullTransactions, traceTransfers } = this.#options
    return { ...blockJson(block, fullTransactions), calls: callsJson(ran, block, traceTransfers) }
  }

  #call(request: CallRequest, context: BlockContext, precompiles: PrecompileOverrides, before: readonly ExecutedCall[]): ExecutedCall {
    this.#deadline.check()
    const { validation, traceTransfers } = this.#options
    const spent = before.at(-1)?.receipt.cumulativeGasUsed ?? 0n
    const { gas, capped } = this.#gasFor(request, context.env.gasLimit - spent)
    const nonce = request.nonce ?? this.#world.nonce(senderOf(request))
    const message = messageOf(request, gas, nonce, context.env.baseFeePerGas)
    assertChain(request.chainId, context.config, 'argument 0 (simulation).calls')
    if (validation) this.#assertNonce(message)
    const free = !validation && message.maxFeePerGas === 0n && message.maxPriorityFeePerGas === 0n
    // As in geth, EIP-3607 and the gas cap of EIP-7825 do not apply, even with validation.
    const options = {
      ...precompiles,
      skipNonce: true,
      skipGasCap: true,
      skipFees: free,
      transferLogs: traceTransfers,
      deadline: this.#deadline,
    }
    const executed = this.#execute(message, context, options)
    this.#gasLeft -= executed.gasUsed
    return {
      tx: toUnsignedTransaction({ ...message, chainId: message.type === 0 ? null : context.config.chainId }, message.from),
      executed,
      receipt: this.#receipt(message, executed, spent, before, context.rules),
      capped,
    }
  }

  #execute(message: Message, context: BlockContext, options: object): Executed {
    try {
      return executeTransaction(message, context, this.#world, options)
    } catch (error) {
      if (error instanceof InvalidTransaction) throw refusedCall(error, message.gas, this.#options.otherRefusal)
      throw error
    }
  }

  /** The requested gas or the remaining gas of the block, at most the remaining gas of the simulation. */
  #gasFor(request: CallRequest, left: bigint): { readonly gas: bigint; readonly capped: boolean } {
    const requested = request.gas ?? left
    if (requested > left) {
      const reason = `block gas limit reached: remaining: ${left}, required: ${requested}`
      throw new RpcError(SIMULATION_CODE.blockGasLimit, reason)
    }
    const capped = requested > this.#gasLeft
    return { gas: capped ? this.#gasLeft : requested, capped }
  }

  #assertNonce({ from, nonce, gas }: Message): void {
    const state = this.#world.nonce(from)
    if (state === nonce && nonce < NONCE_MAX) return
    const who = `address ${Address.checksum(from)}`
    const wrong =
      state === nonce
        ? new InvalidTransaction('nonce-max', `nonce has max value: ${who}, nonce: ${state}`)
        : nonce < state
          ? new InvalidTransaction('nonce-too-low', `nonce too low: ${who}, tx: ${nonce} state: ${state}`)
          : new InvalidTransaction('nonce-too-high', `nonce too high: ${who}, tx: ${nonce} state: ${state}`)
    throw refusedCall(wrong, gas, this.#options.otherRefusal)
  }

  #receipt(message: Message, executed: Executed, spent: bigint, before: readonly ExecutedCall[], rules: Rules): Receipt {
    const logs = this.#options.traceTransfers ? executed.logs.filter(({ address }) => address !== ETHER) : executed.logs
    const byzantium = rules.has('byzantium')
    const last = before.at(-1)?.receipt
    return {
      type: message.type,
      status: byzantium ? (executed.outcome.kind === 'success' ? 1 : 0) : null,
      root: byzantium ? null : this.#view.rootsWith(this.#base, this.#world.writes(), L2_TO_L1_MESSAGE_PASSER).stateRoot,
      cumulativeGasUsed: spent + executed.gasUsed,
      logsBloom: Bloom.ofLogs(logs),
      logs,
      gasUsed: executed.gasUsed,
      effectiveGasPrice: executed.effectiveGasPrice,
      contractAddress: executed.contractAddress,
      firstLogIndex: last === undefined ? 0 : last.firstLogIndex + last.logs.length,
      blobGasUsed: executed.blobGasUsed,
      blobGasPrice: executed.blobGasPrice,
      depositNonce: null,
      depositReceiptVersion: null,
      l1: null,
    }
  }

  #seal(frame: Header, context: BlockContext, { withdrawals }: PlannedBlock, ran: readonly ExecutedCall[]): Block {
    const { rules } = context
    const receipts = ran.map(({ receipt }) => receipt)
    const logs = receipts.flatMap((receipt) => receipt.logs)
    const { requestsHash } = endBlock(context, this.#world, { withdrawals, ommers: [], logs })
    const { stateRoot, storageRoot } = this.#view.rootsWith(this.#base, this.#world.writes(), L2_TO_L1_MESSAGE_PASSER)
    const transactions = ran.map(({ tx }) => tx)
    const header: Header = {
      ...frame,
      stateRoot,
      transactionsRoot: Trie.orderedRoot(transactions.map(({ raw }) => raw)),
      receiptsRoot: Trie.orderedRoot(receipts.map(Receipt.encode)),
      logsBloom: Bloom.ofLogs(logs),
      gasUsed: receipts.at(-1)?.cumulativeGasUsed ?? 0n,
      blobGasUsed: rules.has('cancun') ? receipts.reduce((sum, { blobGasUsed }) => sum + (blobGasUsed ?? 0n), 0n) : null,
      withdrawalsRoot: withdrawalsRoot(rules, withdrawals, storageRoot),
      requestsHash,
    }
    const parts = { header, transactions, ommers: [], withdrawals: rules.has('shanghai') ? withdrawals : null }
    return { ...parts, hash: Header.hash(header), receipts, timestampMs: null, sizeBytes: Block.encode(parts).length }
  }

  /** The fields that are fixed before the first call. Recipient, gas limit and difficulty are inherited from the parent. */
  #frame({ number, timestamp, overrides }: PlannedBlock, rules: Rules): Header {
    const parent = this.#parent
    const cancun = rules.has('cancun')
    return {
      parentHash: this.#hashes.get(number - 1) ?? Header.hash(parent),
      ommersHash: EMPTY_OMMERS,
      coinbase: overrides?.feeRecipient ?? parent.coinbase,
      stateRoot: Hash.zero,
      transactionsRoot: EMPTY_ROOT,
      receiptsRoot: EMPTY_ROOT,
      logsBloom: Bloom.empty,
      difficulty: overrides?.difficulty ?? (rules.has('paris') ? 0n : parent.difficulty),
      number,
      gasLimit: overrides?.gasLimit ?? parent.gasLimit,
      gasUsed: 0n,
      timestamp,
      // It carries the fee parameters of an OP chain.
      extraData: rules.op === null ? new Uint8Array() : parent.extraData,
      mixHash: overrides?.prevRandao ?? Hash.zero,
      nonce: new Uint8Array(8),
      baseFeePerGas: rules.has('london') ? this.#baseFee(overrides?.baseFeePerGas, rules) : null,
      withdrawalsRoot: null,
      blobGasUsed: cancun ? 0n : null,
      excessBlobGas: cancun ? this.#excessBlobGas(rules) : null,
      parentBeaconBlockRoot: cancun ? (overrides?.beaconRoot ?? Hash.zero) : null,
      requestsHash: null,
    }
  }

  /** Without validation 0, so that calls without a price can run in it. */
  #baseFee(override: bigint | undefined, rules: Rules): bigint {
    if (override !== undefined) return override
    return this.#options.validation ? (nextBaseFee(this.#parent, this.#view.config, rules) ?? 0n) : 0n
  }

  #excessBlobGas(rules: Rules): bigint {
    return rules.op !== null || this.#parent.excessBlobGas === null ? 0n : nextExcessBlobGas(this.#parent, rules)
  }

  #context(frame: Header, { overrides }: PlannedBlock, rules: Rules): BlockContext {
    const env = toBlockEnv(frame, rules, (number) => this.#hashes.get(number) ?? this.#view.blockHash(number))
    const { config } = this.#view
    return { config, rules, env: { ...env, blobBaseFee: overrides?.blobBaseFee ?? env.blobBaseFee } }
  }
}

/** Isthmus: the storage root of the message passer. */
function withdrawalsRoot(rules: Rules, withdrawals: readonly Withdrawal[], storageRoot: Hash): Hash | null {
  if (rules.hasOp('isthmus')) return storageRoot
  return rules.has('shanghai') ? Trie.orderedRoot(withdrawals.map(Withdrawal.encode)) : null
}

/**
 * Log indices count every log that is shown, so traced transfers count here though not in the receipts. The recorded
 * answers of execution-apis also count the transfer of a call that then failed.
 */
function callsJson(ran: readonly ExecutedCall[], block: Block, traceTransfers: boolean): readonly Json[] {
  let logIndex = 0
  return ran.map(({ tx, executed, capped }, transactionIndex) => {
    const { outcome, output, logs, gasUsed, gasUsedBeforeRefund } = executed
    const succeeded = outcome.kind === 'success'
    const shown = logs.map((log: Log) => logJson({ log, block, transactionIndex, logIndex: logIndex++ }))
    if (!succeeded && traceTransfers && tx.value > 0n) logIndex++
    return {
      returnData: succeeded ? Hex.fromBytes(output) : '0x',
      logs: shown,
      gasUsed: Hex.fromQuantity(gasUsed),
      maxUsedGas: Hex.fromQuantity(gasUsedBeforeRefund),
      status: succeeded ? '0x1' : '0x0',
      ...(succeeded ? undefined : { error: errorJson(executed, capped) }),
    }
  })
}

/** execution-apis: 3 with the reason for a revert, -32015 for any other failure. */
function errorJson({ outcome, output }: Executed, capped: boolean): Json {
  if (outcome.kind !== 'halt') return { code: SIMULATION_CODE.reverted, message: revertMessage(output), data: Hex.fromBytes(output) }
  const suffix = capped ? " (gas limit was capped by the RPC server's global gas cap)" : ''
  return { code: SIMULATION_CODE.halted, message: `${outcome.reason}${suffix}` }
}
