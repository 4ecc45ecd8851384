/** Why a transaction cannot be included in this block. */
export type InvalidTransactionCode =
  | 'type-not-supported'
  | 'nonce-too-low'
  | 'nonce-too-high'
  | 'nonce-max'
  | 'gas-limit-cap'
  | 'sender-not-eoa'
  | 'tip-above-fee-cap'
  | 'fee-cap-below-base-fee'
  | 'blob-creation'
  | 'blob-hashes-missing'
  | 'blob-hash-version'
  | 'blob-count'
  | 'blob-fee-cap-below-base-fee'
  | 'authorization-creation'
  | 'empty-authorization-list'
  | 'insufficient-funds'
  | 'insufficient-funds-for-transfer'
  | 'intrinsic-gas'
  | 'floor-gas'
  | 'init-code-size'
  | 'system-transaction'

/** The transaction cannot be included; the world is unchanged. The message is geth's (core/error.go). */
export class InvalidTransaction extends Error {
  override readonly name = 'InvalidTransaction'
  readonly code: InvalidTransactionCode

  constructor(code: InvalidTransactionCode, message: string) {
    super(message)
    this.code = code
  }
}
