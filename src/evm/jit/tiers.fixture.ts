import { Hex } from '../../eth/index.ts'
import { ALICE, CONTRACT, contextOf, ETHER, l1Config, Memory, message } from '../evm.fixture.ts'
import { executeTransaction } from '../execute.ts'
import type { Executed } from '../message.ts'
import type { WriteSet } from '../state.ts'
import { World } from '../world.ts'
import { configureTier1, resetTier1 } from './index.ts'

interface Program {
  readonly data?: Uint8Array
  readonly gas?: bigint
  /** other contracts by address */
  readonly others?: Readonly<Record<string, string>>
  readonly operationsPerFunction?: number
}

export interface Ran {
  readonly executed: Executed
  readonly writes: WriteSet
}

/** Runs a code in the interpreter and compiled, and returns both results. */
export function inBothTiers(code: Uint8Array, program: Program = {}): readonly [Ran, Ran] {
  const operationsPerFunction = program.operationsPerFunction ?? 256
  try {
    configureTier1({ mode: 'off', promoteAtGas: 0n, operationsPerFunction })
    const interpreted = ran(code, program)
    configureTier1({ mode: 'on' })
    return [interpreted, ran(code, program)]
  } finally {
    resetTier1()
  }
}

function ran(code: Uint8Array, { data = new Uint8Array(), gas = 1_000_000n, others = {} }: Program): Ran {
  const deployed = Object.entries(others).map(([address, each]) => [address, { nonce: 1n, code: each as Hex }] as const)
  const contract = { nonce: 1n, balance: ETHER, code: Hex.fromBytes(code), storage: { 1: 7n } }
  const world = new World(new Memory({ [ALICE]: { balance: ETHER }, [CONTRACT]: contract, ...Object.fromEntries(deployed) }))
  try {
    const context = contextOf(l1Config('osaka'), { gasLimit: 10n ** 13n })
    const executed = executeTransaction(message({ to: CONTRACT, gas, data }), context, world, { skipFees: true, skipGasCap: true })
    return { executed, writes: world.writes() }
  } finally {
    world.release()
  }
}

/** Assembles a code from bytes, numbers below 256 and hexadecimal text. */
export function code(...parts: readonly (number | string | Uint8Array)[]): Uint8Array {
  return Uint8Array.from(
    parts.flatMap((part) => (typeof part === 'number' ? [part] : [...(typeof part === 'string' ? Hex.toBytes(`0x${part}`) : part)])),
  )
}

/** PUSH32 */
export function word(value: bigint): Uint8Array {
  return code(0x7f, value.toString(16).padStart(64, '0'))
}

/** Stores the top of the stack and returns it. */
export const RETURN_TOP = '5f5260205ff3'
