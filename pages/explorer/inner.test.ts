import { concatHex, encodeAbiParameters, encodeFunctionData, parseAbi, parseAbiParameters } from 'viem'
import type { Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { decodeCall } from './abi.ts'
import { abiItems } from './abiitems.ts'
import { innerCalls } from './inner.ts'
import type { InnerCall } from './inner.ts'
import { decodePacked } from './packed.ts'
import { transfersOf } from './transfers.ts'

const SELF = '0x00000000000000000000000000000000000000A1'
const BOB = '0x000000000000000000000000000000000000b0b0'
const ABI = parseAbi([
  'function execute(address target, uint256 value, bytes data)',
  'function execute(bytes32 mode, bytes executionCalldata)',
  'function executeBatch(address[] targets, bytes[] data)',
  'function multicall(bytes[] data)',
  'function transfer(address to, uint256 amount)',
])
const CALLS = parseAbiParameters('(address, uint256, bytes)[]')

function inner(input: Hex): readonly InnerCall[] {
  const decoded = decodeCall(SELF, input)
  return decoded === null ? [] : innerCalls(decoded, SELF)
}

const mode = (first: string): Hex => `0x${first.padEnd(64, '0')}`

describe('innerCalls', () => {
  it('finds the call of an account', () => {
    expect(inner(encodeFunctionData({ abi: ABI, functionName: 'execute', args: [BOB, 5n, '0x1234'] }))).toEqual([
      { to: BOB, value: 5n, input: '0x1234' },
    ])
  })

  it('finds the calls of ERC-7579 and ERC-7821, packed and as an array', () => {
    const execute = (first: string, data: Hex) =>
      inner(encodeFunctionData({ abi: ABI, functionName: 'execute', args: [mode(first), data] }))
    const packed = concatHex([BOB, `0x${'7'.padStart(64, '0')}`, '0xabcd'])
    expect(execute('00', packed)).toEqual([{ to: BOB, value: 7n, input: '0xabcd' }])
    const rows = encodeAbiParameters(CALLS, [
      [
        [BOB, 1n, '0x'],
        [BOB, 2n, '0x12'],
      ],
    ])
    expect(execute('01', rows)).toEqual([
      { to: BOB, value: 1n, input: '0x' },
      { to: BOB, value: 2n, input: '0x12' },
    ])
    expect(execute('01', '0x1234')).toEqual([])
    expect(execute('ff', rows)).toEqual([])
  })

  it('finds calls of lists of different length, and of the contract itself', () => {
    expect(inner(encodeFunctionData({ abi: ABI, functionName: 'executeBatch', args: [[BOB, BOB], ['0x12']] }))).toEqual([
      { to: BOB, value: 0n, input: '0x12' },
      { to: BOB, value: 0n, input: '0x' },
    ])
    expect(inner(encodeFunctionData({ abi: ABI, functionName: 'multicall', args: [['0x12345678']] }))).toEqual([
      { to: SELF, value: 0n, input: '0x12345678' },
    ])
  })

  it('finds none in a function that passes no calls on', () => {
    expect(inner(encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [BOB, 5n] }))).toEqual([])
  })
})

describe('decodePacked', () => {
  it('is null for short data and for other contracts', () => {
    expect(decodePacked('0x4200000000000000000000000000000000000015', '0x3db6be2b0000')).toBeNull()
    expect(decodePacked('0x4e59b44847b379578588920ca78fbf26c0b4956c', '0x12')).toBeNull()
    expect(decodePacked(BOB, `0x3db6be2b${'00'.repeat(200)}`)).toBeNull()
    expect(decodePacked(null, '0x')).toBeNull()
  })
})

describe('transfersOf', () => {
  it('leaves out logs whose data do not have the types of the event', () => {
    const topic = `0x${'0'.repeat(64)}`
    const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
    const batch = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
    const log = (topics: readonly string[], data: string) => ({ address: BOB, topics, data })
    expect(
      transfersOf([log([transfer, topic, topic], '0x12'), log([transfer], '0x'), log([batch, topic, topic, topic], '0x12'), log([], '0x')]),
    ).toEqual([])
  })
})

describe('abiItems', () => {
  it('leaves out constructors, and refuses tuples nested without end', () => {
    expect(() => abiItems([{ type: 'constructor', inputs: [] }])).toThrow('This ABI has no function, event or error.')
    const loop: { type: string; components: object[] } = { type: 'tuple', components: [] }
    loop.components.push(loop)
    expect(() => abiItems([{ type: 'function', name: 'f', inputs: [loop] }])).toThrow(/^Item 0 of this ABI is no function/)
    expect(abiItems([{ type: 'function', name: 'f' }])).toEqual([{ type: 'function', name: 'f', inputs: [], outputs: [] }])
  })
})
