import { describe, expect, it } from 'vitest'
import { RpcError } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import { logFilter, logQuery } from './logfilter.ts'

const ADDRESS = '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const HASH = `0x${'aB'.repeat(32)}`

describe('a filter rejects', () => {
  it.each<[string, Schema<unknown>, unknown, RegExp]>([
    ['five topics', logQuery, { topics: [null, null, null, null, null] }, /exceed max topics/],
    ['too many addresses', logQuery, { address: new Array(1001).fill(ADDRESS) }, /1001 items, at most 1000/],
    ['too many alternatives', logFilter, { topics: [new Array(1001).fill(HASH)] }, /1001 items, at most 1000/],
  ])('%s', (_, reader, value, reason) => {
    const parse = () => reader.parse(value, 'argument 3 (it)')
    expect(parse).toThrow(RpcError)
    expect(parse).toThrow(reason)
    expect(parse).toThrow(/^invalid argument 3 \(it\)/)
  })
})

describe('filters', () => {
  it('empty positions, null among alternatives and empty lists match anything', () => {
    const { filter } = logQuery.parse({ address: [], topics: [null, [], HASH, [HASH, null]] }, 'filter')
    expect(filter).toEqual({ addresses: null, topics: [null, null, new Set([HASH.toLowerCase()]), null] })
  })

  it('null equals an absent condition', () => {
    expect(logQuery.parse({ address: null, topics: null, fromBlock: null }, 'filter')).toEqual(logQuery.parse({}, 'filter'))
  })
})
