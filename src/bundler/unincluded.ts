import { Address } from '../eth/index.ts'
import type { Hash } from '../eth/index.ts'
import { UserOperationJson } from '../jsonrpc/index.ts'
import { LISTED_OPERATIONS } from './limits.ts'
import { busySequences, nonceSequence } from './pool.ts'
import type { PooledOperation } from './pool.ts'
import type { UnincludedOperationJson, UnincludedPage, WaitReason } from './results.ts'
import type { Outcome } from './outcomes.ts'
import { includedAmong } from './receipts.ts'
import type { BundlerService } from './service.ts'
import { noncesAhead } from './validation.ts'
import type { Candidate } from './validation.ts'

/** Filters of pocketchain_userOperationPool, which all apply. */
export interface UnincludedQuery {
  readonly userOpHashes?: readonly Hash[] | undefined
  /** hash of the bundle's transaction */
  readonly transactionHash?: Hash | undefined
  readonly status?: UnincludedOperationJson['status'] | undefined
  readonly limit?: number | undefined
  /** selects operations that arrived before the one with this id */
  readonly before?: number | undefined
}

/** Returns operations of the pool and dropped ones, the newest first. */
export async function unincludedPage(service: BundlerService, query: UnincludedQuery): Promise<UnincludedPage> {
  const { userOpHashes, transactionHash, status, before, limit = LISTED_OPERATIONS } = query
  const hashes = userOpHashes === undefined ? null : new Set(userOpHashes)
  const dropped = service.outcomes.all().filter((outcome) => outcome.status === 'rejected')
  const wanted = [...service.pool.all(), ...dropped].filter(
    (each) =>
      (hashes === null || hashes.has(hashOf(each))) &&
      (transactionHash === undefined || bundleOf(each) === transactionHash) &&
      (status === undefined || statusOf(each) === status) &&
      (before === undefined || each.id < before),
  )
  const sorted = wanted.toSorted((a, b) => b.id - a.id)
  const page = sorted.slice(0, Math.min(limit, LISTED_OPERATIONS))
  const { baseFee } = await service.node.now()
  const busy = busySequences(service.pool.all())
  const included = await includedSince(service, page)
  const operations = await Promise.all(
    page
      .filter((each) => !included.has(hashOf(each)))
      .map(async (each) => (isPooled(each) ? pooledJson(service, each, { baseFee, busy }) : droppedJson(each))),
  )
  return { operations, next: sorted.length > page.length ? (page.at(-1)?.id ?? null) : null }
}

/**
 * Returns the operations that a block contains although this bundler does not know it: dropped ones that another program included, and restored ones that were
 * included before the restart. Only those whose nonce was used, and not by a replacement, are searched.
 */
async function includedSince(service: BundlerService, page: readonly Known[]): Promise<ReadonlySet<Hash>> {
  const { node, outcomes, bundles } = service
  const candidates = page.flatMap((each): readonly Candidate[] => {
    if (isPooled(each)) return bundles.isUnchecked(each.hash) ? [each] : []
    return each.replacedBy !== null && outcomes.get(each.replacedBy)?.transaction ? [] : [each.candidate]
  })
  const ahead = await Promise.all(candidates.map(({ entryPoint, operation }) => noncesAhead(node, entryPoint, operation)))
  const used = candidates.flatMap(({ hash }, i) => ((ahead[i] ?? 0n) < 0n ? [hash] : []))
  if (used.length === 0) return new Set()
  return includedAmong(node, await service.entryPoints(), used)
}

type Known = PooledOperation | Outcome

function isPooled(each: Known): each is PooledOperation {
  return 'bundle' in each
}

function hashOf(each: Known): Hash {
  return isPooled(each) ? each.hash : each.candidate.hash
}

function bundleOf(each: Known): Hash | null {
  return isPooled(each) ? each.bundle : null
}

function statusOf(each: Known): UnincludedOperationJson['status'] {
  if (!isPooled(each)) return 'rejected'
  return each.bundle === null ? 'not_submitted' : 'submitted'
}

async function pooledJson(service: BundlerService, pooled: PooledOperation, now: Conditions): Promise<UnincludedOperationJson> {
  return {
    id: pooled.id,
    ...operationJson(pooled),
    status: statusOf(pooled),
    transactionHash: pooled.bundle,
    waitsFor: await waitReason(service, pooled, now),
    failedBundles: pooled.attempts,
    reason: pooled.failure?.message ?? null,
    replacedBy: null,
  }
}

function droppedJson({ id, candidate, reason, replacedBy, failedBundles }: Outcome): UnincludedOperationJson {
  return {
    id,
    ...operationJson(candidate),
    status: 'rejected',
    transactionHash: null,
    waitsFor: null,
    failedBundles,
    reason: reason?.message ?? null,
    replacedBy,
  }
}

function operationJson({ hash, entryPoint, operation }: Outcome['candidate']) {
  return {
    userOpHash: hash,
    entryPoint: Address.checksum(entryPoint.address),
    userOperation: UserOperationJson.write(operation, entryPoint.version),
  }
}

interface Conditions {
  readonly baseFee: bigint
  /** sequences of the operations in sent bundles */
  readonly busy: ReadonlySet<string>
}

/** Uses the conditions by which `Bundles` selects operations. */
async function waitReason(
  { node, bundles, isAutomatic }: BundlerService,
  pooled: PooledOperation,
  { baseFee, busy }: Conditions,
): Promise<WaitReason> {
  const { entryPoint, operation, bundle, isBoosted } = pooled
  if (bundle !== null) return (bundles.maxFeeOf(bundle) ?? baseFee) < baseFee ? 'price' : 'block'
  if (operation.maxFeePerGas < baseFee && !isBoosted) return 'price'
  if (busy.has(nonceSequence(pooled)) || (await noncesAhead(node, entryPoint, operation)) > 0n) return 'nonce'
  return isAutomatic ? 'bundle' : 'request'
}
