import { describe, expect, test } from 'vitest'
import { WALLET_LINKS, WALLET_SESSIONS } from '../limits.ts'
import { ControlKeys, sessionCookie } from './controlkeys.ts'

const HOST = '127.0.0.1:8545'

function openSession(keys: ControlKeys): string {
  return keys.redeem(keys.link().key) ?? ''
}

/** Returns the Cookie header that a browser sends. */
function cookieOf(session: string, host = HOST): string {
  return sessionCookie(host, session, false).split(';')[0] ?? ''
}

describe('ControlKeys', () => {
  test('a link is redeemed once, and beyond the limits the oldest link or session is dropped', () => {
    const keys = new ControlKeys()
    const { key } = keys.link()
    const first = keys.redeem(key) ?? ''
    expect(keys.redeem(key)).toBe(null)
    const { key: oldKey } = keys.link()
    for (let i = 0; i < WALLET_LINKS; i++) keys.link()
    expect(keys.redeem(oldKey)).toBe(null)
    expect(keys.hasSession({ host: HOST, cookie: cookieOf(first) })).toBe(true)
    for (let i = 0; i < WALLET_SESSIONS; i++) openSession(keys)
    expect(keys.hasSession({ host: HOST, cookie: cookieOf(first) })).toBe(false)
  })

  test('a cookie is found among others, under the name of its port only', () => {
    const keys = new ControlKeys()
    const session = openSession(keys)
    expect(keys.hasSession({ host: HOST, cookie: `theme=dark; ${cookieOf(session)}; a=b` })).toBe(true)
    expect(keys.hasSession({ host: HOST, cookie: cookieOf(session, '127.0.0.1:9999') })).toBe(false)
    for (const cookie of [undefined, '', ';', session, `=${session}`, `x${cookieOf(session)}`, `${cookieOf(session)}0`, cookieOf('')])
      expect(keys.hasSession({ host: HOST, ...(cookie === undefined ? {} : { cookie }) })).toBe(false)
  })

  test('a cookie set over TLS has the __Secure- prefix, which browsers do not send without TLS', () => {
    const keys = new ControlKeys()
    const session = openSession(keys)
    const secure = sessionCookie(HOST, session, true)
    expect(secure).toBe(`__Secure-${sessionCookie(HOST, session, false)}; Secure`)
    expect(keys.hasSession({ host: HOST, cookie: secure.split(';')[0] ?? '' })).toBe(true)
    expect(sessionCookie('localhost', session, true)).toContain('_443=')
    expect(sessionCookie('localhost', session, false)).toContain('_80=')
  })

  test('a session requires the page secret of its own link, from a page of the server', () => {
    const keys = new ControlKeys()
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

  test('a session is not a token, a token is not a session, and neither is a link key', () => {
    const keys = new ControlKeys()
    const session = openSession(keys)
    expect(keys.isToken(session)).toBe(false)
    expect(keys.hasSession({ host: HOST, cookie: cookieOf(keys.controlToken) })).toBe(false)
    expect(keys.redeem(keys.controlToken)).toBe(null)
    expect(keys.redeem(session)).toBe(null)
    expect(keys.isToken(keys.controlToken)).toBe(true)
  })

  test('two servers share no credentials', () => {
    const [one, other] = [new ControlKeys(), new ControlKeys()]
    expect(one.isToken(other.controlToken)).toBe(false)
    expect(one.redeem(other.link().key)).toBe(null)
  })
})
