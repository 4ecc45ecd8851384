import type { InvalidTransaction, InvalidTransactionCode } from '../../evm/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'

/** Codes of eth_simulateV1 (execution-apis, eth_simulateV1). */
export const SIMULATION_CODE = {
  params: CODE.invalidParams,
  nonceTooLow: -38010,
  nonceTooHigh: -38011,
  feeBelowBaseFee: -38012,
  intrinsicGas: -38013,
  funds: -38014,
  blockGasLimit: -38015,
  blockNumber: -38020,
  timestamp: -38021,
  senderNotEoa: -38024,
  initCodeSize: -38025,
  limit: -38026,
  /** error of a single call, which does not end the simulation */
  reverted: 3,
  halted: -32015,
} as const

/** All other errors of a call have the code `otherRefusal` of the profile. */
const CODES: Readonly<Partial<Record<InvalidTransactionCode, number>>> = {
  'nonce-too-low': SIMULATION_CODE.nonceTooLow,
  'nonce-too-high': SIMULATION_CODE.nonceTooHigh,
  'tip-above-fee-cap': SIMULATION_CODE.params,
  'fee-cap-below-base-fee': SIMULATION_CODE.feeBelowBaseFee,
  'intrinsic-gas': SIMULATION_CODE.intrinsicGas,
  'floor-gas': SIMULATION_CODE.intrinsicGas,
  'insufficient-funds': SIMULATION_CODE.funds,
  'insufficient-funds-for-transfer': SIMULATION_CODE.funds,
  'sender-not-eoa': SIMULATION_CODE.senderNotEoa,
  'init-code-size': SIMULATION_CODE.initCodeSize,
}

/** A call that no block could include ends the whole simulation. */
export function refusedCall(error: InvalidTransaction, gas: bigint, otherRefusal: number): RpcError {
  return new RpcError(CODES[error.code] ?? otherRefusal, `err: ${error.message} (supplied gas ${gas})`)
}
