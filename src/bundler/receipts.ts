import { Abi, Address, DecodeError, Hash, Hex } from '../eth/index.ts'
import type { EntryPoint, UserOperation } from '../eth/index.ts'
import { RpcError, UserOperationJson, UserOperationReceiptJson, schema } from '../jsonrpc/index.ts'
import type { BundlerNode } from './node.ts'

const EVENT = Hash.ofText('UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)')
const REVERTED = Hash.ofText('UserOperationRevertReason(bytes32,address,uint256,bytes)')
const POST_OP_REVERTED = Hash.ofText('PostOpRevertReason(bytes32,address,uint256,bytes)')
const BEFORE_EXECUTION = Hash.ofText('BeforeExecution()')

const { address, anything, arrayOf, bytes, hash, nullable, object, wholeNumber } = schema
const LOG = object({ address, topics: arrayOf(hash, 4), data: bytes })
const LOGS = arrayOf(LOG, 1_000_000)

type Log = ReturnType<typeof LOG.parse>

/** Returns the operations of a bundle by the logs of its EntryPoint, with the success of each account's call. */
export function operationResults(logs: unknown, entryPoints: readonly EntryPoint[]): ReadonlyMap<Hash, boolean> {
  return new Map(
    LOGS.parse(logs, 'logs').flatMap((log) => {
      const operation = log.topics[1]
      return isEvent(log, entryPoints) && operation !== undefined ? [[operation, Abi.Reader(log.data).word(1) !== 0n] as const] : []
    }),
  )
}

/** Any contract may log the same topics. */
function isEvent({ address: by, topics }: Log, entryPoints: readonly EntryPoint[]): boolean {
  return topics[0] === EVENT && entryPoints.some((each) => each.address === by)
}

/** Returns the success of the operation in this transaction; `null` if the transaction is in no block or lacks the operation's event. */
export async function successIn(
  node: BundlerNode,
  entryPoints: readonly EntryPoint[],
  userOpHash: Hash,
  transaction: Hash,
): Promise<boolean | null> {
  const receipt = await node.ask('eth_getTransactionReceipt', transaction)
  if (receipt === null) return null
  return operationResults(object({ logs: anything }).parse(receipt, 'receipt').logs, entryPoints).get(userOpHash) ?? null
}

/**
 * Returns the transaction with the operation's event, sealed or pre-confirmed; `null` if it is in no block. On a fork the forked chain's history is searched
 * last, and its node may refuse to search all of it: an operation there is not found then.
 */
export async function transactionHashOf(node: BundlerNode, entryPoints: readonly EntryPoint[], userOpHash: Hash): Promise<Hash | null> {
  const forkBlock = await forkBlockOf(node)
  const [own] = await events(node, entryPoints, [userOpHash], blocksAfter(forkBlock))
  if (own !== undefined || forkBlock === null) return own?.transactionHash ?? null
  try {
    const [found] = await events(node, entryPoints, [userOpHash], { fromBlock: 'earliest', toBlock: Hex.fromQuantity(forkBlock) })
    return found?.transactionHash ?? null
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}

/** Returns which of these operations are in a block of this chain, sealed or pre-confirmed; on a fork not in those of the forked chain. */
export async function includedAmong(
  node: BundlerNode,
  entryPoints: readonly EntryPoint[],
  hashes: readonly Hash[],
): Promise<ReadonlySet<Hash>> {
  const found = await events(node, entryPoints, hashes, blocksAfter(await forkBlockOf(node)))
  return new Set(found.flatMap(({ topics }) => topics[1] ?? []))
}

/** Returns the block that this chain forks; `null` if it is no fork, or the node is another program. */
async function forkBlockOf(node: BundlerNode): Promise<number | null> {
  const answer = await node.ask('pocketchain_forkStatus').catch((error: unknown) => {
    if (error instanceof RpcError) return null
    throw error
  })
  return FORK.parse(answer, 'fork')?.blockNumber ?? null
}

interface BlockRange {
  readonly fromBlock: string
  readonly toBlock: string
}

function blocksAfter(forkBlock: number | null): BlockRange {
  return { fromBlock: forkBlock === null ? 'earliest' : Hex.fromQuantity(forkBlock + 1), toBlock: 'pending' }
}

async function events(node: BundlerNode, entryPoints: readonly EntryPoint[], userOpHashes: readonly Hash[], range: BlockRange) {
  const filter = { address: entryPoints.map((each) => each.address), topics: [EVENT, userOpHashes], ...range }
  return FOUND.parse(await node.ask('eth_getLogs', filter), 'logs')
}

const FORK = nullable(object({ blockNumber: wholeNumber }))
const FOUND = arrayOf(object({ topics: arrayOf(hash, 4), transactionHash: hash }), 1_000)

/** Returns the result of eth_getUserOperationReceipt; `null` if the transaction is in no block or lacks the operation's event. */
export async function receiptJson(
  node: BundlerNode,
  entryPoints: readonly EntryPoint[],
  userOpHash: Hash,
  transaction: Hash,
): Promise<unknown> {
  const receipt = await node.ask('eth_getTransactionReceipt', transaction)
  if (receipt === null) return null
  const { logs: wire } = object({ logs: anything }).parse(receipt, 'receipt')
  const logs = LOGS.parse(wire, 'receipt.logs')
  const at = logs.findIndex((each) => isEvent(each, entryPoints) && each.topics[1] === userOpHash)
  const log = logs[at]
  if (log === undefined) return null
  const [, , sender = Hash.zero, paymaster = Hash.zero] = log.topics
  const values = Abi.Reader(log.data)
  const [from, to] = [firstOwnLog(logs, at), at]
  return UserOperationReceiptJson.toJson({
    userOpHash,
    entryPoint: log.address,
    sender: Address.fromHash(sender),
    nonce: values.word(0),
    paymaster: Address.fromHash(paymaster),
    actualGasCost: values.word(2),
    actualGasUsed: values.word(3),
    success: values.word(1) !== 0n,
    logs: (wire as readonly unknown[]).slice(from, to), // parsed as an array by LOGS
    receipt,
    reason:
      revertReason(
        logs.slice(from, to).filter((each) => each.address === log.address),
        userOpHash,
      ) ?? undefined,
  })
}

/** Logs of an operation begin after the event of the previous one; those of the first operation after the validations. */
function firstOwnLog(logs: readonly Log[], at: number): number {
  for (let i = at - 1; i >= 0; i--) {
    const { address: by, topics } = logs[i] as Log // i is below the length
    if (by === logs[at]?.address && (topics[0] === EVENT || topics[0] === BEFORE_EXECUTION)) return i + 1
  }
  return 0
}

/** Returns the revert data of the account's call or of postOp. */
function revertReason(logs: readonly Log[], userOpHash: Hash): Uint8Array | null {
  const log = logs.find(({ topics }) => (topics[0] === REVERTED || topics[0] === POST_OP_REVERTED) && topics[1] === userOpHash)
  return log === undefined ? null : Abi.Reader(log.data).bytes(1)
}

/**
 * Returns the result of eth_getUserOperationByHash, decoded from the bundle's call data; `null` if the bundle lacks the operation. The operation is found by
 * the account and the nonce of its event: its hash may contain the code that the account delegated to, which may have changed since.
 */
export async function includedOperationJson(
  node: BundlerNode,
  entryPoints: readonly EntryPoint[],
  userOpHash: Hash,
  transaction: Hash,
): Promise<unknown> {
  const [found, receipt] = await Promise.all([
    node.ask('eth_getTransactionByHash', transaction),
    node.ask('eth_getTransactionReceipt', transaction),
  ])
  if (found === null || receipt === null) return null
  const { input, to, blockHash, blockNumber } = TRANSACTION.parse(found, 'transaction')
  const logs = LOGS.parse(object({ logs: anything }).parse(receipt, 'receipt').logs, 'receipt.logs')
  const event = logs.find((each) => isEvent(each, entryPoints) && each.topics[1] === userOpHash)
  const entryPoint = entryPoints.find((each) => each.address === to)
  const operation = entryPoint === undefined || event === undefined ? undefined : operationOf(entryPoint, input, event)
  if (entryPoint === undefined || operation === undefined) return null
  return {
    userOperation: UserOperationJson.write(operation, entryPoint.version),
    entryPoint: Address.checksum(entryPoint.address),
    transactionHash: transaction,
    blockHash,
    blockNumber,
  }
}

const TRANSACTION = object({ input: bytes, to: schema.maybe(address), blockHash: anything, blockNumber: anything })

function operationOf(entryPoint: EntryPoint, input: Uint8Array, event: Log): UserOperation | undefined {
  const sender = Address.fromHash(event.topics[2] ?? Hash.zero)
  try {
    const nonce = Abi.Reader(event.data).word(0)
    return entryPoint.readOps(input)?.find((operation) => operation.sender === sender && operation.nonce === nonce)
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}
