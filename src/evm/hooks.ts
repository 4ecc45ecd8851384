/** Imports of the traced module (runtime/hooks.ts). Gas as a number is exact up to 2^53. */
export interface Hooks {
  step(pc: number, op: number, gas: number, depth: number, sp: number, base: number): void
  fault(reason: number, left: number): void
  enter(
    op: number,
    depth: number,
    from: number,
    to: number,
    input: number,
    size: number,
    gas: bigint,
    value: number,
    precompile: number,
    left: bigint,
  ): void
  exit(depth: number, status: number, output: number, size: number, used: bigint): void
  log(at: number): void
}

const nothing = () => {}

export const NO_HOOKS: Hooks = { step: nothing, fault: nothing, enter: nothing, exit: nothing, log: nothing }
