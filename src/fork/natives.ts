import { Address, Hash } from '../eth/index.ts'
import { UpstreamError } from './errors.ts'

/**
 * Of the code 0xef, with which Base marks its native precompiles since Beryl (base-std, StdPrecompiles.sol). No contract has it: EIP-3541
 * refuses code that begins with 0xef.
 */
export const NATIVE_CODE_HASH = Hash.keccak(Uint8Array.of(0xef))

const NAMES: ReadonlyMap<string, string> = new Map([
  ['0xb20f000000000000000000000000000000000000', 'B20 factory'],
  ['0x8453000000000000000000000000000000000001', 'activation registry'],
  ['0x8453000000000000000000000000000000000002', 'policy registry'],
])
/** The first 10 bytes of the address of a B20 token. */
const TOKEN_PREFIX = '0xb2000000000000000000'

export function nativePrecompile(address: Address): UpstreamError {
  const name = NAMES.get(address) ?? (address.startsWith(TOKEN_PREFIX) ? 'B20 token' : null)
  const kind = name === null ? 'a native precompile upstream' : `a native precompile of Base (${name})`
  return new UpstreamError(
    'native',
    `${Address.checksum(address)} is ${kind}, which is not implemented here; anvil_setCode puts a contract in its place`,
  )
}
