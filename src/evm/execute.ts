import { Address } from '../eth/index.ts'
import type { AccessListItem } from '../eth/index.ts'
import { applyAuthorizations } from './authorizations.ts'
import { AccessListTracer, TransferLogTracer } from './trace/index.ts'
import { runFrame, rollBack } from './engine.ts'
import { type TransactionCost, transactionCost, buyGas, settleFees } from './transactioncost.ts'
import { requireSupported } from './forks.ts'
import type { Rules } from './forks.ts'
import type { FrameResult } from './frame.ts'
import { floorGas, refundCap, checkIntrinsicGas } from './gas.ts'
import type { BlockContext, ExecuteOptions, Executed, Message } from './message.ts'
import { activePrecompiles } from './precompiles/addresses.ts'
import { InvalidTransaction } from './invalidtransaction.ts'
import { daFootprint, depositL1Cost } from './rollup.ts'
import { checkType, validate } from './validate.ts'
import { NONCE_MAX } from './state.ts'
import type { World } from './world.ts'

/** Result of a message before the fees are settled. */
interface Run {
  readonly result: FrameResult
  readonly gasUsed: bigint
  readonly gasUsedBeforeRefund: bigint
  /** with the option `accessList`, else null: everything that opcodes accessed */
  readonly accessed: readonly AccessListItem[] | null
  readonly contractAddress: Address | null
  /** with the option `accessList`: warm from the start, therefore not listed */
  readonly preWarmed: readonly Address[]
}

/**
 * Executes one message on `world` under the rules of its block: geth's ApplyMessage, with op-geth's changes on OP chains. The caller checks
 * the gas left in the block. On an error the world is unchanged.
 *
 * @throws {InvalidTransaction} the transaction cannot be included
 * @throws {OutOfTime} `deadline` has passed
 * @throws {EngineOutOfMemory} the message exceeds the engine's memory
 * @throws {UnsupportedFork} OP chain before Fjord
 */
export function executeTransaction(message: Message, context: BlockContext, world: World, options: ExecuteOptions = {}): Executed {
  requireSupported(context.rules)
  options.deadline?.check()
  world.beginTransaction()
  const mark = world.checkpoint()
  try {
    return message.deposit === null ? executePaid(message, context, world, options) : executeDeposit(message, context, world, options)
  } catch (error) {
    throw rollBack(error, world, mark)
  }
}

function executePaid(message: Message, context: BlockContext, world: World, options: ExecuteOptions): Executed {
  validate(message, context, world, options)
  const cost = transactionCost(message, context, world, options)
  buyGas(cost, message, world)
  const run = runMessage(message, context, world, options, cost.gasPrice)
  settleFees(cost, run.gasUsed, message, context, world)
  removeDestroyedAndEmpty(run.result, context, world)
  return {
    // No object spread: it costs 1 us, which is noticeable in a small call.
    outcome: run.result.outcome,
    output: run.result.output,
    logs: run.result.logs,
    gasUsed: run.gasUsed,
    gasUsedBeforeRefund: run.gasUsedBeforeRefund,
    contractAddress: run.contractAddress,
    effectiveGasPrice: cost.gasPrice,
    l1: cost.l1,
    blobGasUsed: blobGasUsed(cost, message, context),
    blobGasPrice: message.type === 3 ? context.env.blobBaseFee : null,
    depositNonce: null,
    accessList: accessListOf(run, message, context),
    console: run.result.console,
  }
}

/** A deposit is paid for on L1. It has no fees and is always included. */
function executeDeposit(message: Message, context: BlockContext, world: World, options: ExecuteOptions): Executed {
  checkType(message.type, context)
  const depositNonce = world.nonce(message.from)
  const mint = message.deposit?.mint ?? 0n
  if (mint > 0n) world.addBalance(message.from, mint)
  const run = runDeposit(message, context, world, options)
  removeDestroyedAndEmpty(run.result, context, world)
  return {
    outcome: run.result.outcome,
    output: run.result.output,
    logs: run.result.logs,
    gasUsed: run.gasUsed,
    gasUsedBeforeRefund: run.gasUsedBeforeRefund,
    contractAddress: run.contractAddress,
    effectiveGasPrice: 0n,
    l1: depositL1Cost(context.rules, world),
    blobGasUsed: context.rules.hasOp('jovian') ? 0n : null,
    blobGasPrice: null,
    depositNonce,
    accessList: accessListOf(run, message, context),
    console: run.result.console,
  }
}

/** An error that makes a transaction invalid makes a deposit fail: the mint stays, the nonce increases, all gas is used. */
function runDeposit(message: Message, context: BlockContext, world: World, options: ExecuteOptions): Run {
  const mark = world.checkpoint()
  try {
    requireNoSystemTransaction(message)
    return runMessage(message, context, world, options, 0n)
  } catch (error) {
    if (!(error instanceof InvalidTransaction)) throw error
    world.revertTo(mark)
    const contractAddress = createdAddress(message, world.useNonce(message.from))
    const result = failedResult(`failed deposit: ${error.message}`)
    return {
      result,
      accessed: options.accessList === true ? [] : null,
      gasUsed: message.gas,
      gasUsedBeforeRefund: message.gas,
      contractAddress,
      preWarmed: [],
    }
  }
}

function failedResult(reason: string): FrameResult {
  return {
    outcome: { kind: 'halt', reason },
    output: new Uint8Array(),
    gasUsed: 0n,
    refund: 0n,
    logs: [],
    destroyed: [],
    console: null,
  }
}

/** Since Regolith, deposits marked as system transactions fail. */
function requireNoSystemTransaction({ deposit, from }: Message): void {
  if (deposit?.isSystemTx !== true) return
  throw new InvalidTransaction('system-transaction', `system tx not supported: address ${Address.checksum(from)}`)
}

/** Everything between buying the gas and settling the fees. */
function runMessage(message: Message, context: BlockContext, world: World, options: ExecuteOptions, gasPrice: bigint): Run {
  const { rules, config, env } = context
  const floor = floorGas(message, rules)
  const intrinsic = BigInt(checkIntrinsicGas(message, rules))
  requireValue(message, world)
  requireInitCodeSize(message, context)
  requireNonceBelowMax(message, world)
  const contractAddress = createdAddress(message, world.useNonce(message.from))
  const recipient = message.to ?? contractAddress ?? message.from // one of the first two is set
  const authorized = applyAuthorizations(message.authorizationList, config.chainId, world)
  const target = message.to === null || !rules.has('prague') ? null : world.delegateOf(message.to)
  const warm = rules.has('shanghai') ? [message.from, recipient, env.coinbase] : [message.from, recipient]
  for (const authority of authorized.warm) warm.push(authority)
  if (target !== null) warm.push(target)
  const accessed = options.accessList === true ? new AccessListTracer(message.accessList) : null
  const transfers = options.transferLogs === true ? new TransferLogTracer() : null
  const result = runFrame(
    {
      caller: message.from,
      to: message.to,
      data: message.data,
      value: message.value,
      gas: message.gas - intrinsic,
      gasPrice,
      blobVersionedHashes: message.blobVersionedHashes,
      warm,
      accessList: message.accessList,
      movedPrecompiles: options.movedPrecompiles ?? null,
      maskedPrecompiles: options.maskedPrecompiles ?? null,
      skipLogs: options.skipLogs === true,
      deadline: options.deadline ?? null,
      tracer: options.tracer ?? accessed ?? transfers,
    },
    context,
    world,
  )
  const spent = intrinsic + result.gasUsed
  return {
    result: transfers === null || result.outcome.kind !== 'success' ? result : { ...result, logs: transfers.logs() },
    accessed: accessed?.items() ?? null,
    contractAddress,
    preWarmed: accessed === null ? [] : [message.from, recipient, ...authorized.warm],
    gasUsed: max(afterRefund(spent, result.refund + authorized.refund, rules), floor),
    gasUsedBeforeRefund: max(spent, floor),
  }
}

function afterRefund(spent: bigint, counter: bigint, rules: Rules): bigint {
  if (counter === 0n) return spent
  const cap = refundCap(spent, rules)
  return spent - (counter < cap ? counter : cap)
}

/** For deposits; `buyGas` has checked the value of other messages. */
function requireValue({ from, value }: Message, world: World): void {
  if (value === 0n || world.balance(from) >= value) return
  const detail = `address ${Address.checksum(from)}`
  throw new InvalidTransaction('insufficient-funds-for-transfer', `insufficient funds for transfer: ${detail}`)
}

/** EIP-2681, for calls and deposits, whose nonce is not validated: a creation by such a sender has no address. */
function requireNonceBelowMax({ to, from }: Message, world: World): void {
  if (to !== null || world.nonce(from) < NONCE_MAX) return
  throw new InvalidTransaction('nonce-max', `nonce has max value: address ${Address.checksum(from)}, nonce: ${NONCE_MAX}`)
}

/** EIP-3860: twice the code size limit. */
function requireInitCodeSize({ to, data }: Message, { config, rules }: BlockContext): void {
  if (to !== null || config.codeSizeLimit === null || !rules.has('shanghai')) return
  const limit = config.codeSizeLimit * 2
  if (data.length <= limit) return
  throw new InvalidTransaction('init-code-size', `max initcode size exceeded: code size ${data.length} limit ${limit}`)
}

function createdAddress({ to, from }: Message, nonce: bigint): Address | null {
  return to === null ? Address.create(from, nonce) : null
}

function removeDestroyedAndEmpty({ destroyed }: FrameResult, { rules }: BlockContext, world: World): void {
  for (const address of destroyed) {
    world.clearStorage(address)
    world.setAccount(address, null)
  }
  if (rules.has('spurious')) world.removeTouchedEmpty()
}

function blobGasUsed(cost: TransactionCost, message: Message, { rules }: BlockContext): bigint | null {
  if (message.type === 3) return cost.blobGas
  if (!rules.hasOp('jovian') || message.raw === null) return null
  return daFootprint(message.raw, cost.l1?.daFootprintGasScalar ?? 0n)
}

/** Pre-warmed addresses are listed only if they have slots. */
function accessListOf({ accessed, preWarmed }: Run, message: Message, { rules }: BlockContext): readonly AccessListItem[] | null {
  if (accessed === null) return null
  const known = new Set<Address>([...preWarmed, ...activePrecompiles(rules)])
  const listed = new Set(message.accessList.map((item) => item.address))
  return accessed.filter(({ address, storageKeys }) => {
    return storageKeys.length > 0 || listed.has(address) || !known.has(address)
  })
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
