import { Address } from './address.ts'
import { Fields } from './fields.ts'
import type { FieldVisitor } from './fieldvisitor.ts'
import { Hash } from './hash.ts'
import { Rlp, type RlpInput, type RlpItem } from './rlp.ts'
import { type PrivateKey, Secp256k1 } from './secp256k1.ts'

/** EIP-7702. `authority` is recovered on decoding; `null` if the signature is invalid, for which execution skips the entry. */
export interface Authorization {
  readonly chainId: bigint
  readonly address: Address
  readonly nonce: bigint
  readonly yParity: number
  readonly r: bigint
  readonly s: bigint
  readonly authority: Address | null
}

export type AuthorizationFields = Pick<Authorization, 'chainId' | 'address' | 'nonce'>

export const Authorization = { signingHash, sign, recover, toRlp, fromRlp }

const MAGIC = 0x05

/** Returns keccak(0x05 || rlp([chainId, address, nonce])). */
function signingHash(fields: AuthorizationFields): Hash {
  return Hash.keccak(Rlp.encodeTyped(MAGIC, [fields.chainId, fields.address, fields.nonce]))
}

/** Throws DecodeError for an invalid key. */
function sign(fields: AuthorizationFields, privateKey: PrivateKey): Authorization {
  const { chainId, address, nonce } = fields
  const signature = Secp256k1.sign(signingHash(fields), privateKey)
  return { chainId, address, nonce, ...signature, authority: Secp256k1.address(privateKey) }
}

/** Returns `null` for an invalid signature or a high s (EIP-7702 step 3). */
function recover(signed: Omit<Authorization, 'authority'>): Address | null {
  if (signed.s > Secp256k1.HALF_ORDER) return null
  return Secp256k1.recover(signingHash(signed), signed.r, signed.s, signed.yParity)
}

function toRlp(entry: Authorization): RlpInput {
  return [entry.chainId, entry.address, entry.nonce, entry.yParity, entry.r, entry.s]
}

/** Throws DecodeError for a field out of range; an invalid signature is not an error. */
function fromRlp(item: RlpItem): Authorization {
  const fields = new Fields(item, 'authorization', 6)
  const signed = {
    chainId: fields.uint('chainId', 32),
    address: fields.address('address'),
    nonce: fields.uint('nonce', 8),
    yParity: Number(fields.uint('yParity', 1)),
    r: fields.uint('r', 32),
    s: fields.uint('s', 32),
  }
  return { ...signed, authority: recover(signed) }
}

export function authorizationFields(f: FieldVisitor, entry: Authorization): Authorization {
  const signed = {
    chainId: f.quantity('chainId', 50, entry.chainId),
    address: f.address('address', 31, entry.address),
    nonce: f.quantity('nonce', 43, entry.nonce),
    yParity: f.number('yParity', 57, entry.yParity),
    r: f.quantity('r', 59, entry.r),
    s: f.quantity('s', 60, entry.s),
  }
  const own = entry.authority ?? null // blank entries have none
  const authority = f.hidden(56, own === null ? null : Address.toBytes(own))
  return { ...signed, authority: authority === null ? null : Address.from(authority) }
}
