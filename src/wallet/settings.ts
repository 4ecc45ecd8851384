/** What the owner of a wallet may choose. */
export interface WalletSettings {
  /** interface 8: calls of a batch, 100 */
  readonly maxCalls: number
  /** of a batch, all calls: 128 KiB */
  readonly maxCallDataBytes: number
  /** when a batch is 200: `preconfirmed` */
  readonly confirmation: 'preconfirmed' | 'sealed'
  /** methods that are answered with 4100 */
  readonly disabledMethods: readonly string[]
  /** a new link to the page where a person answers, for one use; throws RpcError when no port is open. Absent or null: there is no page */
  readonly approvalUrl?: (() => string) | null
  /** which pages may use the wallet, by origin, when the page of the wallet asks for one of them; absent or null: all */
  readonly admits?: ((origin: string) => boolean) | null
}
