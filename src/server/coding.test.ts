import { describe, expect, test } from 'vitest'
import { askOf, codingFor } from './coding.ts'

const FETCH = 'gzip, deflate'

describe('what is asked for', () => {
  test.each([
    [undefined, null],
    ['', null],
    ['identity', null],
    ['deflate', null],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['br', 'br'],
    ['gzip, br', 'br'],
    ['deflate, gzip, br, zstd', 'br'],
    ['gzip;q=1.0, br;q=0.9', 'gzip'],
    ['gzip; q=0.5 , br ;q=0.5', 'br'],
    ['gzip;q=0', null],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0.000, gzip;q=0.001', 'gzip'],
    ['identity;q=1, gzip;q=0.5', null],
    ['identity;q=0.5, gzip;q=0.6', 'gzip'],
    ['identity;q=0, gzip', 'gzip'],
    ['identity;q=0', null],
    ['*', 'br'],
    ['*;q=0', null],
    ['*, br;q=0', 'gzip'],
    ['gzip;q=0.1, *;q=0.5', 'br'],
    ['br;q=2', null],
    ['br;q=-1, gzip', 'gzip'],
    ['br;q=high, gzip;q=0.1', 'gzip'],
    ['br;level=9', null],
    [', ,gzip,', 'gzip'],
    ['__proto__, constructor', null],
  ])('%j: %s', (accepted, coding) => {
    expect(askOf(accepted === undefined ? {} : { 'accept-encoding': accepted }).coding).toBe(coding)
  })
})

describe('what libraries ask for by themselves', () => {
  test.each(['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'])('is not meant on this machine: %s', (peer) => {
    for (const habit of [FETCH, 'gzip, deflate, br', 'gzip, deflate, br, zstd']) {
      expect(codingFor(askOf({ 'accept-encoding': habit }), { remoteAddress: peer })).toBeNull()
    }
  })

  test.each(['192.168.0.7', '10.0.0.1', 'fe80::1', '::ffff:172.17.0.2', undefined])('is meant from elsewhere: %s', (peer) => {
    expect(codingFor(askOf({ 'accept-encoding': FETCH }), { remoteAddress: peer })).toBe('gzip')
  })

  test.each(['x-forwarded-for', 'forwarded', 'via'])('is meant through a proxy on this machine: %s', (name) => {
    expect(codingFor(askOf({ 'accept-encoding': FETCH, [name]: '192.0.2.1' }), { remoteAddress: '127.0.0.1' })).toBe('gzip')
  })

  test.each(['gzip', 'br', 'gzip,deflate', 'deflate, gzip, br, zstd'])('is not what others say: %s', (asked) => {
    expect(codingFor(askOf({ 'accept-encoding': asked }), { remoteAddress: '127.0.0.1' })).not.toBeNull()
  })
})
