import { askAll } from './node.ts'
import type { LogJson } from './wire.ts'

/** A user operation in a block, from the event of its EntryPoint. */
export interface IncludedOperation {
  readonly hash: string
  readonly sender: string
  /** null: the sender pays */
  readonly paymaster: string | null
  readonly success: boolean
  readonly transactionHash: string
  readonly blockNumber: number
}

/** UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, …) */
export const USER_OPERATION_EVENT = '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f'

const ENTRY_POINTS = [
  '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789',
  '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
  '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108',
  '0x433709009B8330FDa32311DF1C2AFA402eD8D009',
]

/** Blocks that are searched. */
const SEARCHED_BLOCKS = 500

/** Returns the newest user operations, newest first, of the open block too. Throws the error of the node. */
export async function readOperations(latest: number, count: number, signal: AbortSignal): Promise<readonly IncludedOperation[]> {
  const filter = { address: ENTRY_POINTS, topics: [USER_OPERATION_EVENT] }
  const from = `0x${Math.max(0, latest - SEARCHED_BLOCKS).toString(16)}`
  const [sealed, pending] = await askAll(
    [
      ['eth_getLogs', { ...filter, fromBlock: from, toBlock: 'latest' }],
      ['eth_getLogs', { ...filter, fromBlock: 'pending', toBlock: 'pending' }],
    ],
    { signal },
  )
  if (sealed instanceof Error) throw sealed
  const logs = [...(sealed as readonly LogJson[]), ...(pending instanceof Error ? [] : (pending as readonly LogJson[]))] // the results of the method
  const operations = new Map(logs.flatMap((log) => operationOf(log)).map((operation) => [operation.hash, operation]))
  return [...operations.values()].slice(-count).toReversed()
}

/** Returns the operation of a UserOperationEvent, or nothing for another log. */
export function operationOf({ topics, data, transactionHash, blockNumber }: LogJson): readonly IncludedOperation[] {
  const [, hash, sender, paymaster] = topics
  if (hash === undefined || sender === undefined || paymaster === undefined || data.length < 130) return []
  const payer = `0x${paymaster.slice(26)}`
  return [
    {
      hash,
      sender: `0x${sender.slice(26)}`,
      paymaster: BigInt(paymaster) === 0n ? null : payer,
      success: BigInt(`0x${data.slice(66, 130)}`) !== 0n,
      transactionHash,
      blockNumber: Number(blockNumber),
    },
  ]
}
