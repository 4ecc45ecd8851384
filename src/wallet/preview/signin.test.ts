import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Address } from '../../eth/index.ts'
import { SIGN_IN_WARNINGS } from '../limits.ts'
import { signInWarnings } from './signin.ts'
import type { SignInContext } from './signin.ts'

const ALICE = Address.from('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
const CONTEXT: SignInContext = { origin: 'https://app.example', account: ALICE, chainId: 8453, now: Date.parse('2026-06-01T12:00:00Z') }

const MESSAGE = `app.example wants you to sign in with your Ethereum account:
${Address.checksum(ALICE)}

I accept the terms.

URI: https://app.example/login
Version: 1
Chain ID: 8453
Nonce: 32891756
Issued At: 2026-06-01T11:59:00Z
Expiration Time: 2026-06-01T13:00:00.000Z
Not Before: 2026-06-01T11:59:00+00:00
Request ID: 7
Resources:
- https://other.example/claim.json`

const codes = (text: string, context: Partial<SignInContext> = {}): readonly string[] =>
  signInWarnings(text, { ...CONTEXT, ...context }).map(({ code, level }) => `${level} ${code}`)
/** The message with a part of it changed. */
const changed = (from: string | RegExp, to: string): string => {
  expect(MESSAGE.search(from)).toBeGreaterThan(-1)
  return MESSAGE.replace(from, to)
}

describe('signInWarnings', () => {
  it('gives no warning for a message in the standard form, nor for other text', () => {
    expect(codes(MESSAGE)).toEqual([])
    expect(codes(`https://${MESSAGE}`)).toEqual([])
    expect(codes(MESSAGE.split('\n').slice(0, 2).join('\n'))).toEqual([])
    expect(codes('')).toEqual([])
    expect(codes('This app wants you to sign in with your wallet.\nURI: https://bank.example')).toEqual([])
  })

  it.each([
    ['another domain', changed('app.example', 'bank.example')],
    ['a domain below', changed('app.example', 'login.app.example')],
    ['a domain above', changed('app.example', 'example')],
    ['another port', changed('app.example', 'app.example:8443')],
    ['another scheme', `http://${MESSAGE}`],
    ['a user name before it', changed('app.example', 'app.example@bank.example')],
    ['look-alike letters', changed('app.example', 'аpp.example')],
    ['wide letters', changed('app.example', 'ａpp.example')],
    ['a character in it that is not seen', changed('app.example', 'app\u200b.example')],
  ])('warns of %s', (_, text) => expect(codes(text)).toContain('danger sign-in-domain'))

  const foreign = changed('app.example', 'bank.example').replace('https://app.example', 'https://bank.example')
  it.each([
    ['a line end before it', `\n${foreign}`],
    ['200 line ends before it', `${'\n'.repeat(200)}${foreign}`],
    ['line ends of Windows', foreign.replaceAll('\n', '\r\n')],
    ['line ends of old Macs', foreign.replaceAll('\n', '\r')],
    ['other line ends', foreign.replaceAll('\n', '\u2028')],
    ['a next line (U+0085)', `\u0085${foreign}`],
    ['spaces before it', `  \t${foreign}`],
    ['spaces that do not break', `\u00a0\u3000${foreign.replace(' wants', '\u00a0wants')}`],
    ['a byte order mark', `\ufeff${foreign}`],
    ['a greeting', `Welcome!\n${foreign}`],
    ['a greeting on the same line', `Welcome, ${foreign}`],
    ['another letter case', foreign.replace('wants you to sign in', 'WANTS YOU TO Sign In')],
    ['two spaces', foreign.replace('wants you', 'wants  you')],
    ['wide letters', foreign.replace('wants', 'ｗａｎｔｓ')],
    ['invisible characters between the letters', foreign.replace('wants', 'w\u200ban\u2060ts')],
    ['the good one before it', `${MESSAGE}\n\n${foreign}`],
    ['the good one behind it', `${foreign}\n\n${MESSAGE}`],
  ])('finds a foreign site behind %s', (_, text) => {
    expect(codes(text)).toContain('danger sign-in-domain')
    expect(codes(text)).toContain('caution sign-in-form')
  })

  it('warns of a message of the right site in a non-standard form', () => {
    for (const text of [
      `\n${MESSAGE}`,
      MESSAGE.replaceAll('\n', '\r\n'),
      ` ${MESSAGE}`,
      changed('sign in with your', 'sign\nin with your'),
    ]) {
      expect(codes(text)).toEqual(['caution sign-in-form'])
    }
  })

  it.each([
    'https://bank.example/login',
    'http://app.example/login',
    'https://app.example:8443',
    'https://app.example@bank.example',
    'https://bank.example@app.example',
    'https://bank.example\\@app.example',
    'https://app.example.bank.example',
    'app.example',
    'did:web:app.example',
    '',
  ])('warns of the address %s', (uri) => {
    expect(codes(changed(/URI: .*/, `URI: ${uri}`))).toEqual(['caution sign-in-uri'])
  })

  it.each(['https://app.example', 'https://APP.example/', 'https://app.example:443/a?b#c'])('accepts the uri %s', (uri) => {
    expect(codes(changed(/URI: .*/, `URI: ${uri}`))).toEqual([])
  })

  it.each(['1', '0x2105', '8453.0', '-8453', '', 'eight', '8453 1', '9'.repeat(99)])('warns of the chain %s', (chainId) => {
    expect(codes(changed(/Chain ID: .*/, `Chain ID: ${chainId}`))).toEqual(['caution sign-in-chain'])
  })

  it.each([
    [/Expiration Time: .*/, 'Expiration Time: 2026-06-01T12:00:00Z', 'sign-in-expired'],
    [/Expiration Time: .*/, 'Expiration Time: 2026-06-01T13:00:00+02:00', 'sign-in-expired'],
    [/Expiration Time: .*/, 'expiration time:1999-12-31T23:59:59z', 'sign-in-expired'],
    [/Expiration Time: .*/, 'Expiration Time: never', 'sign-in-time'],
    [/Expiration Time: .*/, 'Expiration Time: 1790000000', 'sign-in-time'],
    [/Expiration Time: .*/, 'Expiration Time: 2027-13-45T00:00:00Z', 'sign-in-time'],
    [/Not Before: .*/, 'Not Before: 2026-06-01T12:00:01Z', 'sign-in-not-yet'],
    [/Not Before: .*/, '\tNot Before :  9999-12-31T23:59:59Z', 'sign-in-not-yet'],
    [/Not Before: .*/, 'Not Before: tomorrow', 'sign-in-time'],
  ])('warns of the time of %s changed to %s', (from, to, code) => {
    expect(codes(changed(from, to))).toEqual([`caution ${code}`])
  })

  it('checks every field of a name at any position', () => {
    const twice = changed('I accept the terms.', 'Chain ID: 1\nURI: https://bank.example')
    expect(codes(twice)).toEqual(['caution sign-in-uri', 'caution sign-in-chain', 'caution sign-in-form'])
    const lines = MESSAGE.replace('Chain ID: 8453', 'Chain ID: 10').split('\n')
    expect(codes([...lines.slice(0, 5), ...lines.slice(5).toReversed()].join('\n'))).toEqual(['caution sign-in-chain'])
  })

  it('warns of another account, ignoring letter case', () => {
    expect(codes(changed(/0x.{40}/, `0x${'b0'.repeat(20)}`))).toEqual(['caution sign-in-account'])
    expect(codes(changed(/0x.{40}/, ALICE))).toEqual([])
    expect(codes(`\r\n${changed(/0x.{40}/, `0x${'b0'.repeat(20)}`)}`)).toEqual(['caution sign-in-account', 'caution sign-in-form'])
  })

  it('compares no sites for a program', () => {
    expect(codes(foreign, { origin: 'local' })).toEqual([])
    expect(codes(foreign, { origin: 'local', chainId: 1 })).toEqual(['caution sign-in-chain'])
  })

  it('quotes the message without invisible characters', () => {
    const [warning] = signInWarnings(`evil\u202e.example${MESSAGE.slice('app.example'.length)}`, CONTEXT)
    expect(warning?.text).toBe(
      'The message signs you in at evil\\u{202e}.example, but app.example asks for it. Anyone who has it can act as you there.',
    )
  })

  it('is fast and has limited output for any message', () => {
    const header = 'x.example wants you to sign in with your Ethereum account:\n'
    const long = [header.repeat(4_000), `${' '.repeat(250_000)}${header}`, `${'a'.repeat(250_000)}${header}`, `wants${' '.repeat(200_000)}`]
    const fields = `${header}${Array.from({ length: 9_000 }, (_, i) => `URI: https://${i}.example`).join('\n')}`
    const started = performance.now()
    for (const text of [...long, fields, 'wants you to '.repeat(20_000), `${header}${'\n'.repeat(250_000)}`]) {
      expect(signInWarnings(text, CONTEXT).length).toBeLessThanOrEqual(SIGN_IN_WARNINGS)
    }
    expect(performance.now() - started).toBeLessThan(5_000)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(600), (text, at) => void codes(MESSAGE.slice(0, at) + text + MESSAGE.slice(at))),
    )
  })
})
