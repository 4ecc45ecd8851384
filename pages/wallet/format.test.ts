import { describe, expect, it, test } from 'vitest'
import type { TokenLabel } from '../../src/wallet/question.ts'
import {
  ago,
  checksummed,
  truncated,
  lineCount,
  textSegments,
  readable,
  reasonText,
  rounded,
  shortened,
  signed,
  site,
  tokenAmount,
  units,
  visible,
} from './format.ts'

describe('amounts', () => {
  test('have all significant digits and no others', () => {
    expect(units(1_500_000_000_000_000_000n, 18)).toBe('1.5')
    expect(units(1n, 18)).toBe('0.000000000000000001')
    expect(units(0n, 18)).toBe('0')
    expect(units(1_234_567_890_000n, 6)).toBe('1,234,567.89')
    expect(units(1_234_567n, 0)).toBe('1,234,567')
    expect(units(2n ** 256n - 1n, 18)).toBe(
      '115,792,089,237,316,195,423,570,985,008,687,907,853,269,984,665,640,564,039,457.584007913129639935',
    )
  })

  test('of estimates are rounded up', () => {
    expect(rounded(21_000_147_000_000n, 18)).toBe('0.00002101')
    expect(rounded(2_100n, 18)).toBe('0.0000000000000021')
    expect(rounded(123_456_789_000_000_000_000_000n, 18)).toBe('123,457')
    expect(rounded(0n, 18)).toBe('0')
  })

  test('for reading have six digits, and say when they are rounded', () => {
    expect(readable(1_500_000_000_000_000_000n, 18)).toBe('1.5')
    expect(readable(1_234_567_890_123_456_789n, 18)).toBe('≈ 1.23457')
    expect(readable(42_000_294_000_123n, 18)).toBe('≈ 0.0000420003')
    expect(readable(-1_234_567_890_123_456_789n, 18)).toBe('≈ −1.23457')
    expect(readable(123_456_789_500_000n, 6)).toBe('≈ 123,456,790')
    expect(readable(123_456_789_000_000n, 6)).toBe('123,456,789')
    expect(readable(1n, 18)).toBe('0.000000000000000001')
    expect(readable(1_234_567n, 0)).toBe('1,234,567')
  })

  test('in lists are truncated', () => {
    expect(truncated(9_999_999_999_999_999_999_993n, 18)).toBe('9,999.999999')
    expect(truncated(1n, 18)).toBe('0')
    expect(truncated(1_234_567n, 6)).toBe('1.234567')
    expect(truncated(12n, 2)).toBe('0.12')
  })

  test('of a token have its symbol, and the word units if its decimals are unknown', () => {
    const address = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8' as TokenLabel['address'] // 20 bytes
    expect(tokenAmount(1_500_000n, { address, symbol: 'USDC', decimals: 6 })).toBe('1.5 USDC')
    expect(tokenAmount(1_500_000n, { address, symbol: 'USDC', decimals: null })).toBe('1,500,000 units of USDC')
    expect(tokenAmount(1_500_000n, { address, symbol: null, decimals: null })).toBe('1,500,000 units of 0x7099…79C8')
    expect(tokenAmount(1_500_000n, { address, symbol: 'US\u202EDC', decimals: 6 })).toBe('1.5 US⟨U+202E⟩DC')
  })

  test('show their direction', () => {
    expect(signed('1500000', 6)).toBe('+1.5')
    expect(signed('-1500000', 6)).toBe('−1.5')
    expect(signed('-3', null)).toBe('−3')
  })
})

test('addresses carry the checksum of EIP-55', () => {
  for (const address of [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
    '0x52908400098527886E0F7030069857D2E4169EE7',
    '0xde709f2102306220921060314715629080e2fb77',
  ]) {
    expect(checksummed(address.toLowerCase())).toBe(address)
  }
  expect(shortened('0x70997970C51812dc3A010C7d01b50e0d17dc79C8')).toBe('0x7099…79C8')
  expect(shortened('0x1234')).toBe('0x1234')
})

test('a text shows invisible and bidirectional characters', () => {
  expect(visible('pay \u202Eecila\u202C')).toBe('pay ⟨U+202E⟩ecila⟨U+202C⟩')
  expect(visible('US\u200BDC\u0000\u{E0041}')).toBe('US⟨U+200B⟩DC⟨U+0000⟩⟨U+E0041⟩')
  expect(visible('US\u3164DC\ue000')).toBe('US⟨U+3164⟩DC⟨U+E000⟩')
  expect(visible('two\nlines\tand a tab, ключ, 鍵, 🔑')).toBe('two\nlines\tand a tab, ключ, 鍵, 🔑')
})

describe('textSegments', () => {
  const shown = (text: string) => textSegments(text).map(({ kind, text: part }) => (kind === 'gap' ? `[${part}]` : part))

  test('are one for ordinary text', () => {
    expect(shown('Sign in.\n\n\n\nNonce: 3f9c11')).toEqual(['Sign in.\n\n\n\nNonce: 3f9c11'])
    expect(shown(`{\n${' '.repeat(40)}"deep": true\n}`)).toEqual([`{\n${' '.repeat(40)}"deep": true\n}`])
    expect(shown('')).toEqual([])
  })

  test('show the text after a gap, and the size of the gap', () => {
    expect(shown(`${'\n'.repeat(200_000)}I owe`)).toEqual(['[⟨199,999 blank lines⟩]', 'I owe'])
    expect(shown(`Hi${' \r\n'.repeat(9)}I\u202E owe`)).toEqual(['Hi', '[⟨8 blank lines⟩]', 'I⟨U+202E⟩ owe'])
    expect(shown(`Hi${' '.repeat(1_000)}I owe`)).toEqual(['Hi', '[⟨1,000 spaces⟩]', 'I owe'])
    expect(shown(`Hi${'\u2800'.repeat(100)}`)).toEqual(['Hi', '[⟨100 characters that cannot be seen⟩]'])
    expect(shown(`Hi${'\u200B'.repeat(100)}I${'\n'.repeat(5)}owe`)).toEqual([
      'Hi',
      '[⟨100 characters that cannot be seen⟩]',
      'I',
      '[⟨4 blank lines⟩]',
      'owe',
    ])
  })

  test('lines are counted with any line end', () => expect(['', 'a\r\nb\rc\nd\u2028e'].map(lineCount)).toEqual([1, 5]))
})

describe('reasonText', () => {
  it.each([
    ['NotEnough(balance: 999, needed: 1000)', 'NotEnough(balance: 999, needed: 1,000)'],
    [
      'Call 2 would fail now: NotEnough(balance: 1000000, needed: 1000000000000000000).',
      'Call 2 would fail now: NotEnough(balance: 1,000,000, needed: 1,000,000,000,000,000,000).',
    ],
    [
      'Bad(sender: 0x7099797000000000000000000000000000000001, by: -1000)',
      'Bad(sender: 0x7099797000000000000000000000000000000001, by: -1,000)',
    ],
    ['Bad(list: [1000, 2000], of: { at: 3000, to: 4000 })', 'Bad(list: [1,000, 2,000], of: { at: 3,000, to: 4,000 })'],
    ['ERC721NonexistentToken(tokenId: 123456)', 'ERC721NonexistentToken(tokenId: 123456)'],
    ['Bad(first: 1000, second: 20…', 'Bad(first: 1,000, second: 20…'],
    ['Bad(why: paid 1000000, or more)', 'Bad(why: paid 1000000, or more)'],
    ['costs 1000000, not 2000000', 'costs 1000000, not 2000000'],
    ['no \u202E', 'no ⟨U+202E⟩'],
  ])('%s', (reason, shown) => expect(reasonText(reason)).toBe(shown))
})

test('a site is shown as its host, a program as none', () => {
  expect(site('https://app.example:8443')).toEqual({ name: 'app.example:8443', scheme: 'https' })
  expect(site('chrome-extension://abcdef')).toEqual({ name: 'abcdef', scheme: 'chrome-extension' })
  expect(site('local')).toEqual({ name: 'A program', scheme: null })
  expect(site('my test')).toEqual({ name: 'my test', scheme: null })
})

test('ages are rough', () => {
  expect(ago(0, 9_000)).toBe('just now')
  expect(ago(0, 10_000)).toBe('10 s ago')
  expect(ago(0, 59_999)).toBe('59 s ago')
  expect(ago(0, 61_000)).toBe('1 min ago')
  expect(ago(0, 7_200_000)).toBe('2 h ago')
  expect(ago(5_000, 0)).toBe('just now')
})
