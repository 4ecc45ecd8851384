/** Rates of faults. A rate is a probability from 0 to 1; lengths are the most that a fault draws. */
export interface ChaosProfile {
  /** Per transaction: it waits for 1 to `delayFlashblocks` further flashblocks. */
  readonly delay: number
  readonly delayFlashblocks: number
  /** Per transaction: it leaves the pool before its promise. */
  readonly drop: number
  /** Per flashblock with promises: one of them returns to the pool. */
  readonly retract: number
  /** Per flashblock with promises: all of the open block return to the pool. */
  readonly retractAll: number
  /** Per flashblock with promises: those of the open block are executed in another order. */
  readonly reorder: number
  /** Per flashblock: the next one is left out. */
  readonly missFlashblock: number
  /** Per flashblock, or block without flashblocks: no further one for 1 to `stallMs` milliseconds. */
  readonly stall: number
  readonly stallMs: number
  /** Per block: its seal is 1 to `lateSealMs` milliseconds late. */
  readonly lateSeal: number
  readonly lateSealMs: number
  /** Per block: another sequencer replaces the newest 1 to `failOverBlocks` blocks. */
  readonly failOver: number
  readonly failOverBlocks: number
  /** Each flashblock is late by a random share, from 0 to this, of its interval. */
  readonly jitter: number
}

export const NO_CHAOS: ChaosProfile = {
  delay: 0,
  delayFlashblocks: 5,
  drop: 0,
  retract: 0,
  retractAll: 0,
  reorder: 0,
  missFlashblock: 0,
  stall: 0,
  stallMs: 1_000,
  lateSeal: 0,
  lateSealMs: 500,
  failOver: 0,
  failOverBlocks: 2,
  jitter: 0,
}

export type ChaosName = 'calm' | 'normal' | 'rough'

/** `calm` only delays. `normal` has what a healthy chain shows in a day, in minutes. `rough` has a fault every few seconds. */
export const CHAOS_PROFILES: Readonly<Record<ChaosName, ChaosProfile>> = {
  calm: { ...NO_CHAOS, delay: 0.05, delayFlashblocks: 3, jitter: 0.2 },
  normal: {
    ...NO_CHAOS,
    delay: 0.1,
    retract: 0.02,
    reorder: 0.02,
    missFlashblock: 0.01,
    stall: 0.005,
    lateSeal: 0.02,
    failOver: 0.005,
    failOverBlocks: 1,
    jitter: 0.3,
  },
  rough: {
    ...NO_CHAOS,
    delay: 0.2,
    drop: 0.01,
    retract: 0.1,
    retractAll: 0.02,
    reorder: 0.1,
    missFlashblock: 0.05,
    stall: 0.02,
    lateSeal: 0.1,
    failOver: 0.05,
    jitter: 0.5,
  },
}
