import { Address, Hex } from '../eth/index.ts'
import type { Hash } from '../eth/index.ts'
import { UserOperationJson } from '../jsonrpc/index.ts'
import { assetChanges } from './assetchanges.ts'
import type { Tracked } from './assetchanges.ts'
import { refuse } from './errors.ts'
import type { BundlerApi, GasPrices, ReputationEntry } from './methods.ts'
import { maximum } from './node.ts'
import type { Overrides } from './stateoverrides.ts'
import { includedOperationJson, receiptJson, successIn } from './receipts.ts'
import type { BundlerService } from './service.ts'
import { unincludedPage } from './unincluded.ts'
import type { Candidate } from './validation.ts'

/** The methods of a bundler, JSON-ready. All throw RpcError with the codes of ERC-7769. */
export function bundlerApi(service: BundlerService): BundlerApi {
  return {
    sendUserOperation: async (operation, entryPoint) => service.send(await signedCandidate(service, operation, entryPoint)),
    sendBoosted: async (operation, entryPoint) => service.send(await signedCandidate(service, operation, entryPoint), true),
    sendNow: (operation, entryPoint) => sendNow(service, operation, entryPoint),
    simulateAssetChange: (operation, entryPoint, tracked, overrides) =>
      simulateAssetChange(service, operation, entryPoint, tracked, overrides),
    estimateUserOperationGas: (operation, entryPoint, overrides) => estimateGas(service, operation, entryPoint, overrides),
    userOperationByHash: (hash) => byHash(service, hash),
    userOperationReceipt: (hash) => receipt(service, hash),
    userOperationStatus: (hash) => status(service, hash),
    supportedEntryPoints: async () => (await service.entryPoints()).map(({ address }) => Address.checksum(address)),
    gasPrices: () => gasPrices(service),
    blockNumber: async () => Hex.fromQuantity(await service.node.quantity('eth_blockNumber')),
    clearState: () => service.clear(),
    clearPool: () => service.clearPool(),
    clearReputation: () => service.reputations.clear(),
    warnings: (hash) => {
      const all = hash === undefined ? [...service.warnings] : [[hash, service.warnings.get(hash) ?? []] as const]
      return all.flatMap(([userOpHash, warnings]) =>
        warnings.map(({ rule, role, entity, error: { code, message } }) => ({ userOpHash, rule, role, entity, code, message })),
      )
    },
    rules: (change) => {
      const { rules, minStake, minUnstakeDelay } = (service.settings = { ...service.settings, ...change })
      return { rules, minStake: Hex.fromQuantity(minStake), minUnstakeDelay: Hex.fromQuantity(minUnstakeDelay) }
    },
    unincluded: (query) => unincludedPage(service, query),
    dumpMempool: (entryPoint) => dumpMempool(service, entryPoint),
    sendBundleNow: async () => (await service.flush())[0] ?? 'ok',
    setBundlingMode: (mode) => void (service.isAutomatic = mode === 'auto'),
    setReputation: (entries, entryPoint) => setReputation(service, entries, entryPoint),
    dumpReputation: (entryPoint) => dumpReputation(service, entryPoint),
    stakeStatus: (address, entryPoint) => stakeStatus(service, address, entryPoint),
    addUserOperations: (operations, entryPoint) => addUserOperations(service, operations, entryPoint),
  }
}

async function signedCandidate(service: BundlerService, value: unknown, at: unknown): Promise<Candidate> {
  const entryPoint = await service.entryPoint(at)
  return service.candidate(entryPoint, UserOperationJson.read(value, entryPoint.version, { partial: false }))
}

/** Sends a bundle immediately and waits for its receipt. Throws RpcError. */
async function sendNow(service: BundlerService, value: unknown, at: unknown): Promise<unknown> {
  const hash = await service.send(await signedCandidate(service, value, at))
  try {
    await service.flush()
  } catch (error) {
    // The failed bundle may be one without this operation.
    if (service.pool.get(hash)?.bundle === null) throw error
  }
  const outcome = await service.outcomeOf(hash)
  if (outcome?.reason) throw outcome.reason
  const found = await receipt(service, hash)
  if (found !== null) return found
  const message = `the user operation ${hash} is in no block yet; ask eth_getUserOperationReceipt for it later`
  throw refuse('server', message, { userOpHash: hash })
}

async function simulateAssetChange(
  service: BundlerService,
  value: unknown,
  at: unknown,
  tracked: Tracked,
  overrides: Overrides,
): Promise<unknown> {
  const candidate = await signedCandidate(service, value, at)
  const changes = await assetChanges(service.node, service.address, candidate, tracked, overrides)
  return changes.map(({ address, token, balanceBefore, balanceAfter }) => ({
    address: Address.checksum(address),
    token: Address.checksum(token),
    ...quantities({ balanceBefore, balanceAfter }),
  }))
}

async function estimateGas(service: BundlerService, value: unknown, at: unknown, overrides: Overrides): Promise<unknown> {
  const entryPoint = await service.entryPoint(at)
  const operation = UserOperationJson.read(value, entryPoint.version, { partial: true })
  const candidate = await service.candidate(entryPoint, operation)
  const estimate = await service.estimate(candidate, overrides)
  const { paymasterVerificationGasLimit, paymasterPostOpGasLimit, ...own } = estimate
  // Only with a paymaster (ERC-7769): aa-sdk refuses an operation with one field of a paymaster and without the others.
  const hasPaymasterLimits = entryPoint.version !== '0.6' && candidate.operation.paymaster !== null
  return { ...quantities(own), ...(hasPaymasterLimits ? quantities({ paymasterVerificationGasLimit, paymasterPostOpGasLimit }) : {}) }
}

function quantities<const K extends string>(amounts: Readonly<Record<K, bigint>>): Readonly<Record<K, Hex>> {
  const entries = Object.entries<bigint>(amounts).map(([name, amount]) => [name, Hex.fromQuantity(amount)])
  return Object.fromEntries(entries) as Record<K, Hex> // the keys of the amounts
}

async function byHash(service: BundlerService, hash: Hash): Promise<unknown> {
  const transaction = await service.transactionOf(hash)
  if (transaction === null) return null
  const outcome = service.outcomes.get(hash)
  const found = await includedOperationJson(service.node, await service.entryPoints(), hash, transaction)
  if (found === null || outcome === undefined) return found
  const { entryPoint, operation } = outcome.candidate
  return { ...(found as object), userOperation: UserOperationJson.write(operation, entryPoint.version) } // an object or null
}

async function receipt(service: BundlerService, hash: Hash): Promise<unknown> {
  const transaction = await service.transactionOf(hash)
  return transaction === null ? null : receiptJson(service.node, await service.entryPoints(), hash, transaction)
}

/** Percentages of the base fee; the node's proposed tip is added. viem proposes 120 % of that of the latest block, which is up to 1/7 higher. */
const SPEEDS = { slow: 140n, standard: 160n, fast: 200n } as const

async function gasPrices(service: BundlerService): Promise<GasPrices> {
  const { node } = service
  const [{ baseFee }, tip, least] = await Promise.all([
    node.now(),
    node.quantity('eth_maxPriorityFeePerGas'),
    node.quantity('eth_gasPrice'), // the node may have a minimum price
  ])
  const price = (percentage: bigint) =>
    quantities({ maxFeePerGas: maximum((baseFee * percentage) / 100n + tip, least), maxPriorityFeePerGas: tip })
  const { slow, standard, fast } = SPEEDS
  return { slow: price(slow), standard: price(standard), fast: price(fast), ...quantities({ baseFee }) }
}

async function status(service: BundlerService, hash: Hash): Promise<unknown> {
  const transaction = await service.transactionOf(hash)
  const pooled = service.pool.get(hash)
  if (pooled !== null && (transaction === null || pooled.bundle !== null))
    return { status: pooled.bundle === null ? 'not_submitted' : 'submitted', transactionHash: pooled.bundle }
  const outcome = service.outcomes.get(hash)
  if (outcome?.status === 'rejected' && transaction === null)
    return { status: 'rejected', transactionHash: null, reason: outcome.reason?.message ?? null }
  if (transaction === null) return { status: 'not_found', transactionHash: null }
  // A promise may be retracted and a block removed, so the chain is read again.
  const success = await successIn(service.node, await service.entryPoints(), hash, transaction)
  if (success !== null) return { status: success ? 'included' : 'failed', transactionHash: transaction }
  const found = await service.node.ask('eth_getTransactionByHash', transaction)
  const isPending = found !== null && (found as { readonly blockHash: unknown }).blockHash === null // as execution-apis defines it
  if (isPending) return { status: 'submitted', transactionHash: transaction }
  return {
    status: 'not_found',
    transactionHash: null,
    reason: `the bundle ${transaction} was retracted, or no longer contains the operation`,
  }
}

// --- dev methods ----------------------------------------------------------------------------------------------------

async function dumpMempool(service: BundlerService, at: unknown): Promise<unknown> {
  const entryPoint = await service.entryPoint(at)
  return service.pool
    .all()
    .filter((each) => each.entryPoint.address === entryPoint.address)
    .map(({ operation }) => UserOperationJson.write(operation, entryPoint.version))
}

async function setReputation(service: BundlerService, entries: readonly ReputationEntry[], at: unknown): Promise<void> {
  await service.entryPoint(at)
  for (const { address, opsSeen, opsIncluded } of entries) service.reputations.set(address, { seen: opsSeen, included: opsIncluded })
  service.bundles.dropBanned()
}

async function dumpReputation(service: BundlerService, at: unknown): Promise<unknown> {
  await service.entryPoint(at)
  return service.reputations.entries().map(([address, { seen, included }]) => ({
    address: Address.checksum(address),
    opsSeen: Hex.fromQuantity(Math.round(seen)),
    opsIncluded: Hex.fromQuantity(Math.round(included)),
    status: service.reputations.status(address),
  }))
}

async function stakeStatus(service: BundlerService, address: Address, at: unknown): Promise<unknown> {
  const entryPoint = await service.entryPoint(at)
  const { amount, unstakeSeconds, isStaked } = await service.stake(entryPoint, address)
  return {
    stakeInfo: { addr: Address.checksum(address), stake: amount.toString(), unstakeDelaySec: unstakeSeconds.toString() },
    isStaked,
  }
}

async function addUserOperations(service: BundlerService, values: readonly unknown[], at: unknown): Promise<void> {
  const entryPoint = await service.entryPoint(at)
  const candidates = await Promise.all(
    values.map((value) => service.candidate(entryPoint, UserOperationJson.read(value, entryPoint.version, { partial: false }))),
  )
  for (const candidate of candidates) if (service.pool.get(candidate.hash) === null) service.add(candidate)
}
