import { RpcError } from '../jsonrpc/index.ts'

/** Codes of refusals (ERC-7769). */
export const REFUSAL = {
  /** a field, the EntryPoint, the authorization, or an underpriced replacement */
  invalid: -32602,
  /** account, factory or EntryPoint; the message names AAxx */
  account: -32500,
  paymaster: -32501,
  /** a rule of ERC-7562: opcode or storage */
  rule: -32502,
  time: -32503,
  /** throttled or banned */
  reputation: -32504,
  /** an operation that ERC-7562 allows with a higher stake */
  stake: -32505,
  aggregator: -32506,
  signature: -32507,
  deposit: -32508,
  /** the account's call reverted during an estimate */
  reverted: -32521,
  /** the bundler cannot process the request */
  server: -32000,
} as const

export type Refusal = keyof typeof REFUSAL

export function refuse(kind: Refusal, message: string, data?: unknown): RpcError {
  return new RpcError(REFUSAL[kind], message, data)
}
