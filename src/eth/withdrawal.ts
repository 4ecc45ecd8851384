import type { Address } from './address.ts'
import { Fields } from './fields.ts'
import type { FieldVisitor } from './fieldvisitor.ts'
import { Rlp, type RlpInput, type RlpItem } from './rlp.ts'

/** EIP-4895. OP blocks have none. */
export interface Withdrawal {
  readonly index: bigint
  readonly validatorIndex: bigint
  readonly address: Address
  /** gwei */
  readonly amount: bigint
}

export const Withdrawal = { encode, toRlp, fromRlp }

/** Returns the encoding in the withdrawals trie. */
function encode(withdrawal: Withdrawal): Uint8Array {
  return Rlp.encode(toRlp(withdrawal))
}

function toRlp(withdrawal: Withdrawal): RlpInput {
  return [withdrawal.index, withdrawal.validatorIndex, withdrawal.address, withdrawal.amount]
}

/** Throws DecodeError. */
function fromRlp(item: RlpItem): Withdrawal {
  const fields = new Fields(item, 'withdrawal', 4)
  return {
    index: fields.uint('index', 8),
    validatorIndex: fields.uint('validatorIndex', 8),
    address: fields.address('address'),
    amount: fields.uint('amount', 8),
  }
}

export function withdrawalFields(f: FieldVisitor, { index, validatorIndex, address, amount }: Withdrawal): Withdrawal {
  return {
    index: f.quantity('index', 29, index),
    validatorIndex: f.quantity('validatorIndex', 30, validatorIndex),
    address: f.address('address', 31, address),
    amount: f.quantity('amount', 32, amount),
  }
}
