import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import type { RunningAnvil } from '../anvil.fixture.ts'
import { WORDS, answersOf, startNode } from '../node.fixture.ts'
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

/** Each request with the code that both nodes return; undefined for a result. */
const CASES: readonly (readonly [title: string, call: () => Call | Promise<Call>, code: number | undefined])[] = [
  ['a transaction', () => raw({ nonce: 0 }), undefined],
  ['a used nonce', () => raw({ nonce: 0, gas: 22_000n }), -32003],
  ['a sender without ether', () => raw({ nonce: 0 }, poor), -32003],
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
  ['eth_call that the sender cannot pay', () => ['eth_call', { from: poor.address, to: rich.address, value: '0x1' }, 'latest'], -32003],
  ['eth_getLogs to a block beyond the head', () => ['eth_getLogs', { fromBlock: '0x0', toBlock: '0x20' }], undefined],
  ['eth_getLogs that ends before it begins', () => ['eth_getLogs', { fromBlock: '0x1', toBlock: '0x0' }], undefined],
  ['a block number as a JSON number', () => ['eth_getBlockByNumber', 1, false], undefined],
  ['hardhat_getAutomine', () => ['hardhat_getAutomine'], undefined],
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
  })
  afterAll(() => Promise.all([node[Symbol.asyncDispose](), anvil[Symbol.asyncDispose]()]))

  it.each(CASES)('%s', async (_, call, code) => {
    const [ours, anvils] = await both(await call())
    expect(anvils.error?.code).toBe(code)
    expect(ours.error?.code).toBe(code)
    if (code === 3) expect(ours.error).toEqual(anvils.error)
  })

  it('eth_sendTransaction without gas that reverts is mined as failed', async () => {
    const [ours, anvils] = await both(['eth_sendTransaction', { from: rich.address, to: REVERTS }])
    const status = async (url: string, { result }: Answer) => (await answersOf(url, [['eth_getTransactionReceipt', result]]))[0]?.result
    expect(await status(anvil.url, anvils)).toMatchObject({ status: '0x0' })
    expect(await status(node.url, ours)).toMatchObject({ status: '0x0' })
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
    expect(sent?.error).toMatchObject({ code: compat === 'geth' ? 3 : -32000, message: 'execution reverted' })
    expect(block?.error).toMatchObject({ code: -32602 })
    expect(logs?.error).toMatchObject({ code: -32602 })
  },
)
