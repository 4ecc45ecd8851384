import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import type { RunningAnvil } from '../anvil.fixture.ts'
import { WORDS, answersOf, post, startNode } from '../node.fixture.ts'
import type { Answer, Call, RunningNode } from '../node.fixture.ts'

const rich = mnemonicToAccount(WORDS)
const poor = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const REVERTS = '0x00000000000000000000000000000000000000aa'
const REVERTS_WITH_REASON = '0x00000000000000000000000000000000000000ab'
/** `Error("bad")`, which the code below returns with REVERT. */
const REASON = `08c379a0${'20'.padStart(64, '0')}${'3'.padStart(64, '0')}${'626164'.padEnd(64, '0')}`

const transfer = {
  chainId: 31_337,
  type: 'eip1559',
  gas: 21_000n,
  maxFeePerGas: 10n ** 10n,
  maxPriorityFeePerGas: 1n,
  to: poor.address,
} as const
const raw = async (fields: object, account: Pick<typeof rich, 'signTransaction'> = rich): Promise<Call> => [
  'eth_sendRawTransaction',
  await account.signTransaction({ ...transfer, ...fields }),
]

const sender = mnemonicToAccount(WORDS, { addressIndex: 1 })
const FAILS = '0x00000000000000000000000000000000000000ad'

/** Reverts with its call data. */
const ECHOES = '0x00000000000000000000000000000000000000ac'

const BELOW_BASE_FEE = { from: rich.address, to: poor.address, data: '0x12', maxFeePerGas: '0x5' }
const FEES = { gas: '0x5208', maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1' }

/** Each request with the code that both nodes return; undefined for a result. */
const CASES: readonly (readonly [title: string, call: () => Call | Promise<Call>, code: number | undefined])[] = [
  ['a transaction', () => raw({ nonce: 0 }), undefined],
  ['a used nonce', () => raw({ nonce: 0, gas: 22_000n }), -32003],
  ['a sender without ether', () => raw({ nonce: 0 }, poor), -32003],
  ['a price below the base fee', () => raw({ nonce: 1, maxFeePerGas: 9n }), -32003],
  [
    'eth_sendTransaction with a price below the base fee',
    () => ['eth_sendTransaction', { from: rich.address, to: poor.address, gasPrice: '0x9' }],
    -32003,
  ],
  ['gas below the intrinsic cost', () => raw({ nonce: 1, gas: 20_000n }), -32000],
  ['a queued transaction', () => raw({ nonce: 5 }), undefined],
  ['a known transaction', () => raw({ nonce: 5 }), -32003],
  ['a replacement without a higher fee', () => raw({ nonce: 5, gas: 22_000n }), -32003],
  [
    'eth_sendTransaction of an unknown account',
    () => ['eth_sendTransaction', { from: poor.address, to: rich.address, value: '0x1' }],
    -32602,
  ],
  ['eth_sign of an unknown account', () => ['eth_sign', poor.address, '0x00'], -32602],
  ['eth_call that reverts', () => ['eth_call', { to: REVERTS }, 'latest'], 3],
  ['eth_call that reverts with a reason', () => ['eth_call', { to: REVERTS_WITH_REASON }, 'latest'], 3],
  ['eth_estimateGas that reverts', () => ['eth_estimateGas', { to: REVERTS_WITH_REASON }], 3],
  [
    'eth_estimateGas of a transfer that the sender cannot pay',
    () => ['eth_estimateGas', { from: poor.address, to: rich.address, value: '0x1' }],
    undefined,
  ],
  [
    'eth_estimateGas of a call that the sender cannot pay',
    () => ['eth_estimateGas', { from: poor.address, to: ECHOES, value: '0x1' }],
    -32003,
  ],
  ['eth_estimateGas without ether for gas', () => ['eth_estimateGas', { from: poor.address, to: ECHOES, gasPrice: '0x77359400' }], -32003],
  ['eth_call that the sender cannot pay', () => ['eth_call', { from: poor.address, to: rich.address, value: '0x1' }, 'latest'], -32003],
  [
    'eth_call with a price below the base fee',
    () => ['eth_call', { from: rich.address, to: poor.address, gasPrice: '0x9' }, 'latest'],
    undefined,
  ],
  [
    'eth_estimateGas with a price below the base fee',
    () => ['eth_estimateGas', { from: rich.address, to: poor.address, data: '0x01', maxFeePerGas: '0x9' }],
    undefined,
  ],
  ['eth_getStorageAt with a slot without the prefix', () => ['eth_getStorageAt', REVERTS, '0', 'latest'], undefined],
  ['eth_getLogs to a block beyond the head', () => ['eth_getLogs', { fromBlock: '0x0', toBlock: '0x20' }], undefined],
  ['eth_getLogs that ends before it begins', () => ['eth_getLogs', { fromBlock: '0x1', toBlock: '0x0' }], undefined],
  ['a block number as a JSON number', () => ['eth_getBlockByNumber', 1, false], undefined],
  ['hardhat_getAutomine', () => ['hardhat_getAutomine'], undefined],
  ['a fee cap below the base fee', () => raw({ nonce: 1, maxFeePerGas: 5n }), -32003],
  ['a gas price below the base fee', () => ['eth_sendTransaction', { from: rich.address, to: poor.address, gasPrice: '0x5' }], -32003],
  ['a tip above the fee cap', () => ['eth_sendTransaction', { ...BELOW_BASE_FEE, maxPriorityFeePerGas: '0x6' }], -32003],
  ['another chain', () => raw({ nonce: 1, chainId: 1 }), -32003],
  ['creation code above the limit', () => raw({ nonce: 1, to: undefined, data: `0x${'00'.repeat(50_000)}`, gas: 10n ** 7n }), -32003],
  ['more gas than a block has', () => raw({ nonce: 1, gas: 10n ** 8n }), -32000],
  ['eth_call with a fee cap below the base fee', () => ['eth_call', BELOW_BASE_FEE, 'latest'], undefined],
  ['eth_estimateGas with a fee cap below the base fee', () => ['eth_estimateGas', BELOW_BASE_FEE], undefined],
  ['eth_signTransaction without a sender', () => ['eth_signTransaction', { to: poor.address, nonce: '0x1', ...FEES }], undefined],
  ['eth_sendTransaction without a sender', () => ['eth_sendTransaction', { to: poor.address, value: '0x5', ...FEES }], undefined],
  [
    'anvil_reorg of a transaction without a sender',
    () => ['anvil_reorg', 1, [[{ to: poor.address, value: '0x7', ...FEES }, 0]]],
    undefined,
  ],
]

const ECHO_CALL = { from: rich.address, to: ECHOES, data: '0x01' }
const TRANSFER_REQUEST = { from: rich.address, to: poor.address }
/** It has no ether. */
const NEW_KEY = privateKeyToAccount(`0x${'22'.repeat(32)}`)
/** Refusals whose code and message equal those of anvil. */
const REFUSED: readonly (readonly [method: string, what: string, call: () => Call | Promise<Call>])[] = [
  ['eth_sendRawTransaction', 'a used nonce', () => raw({ nonce: 0, gas: 22_000n })],
  ['eth_sendRawTransaction', 'a sender without ether', () => raw({ nonce: 0 }, NEW_KEY)],
  ['eth_sendRawTransaction', 'a price below the base fee', () => raw({ nonce: 9, maxFeePerGas: 9n })],
  ['eth_sendRawTransaction', 'gas below the intrinsic cost', () => raw({ nonce: 9, gas: 20_000n })],
  ['eth_sendRawTransaction', 'more gas than a block has', () => raw({ nonce: 9, gas: 10n ** 8n })],
  ['eth_sendRawTransaction', 'another chain', () => raw({ nonce: 9, chainId: 1 })],
  [
    'eth_sendRawTransaction',
    'too much creation code',
    () => raw({ nonce: 9, to: undefined, data: `0x${'00'.repeat(50_000)}`, gas: 10n ** 7n }),
  ],
  [
    'eth_sendTransaction',
    'more ether than the sender has',
    () => ['eth_sendTransaction', { ...TRANSFER_REQUEST, value: `0x${'f'.repeat(30)}` }],
  ],
  ['eth_sendTransaction', 'too little gas', () => ['eth_sendTransaction', { ...TRANSFER_REQUEST, gas: '0x1' }]],
  ['eth_sendTransaction', 'an unknown account', () => ['eth_sendTransaction', { from: NEW_KEY.address, to: rich.address }]],
  ['eth_getLogs', 'a range from a block beyond the head on', () => ['eth_getLogs', { fromBlock: '0x1869f' }]],
  ['eth_getLogs', 'a range between blocks beyond the head', () => ['eth_getLogs', { fromBlock: '0x1869f', toBlock: '0x186a0' }]],
  ['eth_newFilter', 'a range from a block beyond the head on', () => ['eth_newFilter', { fromBlock: '0x1869f', toBlock: 'latest' }]],
  ['eth_sign', 'an unknown account', () => ['eth_sign', NEW_KEY.address, '0x00']],
  ...['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'debug_traceCall'].map(
    (method) =>
      [method, 'a sender without ether', (): Call => [method, { from: NEW_KEY.address, to: ECHOES, value: '0x1' }, 'latest']] as const,
  ),
  ['eth_estimateGas', 'too little gas', () => ['eth_estimateGas', { ...ECHO_CALL, gas: '0x5210' }]],
  ['eth_createAccessList', 'a call that reverts', () => ['eth_createAccessList', ECHO_CALL, 'latest']],
  ['eth_createAccessList', 'a call that halts', () => ['eth_createAccessList', { from: rich.address, data: '0xfe' }, 'latest']],
]

const ABOVE_HEAD = '0xffff'
const UNKNOWN_HASH = `0x${'12'.repeat(32)}`
const UNKNOWN_BLOCKS: readonly Call[] = [
  ...['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode', 'eth_getAccount', 'eth_getAccountInfo'].map((method): Call => [
    method,
    REVERTS,
    ABOVE_HEAD,
  ]),
  ['eth_getStorageAt', REVERTS, '0x0', ABOVE_HEAD],
  ['eth_getProof', REVERTS, [], ABOVE_HEAD],
  ...['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'debug_traceCall'].map((method): Call => [
    method,
    { to: REVERTS },
    ABOVE_HEAD,
  ]),
  ['eth_simulateV1', { blockStateCalls: [{ calls: [] }] }, ABOVE_HEAD],
  ['eth_getBalance', REVERTS, { blockNumber: ABOVE_HEAD }],
  ['eth_getBalance', REVERTS, UNKNOWN_HASH],
  ['eth_call', { to: REVERTS }, { blockHash: UNKNOWN_HASH }],
  ['debug_traceBlockByNumber', ABOVE_HEAD],
  ['debug_traceBlockByHash', UNKNOWN_HASH, {}],
  ['eth_getLogs', { blockHash: UNKNOWN_HASH }],
]

const word = (value: bigint) => value.toString(16).padStart(64, '0')
const text = (hex: string) => `${word(32n)}${word(BigInt(hex.length / 2))}${hex.padEnd(64, '0')}`
const PANIC = '0x4e487b71'
const FAILED_OP = `0x220266b6${word(0n)}${word(64n)}${text('41413234').slice(64)}`
const REVERT_DATA = [
  ...[
    '0x',
    '0x01',
    '0xff',
    '0xc3a9',
    '0x41424344',
    '0xc3a9c3a9c3a9',
    '0x00000000',
    '0x220266b6',
    '0x220266b6ff',
    '0x220266b6c3a9',
    FAILED_OP,
  ],
  ...[0n, 1n, 0x11n, 0x12n, 0x21n, 0x22n, 0x31n, 0x32n, 0x41n, 0x51n, 0x77n, 2n ** 255n].map((code) => `${PANIC}${word(code)}`),
  ...[PANIC, '0x08c379a0', `0x${text('616263')}`],
  ...['', '616263', 'c3a9', 'ffff'].map((bytes) => `0x08c379a0${text(bytes)}`),
]

describe.skipIf(ANVIL === null)('--compat anvil returns the error codes of anvil', () => {
  let node: RunningNode
  let anvil: RunningAnvil
  const both = async (call: Call): Promise<readonly [ours: Answer, anvils: Answer]> => {
    const [[ours], [anvils]] = await Promise.all([answersOf(node.url, [call]), answersOf(anvil.url, [call])])
    return [ours!, anvils!]
  }

  beforeAll(async () => {
    ;[node, anvil] = await Promise.all([startNode({ compat: 'anvil', cadence: 'instant', chainType: 'l1' }), startAnvil()])
    await both(['anvil_setCode', REVERTS, '0x60006000fd'])
    const store = (REASON.match(/.{1,64}/g) ?? []).map(
      (word, i) => `7f${word.padEnd(64, '0')}60${(32 * i).toString(16).padStart(2, '0')}52`,
    )
    await both(['anvil_setCode', REVERTS_WITH_REASON, `0x${store.join('')}60646000fd`])
    await both(['anvil_setCode', ECHOES, '0x365f5f37365ffd'])
  })
  afterAll(() => Promise.all([node[Symbol.asyncDispose](), anvil[Symbol.asyncDispose]()]))

  it.each(REVERT_DATA)('the reason of %s', async (data) => {
    for (const method of ['eth_call', 'eth_estimateGas']) {
      const [ours, anvils] = await both([method, { to: ECHOES, data }])
      expect(ours.error).toEqual(anvils.error)
    }
  })

  it.each(CASES)('%s', async (_, call, code) => {
    const [ours, anvils] = await both(await call())
    expect(anvils.error?.code).toBe(code)
    expect(ours.error?.code).toBe(code)
    if (code === 3) expect(ours.error).toEqual(anvils.error)
  })

  it.each([
    ['reverts', '0x5f5ffd'],
    ['has an invalid opcode', '0xfe'],
    ['has an unknown opcode', '0x0c'],
    ['jumps to nowhere', '0x5f56'],
    ['takes from an empty stack', '0x01'],
    ['runs for ever', '0x5b5f56'],
  ])('eth_sendTransaction without gas that %s is mined as failed, and eth_call has the error of anvil', async (_, code) => {
    await both(['anvil_setCode', FAILS, code])
    const [called, anvilCalled] = await both(['eth_call', { to: FAILS, gas: '0x186a0' }, 'latest'])
    expect(called.error).toEqual(anvilCalled.error)
    const [ours, anvils] = await both(['eth_sendTransaction', { from: sender.address, to: FAILS }])
    await both(['evm_mine'])
    const status = async (url: string, { result }: Answer) => (await answersOf(url, [['eth_getTransactionReceipt', result]]))[0]?.result
    expect(await status(anvil.url, anvils)).toMatchObject({ status: '0x0' })
    expect(await status(node.url, ours)).toMatchObject({ status: '0x0' })
  })

  it('calls at pending and estimates run in the next block, with the time of evm_increaseTime', async () => {
    const increase: Call = ['evm_increaseTime', 3_600]
    const latest: Call = ['eth_getBlockByNumber', 'latest', false]
    for (const { url } of [anvil, node]) {
      const [, head] = await post(url, [increase, latest])
      const { number, timestamp } = head as { readonly number: string; readonly timestamp: string }
      // Reverts before the due time, else returns NUMBER.
      const due = (Number(timestamp) + 3_600).toString(16).padStart(8, '0')
      const call = { from: rich.address, data: `0x63${due}421015600e575f5ffd5b435f5260205ff3` }
      await post(url, [['eth_estimateGas', call]])
      expect(await post(url, [['eth_call', call, 'pending']])).toEqual([`0x${word(BigInt(number) + 1n)}`])
      await expect(post(url, [['eth_call', call, 'latest']])).rejects.toThrow('execution reverted')
    }
  })

  it('BASEFEE in a call without a price is that of the block', async () => {
    for (const { ask } of [node, anvil]) {
      await ask('anvil_setNextBlockBaseFeePerGas', '0x77')
      await ask('evm_mine')
      for (const fields of [{}, { value: '0x0', from: rich.address }]) {
        expect(await ask('eth_call', { ...fields, data: '0x485f5260205ff3' }, 'latest')).toBe(`0x${word(0x77n)}`)
      }
    }
  })

  it('a transaction is replaced by one with a higher fee cap', async () => {
    const send = { from: rich.address, to: poor.address, gas: '0x5208', nonce: '0x9', maxPriorityFeePerGas: '0x1' }
    const replace = async (maxFeePerGas: string) => {
      const [ours, anvils] = await both(['eth_sendTransaction', { ...send, maxFeePerGas }])
      return [ours.error?.message, anvils.error?.message]
    }
    expect(await replace('0x77359400')).toEqual([undefined, undefined])
    expect(await replace('0x77359401')).toEqual([undefined, undefined])
    expect(await replace('0x773593ff')).toEqual(Array(2).fill('replacement transaction underpriced'))
  })

  it.each(REFUSED)('the error of %s: %s', async (_, __, call) => {
    const [ours, anvils] = await both(await call())
    expect(anvils.error).toBeDefined()
    expect(ours.error).toEqual(anvils.error)
  })

  it('eth_signTransaction without gas signs also what reverts', async () => {
    await both(['anvil_setCode', FAILS, '0x5f5ffd'])
    for (const { result } of await both(['eth_signTransaction', { from: sender.address, to: FAILS }])) expect(result).toMatch(/^0x02/)
  })

  it.each(UNKNOWN_BLOCKS.map((call) => [call[0], call] as const))('the error of %s for a block that does not exist', async (_, call) => {
    const [ours, anvils] = await both(call)
    expect(anvils.error).toBeDefined()
    // The nodes may be at different heights.
    const head = async (url: string) => Number((await post(url, [['eth_blockNumber']]))[0])
    const [ourHead, anvilHead] = await Promise.all([head(node.url), head(anvil.url)])
    expect(ours.error).toEqual({ ...anvils.error, message: anvils.error?.message.replace(`is ${anvilHead} `, `is ${ourHead} `) })
  })

  it('numbers as JSON numbers and decimal text: slots, indices, blocks and the quantities of a transaction', async () => {
    await both(['anvil_setStorageAt', ECHOES, '0xa', `0x${word(5n)}`])
    const [ours, anvils] = await both(['eth_sendTransaction', { from: sender.address, to: poor.address, value: '25', gas: 21_000 }])
    for (const { result } of [ours, anvils]) expect(result).toMatch(/^0x[0-9a-f]{64}$/)
    const results = async (call: Call) => {
      const [ours, anvils] = await both(call)
      expect(ours.error).toEqual(anvils.error)
      expect(ours.result).toEqual(anvils.result)
      return ours.result
    }
    for (const slot of [10, '10', '0xa', '0x0a']) expect(await results(['eth_getStorageAt', ECHOES, slot, 'latest'])).toBe(`0x${word(5n)}`)
    await both(['anvil_setStorageAt', ECHOES, '16', `0x${word(6n)}`])
    expect(await results(['eth_getStorageAt', ECHOES, '0x10', 'latest'])).toBe(`0x${word(6n)}`)
    for (const value of [7, '7', '0x7'])
      expect(await results(['eth_call', { data: '0x345f5260205ff3', value, from: sender.address, gas: 100_000 }, 'latest'])).toBe(
        `0x${word(7n)}`,
      )
    for (const index of [0, '0', '0x0']) {
      const values = (await both(['eth_getTransactionByBlockNumberAndIndex', 'latest', index])).map(
        ({ result }) => (result as { readonly value: string }).value, // of the transaction sent above
      )
      expect(values).toEqual(['0x19', '0x19'])
      expect(await results(['eth_getUncleByBlockNumberAndIndex', 'latest', index])).toBeNull()
    }
    // A JSON parser has rounded it.
    const rounded = await answersOf(node.url, [['eth_call', { to: ECHOES, value: 2 ** 53 }, 'latest']])
    expect(rounded[0]?.error).toMatchObject({ code: -32602 })
  })

  it.each([
    { from: rich.address },
    { from: rich.address, to: null },
    { from: rich.address, data: '0x' },
    { from: rich.address, value: '0x5' },
    {},
  ])('a creation without code: %o', async (request) => {
    const [ours, anvils] = await both(['eth_sendTransaction', request])
    for (const [{ ask }, { result }] of [[node, ours] as const, [anvil, anvils] as const]) {
      expect(await ask('eth_getTransactionReceipt', result)).toMatchObject({
        status: '0x1',
        contractAddress: expect.stringMatching(/^0x/),
        gasUsed: '0xcf08',
      })
    }
    const [called, anvilCalled] = await both(['eth_call', request, 'latest'])
    expect(called).toEqual(anvilCalled)
  })

  it.each([
    ['anvil_setBlockTimestampInterval', 'anvil_mine', 'evm_mine'],
    ['anvil_setBlockTimestampInterval', 'evm_setNextBlockTimestamp', 'anvil_mine'],
    ['evm_setNextBlockTimestamp', 'anvil_mine'],
    ['evm_setNextBlockTimestamp', 'anvil_setBlockTimestampInterval', 'anvil_mine', 'evm_mine'],
  ])('the distances of block times after %s, %s, …', async (...methods) => {
    const distances = async ({ ask }: Pick<RunningNode, 'ask'>) => {
      await ask('evm_mine')
      const timeOf = async (block: number | string) =>
        Number(((await ask('eth_getBlockByNumber', block, false)) as { readonly timestamp: string }).timestamp) // of a block that exists
      const [first, start] = [Number(await ask('eth_blockNumber')), await timeOf('latest')]
      const params: Readonly<Record<string, readonly unknown[]>> = {
        anvil_setBlockTimestampInterval: [10],
        evm_setNextBlockTimestamp: [start + 100],
        anvil_mine: [3, 7],
      }
      for (const method of methods) await ask(method, ...(params[method] ?? []))
      const last = Number(await ask('eth_blockNumber'))
      const times = await Promise.all(Array.from({ length: last - first + 1 }, (_, i) => timeOf(first + i)))
      await ask('anvil_removeBlockTimestampInterval')
      return times.slice(1).map((time, i) => time - times[i]!)
    }
    const [ours, anvils] = await Promise.all([distances(node), distances(anvil)])
    expect(ours).toEqual(anvils)
  })

  it('transactions that become executable together are in one block', async () => {
    const included = async ({ ask }: Pick<RunningNode, 'ask'>) => {
      const from = mnemonicToAccount(WORDS, { addressIndex: 5 }).address
      const next = Number(await ask('eth_getTransactionCount', from, 'latest'))
      const hashes: unknown[] = []
      for (const later of [2, 1, 0])
        hashes.push(await ask('eth_sendTransaction', { from, to: poor.address, nonce: `0x${(next + later).toString(16)}` }))
      return new Set(await Promise.all(hashes.map((hash) => blockOf(ask, hash)))).size
    }
    expect(await Promise.all([included(node), included(anvil)])).toEqual([1, 1])
  })

  it('a log filter with fromBlock begins with the logs that exist', async () => {
    const LOGS = '0x00000000000000000000000000000000000000ae'
    const polled = async ({ ask }: Pick<RunningNode, 'ask'>) => {
      const log = async () => blockOf(ask, await ask('eth_sendTransaction', { from: sender.address, to: LOGS, gas: '0x30000' }))
      await ask('anvil_setCode', LOGS, '0x60006000a0')
      await log()
      await log()
      const head = Number(await ask('eth_blockNumber'))
      const hex = (number: number) => `0x${number.toString(16)}`
      const queries = [
        {},
        { fromBlock: 'earliest' },
        { fromBlock: 'latest' },
        { fromBlock: hex(head - 1), toBlock: hex(head - 1) },
        { fromBlock: hex(head), toBlock: hex(head + 1) },
        { fromBlock: hex(head - 1), toBlock: 'latest' },
        { fromBlock: hex(head), toBlock: hex(head - 1) },
        { toBlock: hex(head) },
      ]
      const filters = await Promise.all(queries.map((query) => ask('eth_newFilter', { ...query, address: LOGS })))
      await log()
      const changes = async () => {
        const lists = await Promise.all(filters.map((id) => ask('eth_getFilterChanges', id)))
        return lists.map((logs) => (logs as readonly { readonly blockNumber: string }[]).map((each) => Number(each.blockNumber) - head)) // of log filters
      }
      return [await changes(), await changes()]
    }
    const [ours, anvils] = await Promise.all([polled(node), polled(anvil)])
    expect(ours).toEqual(anvils)
    expect(ours[0]?.[1]).toEqual([-1, 0, 1])
  })

  it('more gas than the cap of EIP-7825', async () => {
    // Reverts unless it has more than 20,000,000 gas.
    const call = { from: rich.address, data: '0x5a6301312d0010600d575f5ffd5b00' }
    for (const { result } of await both(['eth_estimateGas', call])) expect(Number(result)).toBeGreaterThan(20_000_000)
  })
})

it.each(['default', 'geth', 'strict'] as const)(
  'without the profile (%s) a send that reverts is rejected and block numbers are hex',
  async (compat) => {
    await using node = await startNode({ compat, cadence: 'instant' })
    await node.ask('anvil_setCode', REVERTS, '0x60006000fd')
    const [sent, block, logs] = await answersOf(node.url, [
      ['eth_sendTransaction', { from: rich.address, to: REVERTS }],
      ['eth_getBlockByNumber', 0, false],
      ['eth_getLogs', { fromBlock: '0x0', toBlock: '0x20' }],
    ])
    const numbers = await answersOf(node.url, [
      ['eth_getStorageAt', REVERTS, 10, 'latest'],
      ['eth_getTransactionByBlockNumberAndIndex', '0x0', 0],
      ['eth_sendTransaction', { from: rich.address, to: poor.address, value: 1 }],
      ['eth_sendTransaction', { from: rich.address, to: poor.address, value: '1' }],
      ['eth_sendTransaction', { from: rich.address }],
      ['eth_call', { from: rich.address }, 'latest'],
    ])
    for (const { error } of numbers) expect(error).toMatchObject({ code: -32602 })
    expect(sent?.error).toMatchObject({ code: compat === 'geth' ? 3 : -32000, message: 'execution reverted' })
    expect(block?.error).toMatchObject({ code: -32602 })
    expect(logs?.error).toMatchObject({ code: -32602 })
  },
)

/** Address of the contract that the second transaction of `rich` creates. */
const CREATED = '0xe7f1725e7734ce288f8367e1bb143e90bb3f0512'
/** Stores 7 in slot 0 and returns code that returns the block number and slot 0. */
const INIT = '0x6007600055600f6011600039600f6000f34360005260005460205260406000f3'

/** State reads whose results equal those of anvil, with transactions in the pool. */
const POOL_READS: readonly Call[] = [
  ['eth_getBalance', poor.address],
  ['eth_getTransactionCount', rich.address],
  ['eth_getCode', CREATED],
  ['eth_getStorageAt', CREATED, '0x0'],
  ['eth_getAccountInfo', CREATED],
  ['eth_call', { to: CREATED }],
  ['eth_createAccessList', { from: rich.address, to: CREATED }],
  ['eth_getBlockTransactionCountByNumber'],
]

describe.skipIf(ANVIL === null)('with automine off, pending includes the pool as in anvil --no-mining', () => {
  let node: RunningNode
  let anvil: RunningAnvil
  /** Of our node and of anvil: they make different signatures for an impersonated sender. */
  const sent: (readonly [ours: unknown, anvils: unknown])[] = []
  const both = async (...call: Call): Promise<readonly [ours: unknown, anvils: unknown]> =>
    Promise.all([node.ask(...call), anvil.ask(...call)])
  const transactionsOf = (block: unknown) => (block as { readonly transactions: readonly string[] }).transactions // of a block that exists

  beforeAll(async () => {
    ;[node, anvil] = await Promise.all([
      startNode({ compat: 'anvil', cadence: 'manual', chainType: 'l1', order: 'fifo' }),
      startAnvil('--no-mining', '--order', 'fifo'),
    ])
    const impersonated = '0x00000000000000000000000000000000000000ef'
    await both('anvil_setBalance', impersonated, '0xde0b6b3a7640000')
    await both('anvil_impersonateAccount', impersonated)
    const send = async (...call: Call) => sent.push(await both(...call))
    await send(...(await raw({ nonce: 0, value: 10n ** 18n })))
    await send(...(await raw({ nonce: 1, to: undefined, data: INIT, gas: 200_000n })))
    await send(...(await raw({ nonce: 3, value: 5n })))
    const fees = { gas: '0x5208', maxFeePerGas: '0x2540be400', maxPriorityFeePerGas: '0x1', nonce: '0x0' }
    await send('eth_sendTransaction', { from: impersonated, to: poor.address, value: '0x5', ...fees })
  })
  afterAll(() => Promise.all([node[Symbol.asyncDispose](), anvil[Symbol.asyncDispose]()]))

  it.each(POOL_READS.map((call) => [call[0], call] as const))('%s at pending and at latest', async (_, call) => {
    const [pending, anvils] = await both(...call, 'pending')
    expect(pending).toEqual(anvils)
    const [latest, anvilsLatest] = await both(...call, 'latest')
    expect(latest).toEqual(anvilsLatest)
    expect(pending).not.toEqual(latest)
  })

  it('eth_estimateGas without a block runs after the pool', async () => {
    const [ours, anvils] = await both('eth_estimateGas', { from: rich.address, to: CREATED })
    expect(Number(anvils)).toBeGreaterThan(21_000)
    expect(Number(ours) / Number(anvils)).toBeCloseTo(1, 1)
  })

  it('receipts are null, logs empty, and the transactions have no block', async () => {
    for (const [ours, anvils] of sent) {
      for (const [peer, hash] of [
        [node, ours],
        [anvil, anvils],
      ] as const) {
        expect(await peer.ask('eth_getTransactionReceipt', hash)).toBeNull()
        expect(await peer.ask('eth_getTransactionByHash', hash)).toMatchObject({ blockHash: null, blockNumber: null })
      }
    }
    expect(await both('eth_getLogs', { fromBlock: 'pending', toBlock: 'pending' })).toEqual([[], []])
  })

  it('the pending block holds the executable transactions, and evm_mine mines exactly these', async () => {
    const executable = sent.filter((_, index) => index !== 2)
    const [ours, anvils] = await both('eth_getBlockByNumber', 'pending', false)
    expect([ours, anvils]).toMatchObject([{ number: '0x1' }, { number: '0x1' }])
    expect(transactionsOf(ours)).toEqual(executable.map(([hash]) => hash))
    expect(transactionsOf(anvils)).toEqual(executable.map(([, hash]) => hash))
    await both('evm_mine')
    const [mined, anvilMined] = await both('eth_getBlockByNumber', '0x1', false)
    expect(transactionsOf(mined)).toEqual(transactionsOf(ours))
    expect(transactionsOf(anvilMined)).toEqual(transactionsOf(anvils))
  })
})

/** The block of a transaction. It waits for the receipt: anvil may answer with the hash before the block exists. */
async function blockOf(ask: RunningNode['ask'], hash: unknown) {
  const receipt = await vi.waitUntil(() => ask('eth_getTransactionReceipt', hash), { timeout: 10_000 })
  return (receipt as { readonly blockNumber: string }).blockNumber // of an included transaction
}
