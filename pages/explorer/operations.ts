import { sizeOf } from '../wallet/format.ts'
import { ENTRY_POINTS } from './entrypoints.ts'
import { askAll } from './node.ts'
import type { LogJson } from './wire.ts'

/** A user operation in a block, from the event of its EntryPoint. */
export interface IncludedOperation {
  readonly hash: string
  readonly sender: string
  /** null: the sender pays */
  readonly paymaster: string | null
  readonly success: boolean
  /** wei */
  readonly cost: bigint
  readonly gasUsed: bigint
  readonly transactionHash: string
  readonly blockNumber: number
}

/** UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, …) */
export const USER_OPERATION_EVENT = '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f'

const EMITTERS: ReadonlySet<string> = new Set(Object.values(ENTRY_POINTS))
/** Selects the logs of user operations. */
export const OPERATION_FILTER = { address: [...EMITTERS], topics: [USER_OPERATION_EVENT] }

/** Number of newest blocks that are searched. */
const SEARCHED_BLOCKS = 500

/** Returns the newest user operations, newest first, of the open block too. Throws the error of the node. */
export async function readNewestOperations(latest: number, count: number, signal: AbortSignal): Promise<readonly IncludedOperation[]> {
  const from = `0x${Math.max(0, latest - SEARCHED_BLOCKS).toString(16)}`
  const [sealed, pending] = await askAll(
    [
      ['eth_getLogs', { ...OPERATION_FILTER, fromBlock: from, toBlock: 'latest' }],
      ['eth_getLogs', { ...OPERATION_FILTER, fromBlock: 'pending', toBlock: 'pending' }],
    ],
    { signal },
  )
  if (sealed instanceof Error) throw sealed
  const logs = [...(sealed as readonly LogJson[]), ...(pending instanceof Error ? [] : (pending as readonly LogJson[]))] // the results of the method
  const operations = new Map(logs.flatMap((log) => decodeOperation(log)).map((operation) => [operation.hash, operation]))
  return [...operations.values()].slice(-count).toReversed()
}

/** Returns the operations of a bundle by the logs of its receipt, in the order of the bundle. */
export function operationsIn(logs: readonly LogJson[]): readonly IncludedOperation[] {
  return logs
    .filter(({ address, topics }) => topics[0] === USER_OPERATION_EVENT && EMITTERS.has(address.toLowerCase()))
    .flatMap((log) => decodeOperation(log))
}

/** Returns the operation of a UserOperationEvent, or nothing for another log. */
export function decodeOperation({ topics, data, transactionHash, blockNumber }: LogJson): readonly IncludedOperation[] {
  const [, hash, sender, paymaster] = topics
  if (hash === undefined || sender === undefined || paymaster === undefined || data.length < 258) return []
  const payer = `0x${paymaster.slice(26)}`
  return [
    {
      hash,
      sender: `0x${sender.slice(26)}`,
      paymaster: BigInt(paymaster) === 0n ? null : payer,
      success: wordOf(data, 1) !== 0n,
      cost: wordOf(data, 2),
      gasUsed: wordOf(data, 3),
      transactionHash,
      blockNumber: Number(blockNumber),
    },
  ]
}

function wordOf(data: string, index: number): bigint {
  return BigInt(`0x${data.slice(2 + index * 64, 66 + index * 64)}`)
}

/** Returns the wei per gas that the operation paid. */
export function gasPricePaid({ cost, gasUsed }: Pick<IncludedOperation, 'cost' | 'gasUsed'>): bigint {
  return gasUsed === 0n ? 0n : cost / gasUsed
}

/** Returns the paymaster of an operation in JSON: EntryPoint 0.6 has it in the first 20 bytes of `paymasterAndData`. */
export function paymasterOf(fields: { readonly paymaster?: string | null; readonly paymasterAndData?: string | null }): string | null {
  const joined = fields.paymasterAndData ?? '0x'
  const found = fields.paymaster ?? (sizeOf(joined) >= 20 ? joined.slice(0, 42) : null)
  return found === null || BigInt(found) === 0n ? null : found
}
