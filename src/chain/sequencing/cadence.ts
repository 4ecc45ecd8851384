import { MAX_BLOCK_TIME_MS, MAX_FLASHBLOCK_MS, MIN_BLOCK_TIME_MS, MIN_FLASHBLOCK_MS } from '../limits.ts'
import { NATIVE_UNIT_MS } from './chaintime.ts'

/** Schedule of block production. */
export type Cadence =
  /** A block every `blockTimeMs`; flashblock 0 immediately, then one every `flashblockMs`. */
  | { readonly kind: 'preconf'; readonly blockTimeMs: number; readonly flashblockMs: number }
  /** A sealed block every `blockTimeMs` with a millisecond timestamp; no flashblocks. */
  | { readonly kind: 'native'; readonly blockTimeMs: number }
  /** A block per transaction, sealed before the submission resolves. */
  | { readonly kind: 'instant' }
  /** Blocks only on request. */
  | { readonly kind: 'manual' }

export type CadenceKind = Cadence['kind']

/** The defaults, compared by identity: any other object is a cadence that was chosen, whose block time evm_setAutomine keeps. */
export const CADENCES: { readonly [K in CadenceKind]: Extract<Cadence, { kind: K }> } = {
  preconf: Object.freeze({ kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 200 }),
  native: Object.freeze({ kind: 'native', blockTimeMs: 200 }),
  instant: Object.freeze({ kind: 'instant' }),
  manual: Object.freeze({ kind: 'manual' }),
}

/** Returns why the chain cannot keep the times of a cadence, `null` if it can. The values may have any type. */
export function cadenceProblem(cadence: Cadence): string | null {
  if (!('blockTimeMs' in cadence)) return 'blockTimeMs' in CADENCES[cadence.kind] ? noBlockTime(undefined) : null
  const { blockTimeMs } = cadence
  if (!isWithin(blockTimeMs, MIN_BLOCK_TIME_MS, MAX_BLOCK_TIME_MS)) return noBlockTime(blockTimeMs)
  if (cadence.kind === 'native')
    return blockTimeMs % NATIVE_UNIT_MS === 0
      ? null
      : `native blocks come at multiples of ${NATIVE_UNIT_MS} ms, not every ${blockTimeMs} ms`
  const { flashblockMs } = cadence
  if (isWithin(flashblockMs, MIN_FLASHBLOCK_MS, Math.min(MAX_FLASHBLOCK_MS, blockTimeMs))) return null
  return `flashblocks cannot come every ${String(flashblockMs)} ms: it takes ${MIN_FLASHBLOCK_MS} to ${MAX_FLASHBLOCK_MS} ms, and at most the block time of ${blockTimeMs} ms`
}

function noBlockTime(given: unknown): string {
  return `blocks cannot come every ${String(given)} ms: it takes ${MIN_BLOCK_TIME_MS} to ${MAX_BLOCK_TIME_MS} whole ms`
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
}
