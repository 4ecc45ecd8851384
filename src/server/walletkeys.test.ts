import { describe, expect, test } from 'vitest'
import { WALLET_LINKS, WALLET_SESSIONS } from './limits.ts'
import { WalletKeys, sessionCookie } from './walletkeys.ts'

const HOST = '127.0.0.1:8545'

function enter(keys: WalletKeys): string {
  return keys.redeem(keys.link().key) ?? ''
}

/** As a browser sends it back. */
function cookieOf(session: string, host = HOST): string {
  return sessionCookie(host, session, false).split(';')[0] ?? ''
}

describe('the keys of the wallet', () => {
  test('a link opens once, and links and browsers are bounded: the oldest end', () => {
    const keys = new WalletKeys()
    const { key } = keys.link()
    const first = keys.redeem(key) ?? ''
    expect(keys.redeem(key)).toBe(null)
    const { key: oldKey } = keys.link()
    for (let i = 0; i < WALLET_LINKS; i++) keys.link()
    expect(keys.redeem(oldKey)).toBe(null)
    expect(keys.hasSession({ host: HOST, cookie: cookieOf(first) })).toBe(true)
    for (let i = 0; i < WALLET_SESSIONS; i++) enter(keys)
    expect(keys.hasSession({ host: HOST, cookie: cookieOf(first) })).toBe(false)
  })

  test('a cookie is found among others, under the name of its own port alone', () => {
    const keys = new WalletKeys()
    const session = enter(keys)
    expect(keys.hasSession({ host: HOST, cookie: `theme=dark; ${cookieOf(session)}; a=b` })).toBe(true)
    expect(keys.hasSession({ host: HOST, cookie: cookieOf(session, '127.0.0.1:9999') })).toBe(false)
    for (const cookie of [undefined, '', ';', session, `=${session}`, `x${cookieOf(session)}`, `${cookieOf(session)}0`, cookieOf('')])
      expect(keys.hasSession({ host: HOST, ...(cookie === undefined ? {} : { cookie }) })).toBe(false)
  })

  test('a cookie of TLS has a name of its own, which no browser sends without TLS', () => {
    const keys = new WalletKeys()
    const session = enter(keys)
    const secure = sessionCookie(HOST, session, true)
    expect(secure).toBe(`__Secure-${sessionCookie(HOST, session, false)}; Secure`)
    expect(keys.hasSession({ host: HOST, cookie: secure.split(';')[0] ?? '' })).toBe(true)
    expect(sessionCookie('localhost', session, true)).toContain('_443=')
    expect(sessionCookie('localhost', session, false)).toContain('_80=')
  })

  test('a session takes the page secret of its own link, from a page of the server itself', () => {
    const keys = new WalletKeys()
    const [link, other] = [keys.link(), keys.link()]
    const cookie = cookieOf(keys.redeem(link.key) ?? '')
    const otherCookie = cookieOf(keys.redeem(other.key) ?? '')
    const own = { host: HOST, origin: `http://${HOST}` }
    const page = (secret: string) => ({ 'x-pocketchain-page': secret })
    expect(keys.isControl({ ...own, cookie, ...page(link.secret) })).toBe(true)
    expect(keys.isControl({ ...own, cookie }, link.secret)).toBe(true)
    expect(keys.isControl({ ...own, cookie: `${otherCookie}; ${cookie}`, ...page(link.secret) })).toBe(true)
    for (const headers of [
      { ...own, cookie },
      { ...own, cookie, ...page('') },
      { ...own, cookie, ...page(other.secret) },
      { ...own, cookie, ...page(link.key) },
      { ...own, cookie, 'x-pocketchain-page': [link.secret] },
      { ...own, ...page(link.secret) },
      { host: HOST, cookie, ...page(link.secret) },
      { host: HOST, origin: 'http://127.0.0.1:3000', cookie, ...page(link.secret) },
    ])
      expect(keys.isControl(headers)).toBe(false)
    expect(keys.isControl({ authorization: `Bearer ${keys.controlToken}` })).toBe(true)
  })

  test('a session is no token, a token no session, and neither is a link', () => {
    const keys = new WalletKeys()
    const session = enter(keys)
    expect(keys.isToken(session)).toBe(false)
    expect(keys.hasSession({ host: HOST, cookie: cookieOf(keys.controlToken) })).toBe(false)
    expect(keys.redeem(keys.controlToken)).toBe(null)
    expect(keys.redeem(session)).toBe(null)
    expect(keys.isToken(keys.controlToken)).toBe(true)
  })

  test('two servers have nothing in common', () => {
    const [one, other] = [new WalletKeys(), new WalletKeys()]
    expect(one.isToken(other.controlToken)).toBe(false)
    expect(one.redeem(other.link().key)).toBe(null)
  })
})
