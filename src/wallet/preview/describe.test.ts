import { createPocketchain } from 'pocketchain'
import type { Pocketchain } from 'pocketchain'
import { encodeAbiParameters, encodeFunctionData, maxUint256, parseAbi, parseAbiParameters } from 'viem'
import type { Abi, Hex as ViemHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Address, Hex } from '../../eth/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import type { Call } from '../batches/call.ts'
import { Deployed, raw, send, without } from '../batches/calls.fixture.ts'
import { embeddedChain } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE, encodeExecute } from '../delegate.ts'
import { describeCalls } from './describe.ts'
import { Keyring } from '../keys/keyring.ts'

const WETH = Address.from('0x4200000000000000000000000000000000000006')
const MULTICALL = Address.from('0xca11bde05977b3631167028862be2a173976ca11')
const PERMIT2 = Address.from('0x000000000022d473030f116ddee9f6b43ac78ba3')
const ENTRY_POINT = Address.from('0x4337084d9e255ff0702461cf8895ce9e3b5ff108')
const BOB = Address.from('0x0000000000000000000000000000000000000b0b')

const abi: Abi = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Single { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }',
  'function deposit() payable',
  'function withdraw(uint256)',
  'function aggregate3(Call3[] calls)',
  'function approve(address, address, uint160, uint48)',
  'function depositTo(address) payable',
  'function swapExactETHForTokens(uint256, address[], address, uint256) payable',
  'function swapTokensForExactETH(uint256, uint256, address[], address, uint256)',
  'function exactInputSingle(Single params)',
  'function transferOwnership(address)',
  'function upgradeTo(address)',
  'function multicall(bytes[])',
  'function claim()',
  'function unheardOf(uint256)',
])

let node: Pocketchain
let chain: WalletChain
let keyring: Keyring
let account: Address
let second: Address
let deployed: Deployed

beforeAll(async () => {
  node = await createPocketchain({ cadence: 'instant' })
  chain = embeddedChain(node)
  keyring = Keyring.of({ dev: node.accounts.map(({ privateKey }) => privateKey) })
  const [alice, other] = keyring.accounts
  account = alice?.address ?? Address.zero
  second = other?.address ?? Address.zero
  deployed = await Deployed.on(node, alice?.address ?? Address.zero)
})
afterAll(() => node.close())

const one = async (call: Call) => {
  const [view] = await describeCalls(chain, account, [call], keyring)
  if (view === undefined) throw new Error('no view')
  return view
}
const summary = async (call: Call) => (await one(call)).summary
const encode = (functionName: string, ...args: unknown[]): ViemHex => encodeFunctionData({ abi, functionName, args })

describe('describeCalls', () => {
  it('shows all parts of a known call', async () => {
    expect(await one(deployed.call('Coin', 'transfer', [BOB, 1_500_000n]))).toEqual({
      to: deployed.at.Coin,
      value: '0x0',
      data: Hex.fromBytes(deployed.call('Coin', 'transfer', [BOB, 1_500_000n]).data),
      gasLimitOverride: null,
      label: 'token COIN',
      signature: 'transfer(address,uint256)',
      args: [
        { name: 'to', type: 'address', value: Address.checksum(BOB) },
        { name: 'amount', type: 'uint256', value: '1500000' },
      ],
      summary: 'Send 1.5 COIN to 0x0000…0B0b',
    })
  })

  it('shows the data of an unknown call', async () => {
    const call = { ...raw(BOB, encode('unheardOf', 5n), 7n), gasLimitOverride: 90_000n }
    expect(await one(call)).toMatchObject({
      label: null,
      signature: null,
      args: null,
      gasLimitOverride: '0x15f90',
      summary: 'Send 0.000000000000000007 ETH to 0x0000…0B0b, with unknown data',
    })
    expect(await summary(raw(BOB, encode('unheardOf', 5n)))).toBeNull()
    expect(await summary(raw(BOB, '0x1234'))).toBeNull()
  })

  it('describes ether transfers, contract creations and own accounts', async () => {
    expect(await summary(send(second, 1_234_500_000_000_000_000_000n))).toBe(`Send 1,234.5 ETH to your account 2 (${short(second)})`)
    expect(await one(send(second, 1n))).toMatchObject({ label: 'your account 2' })
    const creation: Call = { to: null, value: 0n, data: new Uint8Array(1_234), gasLimitOverride: null }
    expect(await one(creation)).toMatchObject({ to: null, label: null, signature: null, summary: 'Create a contract (1,234 bytes)' })
    expect(await summary({ ...creation, value: 10n ** 18n })).toBe('Create a contract (1,234 bytes) with 1 ETH')
  })

  it.each([
    ['an approval', () => deployed.call('Coin', 'approve', [BOB, 2_000_000n]), 'Approve 0x0000…0B0b to spend 2 COIN'],
    [
      'an approval without limit',
      () => deployed.call('Coin', 'approve', [PERMIT2, maxUint256]),
      'Approve Permit2 (0x0000…8BA3) to spend any amount of COIN',
    ],
    ['one that is taken back', () => deployed.call('Coin', 'approve', [BOB, 0n]), 'Revoke what 0x0000…0B0b may spend of COIN'],
    ['an approval of a collectible', () => deployed.call('Card', 'approve', [BOB, 7n]), 'Approve 0x0000…0B0b to take #7 of CARD'],
    ['an approval of all', () => deployed.call('Card', 'setApprovalForAll', [BOB, true]), 'Approve 0x0000…0B0b to take all of CARD'],
    [
      'a collectible',
      () => deployed.call('Card', 'transferFrom', [second, BOB, 7n]),
      /^Send #7 of CARD of your account 2 \(.*\) to 0x0000…0B0b$/,
    ],
    [
      'some of a kind',
      () => deployed.call('Thing', 'safeTransferFrom', [second, BOB, 3n, 4n, '0x']),
      /^Send 4 × #3 of 0x.* to 0x0000…0B0b$/,
    ],
    ['wrapping', () => raw(WETH, encode('deposit'), 10n ** 18n), 'Deposit 1 ETH for WETH'],
    ['unwrapping', () => raw(WETH, encode('withdraw', 10n ** 17n)), 'Withdraw 0.1 WETH'],
    [
      'Multicall3',
      () => raw(MULTICALL, encode('aggregate3', [{ target: WETH, allowFailure: false, callData: '0x' }])),
      'Do 1 call through Multicall3 (0xcA11…CA11)',
    ],
    [
      'Permit2',
      () => raw(PERMIT2, encode('approve', deployed.at.Coin, BOB, 2n ** 160n - 1n, 2 ** 40)),
      'Approve 0x0000…0B0b to spend any amount of COIN through Permit2',
    ],
    [
      'an entry point',
      () => raw(ENTRY_POINT, encode('depositTo', second), 10n ** 16n),
      /^Deposit 0.01 ETH at EntryPoint 0.8 \(0x4337…f108\) for your account 2/,
    ],
    [
      'a swap',
      () => raw(BOB, encode('swapExactETHForTokens', 2_000_000n, [WETH, deployed.at.Coin], account, 0n), 10n ** 18n),
      'Swap 1 ETH for at least 2 COIN',
    ],
    [
      'a swap for another account',
      () => raw(BOB, encode('swapExactETHForTokens', 2_000_000n, [WETH, deployed.at.Coin], WETH, 0n), 10n ** 18n),
      'Swap 1 ETH for at least 2 COIN, sent to WETH9 (0x4200…0006)',
    ],
    [
      'a swap for ether',
      () => raw(BOB, encode('swapTokensForExactETH', 10n ** 18n, 3_000_000n, [deployed.at.Coin, WETH], second, 0n)),
      /^Swap at most 3 COIN for 1 ETH, sent to your account 2 \(0x7099…79C8\)$/,
    ],
    [
      'a single swap',
      () =>
        raw(
          BOB,
          encode('exactInputSingle', {
            tokenIn: WETH,
            tokenOut: deployed.at.Coin,
            fee: 500,
            recipient: '0x0000000000000000000000000000000000000001', // the sender
            amountIn: 10n ** 18n,
            amountOutMinimum: 5n,
            sqrtPriceLimitX96: 0n,
          }),
        ),
      'Swap 1 WETH for at least 0.000005 COIN',
    ],
    ['an owner', () => raw(BOB, encode('transferOwnership', second)), /^Make your account 2 .* the owner of 0x0000…0B0b$/],
    ['a proxy', () => raw(BOB, encode('upgradeTo', WETH)), 'Change the code of 0x0000…0B0b to that of WETH9 (0x4200…0006)'],
    [
      'our own account contract',
      () => raw(second, Hex.fromBytes(encodeExecute([send(BOB, 1n)]))),
      /^Do a batch of calls as your account 2/,
    ],
    ['a known name', () => raw(BOB, encode('claim'), 5n), 'Call claim of 0x0000…0B0b and send 0.000000000000000005 ETH'],
  ])('puts %s into words', async (_, call, words) => {
    expect(await summary(call())).toEqual(words instanceof RegExp ? expect.stringMatching(words) : words)
  })

  it('names the account contract', async () => {
    expect((await one(raw(DELEGATE.address, '0x12345678'))).label).toBe('PocketAccount')
  })

  it('makes invisible characters visible, and ignores 2^200 decimals', async () => {
    const view = await one(deployed.call('Coin', 'transfer', [BOB, 1n]))
    const liar = await one({ ...deployed.call('Coin', 'transfer', [BOB, 1n]), to: deployed.at.Liar })
    expect(view.label).toBe('token COIN')
    expect(liar.label).toBe('token USDC\\u{202e}\\u{a}\\u{200b}')
    expect(liar.summary).toBe('Send 1 units of USDC\\u{202e}\\u{a}\\u{200b} to 0x0000…0B0b')
  })

  describe('of hostile data', () => {
    const misleading: readonly [string, ViemHex][] = [
      ['cut off', encode('transferOwnership', BOB).slice(0, 40) as ViemHex],
      ['offsets out of it', `${encode('multicall', []).slice(0, 10)}${'f'.repeat(64)}` as ViemHex],
      ['a length without end', `${encode('multicall', []).slice(0, 10)}${word(32n)}${'f'.repeat(64)}` as ViemHex],
      ['a list that is not there', `${encode('multicall', []).slice(0, 10)}${word(32n)}${word(4_000_000_000n)}` as ViemHex],
    ]
    it.each(misleading)('%s, it gives no description', async (_, data) => {
      expect(await one(raw(BOB, data))).toMatchObject({ data, signature: null, args: null, summary: null })
    })

    it('many items at one offset, it returns at once', async () => {
      const places = 250
      const body = encodeAbiParameters(parseAbiParameters('bytes'), [`0x${'61'.repeat(7_000)}`]).slice(2 + 64)
      const data =
        `${encode('multicall', []).slice(0, 10)}${word(32n)}${word(BigInt(places))}${word(BigInt(places * 32)).repeat(places)}${body}` as ViemHex
      const started = performance.now()
      const view = await one(raw(BOB, data))
      expect(performance.now() - started).toBeLessThan(1_000)
      expect(view.summary).toBe('Do 250 calls through 0x0000…0B0b')
      expect(view.args?.[0]?.value.length).toBeLessThan(1_100)
    })

    it('longer than the limit, it is not decoded', async () => {
      const data = encode('multicall', [`0x${'61'.repeat(20_000)}`])
      expect(await one(raw(BOB, data))).toMatchObject({ data, signature: null })
    })

    it('a selector with any number of other bytes, it never throws', async () => {
      const selectors = [
        'a9059cbb',
        '095ea7b3',
        '82ad56cb',
        '765e827f',
        '1fad948c',
        '3593564c',
        'e9ae5c53',
        '30f28b7a',
        '2b67b570',
        'ac9650d8',
        '414bf389',
      ]
      let seed = 7
      const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31)
      const calls = Array.from({ length: 300 }, (_, i) => {
        const bytes = Uint8Array.from({ length: random() % 700 }, () => (random() % 3 === 0 ? random() % 256 : 0))
        return raw(BOB, `0x${selectors[i % selectors.length] ?? ''}${Buffer.from(bytes).toString('hex')}`)
      })
      expect(await describeCalls(chain, account, calls, keyring)).toHaveLength(300)
    })
  })

  describe('with a node that', () => {
    const call = () => deployed.call('Coin', 'transfer', [BOB, 1_500_000n])
    const plain = { label: null, summary: null as string | null }

    it('lacks eth_simulateV1, reads one by one', async () => {
      const [view] = await describeCalls({ ...chain, rpc: without(node, 'eth_simulateV1') }, account, [call()], keyring)
      expect(view?.summary).toBe('Send 1.5 COIN to 0x0000…0B0b')
    })

    it.each([
      ['rejects', () => Promise.reject(new Error('socket hang up'))],
      ['answers nonsense', () => Promise.resolve({ no: 'block' })],
    ])('%s, goes without names', async (_, request) => {
      const [view] = await describeCalls({ ...chain, rpc: { ...node, request } }, account, [call()], keyring)
      expect(view).toMatchObject({ ...plain, summary: `Send 1,500,000 units of ${short(deployed.at.Coin)} to 0x0000…0B0b` })
    })

    it('never responds, ends at the timeout', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout'] })
      onTestFinished(() => void vi.useRealTimers())
      const silent: Rpc = { request: () => new Promise(() => {}), subscribe: node.subscribe }
      const sent = describeCalls({ ...chain, rpc: silent }, account, [call()], keyring)
      await vi.advanceTimersByTimeAsync(2_000)
      expect((await sent)[0]?.label).toBeNull()
    })
  })
})

function short(address: Address): string {
  const text = Address.checksum(address)
  return `${text.slice(0, 6)}…${text.slice(-4)}`
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}
