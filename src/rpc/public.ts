import { CODE, RpcError } from '../jsonrpc/index.ts'

/** The class of a method of the public tier; API keys can be limited to classes. */
export type MethodClass = (typeof METHOD_CLASSES)[number]

/** read: state, blocks and transactions; logs: searches and filters; call: executions; send: transactions; subscribe: notifications. */
export const METHOD_CLASSES = ['read', 'logs', 'call', 'send', 'subscribe'] as const

const METHODS_BY_CLASS: Readonly<Record<MethodClass, readonly string[]>> = {
  read: [
    'web3_clientVersion',
    'web3_sha3',
    'net_version',
    'net_listening',
    'net_peerCount',
    'rpc_modules',
    'eth_chainId',
    'eth_blockNumber',
    'eth_syncing',
    'eth_config',
    'eth_capabilities',
    'eth_getBalance',
    'eth_getTransactionCount',
    'eth_getCode',
    'eth_getAccount',
    'eth_getAccountInfo',
    'eth_getStorageAt',
    'eth_getStorageValues',
    'eth_getProof',
    'eth_getBlockByNumber',
    'eth_getBlockByHash',
    'eth_getHeaderByNumber',
    'eth_getHeaderByHash',
    'eth_getBlockTransactionCountByNumber',
    'eth_getBlockTransactionCountByHash',
    'eth_getUncleCountByBlockNumber',
    'eth_getUncleCountByBlockHash',
    'eth_getUncleByBlockNumberAndIndex',
    'eth_getUncleByBlockHashAndIndex',
    'eth_getTransactionByHash',
    'eth_getTransactionByBlockNumberAndIndex',
    'eth_getTransactionByBlockHashAndIndex',
    'eth_getRawTransactionByHash',
    'eth_getRawTransactionByBlockNumberAndIndex',
    'eth_getRawTransactionByBlockHashAndIndex',
    'eth_getTransactionReceipt',
    'base_transactionStatus',
    'eth_gasPrice',
    'eth_maxPriorityFeePerGas',
    'eth_feeHistory',
    'eth_baseFee',
    'eth_blobBaseFee',
  ],
  logs: [
    'eth_getLogs',
    'eth_newFilter',
    'eth_newBlockFilter',
    'eth_newPendingTransactionFilter',
    'eth_getFilterChanges',
    'eth_getFilterLogs',
    'eth_uninstallFilter',
  ],
  call: ['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_simulateV1'],
  send: ['eth_sendRawTransaction', 'eth_sendRawTransactionSync'],
  subscribe: ['eth_subscribe', 'eth_unsubscribe'],
}

/** The methods of the public tier. All others are -32601 there. */
export const PUBLIC_METHODS: ReadonlyMap<string, MethodClass> = new Map(
  METHOD_CLASSES.flatMap((methodClass) => METHODS_BY_CLASS[methodClass].map((name) => [name, methodClass] as const)),
)

/** Methods that the public tier refuses by name; a single HTTP request gets status 403 (interface 4.3). */
export const PUBLIC_REFUSALS: ReadonlyMap<string, RpcError> = new Map([
  [
    'eth_getBlockReceipts',
    new RpcError(
      CODE.methodNotSupported,
      'eth_getBlockReceipts is not served on the public endpoint: use a dedicated endpoint, or eth_getTransactionReceipt for single receipts',
    ),
  ],
])
