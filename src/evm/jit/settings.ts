import { OPERATIONS_PER_FUNCTION } from './limits.ts'

/** off: interpreter only; on: hot code runs compiled; shadow: hot code runs in both tiers, and the interpreter's result is used. */
export type Tier1Mode = 'off' | 'on' | 'shadow'

/** Settings of Tier 1 in this process. */
export interface Tier1Settings {
  /** default of chains whose configuration has no mode */
  readonly mode: Tier1Mode
  /** gas used by a code over all calls before it is compiled */
  readonly promoteAtGas: bigint
  /** size of a compiled function; small values make bugs more likely to show in tests */
  readonly operationsPerFunction: number
  /** receives every mismatch found in shadow mode, and traps; the codes involved are interpreted from then on */
  readonly onMismatch: (problem: string) => void
}

const DEFAULTS: Tier1Settings = {
  mode: 'on',
  promoteAtGas: 20_000_000n,
  operationsPerFunction: OPERATIONS_PER_FUNCTION,
  onMismatch: (problem) => globalThis.process?.emitWarning(problem, 'Tier1Difference'),
}

/** The current settings and the number of changes. */
export const tier1: { settings: Tier1Settings; version: number } = { settings: DEFAULTS, version: 0 }

/** The mode of a chain. */
export function tier1ModeOf({ tier1: own }: { readonly tier1?: Tier1Mode }): Tier1Mode {
  return own ?? tier1.settings.mode
}

/** Restores the defaults. */
export function resetTier1(): void {
  configureTier1(DEFAULTS)
}

/** Changes settings of this process, from the next message on. */
export function configureTier1(changes: Partial<Tier1Settings>): void {
  tier1.settings = { ...tier1.settings, ...changes }
  tier1.version++
}
