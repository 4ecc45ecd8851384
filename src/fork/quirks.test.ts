import { describe, expect, it } from 'vitest'
import { QUIRKS, verdictOf } from './quirks.ts'
import type { Fault, Verdict } from './quirks.ts'

const rpc = (code: number, message: string): Fault => ({ status: 200, code, message, isForBatch: false })
const http = (status: number): Fault => ({ status, code: null, message: null, isForBatch: false })
const ofBatch = (fault: Fault): Fault => ({ ...fault, isForBatch: true })

/** Answers that providers gave, one or more per row of the table. */
const ANSWERS: readonly (readonly [Verdict, Fault])[] = [
  ['refused', rpc(3, 'execution reverted: too many requests')],
  ['refused', rpc(-32000, 'execution reverted: batch too large')],
  ['refused', rpc(-32603, 'VM Exception while processing transaction: revert')],
  ['refused', rpc(-32005, 'query returned more than 10000 results')],
  ['refused', rpc(-32600, 'You can make eth_getLogs requests with up to a 10 block range.')],
  ['rate-limit', http(429)],
  ['rate-limit', ofBatch(http(429))],
  ['batch-size', ofBatch(http(413))],
  ['batch-size', ofBatch(rpc(-32600, 'batch too large'))],
  ['batch-size', ofBatch(rpc(-32014, 'over 50 calls in one batch: maximum is 50 in one request'))],
  ['batch-size', rpc(-32003, 'response too large')],
  ['batch', ofBatch(rpc(-32000, 'Batch requests are not supported'))],
  ['pruned', rpc(-32000, 'missing trie node 5e1c (path ) state 0x5e1c is not available')],
  ['pruned', rpc(-32000, 'header not found')],
  ['pruned', rpc(-32000, 'old data not available due to pruning')],
  ['pruned', rpc(-32000, 'historical state 0x12 is not available')],
  ['pruned', rpc(-32001, 'block not found: 0x12')],
  ['pruned', rpc(-32000, 'distance to target block exceeds maximum proof window')],
  ['pruned', rpc(4444, 'gone')],
  ['rate-limit', rpc(-32600, 'project ID request rate exceeded, rate limit reached')],
  ['rate-limit', rpc(-32000, 'Your app has exceeded its compute units per second capacity.')],
  ['rate-limit', rpc(429, 'slow down')],
  ['rate-limit', rpc(-32005, 'daily quota')],
  ['rate-limit', rpc(-32016, 'over')],
  ['rate-limit', rpc(-32007, '50/second')],
  ['unsupported', rpc(-32601, 'the method eth_getAccountInfo does not exist/is not available')],
  ['unsupported', rpc(-32004, 'no')],
  ['unsupported', rpc(-32600, 'Unsupported method: eth_getStorageValues on ETH_MAINNET')],
  ['unsupported', rpc(-32000, 'method is not whitelisted: the method is disabled')],
  ['block-hash', rpc(-32602, 'invalid params')],
  ['block-hash', rpc(-32000, 'json: cannot unmarshal object into Go value of type string')],
  ['batch', ofBatch(http(400))],
  ['batch', ofBatch(http(415))],
  ['retry', http(502)],
  ['retry', ofBatch(http(503))],
  ['retry', rpc(-32603, 'upstream connect error or disconnect')],
  ['retry', rpc(-32000, 'request timed out')],
  ['batch', ofBatch(rpc(-32700, 'parse error'))],
  ['refused', http(401)],
  ['refused', ofBatch(http(404))],
  ['refused', rpc(-32000, 'insufficient funds for gas * price + value')],
]

describe('the table of provider quirks', () => {
  it.each(ANSWERS)('gives %s for %o', (verdict, fault) => expect(verdictOf(fault)).toBe(verdict))

  it('has an answer for each row', () => {
    const used = new Set(ANSWERS.map(([, fault]) => QUIRKS.find((quirk) => matches(quirk, fault))))
    expect(QUIRKS.filter((quirk) => !used.has(quirk))).toEqual([])
  })
})

function matches({ status, codes, message, onlyForBatch }: (typeof QUIRKS)[number], fault: Fault): boolean {
  return (
    (onlyForBatch !== true || fault.isForBatch) &&
    (status?.(fault.status) ?? true) &&
    (codes?.includes(fault.code ?? NaN) ?? true) &&
    (message?.test(fault.message ?? '') ?? true)
  )
}
