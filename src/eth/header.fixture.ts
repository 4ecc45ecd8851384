import { Address } from './address.ts'
import { Bloom } from './bloom.ts'
import { Hash } from './hash.ts'
import type { Header } from './header.ts'

/** A zero header without the fields of later forks. */
export const BLANK_HEADER: Header = {
  parentHash: Hash.zero,
  ommersHash: Hash.zero,
  coinbase: Address.zero,
  stateRoot: Hash.zero,
  transactionsRoot: Hash.zero,
  receiptsRoot: Hash.zero,
  logsBloom: Bloom.empty,
  difficulty: 0n,
  number: 0,
  gasLimit: 0n,
  gasUsed: 0n,
  timestamp: 0,
  extraData: new Uint8Array(0),
  mixHash: Hash.zero,
  nonce: new Uint8Array(8),
  baseFeePerGas: null,
  withdrawalsRoot: null,
  blobGasUsed: null,
  excessBlobGas: null,
  parentBeaconBlockRoot: null,
  requestsHash: null,
}
