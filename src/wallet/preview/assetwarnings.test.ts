import { createPocketchain } from 'pocketchain'
import type { Pocketchain } from 'pocketchain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Address } from '../../eth/index.ts'
import { Deployed, without } from '../batches/calls.fixture.ts'
import { embeddedChain } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { assetWarnings } from './assetwarnings.ts'

const WETH = Address.from('0x4200000000000000000000000000000000000006')

let node: Pocketchain
let chain: WalletChain
let at: Deployed['at']

beforeAll(async () => {
  node = await createPocketchain({ cadence: 'instant' })
  chain = embeddedChain(node)
  at = (await Deployed.on(node, node.accounts[0]?.address ?? Address.zero)).at
})
afterAll(() => node.close())

const ask = (address: Address, type: string, symbol: string | null, decimals: number | null, on = chain) =>
  assetWarnings(on, { type, address, symbol, decimals })
const codes = async (...sent: Parameters<typeof ask>) => (await ask(...sent)).map(({ code, level }) => `${level} ${code}`)

describe('assetWarnings', () => {
  it('gives no warning for a token whose contract matches the request', async () => {
    expect(await ask(at.Coin, 'ERC20', 'COIN', 6)).toEqual([])
    expect(await ask(at.Coin, 'ERC20', ' coin ', 6)).toEqual([])
    expect(await ask(at.Coin, 'ERC20', null, null)).toEqual([])
    expect(await ask(at.Card, 'ERC721', 'CARD', null)).toEqual([])
    expect(await ask(at.Card, 'ERC721', 'CARD', 0)).toEqual([])
    expect(await ask(at.Thing, 'ERC1155', 'THING', null)).toEqual([])
    expect(await ask(WETH, 'ERC20', 'WETH', 18)).toEqual([])
  })

  it("states the contract's values when the request differs", async () => {
    expect((await ask(WETH, 'ERC20', 'USDC', 6)).map(({ text }) => text)).toEqual([
      'The site calls this token USDC; the contract at 0x4200…0006 calls itself WETH.',
      'The site says 6 decimals, the contract at 0x4200…0006 has 18: amounts would look larger or smaller than they are.',
    ])
    expect((await ask(at.Card, 'ERC20', 'CARD', 18)).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^The site calls this a token of type ERC20; the contract at 0x.* answers as one of type ERC721\.$/),
      expect.stringMatching(/^The site says 18 decimals, the contract at 0x.* names none: /),
    ])
  })

  it.each(['СOIN', 'CO\u200bIN', 'COIN2', '', 'ＣＯＩＮ'])('distinguishes the symbol %j from COIN', async (symbol) => {
    expect(await codes(at.Coin, 'ERC20', symbol, 6)).toContain('caution asset-symbol')
  })

  it('warns of a symbol with letters of several alphabets, also if its contract has the same', async () => {
    const named = (symbol: string) => {
      const answer = `0x${(32).toString(16).padStart(64, '0')}${Buffer.byteLength(symbol).toString(16).padStart(64, '0')}${Buffer.from(symbol).toString('hex').padEnd(64, '0')}`
      const code = `0x7f${answer.slice(66, 130)}6020527f${answer.slice(130)}60405260205f5260605ff3` // returns the answer to each call
      return node.request({ method: 'anvil_setCode', params: [at.Taker, code] })
    }
    const before = await node.request({ method: 'eth_getCode', params: [at.Taker, 'latest'] })
    for (const [symbol, warned] of [
      ['UЅDC', ['caution asset-alphabets']],
      ['USDC', []],
      ['ЮАНЬ', []],
      ['元USD', []],
    ] as const) {
      await named(symbol)
      expect((await codes(at.Taker, 'ERC20', symbol, 32)).filter((code) => code !== 'caution asset-type')).toEqual(warned)
    }
    await node.request({ method: 'anvil_setCode', params: [at.Taker, before] })
  })

  it('distinguishes zero decimals from absent ones', async () => {
    expect(await codes(at.Coin, 'ERC20', 'COIN', 0)).toEqual(['caution asset-decimals'])
  })

  it('warns of contracts that are not tokens of that kind', async () => {
    expect(await codes(at.Taker, 'ERC20', 'USDC', 6)).toEqual(['caution asset-type', 'caution asset-symbol', 'caution asset-decimals'])
    expect(await codes(at.Taker, 'ERC1155', null, null)).toEqual(['caution asset-type'])
    expect(await codes(at.Coin, 'ERC721', 'COIN', null)).toEqual(['caution asset-type'])
    expect(await codes(at.Liar, 'ERC20', 'USDC', 6)).toEqual(['caution asset-type', 'caution asset-symbol', 'caution asset-decimals'])
  })

  it('warns of addresses without a contract', async () => {
    const [account] = node.accounts
    expect(await codes(Address.from(`0x${'ab'.repeat(20)}`), 'ERC20', 'USDC', 6)).toEqual(['caution asset-without-code'])
    expect(await codes(account?.address ?? Address.zero, 'ERC20', 'USDC', 6)).toEqual(['caution asset-without-code'])
    const delegated = Address.from(`0x${'7702'.repeat(10)}`)
    await node.request({ method: 'anvil_setCode', params: [delegated, `0xef0100${WETH.slice(2)}`] })
    expect(await codes(delegated, 'ERC20', 'WETH', 18)).toEqual(['caution asset-without-code'])
  })

  it('works without eth_simulateV1, and gives no warning if the node does not respond', async () => {
    const older = { ...chain, rpc: without(node, 'eth_simulateV1') }
    expect(await codes(WETH, 'ERC20', 'USDC', 18, older)).toEqual(['caution asset-symbol'])
    const gone = { ...chain, rpc: { ...node, request: () => Promise.reject(new Error('gone')) } }
    expect(await codes(WETH, 'ERC20', 'USDC', 6, gone)).toEqual([])
    const odd = { ...chain, rpc: { ...node, request: () => Promise.resolve({}) } }
    expect(await codes(WETH, 'ERC20', 'USDC', 6, odd)).toEqual([])
  })
})
