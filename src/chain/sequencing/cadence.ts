/** When blocks come. */
export type Cadence =
  /** a block every `blockTimeMs`; index 0 at once, then a flashblock every `flashblockMs` */
  | { readonly kind: 'preconf'; readonly blockTimeMs: number; readonly flashblockMs: number }
  /** a sealed block every `blockTimeMs` with millisecond timestamps; no flashblocks */
  | { readonly kind: 'native'; readonly blockTimeMs: number }
  /** a block per transaction, sealed before the sender has its answer */
  | { readonly kind: 'instant' }
  /** only when told */
  | { readonly kind: 'manual' }

export type CadenceKind = Cadence['kind']

export const CADENCES: { readonly [K in CadenceKind]: Extract<Cadence, { kind: K }> } = {
  preconf: { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 200 },
  native: { kind: 'native', blockTimeMs: 200 },
  instant: { kind: 'instant' },
  manual: { kind: 'manual' },
}
