/** off: everything is interpreted; on: hot code runs compiled; shadow: hot code runs both ways, and what the interpreter says holds. */
export type Tier1Mode = 'off' | 'on' | 'shadow'

/** What the whole process does about hot code. */
export interface Tier1Settings {
  readonly mode: Tier1Mode
  /** gas that a code burns, all calls together, before it is compiled */
  readonly promoteAtGas: bigint
  /** operations of one function; smaller ones only make bugs likelier to show */
  readonly operationsPerFunction: number
  /** told of every difference that the shadow mode finds, and of traps; the codes that took part are interpreted from then on */
  readonly onDifference: (problem: string) => void
}

const DEFAULTS: Tier1Settings = {
  mode: 'off',
  promoteAtGas: 20_000_000n,
  operationsPerFunction: 256,
  onDifference: (problem) => globalThis.process?.emitWarning(problem, 'Tier1Difference'),
}

/** The settings that hold, and how often they have changed. */
export const tier1: { settings: Tier1Settings; version: number } = { settings: DEFAULTS, version: 0 }

/** Changes what is given, for all chains of this process; holds from the next message on. */
export function configureTier1(changes: Partial<Tier1Settings>): void {
  tier1.settings = { ...tier1.settings, ...changes }
  tier1.version++
}
