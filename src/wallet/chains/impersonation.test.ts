import { describe, expect, it } from 'vitest'
import { impersonationWarnings } from './impersonation.ts'

const codes = (chainId: number, name: string, options: { symbol?: string; decimals?: number; url?: string } = {}) =>
  impersonationWarnings({
    chainId,
    name,
    nativeCurrency: { name: 'Coin', symbol: options.symbol ?? 'ETH', decimals: options.decimals ?? 18 },
    rpcUrls: [options.url ?? 'https://rpc.example'],
  }).map(({ code }) => code)

describe('impersonationWarnings', () => {
  it('gives no warning for the real chains', () => {
    expect(codes(31_337, 'Local')).toEqual([])
    expect(codes(1, 'Ethereum Mainnet')).toEqual([])
    expect(codes(8453, 'base')).toEqual([])
    expect(codes(10, 'Optimism')).toEqual([])
    expect(codes(777, 'Mainnet')).toEqual([])
  })

  it('warns of a name that belongs to another chain id', () => {
    for (const name of ['Base', 'BASE Mainnet', 'ethereum', 'Ｅthereum', 'Base\u3164', 'Ba\u1160se', 'Base\uffa0', 'Base\ufe0f'])
      expect(codes(777, name), name).toEqual(['well-known-name'])
  })

  it('warns of a chain id that belongs to another name', () => {
    expect(codes(8453, 'My chain of dreams')).toEqual(['well-known-id'])
  })

  it('warns of a different currency', () => {
    expect(codes(137, 'Polygon', { symbol: 'ETH' })).toEqual(['well-known-symbol'])
    expect(codes(777, 'Local', { decimals: 6 })).toEqual(['unusual-decimals'])
  })

  it.each([
    ['http://rpc.example', ['plain-http-rpc']],
    ['ws://10.0.0.5:8545', ['plain-http-rpc']],
    ['http://127.0.0.1:8545', []],
    ['http://localhost:8545', []],
    ['http://[::ffff:127.0.0.1]:8545', []],
    ['http://[::1]:8545', []],
    ['http://localhost.example', ['plain-http-rpc']],
    ['wss://rpc.example', []],
    ['no url', []],
  ])('detects unencrypted urls: %s', (url, expected) => {
    expect(codes(777, 'Local', { url })).toEqual(expected)
  })
})
