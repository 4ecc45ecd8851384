import type { Hash, Header } from '../../eth/index.ts'
import { OP_BLOB_BASE_FEE } from '../../compat.ts'
import { blobBaseFee } from '../../evm/index.ts'
import type { BlockEnv, Rules } from '../../evm/index.ts'

/** Returns the block environment for a header. Pending and sealed blocks use this one function. */
export function toBlockEnv(header: Header, rules: Rules, blockHash: (number: number) => Hash | null): BlockEnv {
  return {
    number: header.number,
    timestamp: header.timestamp,
    gasLimit: header.gasLimit,
    coinbase: header.coinbase,
    prevRandao: header.mixHash,
    difficulty: header.difficulty,
    baseFeePerGas: header.baseFeePerGas,
    blobBaseFee: blobFee(header, rules),
    parentBeaconBlockRoot: header.parentBeaconBlockRoot,
    blockHash,
  }
}

function blobFee(header: Header, rules: Rules): bigint | null {
  if (rules.op !== null) return OP_BLOB_BASE_FEE
  return header.excessBlobGas === null || rules.blob === null ? null : blobBaseFee(header.excessBlobGas, rules.blob)
}
