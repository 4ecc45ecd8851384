/** Why a transaction cannot be included in this block, by what was wrong with it. */
export type RefusalCode =
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

/** The transaction cannot be included; the world is as it was. The message is in geth's words (core/error.go). */
export class InvalidTransaction extends Error {
  override readonly name = 'InvalidTransaction'
  readonly code: RefusalCode

  constructor(code: RefusalCode, message: string) {
    super(message)
    this.code = code
  }
}
