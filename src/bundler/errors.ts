import { RpcError } from '../jsonrpc/index.ts'

/** What a bundler refuses, by ERC-7769; the order of facts and tests. */
export const REFUSAL = {
  /** a field, the EntryPoint, the authorization, or a replacement that offers too little */
  invalid: -32602,
  /** account, factory or EntryPoint; the message names AAxx */
  account: -32500,
  paymaster: -32501,
  /** a rule of ERC-7562: opcode or storage */
  rule: -32502,
  time: -32503,
  /** throttled or banned */
  reputation: -32504,
  /** a rule that asks for a stake */
  stake: -32505,
  aggregator: -32506,
  signature: -32507,
  deposit: -32508,
  /** the call of the account, while it is estimated */
  reverted: -32521,
  /** the bundler itself cannot */
  server: -32000,
} as const

export type Refusal = keyof typeof REFUSAL

export function refuse(kind: Refusal, message: string, data?: unknown): RpcError {
  return new RpcError(REFUSAL[kind], message, data)
}
