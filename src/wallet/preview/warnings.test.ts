import { createPocketchain } from 'pocketchain'
import type { Pocketchain } from 'pocketchain'
import { encodeDeployData, encodeFunctionData, getContractAddress, maxUint256, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Address } from '../../eth/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import type { Call } from '../batches/call.ts'
import { Deployed, raw, send, without } from '../batches/calls.fixture.ts'
import { embeddedChain } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE } from '../delegate.ts'
import { contracts } from './contracts.fixture.ts'
import { describeCalls } from './describe.ts'
import { shortAddress } from './display.ts'
import { Keyring } from '../keys/keyring.ts'
import { previewCalls } from './preview.ts'
import { upgradeWarnings, warningsOf } from './warnings.ts'
import type { WarningInput } from './warnings.ts'

const WETH = Address.from('0x4200000000000000000000000000000000000006')
const PERMIT2 = Address.from('0x000000000022d473030f116ddee9f6b43ac78ba3')
const ENTRY_POINT = Address.from('0x4337084d9e255ff0702461cf8895ce9e3b5ff108')
const BOB = Address.from('0xb0b0000000000000000000000000000000000b0b')
const NO_FEE = { most: '0x0', sponsor: null } as const

const weth = parseAbi(['function deposit() payable'])

let node: Pocketchain
let chain: WalletChain
let keyring: Keyring
const router = parseAbi(['function swapExactTokensForTokens(uint256, uint256, address[], address, uint256)'])
let account: Address
let second: Address
let deployed: Deployed

beforeAll(async () => {
  node = await createPocketchain({ cadence: 'instant' })
  chain = embeddedChain(node)
  keyring = Keyring.of({ dev: node.accounts.map(({ privateKey }) => privateKey) })
  account = keyring.accounts[0]?.address ?? Address.zero
  second = keyring.accounts[1]?.address ?? Address.zero
  deployed = await Deployed.on(node, account)
})
afterAll(() => node.close())

async function warned(calls: readonly Call[], options: Partial<WarningInput> = {}) {
  const on = options.chain ?? chain
  const [preview, views] = await Promise.all([
    previewCalls(on, { from: account, calls, delegate: null }),
    describeCalls(on, account, calls, keyring),
  ])
  return warningsOf({ chain: on, account, calls, views, preview, fee: NO_FEE, keyring, ...options })
}

const codes = async (...args: Parameters<typeof warned>) => (await warned(...args)).map(({ code }) => code)

describe('warningsOf', () => {
  it('gives no warning for common calls', async () => {
    expect(await warned([send(BOB, 1n)])).toEqual([])
    expect(await warned([deployed.call('Coin', 'transfer', [BOB, 1n])])).toEqual([])
    expect(await warned([raw(WETH, encodeFunctionData({ abi: weth, functionName: 'deposit' }), 1n)])).toEqual([])
    expect(
      await warned([deployed.call('Coin', 'approve', [deployed.at.Taker, 5n]), deployed.call('Taker', 'take', [deployed.at.Coin, 5n])]),
    ).toEqual([])
  })

  it('warns of calls that fail', async () => {
    expect(await warned([send(BOB, 1n), deployed.call('Faults', 'text', ['not today'])])).toEqual([
      { code: 'simulation-reverts', level: 'danger', text: 'Call 2 would fail now: not today.' },
    ])
  })

  it("warns of a token that has the name of the chain's currency", async () => {
    const { abi, bytecode } = contracts().Coin
    const nonce = BigInt((await node.request({ method: 'eth_getTransactionCount', params: [account, 'pending'] })) as string)
    const data = encodeDeployData({ abi, bytecode, args: ['Ether', 'eth', 18] })
    await node.request({ method: 'eth_sendTransaction', params: [{ from: account, data }] })
    const fake = Address.from(getContractAddress({ from: account, nonce }))
    const calls = [{ ...deployed.call('Coin', 'transfer', [second, 5n]), to: fake }]
    const given = async () => (await warned(calls)).filter(({ code }) => code === 'token-named-currency')
    expect(await given()).toEqual([
      {
        code: 'token-named-currency',
        level: 'caution',
        text: `The token at ${Address.checksum(fake)} calls itself eth, as the currency of the chain; amounts with that name may be of the token.`,
      },
    ])
    expect(await codes([deployed.call('Coin', 'transfer', [second, 5n]), send(second, 1n)])).not.toContain('token-named-currency')
  })

  it('warns of a swap whose proceeds others receive', async () => {
    const swapTo = (recipient: Address) =>
      raw(deployed.at.Taker, encodeFunctionData({ abi: router, args: [1n, 1n, [WETH, deployed.at.Coin], recipient, 0n] }))
    const given = async (recipient: Address) => (await warned([swapTo(recipient)])).filter(({ code }) => code === 'swap-recipient')
    expect(await given(BOB)).toEqual([
      { code: 'swap-recipient', level: 'danger', text: `This swaps for somebody else: ${Address.checksum(BOB)} receives what it buys.` },
    ])
    for (const recipient of [account, second, deployed.at.Taker]) expect(await given(recipient)).toEqual([])
  })

  it("warns if the simulation is unavailable, and then reads the calls' arguments", async () => {
    const calls = [deployed.call('Coin', 'approve', [PERMIT2, maxUint256]), deployed.call('Card', 'setApprovalForAll', [BOB, true])]
    const plain = { ...chain, rpc: without(node, 'eth_simulateV1') }
    expect(await codes(calls, { chain: plain })).toEqual([
      'approval-for-all',
      'spender-without-code',
      'simulation-unavailable',
      'unlimited-allowance',
    ])
    expect(await codes([deployed.call('Card', 'setApprovalForAll', [BOB, false]), send(BOB, 1n)], { chain: plain })).toEqual([
      'simulation-unavailable',
    ])
  })

  it('needs a second confirmation if the calls prevent the simulation', async () => {
    const calls = [deployed.call('Liar', 'shower', [10_001n, BOB]), deployed.call('Coin', 'approve', [BOB, 5n])]
    expect(await warned(calls)).toMatchObject([
      { code: 'simulation-unavailable', level: 'danger' },
      { code: 'spender-without-code', level: 'danger' },
    ])
    expect(await codes([calls[0] ?? send(BOB, 0n), deployed.call('Coin', 'approve', [BOB, 0n])])).toEqual(['simulation-unavailable'])
  })

  it('warns of effects that are not shown', async () => {
    const ids = Array.from({ length: 60 }, (_, i) => BigInt(i + 100))
    const warnings = await warned([deployed.call('Thing', 'mintBatch', [account, ids, ids])])
    expect(warnings).toMatchObject([{ code: 'preview-cut', level: 'danger', text: expect.stringContaining('10 of its effects') }])
  })

  it("reads the calls' arguments also if effects are not shown", async () => {
    const calls = [deployed.call('Liar', 'allowances', [60n, 7n]), deployed.call('Coin', 'approve', [BOB, maxUint256])]
    const texts = (await warned(calls)).map(({ code, text }) => `${code} ${text}`)
    const coin = shortAddress(deployed.at.Coin)
    expect(texts).toContainEqual(expect.stringMatching(`^spender-without-code 0x.* could take the ${coin}`))
  })

  it('warns of an allowance that covers any supply', async () => {
    for (const amount of [2n ** 254n, 2n ** 128n]) {
      const [view] = await warned([deployed.call('Coin', 'approve', [PERMIT2, amount])])
      expect(view).toMatchObject({ code: 'unlimited-allowance', level: 'caution' })
    }
  })

  it('warns of unlimited allowances', async () => {
    expect(await warned([deployed.call('Coin', 'approve', [PERMIT2, maxUint256])])).toEqual([
      {
        code: 'unlimited-allowance',
        level: 'caution',
        text: 'Permit2 (0x0000…8BA3) may take all COIN that the account has and will ever have.',
      },
    ])
  })

  it('warns of allowances that the other calls do not need', async () => {
    const calls = [deployed.call('Coin', 'approve', [deployed.at.Taker, 5n]), send(second, 1n)]
    expect(await warned(calls)).toMatchObject([{ code: 'unused-allowance', level: 'danger' }])
  })

  it('warns of allowances for a whole collection, and for an account with a key', async () => {
    const [first, other] = await warned([deployed.call('Card', 'setApprovalForAll', [BOB, true])])
    expect([first, other]).toMatchObject([
      { code: 'approval-for-all', level: 'danger', text: expect.stringContaining('CARD') },
      { code: 'spender-without-code', level: 'danger' },
    ])
  })

  it.each([Address.zero, Address.from('0x000000000000000000000000000000000000dead')])('warns of assets burnt at %s', async (to) => {
    expect(await codes([send(to, 1n)])).toEqual(['burn-address'])
  })

  it('warns of tokens sent to a token contract', async () => {
    expect(await codes([deployed.call('Coin', 'transfer', [WETH, 1n])])).toEqual(['token-contract-recipient'])
    expect(await codes([deployed.call('Coin', 'transfer', [deployed.at.Coin, 1n])])).toEqual(['token-contract-recipient'])
    // Wrapping ether sends it to the contract.
    expect(await codes([send(WETH, 1n)])).toEqual([])
  })

  it('warns of call data for an address without code', async () => {
    expect(await warned([raw(BOB, '0x12345678', 1n)])).toMatchObject([
      { code: 'no-code-recipient', level: 'caution', text: expect.stringContaining('the ether would stay there') },
    ])
  })

  it('warns of new recipients, not of known ones, and of look-alikes', async () => {
    const forger = Address.from(`0xb0b0${'1'.repeat(32)}0b0b`)
    const like = Address.from(`${second.slice(0, 6)}${'0'.repeat(32)}${second.slice(-4)}`)
    expect(await codes([send(BOB, 1n)], { knownRecipients: [BOB] })).toEqual([])
    expect(await codes([send(BOB, 1n)], { knownRecipients: [] })).toEqual(['first-interaction'])
    expect(await codes([send(second, 1n), send(ENTRY_POINT, 1n)], { knownRecipients: [] })).toEqual([])
    expect(await codes([send(forger, 1n)], { knownRecipients: [BOB] })).toEqual(['address-poisoning'])
    expect(await codes([deployed.call('Coin', 'transfer', [like, 1n])])).toEqual(['address-poisoning'])
  })

  it('warns of an insufficient balance', async () => {
    const balance = BigInt((await node.request({ method: 'eth_getBalance', params: [account, 'pending'] })) as string)
    const all = [send(BOB, balance)]
    expect(await codes(all)).toEqual([])
    expect(await codes(all, { fee: { most: '0x1', sponsor: null } })).toEqual(['insufficient-balance'])
    expect(await codes(all, { fee: { most: '0x1', sponsor: { name: null, host: 'pays.example' } } })).toEqual([])
    expect(await codes([send(BOB, balance + 1n)])).toEqual(['simulation-reverts', 'insufficient-balance'])
  })

  it('warns of tokens that a sponsor takes, and of its allowances', async () => {
    const sponsor = { name: 'Kind', host: 'pays.example', paymaster: deployed.at.Taker }
    const options = { fee: { most: '0x0', sponsor } as const }
    expect(await warned([send(BOB, 1n)], options)).toEqual([])
    expect(await warned([send(BOB, 1n)], { ...options, taken: [deployed.at.Coin] })).toMatchObject([
      { code: 'sponsor-takes', level: 'danger', text: expect.stringMatching(/^The sponsor at pays\.example pays the fee and takes 0x/) },
    ])
    const allowing = [deployed.call('Coin', 'approve', [deployed.at.Taker, 5n])]
    const text = 'The sponsor at pays.example may take COIN from the account, now and later.'
    expect(await warned(allowing, options)).toContainEqual({ code: 'sponsor-allowance', level: 'danger', text })
    expect(await codes(allowing)).not.toContain('sponsor-allowance')
    const used = [...allowing, deployed.call('Taker', 'take', [deployed.at.Coin, 5n])]
    expect(await codes(used, options)).not.toContain('sponsor-allowance')
  })

  it('warns that a sponsor does not pay, with the reason', async () => {
    expect(await warned([send(BOB, 1n)], { sponsorFailure: 'pays.example refused it: no money left' })).toEqual([
      {
        code: 'sponsor-failed',
        level: 'caution',
        text: 'The sponsor does not pay, so the account does: pays.example refused it: no money left.',
      },
    ])
  })

  it('warns of calls to own accounts, and of contract creations', async () => {
    expect(await warned([raw(account, '0x12')])).toMatchObject([{ code: 'own-account-call', level: 'danger' }])
    expect(await warned([raw(second, '0x12')])).toMatchObject([
      { code: 'own-account-call', level: 'caution', text: expect.stringContaining('Account 2') },
    ])
    expect(await codes([send(account, 1n)])).toEqual([])
    expect(await codes([{ to: null, value: 0n, data: Uint8Array.of(0), gasLimitOverride: null }])).toEqual(['creates-contract'])
  })

  it('gives each warning once, up to the limit', async () => {
    const burns = Array.from({ length: 100 }, () => send(Address.zero, 1n))
    expect(await codes(burns)).toEqual(['burn-address'])
    const strangers = Array.from({ length: 100 }, (_, i) => send(Address.fromBigint((1n << 150n) + BigInt(i)), 1n))
    expect(await codes(strangers, { knownRecipients: [] })).toHaveLength(50)
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('gone'))],
    ['answers nonsense', () => Promise.resolve(7)],
  ])('returns the other warnings when the node %s', async (_, request) => {
    const broken = { ...chain, rpc: { ...node, request } as Rpc }
    expect(await codes([send(Address.zero, 1n)], { chain: broken })).toEqual(['burn-address', 'simulation-unavailable'])
  })

  it('ends at the timeout if the chain does not respond', async () => {
    const calls = [send(BOB, 1n)]
    const views = await describeCalls(chain, account, calls, keyring)
    const preview = await previewCalls(chain, { from: account, calls, delegate: null })
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const silent: Rpc = { request: () => new Promise(() => {}), subscribe: node.subscribe }
    const pendingRequest = warningsOf({ chain: { ...chain, rpc: silent }, account, calls, views, preview, fee: NO_FEE, keyring })
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await pendingRequest).toEqual([])
  })
})

describe('upgradeWarnings', () => {
  const other = Address.from('0x63c0c19a282a1b52b07dd5a65b58948a07dae32b')

  it("gives no warning for the wallet's own delegate", () => {
    expect(upgradeWarnings(DELEGATE.address, null)).toEqual([])
    expect(upgradeWarnings(DELEGATE.address, DELEGATE.address)).toEqual([])
  })

  it('warns of unknown code, and of replaced code', () => {
    expect(upgradeWarnings(BOB, null)).toMatchObject([{ code: 'unknown-delegate', level: 'danger' }])
    expect(upgradeWarnings(DELEGATE.address, other)).toMatchObject([{ code: 'replaces-delegate', level: 'caution' }])
  })
})
