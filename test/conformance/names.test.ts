// Every method of anvil and Hardhat 3 exists here or is refused with a reason.
import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import type { RunningAnvil } from '../anvil.fixture.ts'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'

/** anvil 1.7.1 */
const ANVIL_METHODS = names(`
  anvil_addBalance anvil_autoImpersonateAccount anvil_dealERC20 anvil_dropAllTransactions anvil_dropTransaction anvil_dumpState
  anvil_getAutomine anvil_getBlobByHash anvil_getBlobsByTransactionHash anvil_getGenesisTime anvil_getIntervalMining
  anvil_impersonateAccount anvil_impersonateSignature anvil_increaseTime anvil_loadState anvil_metadata anvil_mine anvil_mine_detailed
  anvil_nodeInfo anvil_removeBlockTimestampInterval anvil_removePoolTransactions anvil_reorg anvil_reset anvil_revert anvil_rollback
  anvil_setAutomine anvil_setBalance anvil_setBlockGasLimit anvil_setBlockTimestampInterval anvil_setChainId anvil_setCode
  anvil_setCoinbase anvil_setERC20Allowance anvil_setERC20Balance anvil_setFeeAmmLiquidity anvil_setFeeToken anvil_setIntervalMining
  anvil_setLoggingEnabled anvil_setMinGasPrice anvil_setNextBlockBaseFeePerGas anvil_setNextBlockTimestamp anvil_setNonce anvil_setRpcUrl
  anvil_setStorageAt anvil_setTime anvil_setValidatorFeeToken anvil_snapshot anvil_stopImpersonatingAccount debug_codeByHash debug_dbGet
  debug_getRawTransaction debug_traceBlockByHash debug_traceBlockByNumber debug_traceCall debug_traceTransaction erigon_getHeaderByNumber
  eth_accounts eth_blobBaseFee eth_blockNumber eth_call eth_chainId eth_coinbase eth_config eth_createAccessList eth_estimateGas
  eth_feeHistory eth_fillTransaction eth_gasPrice eth_getAccount eth_getAccountInfo eth_getBalance eth_getBlockByHash eth_getBlockByNumber
  eth_getBlockReceipts eth_getBlockTransactionCountByHash eth_getBlockTransactionCountByNumber eth_getCode eth_getFilterChanges
  eth_getFilterLogs eth_getLogs eth_getProof eth_getRawTransactionByBlockHashAndIndex eth_getRawTransactionByBlockNumberAndIndex
  eth_getRawTransactionByHash eth_getStorageAt eth_getStorageValues eth_getTransactionByBlockHashAndIndex
  eth_getTransactionByBlockNumberAndIndex eth_getTransactionByHash eth_getTransactionBySenderAndNonce eth_getTransactionCount
  eth_getTransactionReceipt eth_getUncleByBlockHashAndIndex eth_getUncleByBlockNumberAndIndex eth_getUncleCountByBlockHash
  eth_getUncleCountByBlockNumber eth_getWork eth_hashrate eth_maxPriorityFeePerGas eth_networkId eth_newBlockFilter eth_newFilter
  eth_newPendingTransactionFilter eth_protocolVersion eth_requestAccounts eth_sendRawTransaction eth_sendRawTransactionSync
  eth_sendTransaction eth_sendTransactionSync eth_sendUnsignedTransaction eth_sign eth_signTransaction eth_signTypedData
  eth_signTypedData_v3 eth_signTypedData_v4 eth_simulateV1 eth_submitHashrate eth_submitWork eth_subscribe eth_syncing eth_uninstallFilter
  eth_unsubscribe evm_increaseTime evm_mine evm_mine_detailed evm_revert evm_setAccountNonce evm_setAutomine evm_setBlockGasLimit
  evm_setIntervalMining evm_setNextBlockTimestamp evm_setTime evm_snapshot hardhat_addBalance hardhat_autoImpersonateAccount
  hardhat_dealERC20 hardhat_dropAllTransactions hardhat_dropTransaction hardhat_dumpState hardhat_getAutomine hardhat_impersonateAccount
  hardhat_loadState hardhat_metadata hardhat_mine hardhat_reset hardhat_setBalance hardhat_setCode hardhat_setCoinbase
  hardhat_setLoggingEnabled hardhat_setMinGasPrice hardhat_setNextBlockBaseFeePerGas hardhat_setNonce hardhat_setStorageAt
  hardhat_stopImpersonatingAccount net_listening net_version ots_getApiLevel ots_getBlockDetails ots_getBlockDetailsByHash
  ots_getBlockTransactions ots_getContractCreator ots_getInternalOperations ots_getTransactionBySenderAndNonce ots_getTransactionError
  ots_hasCode ots_searchTransactionsAfter ots_searchTransactionsBefore ots_traceTransaction personal_sign tenderly_addBalance
  tenderly_setBalance trace_block trace_filter trace_replayBlockTransactions trace_transaction txpool_content txpool_inspect txpool_status
  web3_clientVersion web3_sha3
`)

/** EDR, the node of Hardhat 3 */
const HARDHAT_METHODS = names(`
  debug_traceCall debug_traceTransaction eth_accounts eth_blobBaseFee eth_blockNumber eth_call eth_chainId eth_coinbase eth_estimateGas
  eth_feeHistory eth_gasPrice eth_getBalance eth_getBlockByHash eth_getBlockByNumber eth_getBlockTransactionCountByHash
  eth_getBlockTransactionCountByNumber eth_getCode eth_getFilterChanges eth_getFilterLogs eth_getLogs eth_getProof eth_getStorageAt
  eth_getTransactionByBlockHashAndIndex eth_getTransactionByBlockNumberAndIndex eth_getTransactionByHash eth_getTransactionCount
  eth_getTransactionReceipt eth_maxPriorityFeePerGas eth_newBlockFilter eth_newFilter eth_newPendingTransactionFilter
  eth_pendingTransactions eth_sendRawTransaction eth_sendTransaction eth_sign eth_subscribe eth_syncing eth_uninstallFilter eth_unsubscribe
  evm_increaseTime evm_mine evm_revert evm_setAutomine evm_setBlockGasLimit evm_setIntervalMining evm_setNextBlockTimestamp evm_snapshot
  hardhat_dropTransaction hardhat_getAutomine hardhat_impersonateAccount hardhat_metadata hardhat_mine hardhat_setBalance hardhat_setCode
  hardhat_setCoinbase hardhat_setLoggingEnabled hardhat_setMinGasPrice hardhat_setNextBlockBaseFeePerGas hardhat_setNonce
  hardhat_setPrevRandao hardhat_setStorageAt hardhat_stopImpersonatingAccount net_version personal_sign web3_clientVersion web3_sha3
  hardhat_addCompilationResult hardhat_getStackTraceFailuresCount hardhat_reset
`)

const FACTS = new URL('../../../shared/facts/dropin.md', import.meta.url)
const METHOD_NOT_FOUND = -32_601

function names(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

async function answer(url: string, method: string) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await response.json()) as { error?: { code: number; message: string } }
}

describe('methods', () => {
  let node: RunningNode

  beforeAll(async () => {
    node = await startNode({ cadence: 'manual' })
  })
  afterAll(() => node[Symbol.asyncDispose]())

  /** Returns the names that are unknown here and have no reason. */
  async function missing(methods: readonly string[]): Promise<readonly string[]> {
    const unknown: string[] = []
    for (const method of methods) {
      const { error } = await answer(node.url, method)
      if (error?.code === METHOD_NOT_FOUND && !error.message.includes('available: ')) unknown.push(method)
    }
    return unknown
  }

  it('of anvil and Hardhat exist or have a reason', async () => {
    expect(await missing([...ANVIL_METHODS, ...HARDHAT_METHODS])).toEqual([])
  })

  it.skipIf(!existsSync(FACTS))('of the list of differences exist or have a reason', async () => {
    const listed = [...readFileSync(FACTS, 'utf8').matchAll(/`((?:eth|anvil|hardhat|evm|debug|trace|miner|personal|txpool)_\w+)`/g)].map(
      ([, name]) => name ?? '',
    )
    expect(listed.length).toBeGreaterThan(30)
    expect(await missing(listed)).toEqual([])
  })

  describe.skipIf(ANVIL === null)('the list', () => {
    let anvil: RunningAnvil
    beforeAll(async () => {
      anvil = await startAnvil()
    })
    afterAll(() => anvil[Symbol.asyncDispose]())

    it('has no name that anvil lacks', async () => {
      const unknown: string[] = []
      const overHttp = ANVIL_METHODS.filter((method) => !/^eth_(un)?subscribe$/.test(method))
      for (const method of overHttp) if ((await answer(anvil.url, method)).error?.code === METHOD_NOT_FOUND) unknown.push(method)
      expect(unknown).toEqual([])
    })
  })
})
