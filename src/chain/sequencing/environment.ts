import type { Hash, Header } from '../../eth/index.ts'
import { blobBaseFee } from '../../evm/index.ts'
import type { BlockEnv, Rules } from '../../evm/index.ts'

/** The block environment that a header describes. Pending and sealed are served from the same function (law 2). */
export function environment(header: Header, rules: Rules, blockHash: (number: number) => Hash | null): BlockEnv {
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

/** 1 wei on OP chains, where blobs do not exist and the excess stays zero. */
function blobFee(header: Header, rules: Rules): bigint | null {
  if (rules.op !== null) return 1n
  return header.excessBlobGas === null || rules.blob === null ? null : blobBaseFee(header.excessBlobGas, rules.blob)
}
