/**
 * Methods of other nodes that this one does not implement, with the reason, which their error -32601 and `docs/methods.md` contain.
 */
export const ABSENT_METHODS: ReadonlyMap<string, string> = new Map([
  ...because('there is no proof of work', ['eth_getWork', 'eth_submitWork', 'eth_submitHashrate']),
  ...because('blobs are verified when a transaction is sent, and are not kept', [
    'anvil_getBlobByHash',
    'anvil_getBlobsByTransactionHash',
    'anvil_getBlobSidecarsByBlockId',
  ]),
  ...because('there is no peer protocol', ['eth_protocolVersion', 'net_peers', 'admin_nodeInfo', 'admin_addPeer', 'admin_removePeer']),
  ...because('the storage is not a key-value store of geth', [
    'debug_dbGet',
    'debug_dbAncient',
    'debug_dbAncients',
    'db_getString',
    'db_putString',
  ]),
  ...because('a block that cannot be executed is not kept', ['debug_getBadBlocks', 'debug_traceBadBlock']),
  ...because('Node frees its memory by itself', ['debug_freeOSMemory']),
  ...because('these are figures of a Go process; GET /metrics has those of this one', ['debug_memStats', 'debug_gcStats']),
  ...because('use anvil_rollback, which removes a number of blocks', ['debug_setHead']),
  ...because('a block has one state root, and there is none between its transactions', ['debug_intermediateRoots']),
  ...because('the accounts are not listed in pages; anvil_dumpState has all of them', ['debug_accountRange']),
  ...because('it belongs to the rollup node (op-node), and this node derives no blocks from an L1', [
    'optimism_outputAtBlock',
    'optimism_rollupConfig',
    'optimism_safeHeadAtL1Block',
    'optimism_syncStatus',
    'optimism_version',
  ]),
  ...because("a block's extra data has the EIP-1559 parameters of its chain (Holocene)", ['miner_setExtra']),
  ...because('stack traces of Solidity need the compiler output, which a node does not get; use debug_traceTransaction', [
    'hardhat_addCompilationResult',
    'hardhat_getStackTraceFailuresCount',
  ]),
  ...because('the chain id is part of every signature and of the code in the genesis; start a node with --chain-id', ['anvil_setChainId']),
  ...because('signatures are checked by the rules of the chain; impersonate the account, or put code there that accepts the signature', [
    'anvil_impersonateSignature',
  ]),
  ...because('it signs any hash; use personal_sign or eth_signTypedData_v4', ['eth_signTypedData_v1']),
  ...because('there are no bundles of searchers; send the transactions, or simulate them with eth_callMany or eth_simulateV1', [
    'eth_callBundle',
    'eth_sendBundle',
    'eth_cancelBundle',
  ]),
  ...because('access lists of blocks (EIP-7928) are not in the rules of OP chains', [
    'eth_getBlockAccessList',
    'eth_getBlockAccessListByBlockHash',
    'eth_getBlockAccessListByBlockNumber',
    'debug_getRawBlockAccessList',
  ]),
  ...because('a witness has the nodes of a trie that this node does not keep', [
    'debug_executionWitness',
    'debug_executionWitnessByBlockHash',
  ]),
  ...because('the changes of blocks are not indexed; trace_replayBlockTransactions with stateDiff has them', [
    'debug_getModifiedAccountsByNumber',
    'debug_getModifiedAccountsByHash',
  ]),
  ...because(
    'the state between the transactions of a block has no number; use eth_getAccountInfo of a block, or debug_traceCall with txIndex',
    ['debug_accountInfoAt'],
  ),
  ...because('the promise ledger has the times; use pocketchain_promises', ['anvil_getLastBlockWallTime']),
  ...because('whisper and swarm have ended', ['shh_version', 'bzz_hive']),
  ...because('it belongs to the Tempo chain', [
    'anvil_classifyTransaction',
    'anvil_setFeeAmmLiquidity',
    'anvil_setFeeToken',
    'anvil_setValidatorFeeToken',
    'tempo_simulateV1',
  ]),
  ...because('use eth_signTypedData_v4, whose result is the same for data without arrays; the wallet has it', ['eth_signTypedData_v3']),
])

function because(reason: string, names: readonly string[]): readonly (readonly [string, string])[] {
  return names.map((name) => [name, reason])
}
