import type { OutboundOptions } from '../jsonrpc/index.ts'

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
  /** false: nobody may pay in place of an account, and who asks for it gets 4100; true */
  readonly sponsorship: boolean
  /** chains on which nobody may pay in place of an account: `supported` is false there, and who asks for it gets 5700; none */
  readonly unsponsoredChains: readonly number[]
  /** the sponsor of the same process; null: there is none */
  readonly sponsor: EmbeddedSponsor | null
  /** sponsors on a loopback name may be reached, by http too; false: by https only, and no private address but the embedded sponsor's */
  readonly allowHttpLoopback: boolean
  /** sends what goes to sponsors instead of us; see OutboundOptions */
  readonly fetch?: OutboundOptions['fetch']
}

/** The sponsor beside the node, which is on loopback and has a certificate of nobody else. */
export interface EmbeddedSponsor {
  /** where it is now, such as `https://127.0.0.1:8545`: exactly these and no others */
  readonly origins: () => readonly string[]
  /** the certificate (PEM) of who signed its own */
  readonly ca: () => string
}
