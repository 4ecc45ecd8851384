import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PublicAddress } from './publicaddress.ts'

const isPublic = (text: string): boolean => PublicAddress.isPublic(PublicAddress.parse(text) ?? expect.fail(`${text} was not read`))

describe('addresses that are not public', () => {
  it.each([
    ['this host', '0.0.0.0'],
    ['loopback', '127.0.0.1'],
    ['all of loopback', '127.255.255.254'],
    ['private', '10.1.2.3'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['metadata of AWS, Google, Azure', '169.254.169.254'],
    ['metadata of Alibaba, carrier-grade NAT', '100.100.100.200'],
    ['metadata of Oracle', '192.0.0.192'],
    ['wire server of Azure', '168.63.129.16'],
    ['benchmarks', '198.19.0.1'],
    ['documentation', '203.0.113.9'],
    ['multicast', '224.0.0.1'],
    ['reserved', '250.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['loopback, mapped', '::ffff:127.0.0.1'],
    ['private, mapped', '::ffff:0a00:0001'],
    ['loopback, compatible', '::127.0.0.1'],
    ['private behind NAT64', '64:ff9b::10.0.0.1'],
    ['local NAT64', '64:ff9b:1::8.8.8.8'],
    ['unique local', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['6to4, which carries an address', '2002:7f00:1::'],
    ['Teredo, which carries an address', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
  ])('%s: %s', (_, text) => expect(isPublic(text)).toBe(false))
})

it.each([
  '1.1.1.1',
  '8.8.8.8',
  '172.15.255.255',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '223.255.255.255',
  '2606:4700::1111',
  '2a00:1450:4001::200e',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
])('%s belongs to the internet', (text) => expect(isPublic(text)).toBe(true))

it('loopback is 127.0.0.0/8, ::1 and the former in the latter', () => {
  const found = ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '128.0.0.1', '10.0.0.1', '::2', '::127.0.0.1'].map((text) =>
    PublicAddress.isLoopback(PublicAddress.parse(text) as bigint),
  )
  expect(found).toEqual([true, true, true, true, false, false, false, false])
})

it.each([
  '',
  'localhost',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  '01.2.3.4',
  '1.2.3.4/8',
  ':',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '12345::',
  'g::',
  '1.2.3.4::',
  '::1.2.3',
])('%j is no address', (text) => expect(PublicAddress.parse(text)).toBeNull())

it('parses the same texts as the platform', () => {
  const group = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((n) => n.toString(16)),
    fc.constantFrom('', '0', 'ffff', '1.2.3.4', '10000'),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(group, { maxLength: 9 }).map((groups) => groups.join(':')),
        fc.ipV4(),
        fc.ipV6(),
      ),
      (text) => {
        expect(PublicAddress.parse(text) !== null).toBe(isIP(text) !== 0)
      },
    ),
    { numRuns: 2_000 },
  )
})

it('parses the addresses of the resolver', async () => {
  for (const { address } of await lookup('localhost', { all: true }))
    expect(PublicAddress.isLoopback(PublicAddress.parse(address) as bigint)).toBe(true)
})
