import type { Address, Hash, Hex } from '../eth/index.ts'

// The results of the pocketchain_ methods of the bundler in JSON, an entry point of its own for the types of the pages.

/** A violation for which a public bundler refuses an operation. */
export interface RuleWarningJson {
  readonly userOpHash: Hash
  /** such as `OP-011` */
  readonly rule: string
  /** account, factory or paymaster; null: the rule is not about one of them */
  readonly role: string | null
  readonly entity: Address | null
  /** code and message of the refusal under strict rules */
  readonly code: number
  readonly message: string
}

export interface RulesJson {
  readonly rules: 'strict' | 'relaxed' | 'off'
  /** wei */
  readonly minStake: Hex
  /** seconds */
  readonly minUnstakeDelay: Hex
}

/**
 * The reason why an operation waits in the pool. `bundle`: the next bundle. `request`: debug_bundler_sendBundleNow, in manual mode. `nonce`: the operations
 * before it. `price`: a lower base fee, since its fees or those of its bundle do not cover this one. `block`: the block of its bundle.
 */
export const WAIT_REASONS = ['bundle', 'request', 'nonce', 'price', 'block'] as const
export type WaitReason = (typeof WAIT_REASONS)[number]

/** As pimlico_getUserOperationStatus names them. */
export const UNINCLUDED_STATUSES = ['not_submitted', 'submitted', 'rejected'] as const

/** A user operation that is in no block: in the pool, in a bundle that was sent, or dropped. */
export interface UnincludedOperationJson {
  /** ascending in the order of arrival */
  readonly id: number
  readonly userOpHash: Hash
  readonly entryPoint: Hex
  readonly userOperation: Readonly<Record<string, unknown>>
  readonly status: (typeof UNINCLUDED_STATUSES)[number]
  /** hash of the bundle's transaction */
  readonly transactionHash: Hash | null
  /** null: it was dropped */
  readonly waitsFor: WaitReason | null
  /** bundles that were built and failed, or were lost; it is dropped after MAX_BUNDLE_FAILURES */
  readonly failedBundles: number
  /** why it was dropped, or its last bundle failed */
  readonly reason: string | null
  /** the operation with the same nonce and higher fees */
  readonly replacedBy: Hash | null
}

export interface UnincludedPage {
  readonly operations: readonly UnincludedOperationJson[]
  /** `before` of the next page; null at the end */
  readonly next: number | null
}
