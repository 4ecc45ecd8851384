import { configureTier1 } from '../../src/evm/index.ts'

/** Options of the programs that run state tests and random programs. */
export const TIER1_OPTIONS = {
  // on: compiles every code at its first call; shadow: compares with the interpreter
  tier1: { type: 'string', default: 'off' },
  operations: { type: 'string', default: '256' },
} as const

/** Throws TypeError for an unknown mode. */
export function configureRun(
  values: { readonly tier1: string; readonly operations: string },
  onMismatch: (difference: string) => void,
): void {
  const mode = (['off', 'on', 'shadow'] as const).find((each) => each === values.tier1)
  if (mode === undefined) throw new TypeError(`--tier1 is off, on or shadow, not ${values.tier1}`)
  configureTier1({ mode, promoteAtGas: 0n, operationsPerFunction: Number(values.operations), onMismatch })
}
