import * as fc from 'fast-check'
import { concat, encodeAbiParameters, encodeFunctionData, encodePacked, hexToBytes, parseAbi, size, toHex, zeroHash } from 'viem'
import type { Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { Address } from '../eth/index.ts'
import { innerCalls } from './calls.ts'
import { INNER_CALLS } from './limits.ts'

const SENDER = Address.from(`0x${'5e'.repeat(20)}`)
const A = Address.from(`0x${'a1'.repeat(20)}`)
const B = Address.from(`0x${'b2'.repeat(20)}`)
const TRANSFER: Hex = concat(['0xa9059cbb', zeroHash, zeroHash])

const abi = parseAbi([
  'struct Call { address to; uint256 value; bytes data; }',
  'function execute(bytes32 mode, bytes executionData)',
  'function executeBatch(Call[] calls)',
  'function executeWithoutChainIdValidation(bytes[] calls)',
  'function executeUserOp(bytes op, bytes32 hash)',
])
const single = parseAbi(['function execute(address to, uint256 value, bytes data)'])
const columns06 = parseAbi(['function executeBatch(address[] to, bytes[] data)'])
const columns07 = parseAbi(['function executeBatch(address[] to, uint256[] value, bytes[] data)'])
const withOperation = parseAbi([
  'function execute(address to, uint256 value, bytes data, uint8 operation)',
  'function executeUserOp(address to, uint256 value, bytes data, uint8 operation)',
  'function executeUserOpWithErrorString(address to, uint256 value, bytes data, uint8 operation)',
  'function multiSend(bytes transactions)',
])
const MULTI_SEND = '0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526'
const packed = ({ to, value, data }: { to: Hex; value: bigint; data: Hex }) =>
  encodePacked(['address', 'uint256', 'bytes'], [to, value, data])
const multiSend = (calls: readonly { to: Hex; value: bigint; data: Hex }[], operation = 0) =>
  encodeFunctionData({
    abi: withOperation,
    functionName: 'multiSend',
    args: [
      concat([
        '0x',
        ...calls.map(({ to, value, data }) =>
          encodePacked(['uint8', 'address', 'uint256', 'uint256', 'bytes'], [operation, to, value, BigInt(size(data)), data]),
        ),
      ]),
    ],
  })
const ofSafe = (to: Hex, data: Hex, operation: number, functionName: 'executeUserOp' | 'executeUserOpWithErrorString' = 'executeUserOp') =>
  encodeFunctionData({ abi: withOperation, functionName, args: [to, 0n, data, operation] })
const CALLS = [
  {
    type: 'tuple[]',
    components: [
      { name: 'to', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'data', type: 'bytes' },
    ],
  },
] as const

const TWO = [
  { to: A, value: 0n, data: TRANSFER },
  { to: B, value: 7n, data: '0x' },
] as const
const READ = [
  { to: A, value: 0n, selector: '0xa9059cbb' },
  { to: B, value: 7n, selector: null },
]

const read = (data: Hex) => innerCalls(SENDER, hexToBytes(data)).calls
const inMode = (mode: Hex, data: Hex) =>
  encodeFunctionData({ abi, functionName: 'execute', args: [`${mode}${'0'.repeat(66 - mode.length)}`, data] })
const batch = encodeAbiParameters(CALLS, [TWO])

describe('the calls of an account', () => {
  it.each<[string, Hex]>([
    ['ERC-7821', inMode('0x01', batch)],
    [
      'ERC-7821 with data of its own',
      inMode('0x01000000000078210001', encodeAbiParameters([...CALLS, { type: 'bytes' }], [TWO, '0x1234'])),
    ],
    ['a batch of a Safe', ofSafe(MULTI_SEND, multiSend(TWO), 1)],
    ['a batch of a Safe that returns errors', ofSafe(MULTI_SEND, multiSend(TWO), 1, 'executeUserOpWithErrorString')],
    ['executeBatch of tuples', encodeFunctionData({ abi, functionName: 'executeBatch', args: [TWO] })],
    [
      'executeBatch of SimpleAccount 0.7',
      encodeFunctionData({
        abi: columns07,
        args: [
          [A, B],
          [0n, 7n],
          [TRANSFER, '0x'],
        ],
      }),
    ],
  ])('are decoded from %s', (_, data) => {
    expect(read(data)).toEqual(READ)
  })

  it.each<[string, Hex]>([
    ['execute', encodeFunctionData({ abi: single, args: [A, 0n, TRANSFER] })],
    ['ERC-7579', inMode('0x00', packed(TWO[0]))],
    ['Kernel 2', encodeFunctionData({ abi: withOperation, functionName: 'execute', args: [A, 0n, TRANSFER, 0] })],
    ['a Safe', ofSafe(A, TRANSFER, 0)],
  ])('are decoded from a single call of %s', (_, data) => {
    expect(read(data)).toEqual([READ[0]])
  })

  it.each<[string, Hex, string]>([
    ['a delegatecall of ERC-7579', inMode('0xff', packed(TWO[0])), 'the mode 0xff000000000000000000 of ERC-7579 is a delegatecall'],
    ['a single call of ERC-7579 that is tried', inMode('0x0001', packed(TWO[0])), 'tries its calls'],
    ['a batch of ERC-7579 that is tried', inMode('0x0101', batch), 'tries its calls'],
    ['a static call of ERC-7579', inMode('0xfe', packed(TWO[0])), 'is not a single call or a batch'],
    ['a single call of ERC-7579 that is cut off', inMode('0x00', `0x${'11'.repeat(51)}`), 'at least 52'],
    [
      'a delegatecall of Kernel 2',
      encodeFunctionData({ abi: withOperation, functionName: 'execute', args: [A, 0n, TRANSFER, 1] }),
      'the operation 1 of Kernel is a delegatecall',
    ],
    ['a delegatecall of a Safe', ofSafe(A, multiSend(TWO), 1), 'a delegatecall of the Safe to 0xa1a1'],
    ['another function of MultiSend', ofSafe(MULTI_SEND, TRANSFER, 1), 'a delegatecall of the Safe'],
    ['a delegatecall in a batch of a Safe', ofSafe(MULTI_SEND, multiSend(TWO, 1), 1), 'a delegatecall in the batch of the Safe'],
    ['an operation of a Safe that is neither', ofSafe(A, TRANSFER, 2), 'a delegatecall of the Safe'],
    ['another function', '0xdeadbeef', "the account's function 0xdeadbeef is unknown"],
  ])('are unknown with a reason from %s', (_, data, reason) => {
    expect(innerCalls(SENDER, hexToBytes(data))).toEqual({ calls: null, unreadable: expect.stringContaining(reason) })
  })

  it('have no values in SimpleAccount 0.6, and with an empty list in 0.7', () => {
    const none = READ.map((call) => ({ ...call, value: 0n }))
    expect(
      read(
        encodeFunctionData({
          abi: columns06,
          args: [
            [A, B],
            [TRANSFER, '0x'],
          ],
        }),
      ),
    ).toEqual(none)
    expect(read(encodeFunctionData({ abi: columns07, args: [[A, B], [], [TRANSFER, '0x']] }))).toEqual(none)
  })

  it('target the account itself in executeWithoutChainIdValidation', () => {
    const data = encodeFunctionData({ abi, functionName: 'executeWithoutChainIdValidation', args: [[TRANSFER]] })
    expect(read(data)).toEqual([{ to: SENDER, value: 0n, selector: '0xa9059cbb' }])
  })

  it('are an empty list for an operation that only deploys', () => {
    expect(read('0x')).toEqual([])
  })

  it('keep data of fewer than four bytes', () => {
    expect(read(encodeFunctionData({ abi: single, args: [A, 0n, '0x12'] }))).toEqual([{ to: A, value: 0n, selector: '0x12' }])
  })

  it.each<[string, Hex]>([
    ['another function', '0xdeadbeef'],
    ['less than a selector', '0xb61d27'],
    ['executeUserOp', encodeFunctionData({ abi, functionName: 'executeUserOp', args: ['0x', zeroHash] })],
    ['a batch of batches', inMode('0x01000000000078210002', batch)],
    ['a mode that goes on after a failure', inMode('0x0101', batch)],
    ['call data that ends early', `0x${inMode('0x01', batch).slice(2, -128)}`],
    ['an array beyond the end', concat(['0x34fcd5be', toHex(1_000, { size: 32 })])],
    ['an array of absurd length', concat(['0x34fcd5be', toHex(32, { size: 32 }), toHex(2n ** 255n, { size: 32 })])],
    ['a column of absurd length', concat(['0x2c2abd1e', toHex(32, { size: 32 }), toHex(2n ** 255n, { size: 32 })])],
    ['columns of different lengths', encodeFunctionData({ abi: columns06, args: [[A, B], [TRANSFER]] })],
    ['fewer values than calls', encodeFunctionData({ abi: columns07, args: [[A, B], [1n], [TRANSFER, '0x']] })],
    [
      'more calls than are read',
      encodeFunctionData({ abi, functionName: 'executeBatch', args: [Array.from({ length: INNER_CALLS + 1 }, () => TWO[1])] }),
    ],
  ])('cannot be decoded from %s', (_, data) => {
    expect(read(data)).toBeNull()
  })

  it('are the encoded ones in any number, and truncated data never throws', () => {
    const call = fc.record({
      to: fc.bigInt({ min: 0n, max: 2n ** 160n - 1n }).map((n) => Address.fromBigint(n)),
      value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      data: fc.uint8Array({ maxLength: 70 }).map((bytes) => toHex(bytes)),
    })
    fc.assert(
      fc.property(fc.array(call, { maxLength: 6 }), fc.nat(), (calls, cut) => {
        const expected = calls.map(({ to, value, data }) => ({ to, value, selector: data === '0x' ? null : data.slice(0, 10) }))
        for (const data of [
          inMode('0x01', encodeAbiParameters(CALLS, [calls])),
          encodeFunctionData({ abi, functionName: 'executeBatch', args: [calls] }),
          ofSafe(MULTI_SEND, multiSend(calls), 1),
        ]) {
          expect(read(data)).toEqual(expected)
          innerCalls(SENDER, hexToBytes(data).subarray(0, cut % (data.length / 2)))
        }
      }),
      { seed: 4337, numRuns: 200 },
    )
  })
})
