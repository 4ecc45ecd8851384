import type { OutboundOptions } from '../jsonrpc/index.ts'

export interface WalletSettings {
  /** limit of the calls of a batch, 100 by default */
  readonly maxCalls: number
  /** limit of all calls of a batch, 128 KiB by default */
  readonly maxCallDataBytes: number
  /** when a batch has status 200; `preconfirmed` by default */
  readonly confirmation: 'preconfirmed' | 'sealed'
  /** methods that are answered with 4100 */
  readonly disabledMethods: readonly string[]
  /** returns a new one-time link to the approval page; throws RpcError when no port is open. Absent or null: there is no page */
  readonly approvalUrl?: (() => string) | null
  /** whether the wallet's page may send requests for this origin; absent or null: always */
  readonly admits?: ((origin: string) => boolean) | null
  /** false: batches with a sponsor are refused with 4100; default: true */
  readonly sponsorship: boolean
  /** chains without sponsors: `supported` is false, and batches with a sponsor are refused with 5700; default: none */
  readonly unsponsoredChains: readonly number[]
  /** the sponsor of the same process, or null */
  readonly sponsor: EmbeddedSponsor | null
  /** sponsors on a loopback name may be reached, by http too; false: by https only, and no private address but the embedded sponsor's */
  readonly allowHttpLoopback: boolean
  /** replaces the HTTP client for sponsors; see OutboundOptions */
  readonly fetch?: OutboundOptions['fetch']
}

/** The sponsor in the node's process, on loopback with a certificate of its own CA. */
export interface EmbeddedSponsor {
  /** its current origins, such as `https://127.0.0.1:8545` */
  readonly origins: () => readonly string[]
  /** the certificate of its CA, as PEM */
  readonly ca: () => string
}
