import { Address, EMPTY_REQUESTS_HASH, Hash } from '../eth/index.ts'
import type { Header, Log, Withdrawal } from '../eth/index.ts'
import { runFrame } from './engine.ts'
import { requireSupported } from './forks.ts'
import { SYSTEM_CALL_GAS } from './limits.ts'
import type { BlockContext } from './message.ts'
import { depositRequests, encodeRequests, requestsHash } from './requests.ts'
import { payMiners } from './reward.ts'
import type { World } from './world.ts'

const SYSTEM = Address.from('0xfffffffffffffffffffffffffffffffffffffffe')
/** EIP-4788 */
export const BEACON_ROOTS = Address.from('0x000f3df6d732807ef1319fb7b8bb8522d0beac02')
/** EIP-2935 */
export const HISTORY_STORAGE = Address.from('0x0000f90827f1c53a10cb7a02335b175320002935')
/** EIP-7002 */
export const WITHDRAWAL_QUEUE = Address.from('0x00000961ef480eb55e80d19ad83579a64c007002')
/** EIP-7251 */
export const CONSOLIDATION_QUEUE = Address.from('0x0000bbddc7ce488642fb579f8b00f3a590007251')

/** Accounts that the system calls of a block read. */
export const SYSTEM_ACCOUNTS = [SYSTEM, BEACON_ROOTS, HISTORY_STORAGE, WITHDRAWAL_QUEUE, CONSOLIDATION_QUEUE] as const

const WEI_PER_GWEI = 1_000_000_000n

/** Parts of a block that its end processes. */
export interface EndBlockInput {
  /** null before Shanghai */
  readonly withdrawals: readonly Withdrawal[] | null
  readonly ommers: readonly Header[]
  /** logs of all receipts, in order */
  readonly logs: Iterable<Log>
}

/**
 * Runs the system calls before the first transaction: the parent beacon root (EIP-4788) and the parent hash (EIP-2935). Does nothing if the
 * chain has not deployed their contracts.
 *
 * @throws {UnsupportedFork} OP chain before Fjord
 */
export function beginBlock(context: BlockContext, world: World): void {
  const { rules, env } = context
  requireSupported(rules)
  if (rules.has('cancun') && env.parentBeaconBlockRoot !== null) {
    systemCall(BEACON_ROOTS, Hash.toBytes(env.parentBeaconBlockRoot), context, world)
  }
  const parentHash = rules.has('prague') && env.number > 0 ? env.blockHash(env.number - 1) : null
  if (parentHash !== null) systemCall(HISTORY_STORAGE, Hash.toBytes(parentHash), context, world)
}

/** What the end of a block adds to it. */
interface EndedBlock {
  /** EIP-7685: a type byte, then the requests of that type; none of a type without requests */
  readonly requests: readonly Uint8Array[]
  /** header field; null before Prague */
  readonly requestsHash: Hash | null
}

/** Runs the steps after the last transaction. When it throws, it has changed nothing. */
export function endBlock(context: BlockContext, world: World, input: EndBlockInput): EndedBlock {
  const mark = world.checkpoint()
  try {
    return end(context, world, input)
  } catch (error) {
    world.revertTo(mark)
    throw error
  }
}

function end(context: BlockContext, world: World, { withdrawals, ommers, logs }: EndBlockInput): EndedBlock {
  const { rules } = context
  const requests = requestsOf(context, world, logs)
  world.beginTransaction()
  if (!rules.has('paris')) payMiners(context, world, ommers)
  for (const { address, amount } of withdrawals ?? []) world.addBalance(address, amount * WEI_PER_GWEI)
  if (rules.has('spurious')) world.removeTouchedEmpty()
  return {
    requests: requests ?? [],
    requestsHash: requests === null ? null : requests.length === 0 ? EMPTY_REQUESTS_HASH : requestsHash(requests),
  }
}

/** EIP-7685; null before Prague. OP chains have no requests: an empty list since Isthmus. */
function requestsOf(context: BlockContext, world: World, logs: Iterable<Log>): readonly Uint8Array[] | null {
  const { rules, config } = context
  if (rules.op !== null) return rules.hasOp('isthmus') ? [] : null
  if (!rules.has('prague')) return null
  const nothing = new Uint8Array()
  return encodeRequests([
    config.depositContract === null ? nothing : depositRequests(logs, Address.from(config.depositContract)),
    systemCall(WITHDRAWAL_QUEUE, nothing, context, world),
    systemCall(CONSOLIDATION_QUEUE, nothing, context, world),
  ])
}

/** Runs a call from the system address, without fees and outside the block's gas. Returns no data if there is no code or the call fails. */
function systemCall(to: Address, data: Uint8Array, context: BlockContext, world: World): Uint8Array {
  if (world.codeSizeAt(to) === 0) return new Uint8Array()
  world.beginTransaction()
  const result = runFrame(
    {
      caller: SYSTEM,
      to,
      data,
      value: 0n,
      gas: SYSTEM_CALL_GAS,
      gasPrice: 0n,
      blobVersionedHashes: [],
      warm: [to],
      accessList: [],
      movedPrecompiles: null,
      maskedPrecompiles: null,
      deadline: null,
      tracer: null,
    },
    context,
    world,
  )
  world.removeTouchedEmpty()
  return result.outcome.kind === 'success' ? result.output : new Uint8Array()
}
