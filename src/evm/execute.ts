import { Address } from '../eth/index.ts'
import type { AccessListItem } from '../eth/index.ts'
import { authorize } from './authorize.ts'
import { AccessListTracer, TransferLogTracer } from './trace/index.ts'
import { runFrame, undone } from './engine.ts'
import { type Bill, billFor, buyGas, settle } from './bill.ts'
import { requireSupported } from './forks.ts'
import type { Rules } from './forks.ts'
import type { FrameResult } from './frame.ts'
import { floorGas, refundCap, requireGas } from './gas.ts'
import type { BlockContext, ExecuteOptions, Executed, Message } from './message.ts'
import { precompiles } from './precompiles.ts'
import { InvalidTransaction } from './refusal.ts'
import { daFootprint, freeL1Cost } from './rollup.ts'
import { checkType, validate } from './validate.ts'
import { NONCE_MAX } from './state.ts'
import type { World } from './world.ts'

/** What running a message came to, before anybody is paid. */
interface Run {
  readonly result: FrameResult
  readonly gasUsed: bigint
  readonly gasUsedBeforeRefund: bigint
  /** with the option `accessList`, else null: all that opcodes named */
  readonly accessed: readonly AccessListItem[] | null
  readonly contractAddress: Address | null
  /** with the option `accessList`: warm from the start, so no news for a list */
  readonly familiar: readonly Address[]
}

/**
 * Runs one message on `world` under the rules of its block: geth's ApplyMessage, and op-geth's on OP chains. The room
 * left in the block is the caller's check.
 *
 * @throws {InvalidTransaction} it cannot be included; the world is then as before
 * @throws {OutOfTime} so it is when `deadline` passes
 * @throws {EngineFull} and when it needs more room than the engine has
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
    throw undone(error, world, mark)
  }
}

function executePaid(message: Message, context: BlockContext, world: World, options: ExecuteOptions): Executed {
  validate(message, context, world, options)
  const bill = billFor(message, context, world, options)
  buyGas(bill, message, world)
  const run = runMessage(message, context, world, options, bill.gasPrice)
  settle(bill, run.gasUsed, message, context, world)
  cleanUp(run.result, context, world)
  return {
    // Spelled out: a spread here costs a small call a microsecond.
    outcome: run.result.outcome,
    output: run.result.output,
    logs: run.result.logs,
    gasUsed: run.gasUsed,
    gasUsedBeforeRefund: run.gasUsedBeforeRefund,
    contractAddress: run.contractAddress,
    effectiveGasPrice: bill.gasPrice,
    l1: bill.l1,
    blobGasUsed: blobGasUsed(bill, message, context),
    blobGasPrice: message.type === 3 ? context.env.blobBaseFee : null,
    depositNonce: null,
    accessList: accessListOf(run, message, context),
  }
}

/** A deposit was paid for on L1: it has no fees, and it is included whatever happens to it. */
function executeDeposit(message: Message, context: BlockContext, world: World, options: ExecuteOptions): Executed {
  checkType(message.type, context)
  const depositNonce = world.nonce(message.from)
  const mint = message.deposit?.mint ?? 0n
  if (mint > 0n) world.addBalance(message.from, mint)
  const run = runOrFail(message, context, world, options)
  cleanUp(run.result, context, world)
  return {
    outcome: run.result.outcome,
    output: run.result.output,
    logs: run.result.logs,
    gasUsed: run.gasUsed,
    gasUsedBeforeRefund: run.gasUsedBeforeRefund,
    contractAddress: run.contractAddress,
    effectiveGasPrice: 0n,
    l1: freeL1Cost(context.rules, world),
    blobGasUsed: context.rules.hasOp('jovian') ? 0n : null,
    blobGasPrice: null,
    depositNonce,
    accessList: accessListOf(run, message, context),
  }
}

/** What would refuse a transaction makes a deposit fail: the mint stays, the nonce moves, all its gas is used. */
function runOrFail(message: Message, context: BlockContext, world: World, options: ExecuteOptions): Run {
  const mark = world.checkpoint()
  try {
    refuseSystemTransaction(message)
    return runMessage(message, context, world, options, 0n)
  } catch (error) {
    if (!(error instanceof InvalidTransaction)) throw error
    world.revertTo(mark)
    const contractAddress = createdBy(message, world.useNonce(message.from))
    const result = failedFrame(`failed deposit: ${error.message}`)
    return {
      result,
      accessed: options.accessList === true ? [] : null,
      gasUsed: message.gas,
      gasUsedBeforeRefund: message.gas,
      contractAddress,
      familiar: [],
    }
  }
}

function failedFrame(reason: string): FrameResult {
  return {
    outcome: { kind: 'halt', reason },
    output: new Uint8Array(),
    gasUsed: 0n,
    refund: 0n,
    logs: [],
    destroyed: [],
  }
}

/** Since Regolith, deposits that claim to be the system's fail. */
function refuseSystemTransaction({ deposit, from }: Message): void {
  if (deposit?.isSystemTx !== true) return
  throw new InvalidTransaction('system-transaction', `system tx not supported: address ${Address.checksum(from)}`)
}

/** From the intrinsic gas to the refund; the gas is bought already. */
function runMessage(message: Message, context: BlockContext, world: World, options: ExecuteOptions, gasPrice: bigint): Run {
  const { rules, config, env } = context
  const floor = floorGas(message, rules)
  const intrinsic = BigInt(requireGas(message, rules))
  requireValue(message, world)
  requireInitCodeSize(message, context)
  requireAddress(message, world)
  const contractAddress = createdBy(message, world.useNonce(message.from))
  const receiver = message.to ?? contractAddress ?? message.from // one of the first two
  const authorized = authorize(message.authorizationList, config.chainId, world)
  const target = message.to === null || !rules.has('prague') ? null : world.delegateOf(message.to)
  const warm = rules.has('shanghai') ? [message.from, receiver, env.coinbase] : [message.from, receiver]
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
    familiar: accessed === null ? [] : [message.from, receiver, ...authorized.warm],
    gasUsed: max(afterRefund(spent, result.refund + authorized.refund, rules), floor),
    gasUsedBeforeRefund: max(spent, floor),
  }
}

function afterRefund(spent: bigint, counter: bigint, rules: Rules): bigint {
  if (counter === 0n) return spent
  const cap = refundCap(spent, rules)
  return spent - (counter < cap ? counter : cap)
}

/** Whoever pays for gas was asked for the value with it; this is for deposits. */
function requireValue({ from, value }: Message, world: World): void {
  if (value === 0n || world.balance(from) >= value) return
  const detail = `address ${Address.checksum(from)}`
  throw new InvalidTransaction('insufficient-funds-for-transfer', `insufficient funds for transfer: ${detail}`)
}

/** EIP-2681, for calls and deposits, whose nonces nobody looks at: there is no address for what such a sender creates. */
function requireAddress({ to, from }: Message, world: World): void {
  if (to !== null || world.nonce(from) < NONCE_MAX) return
  throw new InvalidTransaction('nonce-max', `nonce has max value: address ${Address.checksum(from)}, nonce: ${NONCE_MAX}`)
}

/** EIP-3860: twice the size that code may have. */
function requireInitCodeSize({ to, data }: Message, { config, rules }: BlockContext): void {
  if (to !== null || config.codeSizeLimit === null || !rules.has('shanghai')) return
  const limit = config.codeSizeLimit * 2
  if (data.length <= limit) return
  throw new InvalidTransaction('init-code-size', `max initcode size exceeded: code size ${data.length} limit ${limit}`)
}

function createdBy({ to, from }: Message, nonce: bigint): Address | null {
  return to === null ? Address.create(from, nonce) : null
}

function cleanUp({ destroyed }: FrameResult, { rules }: BlockContext, world: World): void {
  for (const address of destroyed) {
    world.clearStorage(address)
    world.setAccount(address, null)
  }
  if (rules.has('spurious')) world.removeTouchedEmpty()
}

function blobGasUsed(bill: Bill, message: Message, { rules }: BlockContext): bigint | null {
  if (message.type === 3) return bill.blobGas
  if (!rules.hasOp('jovian') || message.raw === null) return null
  return daFootprint(message.raw, bill.l1?.daFootprintGasScalar ?? 0n)
}

/** An address that was warm anyway is listed only for its slots. */
function accessListOf({ accessed, familiar }: Run, message: Message, { rules }: BlockContext): readonly AccessListItem[] | null {
  if (accessed === null) return null
  const known = new Set<Address>([...familiar, ...precompiles(rules)])
  const asked = new Set(message.accessList.map((item) => item.address))
  return accessed.filter(({ address, storageKeys }) => {
    return storageKeys.length > 0 || asked.has(address) || !known.has(address)
  })
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
