import { Fields, Hash, Rlp } from '../eth/index.ts'
import type { Address, RlpInput, RlpItem } from '../eth/index.ts'
import type { Account, WriteSet } from '../evm/index.ts'

/** Write sets as RLP: [accounts, storage, codes]. An account is [address] if it is removed, else [address, nonce, balance, code hash]. */
export const WriteSets = { encode, toRlp, decode, fromRlp, isEmpty }

function encode(writes: WriteSet): Uint8Array {
  return Rlp.encode(toRlp(writes))
}

function toRlp({ accounts, storage, codes }: WriteSet): RlpInput {
  return [
    Array.from(accounts, ([address, account]) =>
      account === null ? [address] : [address, account.nonce, account.balance, account.codeHash],
    ),
    Array.from(storage, ([address, slots]) => [address, Array.from(slots, ([slot, value]) => [slot, value])]),
    [...codes.values()],
  ]
}

/** Throws DecodeError. */
function decode(bytes: Uint8Array): WriteSet {
  return fromRlp(Rlp.decode(bytes, 'write set'))
}

/** Throws DecodeError. */
function fromRlp(item: RlpItem): WriteSet {
  const fields = new Fields(item, 'write set', 3, 3)
  return {
    accounts: new Map(fields.list('accounts').map(readAccount)),
    storage: new Map(fields.list('storage').map(readStorage)),
    codes: new Map(fields.list('codes').map((code) => [Hash.keccak(code as Uint8Array), code as Uint8Array])), // a list has no digest and throws
  }
}

function readAccount(item: RlpItem): readonly [Address, Account | null] {
  const fields = new Fields(item, 'account', 1, 4)
  const address = fields.address('address')
  if (fields.left === 0) return [address, null]
  return [address, { nonce: fields.uint('nonce', 8), balance: fields.uint('balance', 32), codeHash: fields.hash('codeHash') }]
}

function readStorage(item: RlpItem): readonly [Address, ReadonlyMap<Hash, bigint>] {
  const fields = new Fields(item, 'storage', 2, 2)
  const address = fields.address('address')
  return [
    address,
    new Map(
      fields.list('slots').map((entry) => {
        const slot = new Fields(entry, 'slot', 2, 2)
        return [slot.hash('key'), slot.uint('value', 32)]
      }),
    ),
  ]
}

function isEmpty({ accounts, storage, codes }: WriteSet): boolean {
  return accounts.size + storage.size + codes.size === 0
}
