import { describe, expect, test } from 'vitest'
import * as Der from './der.ts'

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

describe('DER', () => {
  test.each([
    ['00', '020100'],
    ['7f', '02017f'],
    ['80', '02020080'],
    ['0000ff', '020200ff'],
    ['0100', '02020100'],
    ['', '020100'],
  ])('the integer %s', (magnitude, wanted) => {
    expect(hex(Der.integer(Buffer.from(magnitude, 'hex')))).toBe(wanted)
  })

  test.each([
    ['2.5.4.3', '0603550403'],
    ['1.2.840.10045.4.3.2', '06082a8648ce3d040302'],
    ['1.3.6.1.5.5.7.3.1', '06082b06010505070301'],
    ['2.5.29.30', '0603551d1e'],
  ])('the object identifier %s', (dotted, wanted) => {
    expect(hex(Der.objectId(dotted))).toBe(wanted)
  })

  test.each([
    [0, '0400'],
    [127, '047f'],
    [128, '048180'],
    [255, '0481ff'],
    [256, '04820100'],
    [65_536, '0483010000'],
  ])('a length of %i', (length, wanted) => {
    const written = Der.octets(new Uint8Array(length))
    expect([hex(written.subarray(0, wanted.length / 2)), written.length]).toEqual([wanted, wanted.length / 2 + length])
  })

  test.each([
    [Date.UTC(2026, 10, 22, 1, 2, 3), '170d', '261122010203Z'],
    [Date.UTC(2049, 11, 31, 23, 59, 59), '170d', '491231235959Z'],
    [Date.UTC(2050, 0, 1), '180f', '20500101000000Z'],
  ])('the time %i', (unixMs, head, digits) => {
    expect(hex(Der.time(unixMs))).toBe(head + hex(Buffer.from(digits)))
  })

  test('what is made of several', () => {
    expect(hex(Der.sequence(Der.booleanTrue(), Der.smallInteger(0)))).toBe('30060101ff020100')
    expect(hex(Der.setOf(Der.utf8('é')))).toBe('31040c02c3a9')
    expect(hex(Der.bits(Uint8Array.of(0x06), 1))).toBe('03020106')
    expect(hex(Der.tagged(3, Der.sequence()))).toBe('a3023000')
    expect(hex(Der.taggedBytes(2, Buffer.from('a')))).toBe('820161')
  })
})
