import { Address, DecodeError, Hex } from '../eth/index.ts'

/** A call from the EntryPoint with exactly this gas. */
export interface SimulatedCall {
  readonly to: Address
  readonly gas: bigint
  readonly data: Uint8Array
}

export interface SimulatedCallResult {
  readonly success: boolean
  readonly gasUsed: bigint
  readonly output: Uint8Array
}

/**
 * Simulations place this code at the EntryPoint's address. It runs the list of calls that `SIMULATOR_CALLER` sends, one after the other, whether they
 * succeed or revert, and delegates all other calls to the EntryPoint's code, which an override moves to `ENTRY_POINT_CODE`. An invalid signature
 * therefore does not end a simulation, gas limits are the same as the EntryPoint's, and accounts and paymasters find their deposits and nonces.
 *
 * Compiled from this Yul by solc 0.8.37 for Shanghai, optimised (`simulatedcalls.test.ts` compiles it again):
 */
export const SOURCE = `object "Steps" {
  code {
    if iszero(eq(caller(), 0x7a17000000000000000000000000000000004337)) {
      calldatacopy(0, 0, calldatasize())
      let ok := delegatecall(gas(), 0x7a17000000000000000000000000000000000404, 0, calldatasize(), 0, 0)
      returndatacopy(0, 0, returndatasize())
      if iszero(ok) { revert(0, returndatasize()) }
      return(0, returndatasize())
    }
    let out := 0
    let size := 0
    for { let at := 0 } lt(at, calldatasize()) { at := add(add(at, 96), size) } {
      size := calldataload(add(at, 64))
      calldatacopy(out, add(at, 96), size)
      let left := gas()
      let ok := call(calldataload(add(at, 32)), calldataload(at), 0, out, size, 0, 0)
      mstore(add(out, 32), sub(left, gas()))
      mstore(out, ok)
      mstore(add(out, 64), returndatasize())
      returndatacopy(add(out, 96), 0, returndatasize())
      out := add(add(out, 96), returndatasize())
    }
    return(0, out)
  }
}`

export const SIMULATOR_CALLER = Address.from('0x7a17000000000000000000000000000000004337')
export const ENTRY_POINT_CODE = Address.from('0x7a17000000000000000000000000000000000404')
export const SIMULATOR_CODE: Hex =
  '0x737a1700000000000000000000000000000000433733036066575f5f5b368110602657505ff35b90606090816040840135918282860182375a5f808584828a3560208c0135f1905a9003602083015281523d60408201523d5f8383013e3d0101920101601c565b365f80375f803681737a170000000000000000000000000000000004045af43d5f803e156091573d5ff35b3d5ffd'

export const SimulatedCalls = { encode, decode }

/** Each call is target, gas and size as words, then the unpadded data. */
function encode(calls: readonly SimulatedCall[]): Hex {
  const parts = calls.map(({ to, gas, data }) =>
    [Hex.fromBytes32(BigInt(to)), Hex.fromBytes32(gas), Hex.fromBytes32(BigInt(data.length)), Hex.fromBytes(data)]
      .map((part) => part.slice(2))
      .join(''),
  )
  return `0x${parts.join('')}`
}

/** Throws DecodeError for output of other code: the node ignored the override. */
function decode(answer: Uint8Array, count: number): readonly SimulatedCallResult[] {
  const results: SimulatedCallResult[] = []
  let at = 0
  while (results.length < count) {
    if (answer.length < at + 96) throw new DecodeError('simulation', 'was not answered by the code that was put in place of the EntryPoint')
    const word = (index: number) => BigInt(Hex.fromBytes(answer.subarray(at + index * 32, at + index * 32 + 32)))
    const [success, gasUsed, size] = [word(0) === 1n, word(1), Number(word(2))]
    results.push({ success, gasUsed, output: answer.subarray(at + 96, at + 96 + size) })
    at += 96 + size
  }
  return results
}
