import { Address, EMPTY_CODE_HASH, Hash, Hex } from '../../eth/index.ts'
import type { Account } from '../../evm/index.ts'

/** A contract of the default genesis. */
export interface DefaultContract {
  readonly address: Address
  readonly account: Account
  readonly code: Uint8Array
  readonly storage: ReadonlyMap<Hash, bigint>
}

/** A row of the artifacts that contracts/build.mjs writes. */
export interface Predeploy {
  readonly name: string
  /** part of OP chains only */
  readonly op: boolean
  readonly address: string
  readonly code: string
  /** Keccak-256 of the code; absent without code */
  readonly codeHash?: string
  readonly nonce?: number
  readonly balance?: string
  readonly storage?: Readonly<Record<string, string>>
}

export function contractOf(entry: Predeploy): DefaultContract {
  const codeHash = entry.codeHash === undefined ? EMPTY_CODE_HASH : Hash.from(entry.codeHash)
  return {
    address: Address.from(entry.address),
    account: { nonce: BigInt(entry.nonce ?? 0), balance: BigInt(entry.balance ?? 0), codeHash },
    code: Hex.toBytes(entry.code),
    storage: new Map(Object.entries(entry.storage ?? {}).map(([slot, value]) => [Hash.from(slot), BigInt(value)])),
  }
}
