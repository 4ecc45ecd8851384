import type { Hex } from 'viem'
import type { Decoded, DecodedInput } from './abi.ts'

// Call data that does not follow the ABI: parts of fixed size, one after the other.

type Part = readonly [name: string, bits: number]

const CREATE2_DEPLOYER = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const L1_BLOCK = '0x4200000000000000000000000000000000000015'

const ECOTONE: readonly Part[] = [
  ['baseFeeScalar', 32],
  ['blobBaseFeeScalar', 32],
  ['sequenceNumber', 64],
  ['timestamp', 64],
  ['number', 64],
  ['baseFee', 256],
  ['blobBaseFee', 256],
  ['hash', 0],
  ['batcherHash', 0],
]
const ISTHMUS: readonly Part[] = [...ECOTONE, ['operatorFeeScalar', 32], ['operatorFeeConstant', 64]]
const JOVIAN: readonly Part[] = [...ISTHMUS, ['daFootprintGasScalar', 16]]

/** The L1 attributes of the OP Stack, by selector (specification "L1 Attributes Deposited Transaction"). */
const L1_ATTRIBUTES: Readonly<Record<string, readonly [name: string, parts: readonly Part[]]>> = {
  '0x440a5e20': ['setL1BlockValuesEcotone', ECOTONE],
  '0x098999be': ['setL1BlockValuesIsthmus', ISTHMUS],
  '0x3db6be2b': ['setL1BlockValuesJovian', JOVIAN],
}

/** Decodes calls of L1Block and of the CREATE2 deployer; null for others. */
export function decodePacked(address: string | null, input: string): Decoded | null {
  const to = address?.toLowerCase()
  if (to === CREATE2_DEPLOYER && input.length >= 2 + 64) {
    const salt: DecodedInput = { name: 'salt', type: 'bytes32', value: input.slice(0, 66) }
    const code: DecodedInput = { name: 'initCode', type: 'bytes', value: `0x${input.slice(66)}` }
    return { name: 'deploy', signature: 'deploy(bytes32,bytes)', inputs: [salt, code], source: 'known' }
  }
  const found = to === L1_BLOCK ? L1_ATTRIBUTES[input.slice(0, 10).toLowerCase()] : undefined
  if (found === undefined) return null
  const [name, parts] = found
  const inputs = split(input.slice(10), parts)
  return inputs === null ? null : { name, signature: `${name}()`, inputs, source: 'known' }
}

/** A part of 0 bits is a hash. */
function split(digits: string, parts: readonly Part[]): readonly DecodedInput[] | null {
  const inputs: DecodedInput[] = []
  let at = 0
  for (const [name, bits] of parts) {
    const size = bits === 0 ? 64 : bits / 4
    const word: Hex = `0x${digits.slice(at, at + size)}`
    if (word.length !== size + 2) return null
    inputs.push(bits === 0 ? { name, type: 'bytes32', value: word } : { name, type: `uint${bits}`, value: BigInt(word) })
    at += size
  }
  return inputs
}
