/** The error of EIP-1193. */
export class ProviderRpcError extends Error {
  override name = 'ProviderRpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }

  /** The message, under the name by which viem recognises a revert of code -32000. */
  get details(): string {
    return this.message
  }
}
