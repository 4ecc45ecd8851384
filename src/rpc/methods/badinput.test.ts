import { beforeAll, describe, expect, it } from 'vitest'
import { MINE_BLOCKS } from '../../chain/index.ts'
import { Address } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { LATEST_SECONDS } from '../../chain/index.ts'
import { DETAILED_BLOCKS, TICK_MS } from '../limits.ts'
import { ALICE, GENESIS_SECONDS, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'
import { CADENCE_METHODS } from './cadence.ts'
import { EDIT_METHODS } from './edits.ts'
import { ERC20_METHODS } from './erc20.ts'
import { REWIND_METHODS } from './rewind.ts'
import { IMPERSONATE_METHODS } from './impersonate.ts'
import { MINE_METHODS } from './mine.ts'
import { NEXT_BLOCK_METHODS } from './nextblock.ts'
import { NODE_INFO_METHODS } from './nodeinfo.ts'
import { POCKETCHAIN_METHODS } from './pocketchain.ts'
import { POOL_METHODS } from './pool.ts'
import { TIME_METHODS } from './time.ts'

const TEST_HAND = [
  MINE_METHODS,
  CADENCE_METHODS,
  NEXT_BLOCK_METHODS,
  TIME_METHODS,
  EDIT_METHODS,
  ERC20_METHODS,
  REWIND_METHODS,
  IMPERSONATE_METHODS,
  POOL_METHODS,
  NODE_INFO_METHODS,
  POCKETCHAIN_METHODS,
].flat()

const UINT256 = `0x1${'0'.repeat(64)}`
const EMPTY = '0x00000000000000000000000000000000000000ff'
const UNKNOWN_HASH = `0x${'b1'.repeat(32)}`
const RAW_WITH_HOLES = '0x02c0'

type Bad = readonly [params: readonly unknown[], message: string, code?: number]

/** Invalid inputs by method name without its namespace, each with the expected error message. */
const BAD: Readonly<Record<string, readonly Bad[]>> = {
  mine: [
    [['three'], 'invalid argument 0 ('],
    [[-1], 'invalid argument 0 ('],
    [[1.5], 'invalid argument 0 ('],
  ],
  mine_detailed: [
    [[{ blocks: DETAILED_BLOCKS + 1 }], `argument 0 (options).blocks: ${DETAILED_BLOCKS + 1} blocks are too many`],
    [[{ timestamp: 1 }], 'lower than or equal to previous block'],
  ],
  setAutomine: [
    [['yes'], 'invalid argument 0 (enabled): expected a boolean'],
    [[], 'missing value for required argument 0 (enabled)'],
  ],
  miner_start: [[[1], 'too many arguments']],
  miner_stop: [[[1], 'too many arguments']],
  miner_setEtherbase: [[['0x12'], 'invalid argument 0 (address)']],
  miner_setGasPrice: [
    [['cheap'], 'invalid argument 0 (wei)'],
    [[`0x1${'0'.repeat(32)}`], 'wei are too many'],
  ],
  getAutomine: [[[1], 'too many arguments']],
  getIntervalMining: [[[1], 'too many arguments']],
  setIntervalMining: [
    [[-1], 'invalid argument 0 ('],
    [[0.01], 'blocks cannot come every 10 ms'],
    [[1e12], 'blocks cannot come every'],
    [['soon'], 'invalid argument 0 ('],
  ],
  setBlockGasLimit: [
    [['0x5208'], 'a block gas limit of 21000 is too low: the least is 2000000'],
    [['0x8000000000000000'], 'invalid argument 0 (gas): 9223372036854775808 gas are too many'],
  ],
  setCoinbase: [[['0x12'], 'invalid argument 0 (address)']],
  setNextBlockBaseFeePerGas: [
    [[UINT256], 'invalid argument 0 (wei)'],
    [[`0x1${'0'.repeat(32)}`], 'wei are too many'],
  ],
  setMinGasPrice: [[['cheap'], 'invalid argument 0 (wei)']],
  setPrevRandao: [[[UINT256], 'invalid argument 0 (prevRandao): storage key too long']],
  setNextBlockPrevRandao: [[[12], 'invalid argument 0 (prevRandao)']],
  increaseTime: [
    [[-1], 'invalid argument 0 (seconds)'],
    [[LATEST_SECONDS + 1], 'it takes seconds, not milliseconds'],
    [[LATEST_SECONDS - GENESIS_SECONDS + 1], 'it takes seconds, not milliseconds'],
  ],
  setTime: [
    [['noon'], 'invalid argument 0 (time)'],
    [[2 ** 53 - 1], 'the year 5138'],
  ],
  setNextBlockTimestamp: [
    [[GENESIS_SECONDS], `Timestamp error: ${GENESIS_SECONDS} is lower than or equal to previous block's timestamp`],
    [[GENESIS_SECONDS * 1_000], 'it takes seconds, not milliseconds'],
    [[], 'missing value for required argument 0 (timestamp)'],
  ],
  setBlockTimestampInterval: [
    [[0], 'whole seconds apart'],
    [['long'], 'invalid argument 0 ('],
  ],
  removeBlockTimestampInterval: [[[1], 'too many arguments']],
  getGenesisTime: [[[1], 'too many arguments']],
  setBalance: [
    [['0x12', '0x1'], 'invalid argument 0 (address'],
    [[EMPTY, UINT256], 'invalid argument 1 (wei)'],
    [[EMPTY], 'argument 1 (wei)'],
  ],
  setAccountBalance: [[['0x12', '0x1'], 'invalid argument 0 (address)']],
  addBalance: [[[EMPTY, 'much'], 'invalid argument 1 (wei)']],
  setCode: [
    [[EMPTY, '0x123'], 'invalid argument 1 (code): hex string of odd length'],
    [[EMPTY, 'code'], 'invalid argument 1 (code)'],
  ],
  setAccountCode: [[[EMPTY, '0x123'], 'invalid argument 1 (code): hex string of odd length']],
  setNonce: [[[EMPTY, '0x10000000000000000'], 'invalid argument 1 (nonce)']],
  setAccountNonce: [[[EMPTY, -1], 'invalid argument 1 (nonce)']],
  setStorageAt: [
    [[EMPTY, UINT256, '0x1'], 'invalid argument 1 (slot)'],
    [[EMPTY, '0x0', UINT256], 'invalid argument 2 (value)'],
  ],
  setAccountStorageAt: [[[EMPTY, '0x0', 'one'], 'invalid argument 2 (value)']],
  dealERC20: [
    [[EMPTY, EMPTY, '0x1'], 'unable to set the ERC20 balance: no slot found', CODE.server],
    [[EMPTY, EMPTY], 'missing value for required argument 2 (amount)'],
  ],
  setERC20Balance: [[[EMPTY, 'token', '0x1'], 'invalid argument 1 (token)']],
  mintUsdc: [
    [[EMPTY, -1], 'invalid argument 1 (amount)'],
    [[EMPTY], 'missing value for required argument 1 (amount)'],
    [[EMPTY, 1, 'USDC'], 'invalid argument 2 (token)'],
    [[EMPTY, 1, EMPTY], 'there is no ERC-20 token at', CODE.server],
  ],
  setERC20Allowance: [[[EMPTY, EMPTY, EMPTY, '0x1'], 'unable to set the ERC20 allowance: no slot found', CODE.server]],
  snapshot: [[[1], 'too many arguments']],
  revert: [
    [['last'], 'invalid argument 0 (id)'],
    [[], 'missing value for required argument 0 (id)'],
  ],
  reorg: [
    [[0], 'cannot go back 0 blocks: the depth must be at least 1'],
    [[9], 'cannot go back 9 blocks: the chain has 3'],
    [['deep'], 'invalid argument 0 (depth)'],
    [[{}], 'invalid argument 0 (depth).depth'],
    [[1, [[{ from: ALICE, to: EMPTY }, 1]]], 'block 1 is outside a reorg of 1 blocks'],
    [[1, [[RAW_WITH_HOLES, 0]]], 'invalid argument 1 (transactions)[0][0]'],
    [[1, [{ from: ALICE }]], 'expected a pair [transaction, block]'],
    [[1, [[{ to: EMPTY }, 0]]], 'missing "from"'],
    [[1, [[{ from: EMPTY, to: ALICE }, 0]]], 'unknown account', CODE.server],
    [[1, [[{ from: ALICE, to: EMPTY, chainId: '0x1' }, 0]]], "chainId does not match node's"],
    [[{ depth: 1, txBlockPairs: [] }, []], 'given twice'],
  ],
  rollback: [
    [[9], 'cannot go back 9 blocks'],
    [['far'], 'invalid argument 0 (depth)'],
  ],
  reset: [
    [[{ forking: { jsonRpcUrl: 1 } }], 'invalid argument 0 (options).forking.jsonRpcUrl'],
    [[{ forking: { blockNumber: 'old' } }], 'invalid argument 0 (options).forking.blockNumber'],
    [[{ forking: { jsonRpcUrl: 'http://127.0.0.1:1' } }], 'this node cannot become a fork', CODE.server],
    [['now'], 'invalid argument 0 (options)'],
  ],
  impersonateAccount: [[['0x12'], 'invalid argument 0 (address)']],
  stopImpersonatingAccount: [[['0x12'], 'invalid argument 0 (address)']],
  autoImpersonateAccount: [[['yes'], 'invalid argument 0 (enabled)']],
  dropTransaction: [[['0x12'], 'invalid argument 0 (hash)']],
  dropAllTransactions: [[[1], 'too many arguments']],
  clearTxpool: [[[1], 'too many arguments']],
  removePoolTransactions: [[['0x12'], 'invalid argument 0 (address)']],
  nodeInfo: [[[1], 'too many arguments']],
  metadata: [[[1], 'too many arguments']],
  setLoggingEnabled: [[['yes'], 'invalid argument 0 (enabled)']],
  setRpcUrl: [
    [['http://127.0.0.1:1'], 'this chain is not a fork', CODE.server],
    [[1], 'invalid argument 0 (url)'],
  ],
  forkStatus: [[[1], 'too many arguments']],
  hold: [
    [['0x12'], 'invalid argument 0 (transactions)'],
    [[{}], 'expected a hash, an address, or "from", "to", "creates" or "selector"'],
    [[{ to: EMPTY, creates: 'contract' }], 'exclude each other'],
    [[{ selector: '0x12' }], 'a selector has 4 bytes, not 1'],
    [[{ sender: EMPTY }], 'invalid argument 0 (transactions).sender: is unknown; there are from, to, creates, selector'],
  ],
  delay: [
    [[EMPTY, {}], 'expected "flashblocks" or "milliseconds"'],
    [[EMPTY, { flashblocks: 1, milliseconds: 1 }], 'expected "flashblocks" or "milliseconds"'],
    [[EMPTY, { flashblocks: 18_001 }], '18001 flashblocks are too many'],
  ],
  release: [[[EMPTY], 'is not held', CODE.server]],
  drop: [
    [['0x12'], 'invalid argument 0 (hash)'],
    [[UNKNOWN_HASH], `transaction ${UNKNOWN_HASH} is unknown`, CODE.server],
  ],
  retract: [
    [['some'], 'invalid argument 0 (promises)'],
    [['all'], 'nothing is promised', CODE.server],
    [['all', 'somewhere'], 'invalid argument 1 (into): expected one of pool, nowhere'],
    [[{ fromFlashblock: 1 }], 'nothing is promised in flashblock 1 and later ones', CODE.server],
  ],
  reorder: [
    [[UNKNOWN_HASH], 'invalid argument 0 (hashes): expected an array'],
    [[[UNKNOWN_HASH]], `transaction ${UNKNOWN_HASH} is unknown`, CODE.server],
  ],
  insert: [
    [[{ from: ALICE, to: EMPTY }, {}], 'invalid argument 1 (place): expected "before" or "after"'],
    [
      [
        { from: ALICE, to: EMPTY },
        { before: UNKNOWN_HASH, after: UNKNOWN_HASH },
      ],
      'expected "before" or "after"',
    ],
    [[{ from: ALICE, to: EMPTY }, { before: UNKNOWN_HASH }], `transaction ${UNKNOWN_HASH} is unknown`, CODE.server],
  ],
  replace: [[[UNKNOWN_HASH, { from: ALICE, to: EMPTY }], `transaction ${UNKNOWN_HASH} is unknown`, CODE.server]],
  stall: [[[3_600_001], '3600001 milliseconds are too many']],
  failOver: [
    [[9], 'cannot go back 9 blocks'],
    [['far'], 'invalid argument 0 (blocks)'],
  ],
  setPace: [
    [[{ speed: 0 }], 'invalid argument 0 (pace).speed: expected a number from 0.01 to 100'],
    [[{ jitter: 2 }], 'expected a number from 0 to 1'],
    [[{ pause: 1 }], 'pace).pause: is unknown'],
  ],
  missFlashblocks: [[[1], 'the manual cadence has no flashblocks', CODE.server]],
  delaySeal: [[[1], 'the manual cadence has no flashblocks', CODE.server]],
  promises: [
    [[{ limit: 0 }], 'must be 1 or more'],
    [[{ outcome: 'lost' }], 'expected one of open, kept, changed, retracted, dropped'],
    [[{ limit: 1_001 }], '1001 promises are too many'],
  ],
  tick: [
    [[-1], 'invalid argument 0 (milliseconds)'],
    [[TICK_MS + 1], 'milliseconds are too many'],
  ],
  info: [[[1], 'too many arguments']],
}

function badOnes(name: string): readonly Bad[] {
  return BAD[name] ?? BAD[name.slice(name.indexOf('_') + 1)] ?? []
}

describe('dev methods reject invalid input without side effects', () => {
  let node: TestNode
  beforeAll(async () => {
    node = await testNode()
    await node.ask('anvil_mine', 3)
    await node.send({ to: Address.from(EMPTY), gas: 21_000n })
  })

  it.each(TEST_HAND.map(({ name }) => [name]))('%s', async (name) => {
    expect(badOnes(name).length, 'bad input for it').toBeGreaterThan(0)
    const before = await stateOf(node)
    for (const [params, message, code = CODE.invalidParams] of badOnes(name)) {
      const refusal = await node.ask(name, ...params).then(
        () => null,
        (error: unknown) => error,
      )
      expect(refusal, JSON.stringify(params)).toBeInstanceOf(RpcError)
      expect(refusal).toMatchObject({ code, message: expect.stringContaining(message) as unknown })
    }
    expect(await stateOf(node)).toEqual(before)
    expect(node.bugs).toEqual([])
  })

  it('mine: more blocks than one call may seal', async () => {
    for (const name of ['anvil_mine', 'hardhat_mine', 'ganache_mine']) {
      await expect(node.ask(name, MINE_BLOCKS + 1)).rejects.toThrow(`${MINE_BLOCKS + 1} blocks are too many, at most ${MINE_BLOCKS}`)
      await expect(node.ask(name, 2, LATEST_SECONDS)).rejects.toThrow('it takes seconds, not milliseconds')
    }
    await expect(node.ask('evm_mine', { blocks: MINE_BLOCKS + 1 })).rejects.toThrow('blocks are too many')
    await expect(node.ask('evm_mine', GENESIS_SECONDS)).rejects.toThrow('lower than or equal to previous block')
    expect(node.chain.head.view.head.header.number).toBe(3)
  })
})

/** All state that these methods can change. */
async function stateOf({ chain, ask }: TestNode): Promise<unknown> {
  const { head } = chain.head.view
  return {
    head: head.hash,
    stateOfEmpty: [await ask('eth_getBalance', EMPTY), await ask('eth_getCode', EMPTY), await ask('eth_getStorageAt', EMPTY, '0x0')],
    nonce: await ask('eth_getTransactionCount', EMPTY, 'pending'),
    pool: chain.pool.all().map((tx) => tx.hash),
    cadence: chain.cadence,
    clock: chain.clock.nowMs(),
    time: chain.time.snapshot(),
    gasLimit: chain.gasLimit,
    coinbase: chain.coinbase,
    minGasPrice: chain.minGasPrice,
    snapshots: chain.snapshots,
    accounts: await ask('eth_accounts'),
  }
}
