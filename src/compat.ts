/**
 * The decisions where clients and nodes disagree, each with its reason and the switch that turns it.
 * Everybody may read this file; nobody decides such a thing elsewhere.
 */
export interface Compat {
  readonly name: CompatName
  /** viem decodes custom errors of -32000 only when the message is exactly `execution reverted`; geth answers 3 with the reason as suffix */
  readonly revertCode: -32000 | 3
  readonly revertReasonInMessage: boolean
  /** interface 2.1: with blockHash the range is ignored; geth refuses both together */
  readonly blockHashWithRange: 'ignored' | 'refused'
  /** interface 4.2 wants `to` and the block; viem's deployless calls and most tools leave them out */
  readonly callNeedsToAndBlock: boolean
  /** eth_estimateGas without a block: what is sent next runs after what is promised (base/base#44); geth says latest */
  readonly estimateBlock: 'pending' | 'latest'
}

export type CompatName = 'default' | 'geth' | 'strict'

export const COMPAT: Readonly<Record<CompatName, Compat>> = {
  default: {
    name: 'default',
    revertCode: -32000,
    revertReasonInMessage: false,
    blockHashWithRange: 'ignored',
    callNeedsToAndBlock: false,
    estimateBlock: 'pending',
  },
  geth: {
    name: 'geth',
    revertCode: 3,
    revertReasonInMessage: true,
    blockHashWithRange: 'refused',
    callNeedsToAndBlock: false,
    estimateBlock: 'latest',
  },
  strict: {
    name: 'strict',
    revertCode: -32000,
    revertReasonInMessage: false,
    blockHashWithRange: 'ignored',
    callNeedsToAndBlock: true,
    estimateBlock: 'pending',
  },
}

/** interface 8: at most this difference toBlock - fromBlock on the public tier (ponder asks for 2,001 blocks) */
export const PUBLIC_LOG_RANGE_BLOCKS = 2_000

/** reth's default, as a count before anything is read; of one block the public tier answers all, there or here */
export const PUBLIC_LOG_RESULTS = 20_000

/** safe and finalized follow the simulated L1, one and two epochs behind the head */
export const SAFE_EPOCHS = 1
export const FINALIZED_EPOCHS = 2
export const L1_EPOCH_SECONDS = 12

/** blocks whose state stays readable in memory; older answers code 4444 */
export const STATE_HISTORY_BLOCKS = 8_192

/** of them in memory when state rests in a store: older state is read from there, without proofs */
export const STATE_HISTORY_KEPT_BLOCKS = 64

/** BLOBBASEFEE and eth_blobBaseFee on an OP chain, which has no blobs */
export const OP_BLOB_BASE_FEE = 1n

/**
 * `POST /wallet` for an Origin that is not admitted: a browser's page is refused, a program that names it is served. Programs send no
 * Sec-Fetch-Site, browsers do, and their page's JSON never arrives anyway, since the preflight before it is refused. So that a back end and a
 * test can speak for `https://app.example` without --allow-origin; false holds programs to the rule for pages. Over WebSocket, where browsers
 * ask nothing before and Chromium sends no Sec-Fetch-Site (measured, 156), the rule for pages holds for all
 */
export const PROGRAMS_NAME_ORIGINS: boolean = true

/** Gas that each system deposit of an OP chain may use (specs.optimism.io, since Regolith). */
export const SYSTEM_DEPOSIT_GAS = 1_000_000n
/** A block of an OP chain must have room for its two deposits before any other transaction. The command reads it too, before it loads the chain. */
export const LEAST_OP_GAS_LIMIT = 2n * SYSTEM_DEPOSIT_GAS
