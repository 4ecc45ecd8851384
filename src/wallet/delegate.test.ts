import { decodeFunctionData, encodeAbiParameters, encodeFunctionData, parseAbi, parseAbiParameters } from 'viem'
import { describe, expect, it } from 'vitest'
import { Address, Hash, Hex } from '../eth/index.ts'
import type { Call } from './batches/call.ts'
import { DELEGATE, delegateName, encodeExecute, hasCallLimits, isKnownDelegate } from './delegate.ts'

const BOB = Address.from('0xb0b0000000000000000000000000000000000b0b')
const SIMPLE = Address.from('0xe6cae83bde06e4c305530e199d7217f42808555b')
const abi = parseAbi([
  'struct Execution { address target; uint256 value; bytes data; }',
  'function execute(bytes32, bytes)',
  'function executeBatch(Execution[])',
])

const call = (to: Address | null, value: bigint, bytes: number): Call => ({
  to,
  value,
  data: new Uint8Array(bytes).fill(0xab),
  gasLimitOverride: null,
})
const batches: readonly (readonly Call[])[] = [
  [],
  [call(BOB, 0n, 0)],
  [call(Address.zero, 2n ** 256n - 1n, 31), call(BOB, 1n, 32), call(BOB, 2n, 33), call(BOB, 3n, 0)],
  Array.from({ length: 100 }, (_, i) => call(BOB, BigInt(i), i)),
]
const listed = (calls: readonly Call[]) => calls.map(({ to, value, data }) => ({ target: to ?? BOB, value, data: Hex.fromBytes(data) }))

describe('encodeExecute', () => {
  it.each(batches)('is what viem encodes (%#)', (...calls) => {
    const body = encodeAbiParameters(parseAbiParameters('(address target, uint256 value, bytes data)[]'), [listed(calls)])
    const wanted = encodeFunctionData({ abi, functionName: 'execute', args: [Hex.fromBytes32(1n << 248n), body] })
    expect(Hex.fromBytes(encodeExecute(calls))).toBe(wanted)
  })

  it.each(batches)('speaks to the other delegate that is known in its own words (%#)', (...calls) => {
    const { functionName, args } = decodeFunctionData({ abi, data: Hex.fromBytes(encodeExecute(calls, SIMPLE)) })
    expect(functionName).toBe('executeBatch')
    expect(JSON.stringify(args, bigints).toLowerCase()).toBe(JSON.stringify([listed(calls)], bigints))
  })

  it('passes the limits of calls in the mode of the account code', () => {
    const limited = [{ ...call(BOB, 1n, 3), gasLimitOverride: 50_000n }, call(BOB, 0n, 0)]
    const parameters = parseAbiParameters('(address target, uint256 value, bytes data)[], uint256[]')
    const body = encodeAbiParameters(parameters, [listed(limited), [50_000n, 0n]])
    const mode = `0x0100000000006e270e55${'0'.repeat(44)}` as const
    const wanted = encodeFunctionData({ abi, functionName: 'execute', args: [mode, body] })
    expect(Hash.ofText('pocketchain.gasLimits').slice(2, 10)).toBe('6e270e55')
    expect(Hex.fromBytes(encodeExecute(limited))).toBe(wanted)
    expect([DELEGATE.address, SIMPLE, BOB].map(hasCallLimits)).toEqual([true, false, false])
    expect(() => encodeExecute(limited, SIMPLE)).toThrow('cannot limit the gas of a call')
  })

  it('rejects calls that a delegate cannot execute', () => {
    expect(() => encodeExecute([call(null, 0n, 1)])).toThrow(RangeError)
    expect(() => encodeExecute([call(BOB, 0n, 1)], BOB)).toThrow(`the delegate ${BOB} is unknown`)
  })
})

describe('a delegation', () => {
  it('is known when its contract is', () => {
    expect([DELEGATE.address, SIMPLE, BOB].map(isKnownDelegate)).toEqual([true, true, false])
    expect([DELEGATE.address, SIMPLE, BOB].map(delegateName)).toEqual(['PocketAccount', 'Simple7702Account', null])
  })

  it('goes to where its deployment leads', () => {
    const salt = Hash.from(DELEGATE.deployment.subarray(0, 32))
    expect(Address.create2(DELEGATE.deployer, salt, DELEGATE.deployment.subarray(32))).toBe(DELEGATE.address)
  })
})

function bigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
