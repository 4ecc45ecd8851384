import { opcodeName, STACK_POPS } from './opcodes.ts'
import {
  CODE_NOT_STORED,
  CODE_STORE_OUT_OF_GAS,
  CODE_TOO_LARGE,
  COLLISION,
  DEPTH_EXCEEDED,
  INIT_CODE_TOO_LARGE,
  INSUFFICIENT_BALANCE,
  INVALID_CODE,
  INVALID_JUMP,
  INVALID_OPCODE,
  NONCE_OVERFLOW,
  OUT_OF_GAS,
  PRECOMPILE_FAILED,
  REENTRANCY_SENTRY,
  RETURN_OUT_OF_BOUNDS,
  REVERT,
  STACK_OVERFLOW,
  STACK_UNDERFLOW,
  WRITE_PROTECTION,
} from './runtime/layout.ts'

/** Opcode and stack of a frame when it halted. */
interface HaltState {
  readonly op: number
  readonly stackSize: number
}

/** geth's error messages (core/vm/errors.go) by frame status. */
const REASONS: ReadonlyMap<number, string> = new Map([
  [OUT_OF_GAS, 'out of gas'],
  [REENTRANCY_SENTRY, 'out of gas: not enough gas for reentrancy sentry'],
  [INVALID_JUMP, 'invalid jump destination'],
  [WRITE_PROTECTION, 'write protection'],
  [RETURN_OUT_OF_BOUNDS, 'return data out of bounds'],
  [INIT_CODE_TOO_LARGE, 'max initcode size exceeded'],
  [CODE_TOO_LARGE, 'max code size exceeded'],
  [INVALID_CODE, 'invalid code: must not begin with 0xef'],
  [CODE_STORE_OUT_OF_GAS, 'contract creation code storage out of gas'],
  [CODE_NOT_STORED, 'contract creation code storage out of gas'],
  [COLLISION, 'contract address collision'],
  [DEPTH_EXCEEDED, 'max call depth exceeded'],
  [INSUFFICIENT_BALANCE, 'insufficient balance for transfer'],
  [NONCE_OVERFLOW, 'nonce uint64 overflow'],
  [REVERT, 'execution reverted'],
])

/** geth's error messages that contain the opcode or the stack size. `state` is null when no bytecode ran. */
const REASONS_WITH_STATE: ReadonlyMap<number, (state: HaltState | null) => string> = new Map([
  [INVALID_OPCODE, (state) => `invalid opcode: ${opcodeName(state?.op ?? 0xfe)}`],
  [STACK_UNDERFLOW, (state) => `stack underflow (${state?.stackSize ?? 0} <=> ${STACK_POPS[state?.op ?? 0] ?? 0})`],
  [STACK_OVERFLOW, (state) => `stack limit reached ${state?.stackSize ?? 1024} (1023)`],
])

/** Returns geth's message for a frame status of runtime/layout.ts. `precompileError`: the error that a precompile returned. */
export function haltReason(status: number, state: HaltState | null, precompileError: string | null): string {
  if (status === PRECOMPILE_FAILED) return precompileError ?? 'precompile failed'
  return REASONS.get(status) ?? REASONS_WITH_STATE.get(status)?.(state) ?? `halted for reason ${status}`
}
