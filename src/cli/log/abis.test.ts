import { encodeErrorResult, encodeEventTopics, encodeFunctionData, parseAbi } from 'viem'
import type { Abi } from 'viem'
import { describe, expect, it } from 'vitest'
import { Hex } from '../../eth/index.ts'
import { AbiError, AbiTable, fragmentsOf } from './abis.ts'
import { argumentsText } from './values.ts'
import { reasonText } from './reason.ts'
import { LINE_CHARS } from './limits.ts'

const ALICE = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const ABI = parseAbi([
  'struct Item { address token; uint256[] ids; string note; }',
  'function buy(Item[] items, bytes4 kind, uint8) returns (bool ok)',
  'error Refused(Item item, int256 balance)',
  'error Named(string name)',
  'event Moved(address indexed from, string indexed name, uint256 amount, Item item)',
])
/** Without its types, for errors that are named by a variable. */
const UNTYPED: Abi = ABI
const item = { token: ALICE, ids: [1n, 2n], note: 'a\u001b' } as const

const tableOf = (abi: unknown) => {
  const table = new AbiTable()
  for (const fragment of fragmentsOf(abi) ?? []) table.add(fragment)
  return table
}

describe('a table of JSON ABIs decodes', () => {
  const table = tableOf({ abi: ABI })

  it('calls, with nested tuples and unnamed parameters', () => {
    const decoded = table.decode('function', encodeFunctionData({ abi: ABI, functionName: 'buy', args: [[item], '0x12345678', 5] }))
    expect(decoded?.fragment.signature).toBe('buy((address,uint256[],string)[],bytes4,uint8)')
    expect(argumentsText(decoded?.args ?? [])).toBe(`items: [{ token: ${ALICE}, ids: [1, 2], note: "a\\u{1b}" }], kind: 0x12345678, 5`)
  })

  it('events, whose indexed strings are hashes', () => {
    const topics = encodeEventTopics({ abi: ABI, eventName: 'Moved', args: { from: ALICE, name: 'x' } }) as Hex[] // all are given
    const word = (value: number) => value.toString(16).padStart(64, '0')
    const empty = [32, 96, 128, 0, 0].map(word).join('')
    const data = `0x${word(7)}${word(64)}${word(0)}${empty.slice(64, 192)}${word(0)}${word(0)}` as const
    expect(argumentsText(table.decodeLog(topics, data)?.args ?? [])).toMatch(
      new RegExp(`^from: ${ALICE}, name: 0x[0-9a-f]{64}, amount: 7, item: \\{ `),
    )
    expect(table.decodeLog(topics.slice(0, 2), data)).toBeNull()
  })

  it('errors, on one line of limited length', () => {
    const reason = (errorName: 'Refused' | 'Named', args: readonly unknown[]) =>
      reasonText(Hex.toBytes(encodeErrorResult({ abi: UNTYPED, errorName, args })), table)
    expect(reason('Refused', [item, -1n])).toBe(`Refused(item: { token: ${ALICE}, ids: [1, 2], note: "a\\u{1b}" }, balance: -1)`)
    expect(reason('Named', ['a\nb'.repeat(100_000)]).length).toBeLessThan(LINE_CHARS * 2)
    expect(reason('Named', ['a\nb'])).toBe('Named(name: "a\\u{a}b")')
  })

  it('no data that does not fit', () => {
    expect(table.decode('error', '0x')).toBeNull()
    expect(table.decode('error', encodeErrorResult({ abi: ABI, errorName: 'Named', args: ['x'] }).slice(0, 80) as Hex)).toBeNull() // still hex
  })
})

it('reasons of Solidity need no ABI', () => {
  const abi: Abi = parseAbi(['error Error(string)', 'error Panic(uint256)'])
  const reason = (errorName: 'Error' | 'Panic', arg: unknown) =>
    reasonText(Hex.toBytes(encodeErrorResult({ abi, errorName, args: [arg] })), new AbiTable())
  expect(reason('Error', 'too late\u009b')).toBe('too late\\u{9b}')
  expect(reason('Panic', 0x01n)).toBe('panic: assert(false) (0x01)')
  expect(reason('Panic', 0x12n)).toBe('panic: division or modulo by zero (0x12)')
  expect(reasonText(new Uint8Array(), new AbiTable())).toBe('reverted without a reason')
  expect(reasonText(Hex.toBytes('0x1234'), new AbiTable())).toBe('reverted with 0x1234')
})

it('overloads with one selector are tried in order', () => {
  // transfer(address,uint256) and many_msg_babbage(bytes1) have one selector.
  const table = tableOf(parseAbi(['function many_msg_babbage(bytes1)', 'function transfer(address to, uint256 amount)']))
  const data = encodeFunctionData({ abi: parseAbi(['function transfer(address,uint256)']), args: [ALICE, 5n] })
  expect(table.decode('function', data)?.fragment.name).toBe('many_msg_babbage')
})

it.each([
  [
    [{ type: 'error', name: 'E', inputs: [{ name: 'a', type: 'uint7' }] }],
    'E has a parameter of the type "uint7", which does not exist',
    'uint7',
  ],
  [[{ type: 'error', name: 'E', inputs: [{ name: 'a' }] }], 'E has a parameter without a type', 'E'],
  [[{ type: 'error', name: 'E', inputs: 5 }], 'E has inputs that are not a list of objects', 'E'],
  [[{ type: 'function', inputs: [] }], 'function without a name', 'function'],
])('refuses %j', (abi, message, text) => {
  expect(() => fragmentsOf(abi)).toThrow(expect.objectContaining({ message, text, constructor: AbiError }))
})

it('other JSON is no ABI', () => {
  for (const json of [null, 5, 'x', {}, { abi: 5 }]) expect(fragmentsOf(json)).toBeNull()
  expect(fragmentsOf([{ type: 'constructor' }, { type: 'fallback' }, 5])).toEqual([])
})
