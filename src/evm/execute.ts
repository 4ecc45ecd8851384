import { Address } from '../eth/index.ts'
import type { AccessListItem } from '../eth/index.ts'
import { authorize, delegationTarget } from './authorize.ts'
import { runFrame } from './bootstrap.ts'
import { type Bill, billFor, buyGas, settle } from './bill.ts'
import { requireSupported } from './forks.ts'
import type { FrameResult } from './frame.ts'
import { floorGas, intrinsicGas, refundCap } from './gas.ts'
import type { BlockContext, ExecuteOptions, Executed, Message } from './message.ts'
import { precompiles } from './precompiles.ts'
import { InvalidTransaction } from './refusal.ts'
import { daFootprint, freeL1Cost } from './rollup.ts'
import { checkType, validate } from './validate.ts'
import type { World } from './world.ts'

/** What running a message came to, before anybody is paid. */
interface Run {
  readonly result: FrameResult
  readonly gasUsed: bigint
  readonly gasUsedBeforeRefund: bigint
  readonly contractAddress: Address | null
  /** warm from the start, so no news for an access list */
  readonly familiar: readonly Address[]
}

/**
 * Runs one message on `world` under the rules of its block: geth's ApplyMessage, and op-geth's on OP chains. The room
 * left in the block is the caller's check. `world` must not be used by anybody else until the promise settles.
 *
 * @throws {InvalidTransaction} it cannot be included; the world is then as before
 * @throws {UnsupportedFork} OP chain before Fjord
 */
export async function executeTransaction(
  message: Message,
  context: BlockContext,
  world: World,
  options: ExecuteOptions = {},
): Promise<Executed> {
  requireSupported(context.rules)
  world.beginTransaction()
  const mark = world.checkpoint()
  try {
    return message.deposit === null
      ? await executePaid(message, context, world, options)
      : await executeDeposit(message, context, world, options)
  } catch (error) {
    world.revertTo(mark)
    throw error
  }
}

async function executePaid(message: Message, context: BlockContext, world: World, options: ExecuteOptions): Promise<Executed> {
  validate(message, context, world, options)
  const bill = billFor(message, context, world, options)
  buyGas(bill, message, world)
  const run = await runMessage(message, context, world, options, bill.gasPrice)
  settle(bill, run.gasUsed, message, context, world)
  cleanUp(run.result, context, world)
  return {
    ...whatHappened(run),
    effectiveGasPrice: bill.gasPrice,
    l1: bill.l1,
    blobGasUsed: blobGasUsed(bill, message, context),
    blobGasPrice: message.type === 3 ? context.env.blobBaseFee : null,
    depositNonce: null,
    accessList: accessListOf(run, message, context),
  }
}

/** A deposit was paid for on L1: it has no fees, and it is included whatever happens to it. */
async function executeDeposit(message: Message, context: BlockContext, world: World, options: ExecuteOptions): Promise<Executed> {
  checkType(message.type, context)
  const depositNonce = world.nonce(message.from)
  const mint = message.deposit?.mint ?? 0n
  if (mint > 0n) world.addBalance(message.from, mint)
  const run = await runOrFail(message, context, world, options)
  cleanUp(run.result, context, world)
  return {
    ...whatHappened(run),
    effectiveGasPrice: 0n,
    l1: freeL1Cost(context.rules, world),
    blobGasUsed: context.rules.hasOp('jovian') ? 0n : null,
    blobGasPrice: null,
    depositNonce,
    accessList: accessListOf(run, message, context),
  }
}

/** What would refuse a transaction makes a deposit fail: the mint stays, the nonce moves, all its gas is used. */
async function runOrFail(message: Message, context: BlockContext, world: World, options: ExecuteOptions): Promise<Run> {
  const mark = world.checkpoint()
  try {
    refuseSystemTransaction(message)
    return await runMessage(message, context, world, options, 0n)
  } catch (error) {
    if (!(error instanceof InvalidTransaction)) throw error
    world.revertTo(mark)
    const contractAddress = createdBy(message, world)
    world.setNonce(message.from, world.nonce(message.from) + 1n)
    const result = failedFrame(`failed deposit: ${error.message}`, options)
    return { result, gasUsed: message.gas, gasUsedBeforeRefund: message.gas, contractAddress, familiar: [] }
  }
}

function failedFrame(reason: string, options: ExecuteOptions): FrameResult {
  return {
    outcome: { kind: 'halt', reason },
    output: new Uint8Array(),
    gasUsed: 0n,
    refund: 0n,
    logs: [],
    destroyed: [],
    accessed: options.accessList === true ? [] : null,
  }
}

/** Since Regolith, deposits that claim to be the system's fail. */
function refuseSystemTransaction({ deposit, from }: Message): void {
  if (deposit?.isSystemTx !== true) return
  throw new InvalidTransaction('system-transaction', `system tx not supported: address ${Address.checksum(from)}`)
}

/** From the intrinsic gas to the refund; the gas is bought already. */
async function runMessage(message: Message, context: BlockContext, world: World, options: ExecuteOptions, gasPrice: bigint): Promise<Run> {
  const { rules, config, env } = context
  const intrinsic = requireGas(message, context)
  requireValue(message, world)
  requireInitCodeSize(message, context)
  const contractAddress = createdBy(message, world)
  world.setNonce(message.from, world.nonce(message.from) + 1n)
  const authorized = authorize(message.authorizationList, config.chainId, world)
  const target = message.to === null || !rules.has('prague') ? null : delegationTarget(world.codeAt(message.to))
  const familiar = [message.from, message.to ?? contractAddress, ...authorized.warm].filter((address) => address !== null)
  const warm = [...familiar, ...(target === null ? [] : [target]), ...(rules.has('shanghai') ? [env.coinbase] : [])]
  const result = await runFrame(
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
      collectAccessList: options.accessList === true,
      transferLogs: options.transferLogs === true,
      movedPrecompiles: options.movedPrecompiles ?? null,
      maskedPrecompiles: options.maskedPrecompiles ?? null,
      pace: options.pace ?? null,
    },
    context,
    world,
  )
  return { result, contractAddress, familiar, ...usedGas(intrinsic + result.gasUsed, result.refund + authorized.refund, message, context) }
}

function usedGas(spent: bigint, refundCounter: bigint, message: Message, { rules }: BlockContext) {
  const cap = refundCap(spent, rules)
  const refunded = spent - (refundCounter < cap ? refundCounter : cap)
  const floor = floorGas(message, rules)
  return { gasUsed: max(refunded, floor), gasUsedBeforeRefund: max(spent, floor) }
}

function requireGas(message: Message, { rules }: BlockContext): bigint {
  const intrinsic = intrinsicGas(message, rules)
  if (message.gas < intrinsic) {
    throw new InvalidTransaction('intrinsic-gas', `intrinsic gas too low: have ${message.gas}, want ${intrinsic}`)
  }
  const floor = floorGas(message, rules)
  if (message.gas < floor) {
    throw new InvalidTransaction('floor-gas', `insufficient gas for floor data gas cost: have ${message.gas}, want ${floor}`)
  }
  return intrinsic
}

/** Whoever pays for gas was asked for the value with it; this is for deposits. */
function requireValue({ from, value }: Message, world: World): void {
  if (value === 0n || world.balance(from) >= value) return
  const detail = `address ${Address.checksum(from)}`
  throw new InvalidTransaction('insufficient-funds-for-transfer', `insufficient funds for transfer: ${detail}`)
}

/** EIP-3860: twice the size that code may have. */
function requireInitCodeSize({ to, data }: Message, { config, rules }: BlockContext): void {
  if (to !== null || config.codeSizeLimit === null || !rules.has('shanghai')) return
  const limit = config.codeSizeLimit * 2
  if (data.length <= limit) return
  throw new InvalidTransaction('init-code-size', `max initcode size exceeded: code size ${data.length} limit ${limit}`)
}

function createdBy({ to, from }: Message, world: World): Address | null {
  return to === null ? Address.create(from, world.nonce(from)) : null
}

function cleanUp({ destroyed }: FrameResult, { rules }: BlockContext, world: World): void {
  for (const address of destroyed) {
    world.clearStorage(address)
    world.setAccount(address, null)
  }
  if (rules.has('spurious')) world.removeTouchedEmpty()
}

function whatHappened({ result, gasUsed, gasUsedBeforeRefund, contractAddress }: Run) {
  const { outcome, output, logs } = result
  return { outcome, output, logs, gasUsed, gasUsedBeforeRefund, contractAddress }
}

function blobGasUsed(bill: Bill, message: Message, { rules }: BlockContext): bigint | null {
  if (message.type === 3) return bill.blobGas
  if (!rules.hasOp('jovian') || message.raw === null) return null
  return daFootprint(message.raw, bill.l1?.daFootprintGasScalar ?? 0n)
}

/** An address that was warm anyway is listed only for its slots. */
function accessListOf({ result, familiar }: Run, message: Message, { rules }: BlockContext): readonly AccessListItem[] | null {
  if (result.accessed === null) return null
  const known = new Set<Address>([...familiar, ...precompiles(rules)])
  const asked = new Set(message.accessList.map((item) => item.address))
  return result.accessed.filter(({ address, storageKeys }) => {
    return storageKeys.length > 0 || asked.has(address) || !known.has(address)
  })
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
