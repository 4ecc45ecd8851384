import { Address, Hex } from '../eth/index.ts'
import type { EntryPoint, Hash } from '../eth/index.ts'
import { UserOperationJson, schema } from '../rpc/index.ts'
import type { Desk } from './desk.ts'
import type { AccountOverride, Overrides } from './node.ts'
import { operationInJson, receiptJson } from './receipts.ts'

interface Row {
  /** only in test mode */
  readonly test?: true
  /** Throws RpcError. */
  readonly answer: (desk: Desk, params: readonly unknown[]) => unknown
}

/** What a bundler answers (ERC-7769, and the two of pimlico that clients ask for). Their doc lines stand in rpc/. */
export const TABLE: ReadonlyMap<string, Row> = new Map<string, Row>([
  ['eth_supportedEntryPoints', { answer: async (desk) => (await desk.entryPoints()).map(({ address }) => Address.checksum(address)) }],
  ['eth_sendUserOperation', { answer: send }],
  ['eth_estimateUserOperationGas', { answer: estimateGas }],
  ['eth_getUserOperationByHash', { answer: (desk, [hash]) => byHash(desk, hashParameter(hash)) }],
  ['eth_getUserOperationReceipt', { answer: (desk, [hash]) => receipt(desk, hashParameter(hash)) }],
  ['pimlico_getUserOperationGasPrice', { answer: prices }],
  ['pimlico_getUserOperationStatus', { answer: (desk, [hash]) => status(desk, hashParameter(hash)) }],
  ['debug_bundler_clearState', { test: true, answer: clearState }],
  ['debug_bundler_dumpMempool', { test: true, answer: dumpMempool }],
  ['debug_bundler_sendBundleNow', { test: true, answer: async (desk) => (await desk.flush())[0] ?? null }],
  ['debug_bundler_setBundlingMode', { test: true, answer: setMode }],
  ['debug_bundler_setReputation', { test: true, answer: setReputation }],
  ['debug_bundler_dumpReputation', { test: true, answer: dumpReputation }],
  ['debug_bundler_addUserOps', { test: true, answer: addUserOps }],
])

async function send(desk: Desk, [value, at]: readonly unknown[]): Promise<Hash> {
  const entryPoint = await desk.entryPoint(at)
  return desk.send(await desk.candidate(entryPoint, UserOperationJson.read(value, entryPoint.version, { partial: false })))
}

async function estimateGas(desk: Desk, [value, at, overrides]: readonly unknown[]): Promise<unknown> {
  const entryPoint = await desk.entryPoint(at)
  const operation = UserOperationJson.read(value, entryPoint.version, { partial: true })
  const candidate = await desk.candidate(entryPoint, operation)
  const estimate = await desk.estimate(candidate, overridesOf(overrides))
  const { paymasterVerificationGasLimit, paymasterPostOpGasLimit, ...own } = estimate
  const sponsored = operation.paymaster !== null && entryPoint.version !== '0.6'
  return quantities(sponsored ? { ...own, paymasterVerificationGasLimit, paymasterPostOpGasLimit } : own)
}

function quantities(amounts: Readonly<Record<string, bigint>>): Readonly<Record<string, Hex>> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, Hex.fromQuantity(amount)]))
}

/** The node reads what stands in it, and refuses what it does not know. */
function overridesOf(value: unknown): Overrides {
  if (value === undefined || value === null) return {}
  const entry = schema.object({})
  const known = schema.mapOf(
    schema.address,
    { json: entry.json, parse: (each, path) => (entry.parse(each, path), each as AccountOverride) },
    MOST_OVERRIDDEN,
  )
  return Object.fromEntries(known.parse(value, 'argument 2 (stateOverrides)'))
}

const MOST_OVERRIDDEN = 1_000

async function byHash(desk: Desk, hash: Hash): Promise<unknown> {
  const transaction = await desk.transactionOf(hash)
  if (transaction === null) return null
  const fate = desk.fates.get(hash)
  const found = await operationInJson(desk.node, await desk.entryPoints(), hash, transaction, async (entryPoint, operation) => {
    // Who delegates may delegate to another one by now; what we have sent is told by its nonce.
    if (fate?.candidate.operation.sender === operation.sender && fate.candidate.operation.nonce === operation.nonce) return hash
    return desk.hash(entryPoint, operation)
  })
  if (found === null || fate === undefined) return found
  const { entryPoint, operation } = fate.candidate
  return { ...(found as object), userOperation: UserOperationJson.write(operation, entryPoint.version) } // an object or null
}

async function receipt(desk: Desk, hash: Hash): Promise<unknown> {
  const transaction = await desk.transactionOf(hash)
  return transaction === null ? null : receiptJson(desk.node, hash, transaction)
}

/** In percent of the base fee, plus the tip that the node proposes. */
const SPEEDS = { slow: 110n, standard: 125n, fast: 150n } as const

async function prices(desk: Desk): Promise<unknown> {
  const [{ baseFee }, tip] = await Promise.all([desk.node.now(), desk.node.quantity('eth_maxPriorityFeePerGas')])
  const price = (percentage: bigint) => quantities({ maxFeePerGas: (baseFee * percentage) / 100n + tip, maxPriorityFeePerGas: tip })
  return { slow: price(SPEEDS.slow), standard: price(SPEEDS.standard), fast: price(SPEEDS.fast) }
}

async function status(desk: Desk, hash: Hash): Promise<unknown> {
  const transaction = await desk.transactionOf(hash)
  const waiting = desk.pool.get(hash)
  if (waiting !== null) return { status: waiting.bundle === null ? 'not_submitted' : 'submitted', transactionHash: waiting.bundle }
  const fate = desk.fates.get(hash)
  if (fate?.status === 'rejected') return { status: 'rejected', transactionHash: null, reason: fate.reason?.message ?? null }
  if (transaction === null) return { status: 'not_found', transactionHash: null }
  return { status: fate?.status === 'failed' ? 'failed' : 'included', transactionHash: transaction }
}

// --- by a test's hand -----------------------------------------------------------------------------------------------

function clearState(desk: Desk): string {
  desk.clearPool()
  desk.reputations.clear()
  desk.fates.clear()
  return 'ok'
}

async function dumpMempool(desk: Desk, [at]: readonly unknown[]): Promise<unknown> {
  const entryPoint = await desk.entryPoint(at)
  return desk.pool
    .all()
    .filter((each) => each.entryPoint.address === entryPoint.address)
    .map(({ operation }) => UserOperationJson.write(operation, entryPoint.version))
}

function setMode(desk: Desk, [mode]: readonly unknown[]): string {
  const read = schema.oneOf('auto', 'manual').parse(mode, 'argument 0 (mode)')
  desk.isAutomatic = read === 'auto'
  return 'ok'
}

const REPUTATIONS = schema.arrayOf(schema.object({ address: schema.address, opsSeen: schema.integer, opsIncluded: schema.integer }), 1_000)

async function setReputation(desk: Desk, [entries, at]: readonly unknown[]): Promise<string> {
  await desk.entryPoint(at)
  for (const { address, opsSeen, opsIncluded } of REPUTATIONS.parse(entries, 'argument 0 (reputations)'))
    desk.reputations.set(address, { seen: opsSeen, included: opsIncluded })
  return 'ok'
}

async function dumpReputation(desk: Desk, [at]: readonly unknown[]): Promise<unknown> {
  await desk.entryPoint(at)
  return desk.reputations.entries().map(([address, { seen, included }]) => ({
    address: Address.checksum(address),
    opsSeen: Hex.fromQuantity(Math.round(seen)),
    opsIncluded: Hex.fromQuantity(Math.round(included)),
    status: desk.reputations.standing(address),
  }))
}

async function addUserOps(desk: Desk, [values, at]: readonly unknown[]): Promise<string> {
  const entryPoint: EntryPoint = await desk.entryPoint(at)
  const all = schema.arrayOf(schema.anything, 1_000).parse(values, 'argument 0 (userOperations)')
  const candidates = await Promise.all(
    all.map((value) => desk.candidate(entryPoint, UserOperationJson.read(value, entryPoint.version, { partial: false }))),
  )
  for (const candidate of candidates) if (desk.pool.get(candidate.hash) === null) desk.add(candidate)
  return 'ok'
}

function hashParameter(value: unknown): Hash {
  if (typeof value !== 'string' || !Hex.isHex(value, 64)) throw schema.refused('argument 0 (userOpHash)', 'Missing/invalid userOpHash')
  return schema.hash.parse(value, 'argument 0 (userOpHash)')
}
