import { createPocketchain } from 'pocketchain'
import type { Pocketchain } from 'pocketchain'
import { encodeFunctionData, parseAbi } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ANVIL, startAnvil } from '../../../test/anvil.fixture.ts'
import { Address, Hex } from '../../eth/index.ts'
import { RpcError, createRemoteRpc } from '../../jsonrpc/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import type { Call } from '../batches/call.ts'
import { Deployed, raw, send, without } from '../batches/calls.fixture.ts'
import { embeddedChain } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { contracts } from './contracts.fixture.ts'
import type { ContractName } from './contracts.fixture.ts'
import { DELEGATE } from '../delegate.ts'
import { previewCalls } from './preview.ts'

const WETH = Address.from('0x4200000000000000000000000000000000000006')
const PERMIT2 = Address.from('0x000000000022d473030f116ddee9f6b43ac78ba3')
const BOB = Address.from('0x0000000000000000000000000000000000000b0b')
const MOST = 2n ** 256n - 1n

const built = contracts()
const weth = parseAbi(['function deposit() payable', 'function withdraw(uint256)'])
const permit2 = parseAbi(['function approve(address token, address spender, uint160 amount, uint48 expiration)'])

let node: Pocketchain
let chain: WalletChain
let alice: Address
let deployed: Deployed

beforeAll(async () => {
  node = await createPocketchain({ cadence: 'instant' })
  chain = embeddedChain(node, { name: 'Local' })
  alice = node.accounts[0]?.address ?? Address.zero
  deployed = await Deployed.on(node, alice)
})
afterAll(() => node.close())

const to = (name: ContractName, functionName: string, args: readonly unknown[]): Call => deployed.call(name, functionName, args)

// A simulation leaves the state unchanged.
let before: unknown
beforeEach(async () => void (before = await node.request({ method: 'eth_getBlockByNumber', params: ['pending', false] })))

describe.each([
  ['one by one', null],
  ['through the code of the account', DELEGATE.address],
])('previewCalls, %s', (_, delegate) => {
  const preview = (...calls: Call[]) => previewCalls(chain, { from: alice, calls, delegate })

  it('shows ether and tokens that leave', async () => {
    const seen = await preview(send(BOB, 5n), to('Coin', 'transfer', [BOB, 1_500_000n]))
    expect(seen).toMatchObject({ status: 'success', error: null, failedCall: null, allowances: [] })
    expect(seen.changes).toEqual([
      { asset: 'native', token: null, symbol: 'ETH', decimals: 18, tokenId: null, amount: '-5' },
      { asset: 'erc20', token: deployed.at.Coin, symbol: 'COIN', decimals: 6, tokenId: null, amount: '-1500000' },
    ])
    expect(seen.gasUsed).toHaveLength(delegate === null ? 2 : 1)
    expect(await node.request({ method: 'eth_getBlockByNumber', params: ['pending', false] })).toEqual(before)
  })

  it('counts wrapped ether and refunds', async () => {
    const seen = await preview(
      raw(WETH, encodeFunctionData({ abi: weth, functionName: 'deposit' }), 9n),
      raw(WETH, encodeFunctionData({ abi: weth, functionName: 'withdraw', args: [2n] })),
    )
    expect(seen.changes).toMatchObject([
      { asset: 'native', amount: '-7' },
      { asset: 'erc20', token: WETH, symbol: 'WETH', decimals: 18, amount: '7' },
    ])
  })

  it('shows collectibles', async () => {
    const seen = await preview(
      to('Card', 'transferFrom', [alice, BOB, 7n]),
      to('Card', 'mint', [alice, 8n]),
      to('Thing', 'safeBatchTransferFrom', [alice, BOB, [3n], [4n], '0x']),
    )
    expect(seen.error).toBeNull()
    expect(seen.changes).toEqual(
      expect.arrayContaining([
        { asset: 'erc721', token: deployed.at.Card, symbol: 'CARD', decimals: null, tokenId: '0x7', amount: '-1' },
        { asset: 'erc721', token: deployed.at.Card, symbol: 'CARD', decimals: null, tokenId: '0x8', amount: '1' },
        { asset: 'erc1155', token: deployed.at.Thing, symbol: null, decimals: null, tokenId: '0x3', amount: '-4' },
      ]),
    )
    // Outflows come first.
    expect(seen.changes.at(-1)?.amount).toBe('1')
  })

  it('omits an asset that leaves and returns', async () => {
    expect((await preview(to('Coin', 'transfer', [alice, 5n]), send(alice, 3n))).changes).toEqual([])
  })

  it('shows remaining allowances with their remaining amount', async () => {
    const seen = await preview(to('Coin', 'approve', [deployed.at.Taker, 100n]), to('Taker', 'take', [deployed.at.Coin, 30n]))
    expect(seen.allowances).toEqual([
      {
        kind: 'erc20',
        token: deployed.at.Coin,
        symbol: 'COIN',
        decimals: 6,
        spender: deployed.at.Taker,
        spenderLabel: null,
        amount: '70',
        isSpent: false,
      },
    ])
    // More than the supply of 10^12 units is all of it.
    for (const amount of [MOST, 10n ** 12n + 1n])
      expect((await preview(to('Coin', 'approve', [deployed.at.Taker, amount]))).allowances).toMatchObject([
        { amount: null, isSpent: false },
      ])
    expect((await preview(to('Coin', 'approve', [deployed.at.Taker, 10n ** 12n]))).allowances).toMatchObject([{ amount: `${10n ** 12n}` }])
  })

  it('distinguishes a consumed allowance from a remaining one', async () => {
    const seen = await preview(to('Coin', 'approve', [deployed.at.Taker, 30n]), to('Taker', 'take', [deployed.at.Coin, 30n]))
    expect(seen.allowances).toMatchObject([{ spender: deployed.at.Taker, amount: '30', isSpent: true }])
  })

  it('omits an allowance that is revoked', async () => {
    expect((await preview(to('Coin', 'approve', [BOB, 0n]))).allowances).toEqual([])
  })

  it('shows operators of collectibles, and allowances of Permit2', async () => {
    const allow = raw(
      PERMIT2,
      encodeFunctionData({ abi: permit2, functionName: 'approve', args: [deployed.at.Coin, BOB, 2n ** 160n - 1n, 2 ** 47] }),
    )
    const seen = await preview(to('Card', 'approve', [BOB, 7n]), to('Thing', 'setApprovalForAll', [BOB, true]), allow)
    expect(seen.allowances).toMatchObject([
      { kind: 'nft', token: deployed.at.Card, symbol: 'CARD', tokenId: '0x7', spender: BOB, isSpent: false },
      { kind: 'allNfts', token: deployed.at.Thing, spender: BOB, amount: null, isSpent: false },
      { kind: 'permit2', token: deployed.at.Coin, symbol: 'COIN', spender: BOB, amount: null, isSpent: false },
    ])
  })

  it.each([
    ['custom', [], 'it reverts with an unknown error, 0xfe7deb7c'],
    ['text', ['too \u202elate'], 'too \\u{202e}late'],
    ['panic', [0n], 'a division by zero (panic 0x12)'],
    ['silent', [], 'it reverts without a reason'],
  ] as const)('names the reverting call and the reason: %s', async (name, args, error) => {
    const seen = await preview(send(BOB, 5n), to('Faults', name, args))
    expect(seen).toMatchObject({ status: 'reverted', failedCall: 1 })
    expect(seen.error).toContain(error)
  })

  it('reads errors of tokens', async () => {
    const seen = await preview(to('Coin', 'transferFrom', [BOB, alice, 5n]), send(BOB, 1n))
    expect(seen).toMatchObject({ status: 'reverted', failedCall: 0 })
    expect(seen.error).toBe(`ERC20InsufficientAllowance(spender: ${Address.checksum(alice)}, allowance: 0, needed: 5)`)
  })

  it('finds the call that exceeds the balance', async () => {
    const calls = [send(BOB, 1n), send(BOB, 2n), send(BOB, 10n ** 30n), send(BOB, 1n)]
    expect(await preview(...calls)).toMatchObject({
      status: 'reverted',
      failedCall: 2,
      error: 'the account has less ETH than the call sends',
    })
  })

  it('finds the call that leaves no gas for the following ones', async () => {
    const burner = Address.from(`0x${'b0'.repeat(20)}`)
    await node.request({ method: 'anvil_setCode', params: [burner, '0xfe'] })
    const seen = await preview(send(BOB, 1n), { ...send(burner, 0n), data: Uint8Array.of(1) }, send(BOB, 2n), send(BOB, 3n))
    expect(seen).toMatchObject({ status: 'reverted', failedCall: 1, error: expect.not.stringContaining('intrinsic') })
  })

  it('verifies logs by reads of the contract', async () => {
    const seen = await preview(to('Liar', 'shower', [40n, alice]), send(BOB, 5n))
    expect(seen).toMatchObject({ status: 'success', changes: [{ asset: 'native', amount: '-5' }], allowances: [] })
  })

  it('reads contracts without an influence on the calls', async () => {
    expect(await preview(deployed.call('Watcher', 'spend', [], 5n))).toMatchObject({ changes: [{ asset: 'native', amount: '-5' }] })
  })

  it('reads contracts without an influence on later reads', async () => {
    const seen = await preview(to('Coin', 'approve', [deployed.at.Watcher, 50n]), to('Watcher', 'take', [deployed.at.Coin, 50n]))
    expect(seen).toMatchObject({ changes: [{ token: deployed.at.Coin, amount: '-50' }], allowances: [{ isSpent: true }] })
  })

  it('uses the logs of a token whose balance cannot be read after the calls', async () => {
    expect((await preview(to('Mute', 'spend', []))).changes).toMatchObject([{ token: deployed.at.Mute, amount: '-4' }])
  })
})

describe('previewCalls', () => {
  it('is not delayed by a token that never returns', async () => {
    const calls = [to('Trap', 'spring', []), to('Coin', 'transfer', [BOB, 5n])]
    const seen = await previewCalls(chain, { from: alice, calls, delegate: null })
    expect(seen).toMatchObject({ status: 'success', changes: [{ token: deployed.at.Coin, symbol: 'COIN', amount: '-5' }] })
  })

  it('is unavailable for too many logs', async () => {
    const seen = await previewCalls(chain, { from: alice, calls: [to('Liar', 'shower', [10_001n, BOB])], delegate: null })
    expect(seen).toMatchObject({ status: 'unavailable', error: 'the calls log more than 10000 events' })
  })

  it('uses the logs when the node rejects the token reads', async () => {
    const request: Rpc['request'] = async (sent) => {
      const calls = JSON.stringify(sent.params).split('"input"').length - 1
      if (calls > 2) throw new RpcError(-38_026, 'too many calls')
      return node.request(sent)
    }
    const strict = { ...chain, rpc: { request, subscribe: node.subscribe } }
    const calls = [to('Coin', 'transfer', [BOB, 5n]), to('Coin', 'approve', [BOB, 7n])]
    const seen = await previewCalls(strict, { from: alice, calls, delegate: null })
    expect(seen).toMatchObject({
      status: 'success',
      changes: [{ asset: 'erc20', token: deployed.at.Coin, symbol: null, decimals: null, amount: '-5' }],
      allowances: [{ token: deployed.at.Coin, spender: BOB, amount: '7', isSpent: false }],
    })
  })

  it('uses the gas and fees of the transaction, and omits them if they prevent the simulation', async () => {
    const poor = Address.from(`0x${'90'.repeat(20)}`)
    await node.request({ method: 'anvil_setBalance', params: [poor, '0x64'] })
    const fees = { type: 2, baseFee: 7n, maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n } as const
    const on = (from: Address, limit: bigint, isChosen: boolean) =>
      previewCalls(chain, { from, calls: [send(BOB, 5n)], delegate: null, terms: { limits: [limit], isChosen, fees } })
    const success = { status: 'success', changes: [{ amount: '-5' }] }
    expect(await on(alice, 21_000n, true)).toMatchObject(success)
    expect(await on(poor, 21_000n, true), 'the fee is shown separately').toMatchObject(success)
    expect(await on(alice, 10n ** 9n, false), 'more than a block has').toMatchObject(success)
    expect(await on(alice, 20_999n, true)).toMatchObject({ status: 'reverted', failedCall: 0 })
    expect(await on(poor, 20_999n, true)).toMatchObject({ status: 'reverted', failedCall: 0 })
  })

  it.each([
    ['PREVRANDAO', '0x4415600657'],
    ['the beacon root of its time', '0x425f526020602060205f73000f3df6d732807ef1319fb7b8bb8522d0beac025afa5060205115602a57'],
  ])('has %s, which a contract could test for zero', async (_, test) => {
    // Returns the ether only if the value is zero.
    const code = `${test}005b5f5f5f5f34335af100`
    const tester = Address.from(`0x${'7e'.repeat(20)}`)
    await node.request({ method: 'anvil_setCode', params: [tester, code] })
    const seen = await previewCalls(chain, { from: alice, calls: [raw(tester, '0x01', 5n)], delegate: null })
    expect(seen).toMatchObject({ status: 'success', changes: [{ asset: 'native', amount: '-5' }] })
  })

  it('shows the cost of a contract creation, and does not report a low balance as a gas limit', async () => {
    const call: Call = { to: null, value: 0n, data: Hex.toBytes(built.Taker.bytecode), gasLimitOverride: 2_000_000n }
    expect(await previewCalls(chain, { from: BOB, calls: [call], delegate: null })).toMatchObject({ status: 'success', changes: [] })
    const short = { ...call, gasLimitOverride: 6_000n }
    expect(await previewCalls(chain, { from: BOB, calls: [short], delegate: null })).toMatchObject({ status: 'reverted', failedCall: 0 })
  })

  it('deploys the account contract on a chain that lacks it', async () => {
    await using other = await createPocketchain({ cadence: 'instant' })
    await other.request({ method: 'anvil_setCode', params: [DELEGATE.address, '0x'] })
    await other.request({ method: 'anvil_setNonce', params: [DELEGATE.address, '0x0'] })
    const seen = await previewCalls(embeddedChain(other), {
      from: alice,
      calls: [send(BOB, 5n), send(BOB, 6n)],
      delegate: DELEGATE.address,
    })
    expect(seen).toMatchObject({ status: 'success', changes: [{ amount: '-11' }] })
  })

  it('counts omitted effects', async () => {
    const ids = Array.from({ length: 60 }, (_, i) => BigInt(i + 100))
    const mint = to('Thing', 'mintBatch', [alice, ids, ids])
    const seen = await previewCalls(chain, { from: alice, calls: [mint], delegate: null })
    expect(seen).toMatchObject({ status: 'success', omitted: 10 })
    expect(seen.changes).toHaveLength(50)
  })

  it('omits consumed allowances rather than remaining ones', async () => {
    const calls = [to('Liar', 'allowances', [60n, 0n]), to('Coin', 'approve', [BOB, MOST])]
    const seen = await previewCalls(chain, { from: alice, calls, delegate: null })
    expect(seen).toMatchObject({ status: 'success', omitted: 11 })
    expect(seen.allowances[0]).toMatchObject({ token: deployed.at.Coin, spender: BOB, amount: null, isSpent: false })
  })

  it.skipIf(ANVIL === null).each([null, DELEGATE.address])('has the same result with an external node (%s)', async (delegate) => {
    await using anvil = await startAnvil()
    const rpc = createRemoteRpc(anvil.url)
    const there = { ...chain, rpc }
    const theirs = await Deployed.on(rpc, alice)
    await anvil.ask('evm_mine')
    const sent = (...calls: Call[]) => previewCalls(there, { from: alice, calls, delegate })
    const take = [theirs.call('Coin', 'approve', [theirs.at.Taker, 50n]), theirs.call('Taker', 'take', [theirs.at.Coin, 30n])]
    expect(await sent(...take, send(BOB, 3n))).toMatchObject({
      status: 'success',
      changes: [
        { asset: 'native', amount: '-3' },
        { asset: 'erc20', token: theirs.at.Coin, symbol: 'COIN', decimals: 6, amount: '-30' },
      ],
      allowances: [{ spender: theirs.at.Taker, amount: '20', isSpent: false }],
    })
    expect(await sent(send(BOB, 1n), theirs.call('Faults', 'text', ['no']))).toMatchObject({
      status: 'reverted',
      failedCall: 1,
      error: 'no',
    })
    const tooMuch = { status: 'reverted', failedCall: 1, error: 'the account has less ETH than the call sends' }
    expect(await sent(send(BOB, 1n), send(BOB, 10n ** 30n))).toMatchObject(tooMuch)
  })

  describe('with a node that lacks eth_simulateV1', () => {
    const plain = () => ({ ...chain, rpc: without(node, 'eth_simulateV1') })

    it('is complete for ether to an account', async () => {
      const seen = await previewCalls(plain(), { from: alice, calls: [send(BOB, 5n)], delegate: null })
      expect(seen).toMatchObject({ status: 'success', changes: [{ asset: 'native', amount: '-5' }] })
    })

    it('still reports that a call reverts', async () => {
      const seen = await previewCalls(plain(), { from: alice, calls: [to('Faults', 'text', ['no'])], delegate: null })
      expect(seen).toMatchObject({ status: 'reverted', failedCall: 0, error: 'no' })
    })

    it('is unavailable otherwise', async () => {
      const one = await previewCalls(plain(), { from: alice, calls: [to('Coin', 'transfer', [BOB, 1n])], delegate: null })
      const two = await previewCalls(plain(), { from: alice, calls: [send(BOB, 1n), send(BOB, 1n)], delegate: null })
      const error = 'the node of Local cannot simulate calls: it lacks eth_simulateV1'
      for (const seen of [one, two])
        expect(seen).toEqual({ status: 'unavailable', error, failedCall: null, changes: [], allowances: [], gasUsed: [] })
    })
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('socket hang up'))],
    ['answers nonsense', () => Promise.resolve([{ calls: [{ status: 'yes' }] }])],
    ['answers too little', () => Promise.resolve([])],
    ['answers null', () => Promise.resolve(null)],
  ])('is unavailable when the node %s', async (_, request) => {
    const broken = { ...chain, rpc: { ...node, request } as Rpc }
    expect(await previewCalls(broken, { from: alice, calls: [send(BOB, 1n)], delegate: null })).toMatchObject({ status: 'unavailable' })
  })

  it('is unavailable when the node responds after the timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const silent: Rpc = { request: () => new Promise(() => {}), subscribe: node.subscribe }
    const sent = previewCalls({ ...chain, rpc: silent }, { from: alice, calls: [send(BOB, 1n)], delegate: null })
    await vi.advanceTimersByTimeAsync(5_000)
    const seen = await sent
    expect(seen).toMatchObject({ status: 'unavailable', error: 'the node of Local did not answer within 5000 ms' })
  })
})
