import { describe, expect, test } from 'vitest'
import { acceptedCoding, codingFor } from './coding.ts'

const FETCH = 'gzip, deflate'

describe('the coding that a request accepts', () => {
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
    expect(acceptedCoding(accepted === undefined ? {} : { 'accept-encoding': accepted }).coding).toBe(coding)
  })
})

describe('the default header of an HTTP library', () => {
  test.each(['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'])('is ignored on loopback: %s', (peer) => {
    for (const header of [FETCH, 'gzip, deflate, br', 'gzip, deflate, br, zstd']) {
      expect(codingFor(acceptedCoding({ 'accept-encoding': header }), peer)).toBeNull()
    }
  })

  test.each(['192.168.0.7', '10.0.0.1', 'fe80::1', '::ffff:172.17.0.2', undefined])('counts from other addresses: %s', (peer) => {
    expect(codingFor(acceptedCoding({ 'accept-encoding': FETCH }), peer)).toBe('gzip')
  })

  test.each(['x-forwarded-for', 'forwarded', 'via'])('counts through a proxy on loopback: %s', (name) => {
    expect(codingFor(acceptedCoding({ 'accept-encoding': FETCH, [name]: '192.0.2.1' }), '127.0.0.1')).toBe('gzip')
  })

  test.each(['gzip', 'br', 'gzip,deflate', 'deflate, gzip, br, zstd'])('differs from an explicit one: %s', (header) => {
    expect(codingFor(acceptedCoding({ 'accept-encoding': header }), '127.0.0.1')).not.toBeNull()
  })
})
