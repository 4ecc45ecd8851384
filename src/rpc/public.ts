import { CODE, RpcError } from './errors.ts'

/** All that the public tier answers (DESIGN 4). Anything else does not exist there: -32601. */
export const PUBLIC_METHODS: ReadonlySet<string> = new Set([
  'web3_clientVersion', 'web3_sha3', 'net_version', 'net_listening', 'net_peerCount', 'rpc_modules',
  'eth_chainId', 'eth_blockNumber', 'eth_syncing', 'eth_config', 'eth_capabilities',
  'eth_getBalance', 'eth_getTransactionCount', 'eth_getCode', 'eth_getStorageAt', 'eth_getStorageValues', 'eth_getProof',
  'eth_getBlockByNumber', 'eth_getBlockByHash', 'eth_getHeaderByNumber', 'eth_getHeaderByHash',
  'eth_getBlockTransactionCountByNumber', 'eth_getBlockTransactionCountByHash',
  'eth_getUncleCountByBlockNumber', 'eth_getUncleCountByBlockHash',
  'eth_getUncleByBlockNumberAndIndex', 'eth_getUncleByBlockHashAndIndex',
  'eth_getTransactionByHash', 'eth_getTransactionByBlockNumberAndIndex', 'eth_getTransactionByBlockHashAndIndex',
  'eth_getRawTransactionByHash', 'eth_getRawTransactionByBlockNumberAndIndex', 'eth_getRawTransactionByBlockHashAndIndex',
  'eth_getTransactionReceipt', 'eth_getLogs', 'base_transactionStatus',
  'eth_newFilter', 'eth_newBlockFilter', 'eth_newPendingTransactionFilter',
  'eth_getFilterChanges', 'eth_getFilterLogs', 'eth_uninstallFilter',
  'eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_simulateV1',
  'eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_feeHistory', 'eth_baseFee', 'eth_blobBaseFee',
  'eth_sendRawTransaction', 'eth_sendRawTransactionSync', 'eth_subscribe', 'eth_unsubscribe',
])

/** What the public tier names but refuses. Alone in an HTTP request the answer is also HTTP 403 (interface 4.3). */
export const PUBLIC_REFUSALS: ReadonlyMap<string, RpcError> = new Map([
  [
    'eth_getBlockReceipts',
    new RpcError(
      CODE.methodNotSupported,
      'eth_getBlockReceipts is not served on the public endpoint: use a dedicated endpoint, or eth_getTransactionReceipt for single receipts',
    ),
  ],
])
