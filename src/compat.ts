/** Decisions where clients and nodes disagree, each with its reason and its switch. Every module may import this file. */
export interface Compat {
  readonly name: CompatName
  /** viem decodes custom errors of -32000 only if the message is exactly `execution reverted`; geth returns 3 with the reason appended. */
  readonly revertCode: -32000 | 3
  readonly revertReason: 'none' | 'geth' | 'anvil'
  /** A call that halts, as with an invalid opcode. viem reports -32603 as a revert; with it the message is anvil's. */
  readonly haltCode: -32000 | -32603
  /** Interface 2.1: with blockHash the range is ignored; geth refuses the combination. */
  readonly blockHashWithRange: 'ignored' | 'refused'
  /** Interface 4.2 requires `to` and the block; viem's deployless calls and most tools omit them. */
  readonly callNeedsToAndBlock: boolean
  /** What the pool refuses a transaction for, except its gas limit. */
  readonly rejectedTransactionCode: -32000 | -32003
  /** The message of such a refusal, also of a call that no block could include: geth's with the values, or anvil's words. */
  readonly refusalWording: 'geth' | 'anvil'
  /** A sender for which the node cannot sign. */
  readonly unknownAccountCode: -32000 | -32602
  /**
   * eth_getLogs with a range that ends beyond the head, or before it begins: -32602 (geth, reth), or the logs that exist. One that begins beyond the head
   * is empty, or, with `clipped`, refused as in anvil.
   */
  readonly logRangeBeyondHead: 'refused' | 'clipped'
  /** The first eth_getFilterChanges of a log filter with `fromBlock`: new logs only, as in geth, or before them those that existed at its installation. */
  readonly filterBegins: 'with-new-logs' | 'with-existing-logs'
  /** A block that does not exist: `named` in the message with the head; or the codes and messages of anvil. */
  readonly unknownBlock: 'named' | 'anvil'
  /**
   * Block parameters as JSON numbers, as in `[1, false]`; indices, storage slots and the quantities of a transaction object as JSON numbers and as
   * decimal text, which is hex in a storage slot otherwise.
   */
  readonly jsonNumbers: boolean
  /** A creation without code: -32602, as in geth, or an account without code is created. In eth_call: -32602, or the output is empty. */
  readonly emptyCreation: 'refused' | 'executed'
  /** eth_sendTransaction without gas whose estimate reverts or halts: refused, or sent with the maximum gas and mined as failed. */
  readonly revertingSend: 'refused' | 'mined'
  /** A transaction whose fee cap is below the base fee of the next block: it waits in the pool, as in geth, or is refused. */
  readonly sendBelowBaseFee: 'pooled' | 'refused'
  /** eth_call and eth_estimateGas with such a fee cap: refused, as in geth, or run without a base fee; then BASEFEE is not 0 in calls without a price. */
  readonly callBelowBaseFee: 'refused' | 'run'
  /** What replaces a transaction of the pool: both fees a tenth higher, as in geth, or any higher fee cap. */
  readonly replacement: 'tenth' | 'higher'
  /** The instant cadence, when several transactions become executable at once, as when one fills a nonce gap: a block for each, or one for all. */
  readonly instantBlock: 'each' | 'all'
  /** The sender of a transaction request without `from`: none, which is -32602, or the first of eth_accounts. */
  readonly defaultSender: 'none' | 'first'
  /** eth_estimateGas without a block: the transaction runs after the promised ones (base/base#44); geth uses latest. */
  readonly estimateBlock: 'pending' | 'latest'
  /** eth_estimateGas of a transfer of ether to an account without code: it runs, or is 21,000 also if the sender cannot pay, as in anvil and Hardhat. */
  readonly transferEstimate: 'run' | 'assumed'
  /** eth_estimateGas of a call that the sender cannot pay, or with too little gas. */
  readonly estimateRefusalCode: -32000 | -32003
  /** eth_createAccessList of a call that reverts or halts: its list, with `error`, or the error of eth_call. */
  readonly failedAccessList: 'result' | 'error'
  /** Codes of eth_simulateV1 for a block that does not exist, and for calls that no block can include for a reason without a code of its own. */
  readonly simulation: { readonly unknownBlock: -32001 | -32000; readonly otherRefusal: -32602 | -32603 }
  /** The addresses in txpool_inspect and the senders in txpool_content: with their checksum as in geth, or in lower case, as viem's tests expect of anvil. */
  readonly poolAddresses: 'checksum' | 'lowercase'
  /** Without `--transaction-gas-cap`: a transaction has at most 2^24 gas (EIP-7825), or any, as in anvil without `--enable-tx-gas-limit`. */
  readonly hasTransactionGasCap: boolean
  /** debug_traceBlock… of the genesis: refused (geth, execution-apis), or `[]` (anvil, reth), without which indexers stop at block 0. */
  readonly genesisTrace: 'refused' | 'empty'
  /** anvil_reset of a fork without an argument: returns to the fork block, or ends the fork, as in anvil. hardhat_reset without `forking` always ends it. */
  readonly resetEndsFork: boolean
  /** anvil_setMinGasPrice on a chain with EIP-1559. */
  readonly minGasPrice: 'set' | 'refused'
  /**
   * The state that `latest`, or no block, names. `promised` includes pre-confirmed transactions: cast, forge and Ignition read the next nonce at
   * `latest` as soon as they have the receipt, which is up to 2 s before the block is sealed. Switch of its own: `--latest`.
   */
  readonly latestState: LatestState
}

export type LatestState = 'sealed' | 'promised'

export type CompatName = 'default' | 'geth' | 'strict' | 'anvil'

const DEFAULT: Compat = {
  name: 'default',
  revertCode: -32000,
  revertReason: 'none',
  haltCode: -32000,
  blockHashWithRange: 'ignored',
  callNeedsToAndBlock: false,
  rejectedTransactionCode: -32000,
  refusalWording: 'geth',
  unknownAccountCode: -32000,
  logRangeBeyondHead: 'refused',
  filterBegins: 'with-new-logs',
  unknownBlock: 'named',
  jsonNumbers: false,
  emptyCreation: 'refused',
  revertingSend: 'refused',
  sendBelowBaseFee: 'pooled',
  callBelowBaseFee: 'refused',
  replacement: 'tenth',
  instantBlock: 'each',
  defaultSender: 'none',
  estimateBlock: 'pending',
  transferEstimate: 'run',
  estimateRefusalCode: -32000,
  failedAccessList: 'result',
  simulation: { unknownBlock: -32001, otherRefusal: -32602 },
  poolAddresses: 'checksum',
  hasTransactionGasCap: true,
  genesisTrace: 'refused',
  resetEndsFork: false,
  minGasPrice: 'set',
  latestState: 'sealed',
}

export const COMPAT: Readonly<Record<CompatName, Compat>> = {
  default: DEFAULT,
  geth: {
    ...DEFAULT,
    name: 'geth',
    revertCode: 3,
    revertReason: 'geth',
    blockHashWithRange: 'refused',
    estimateBlock: 'latest',
    simulation: { unknownBlock: -32000, otherRefusal: -32603 },
  },
  strict: { ...DEFAULT, name: 'strict', callNeedsToAndBlock: true },
  /** Measured at anvil 1.7.1. */
  anvil: {
    ...DEFAULT,
    name: 'anvil',
    revertCode: 3,
    revertReason: 'anvil',
    haltCode: -32603,
    rejectedTransactionCode: -32003,
    refusalWording: 'anvil',
    transferEstimate: 'assumed',
    estimateRefusalCode: -32003,
    failedAccessList: 'error',
    unknownAccountCode: -32602,
    logRangeBeyondHead: 'clipped',
    filterBegins: 'with-existing-logs',
    unknownBlock: 'anvil',
    jsonNumbers: true,
    emptyCreation: 'executed',
    revertingSend: 'mined',
    sendBelowBaseFee: 'refused',
    callBelowBaseFee: 'run',
    replacement: 'higher',
    instantBlock: 'all',
    defaultSender: 'first',
    poolAddresses: 'lowercase',
    hasTransactionGasCap: false,
    genesisTrace: 'empty',
    resetEndsFork: true,
    minGasPrice: 'refused',
    latestState: 'promised',
  },
}

/**
 * Prefix of `web3_clientVersion` on the dedicated tier: hardhat-network-helpers, foundry and others accept known dev nodes only. The version is
 * that of the anvil whose dev methods are implemented. The public tier, the banner and `/health` report pocketchain.
 */
export const DEV_CLIENT = 'anvil/v1.7.1'

/** Interface 8: largest toBlock - fromBlock on the public tier (ponder requests 2,001 blocks). */
export const PUBLIC_LOG_RANGE_BLOCKS = 2_000

/** reth's default, checked against the index counts before any log is read; does not limit a query of a single block. */
export const PUBLIC_LOG_RESULTS = 20_000

/** `safe` and `finalized` follow the simulated L1, one and two epochs behind the head. */
export const SAFE_EPOCHS = 1
export const FINALIZED_EPOCHS = 2
export const L1_EPOCH_SECONDS = 12

/** Blocks whose state stays readable in memory; older requests get code 4444. */
export const STATE_HISTORY_BLOCKS = 8_192

/** Blocks whose state stays in memory when a store persists state; older state is read from the store, without proofs. */
export const STATE_HISTORY_MEMORY_BLOCKS = 64

/** BLOBBASEFEE and eth_blobBaseFee on OP chains, which have no blobs. */
export const OP_BLOB_BASE_FEE = 1n

/**
 * `POST /wallet` with an Origin that is not allowed: browser pages are refused, other programs are served, so that a back end or a test can
 * act for `https://app.example` without --allow-origin. Browsers send Sec-Fetch-Site, other programs do not; and a page's JSON request
 * never arrives, because its preflight is refused. False applies the rule for pages to all. WebSocket always applies it: it has no
 * preflight, and Chromium 156 sends no Sec-Fetch-Site there.
 */
export const ALLOW_PROGRAM_ORIGINS: boolean = true

/** Gas limit of a system deposit of an OP chain since Regolith (specs.optimism.io). */
export const SYSTEM_DEPOSIT_GAS = 1_000_000n
/** A block of an OP chain must have room for its two system deposits. Defined here because the command reads it before it loads the chain. */
export const MIN_OP_GAS_LIMIT = 2n * SYSTEM_DEPOSIT_GAS
