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
  preconf: { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 200 },
  native: { kind: 'native', blockTimeMs: 200 },
  instant: { kind: 'instant' },
  manual: { kind: 'manual' },
}
