import type { AccountProof } from '../../chain/index.ts'
import { EMPTY_CODE_HASH, EMPTY_ROOT, Hash, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { StateReader } from '../../evm/index.ts'
import { nonceOf, pendingNonce, requireBlock, requireState } from '../blocks.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import type { Json } from '../json.ts'
import { SLOTS_PER_REQUEST } from '../limits.ts'
import { method, optional, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { ADDRESS, BYTES, HASH, QUANTITY, listOf, orNull, record } from '../../jsonrpc/jsonschema.ts'
import { address, arrayOf, blockRef, mapOf, prefixOptional, storageSlot } from '../../jsonrpc/schema.ts'
import { ALICE, WETH } from './examples.ts'

const ZERO_SLOT = `0x${'0'.repeat(64)}`

const ERRORS = { [-32001]: 'there is no such block', 4444: 'the state after that block is no longer kept' }

/** Hex with or without 0x. */
export const slotOrDigits: Schema<Hash> = prefixOptional(storageSlot)

/** A storage key and its form in the result: 32 bytes stay, a shorter key becomes a quantity (geth). */
const proofKey: Schema<{ readonly slot: Hash; readonly shown: string }> = {
  json: storageSlot.json,
  parse: (value, path) => {
    const slot = storageSlot.parse(value, path)
    const whole = typeof value === 'string' && value.length === 66
    return { slot, shown: whole ? slot : Hex.fromQuantity(Hash.toBigint(slot)) }
  },
}

/** The last parameter of each is a block, `latest` by default. */
export const STATE_METHODS: readonly Method[] = [
  method({
    name: 'eth_getBalance',
    doc: 'The balance of an account in wei.',
    params: [required('address', address), optional('block', blockRef)],
    result: QUANTITY,
    errors: ERRORS,
    example: { params: [ALICE, 'latest'], result: '0x21e19e0c9bab2400000' },
    handler: ({ chain, compat }, [address, block]) => {
      const account = requireState(chain.head.view, compat, block).account(address)
      return Hex.fromQuantity(account?.balance ?? 0n)
    },
  }),
  method({
    name: 'eth_getTransactionCount',
    doc: 'The nonce of an account. Under `pending` it counts pre-confirmed transactions and consecutive ones in the pool.',
    params: [required('address', address), optional('block', blockRef)],
    result: QUANTITY,
    errors: ERRORS,
    example: { params: [ALICE, 'pending'], result: '0x5' },
    handler: ({ chain, compat }, [address, block]) => {
      const pending = block?.kind === 'tag' && block.tag === 'pending'
      return Hex.fromQuantity(pending ? pendingNonce(chain, address) : nonceOf(requireState(chain.head.view, compat, block), address))
    },
  }),
  method({
    name: 'eth_getCode',
    doc: 'The code of an account; `0x` where there is none.',
    params: [required('address', address), optional('block', blockRef)],
    result: BYTES,
    errors: ERRORS,
    example: { params: [ALICE, 'latest'], result: '0x' },
    handler: ({ chain, compat }, [address, block]) => Hex.fromBytes(codeOf(requireState(chain.head.view, compat, block), address)),
  }),
  method({
    name: 'eth_getAccount',
    doc: 'Balance, nonce, code hash and storage root of an account; null where there is none.',
    params: [required('address', address), optional('block', blockRef)],
    result: orNull(record('account', { balance: QUANTITY, nonce: QUANTITY, codeHash: HASH, storageRoot: HASH })),
    errors: ERRORS,
    example: {
      params: [ALICE, 'latest'],
      result: { balance: '0x21e19e0c9bab2400000', nonce: '0x5', codeHash: EMPTY_CODE_HASH, storageRoot: EMPTY_ROOT },
    },
    handler: ({ chain }, [address, block]) => {
      const { view } = chain.head
      const { account, storageHash } = view.proof(requireBlock(view, block), address, [])
      if (account === null) return null
      const { balance, nonce, codeHash } = account
      return { balance: Hex.fromQuantity(balance), nonce: Hex.fromQuantity(nonce), codeHash, storageRoot: storageHash }
    },
  }),
  method({
    name: 'eth_getAccountInfo',
    doc: 'Balance, nonce and code of an account in one answer.',
    params: [required('address', address), optional('block', blockRef)],
    result: record('account', { balance: QUANTITY, nonce: QUANTITY, code: BYTES }),
    errors: ERRORS,
    example: { params: [ALICE, 'latest'], result: { balance: '0x21e19e0c9bab2400000', nonce: '0x5', code: '0x' } },
    handler: ({ chain, compat }, [address, block]) => {
      const state = requireState(chain.head.view, compat, block)
      const { balance, nonce } = state.account(address) ?? EMPTY_ACCOUNT
      return { balance: Hex.fromQuantity(balance), nonce: Hex.fromQuantity(nonce), code: Hex.fromBytes(codeOf(state, address)) }
    },
  }),
  method({
    name: 'eth_getStorageAt',
    doc: 'One storage slot as 32 bytes.',
    params: [required('address', address), required('slot', slotOrDigits), optional('block', blockRef)],
    result: HASH,
    errors: ERRORS,
    example: { params: [WETH, '0x0', 'latest'], result: ZERO_SLOT },
    handler: ({ chain, compat }, [address, slot, block]) =>
      Hex.fromBytes32(requireState(chain.head.view, compat, block).storage(address, slot)),
  }),
  method({
    name: 'eth_getStorageValues',
    doc: 'Many storage slots of many accounts in one answer.',
    params: [
      required('slots by address', mapOf(address, arrayOf(storageSlot, SLOTS_PER_REQUEST), SLOTS_PER_REQUEST)),
      optional('block', blockRef),
    ],
    result: { title: 'values by address', type: 'object', additionalProperties: listOf(HASH) },
    errors: ERRORS,
    example: { params: [{ [WETH]: ['0x0'] }, 'latest'], result: { [WETH]: [ZERO_SLOT] } },
    handler: ({ chain, compat }, [requested, block]) => storageValues(requireState(chain.head.view, compat, block), requested),
  }),
  method({
    name: 'eth_getProof',
    doc: 'An account and some of its slots with Merkle proofs against the state root (EIP-1186).',
    params: [required('address', address), required('slots', arrayOf(proofKey, SLOTS_PER_REQUEST)), optional('block', blockRef)],
    result: record('account proof', {
      address: ADDRESS,
      accountProof: listOf(BYTES),
      balance: QUANTITY,
      codeHash: HASH,
      nonce: QUANTITY,
      storageHash: HASH,
      storageProof: listOf(record('storage proof', { key: { type: 'string' }, value: QUANTITY, proof: listOf(BYTES) })),
    }),
    errors: ERRORS,
    example: {
      params: [ALICE, [], 'latest'],
      result: { address: ALICE, accountProof: ['0xf90211…'], balance: '0x1', codeHash: EMPTY_CODE_HASH, nonce: '0x0', storageProof: [] },
    },
    handler: ({ chain }, [address, keys, block]) => {
      const { view } = chain.head
      const slots = keys.map(({ slot }) => slot)
      return proofJson(
        view.proof(requireBlock(view, block), address, slots),
        keys.map(({ shown }) => shown),
      )
    },
  }),
]

function codeOf(state: StateReader, address: Address): Uint8Array {
  const account = state.account(address)
  return account === null ? NO_CODE : state.code(account.codeHash)
}

const NO_CODE = new Uint8Array(0)
const EMPTY_ACCOUNT = { balance: 0n, nonce: 0n }

function storageValues(state: StateReader, requested: ReadonlyMap<Address, readonly Hash[]>): Json {
  let count = 0
  for (const slots of requested.values()) count += slots.length
  if (count === 0) throw invalidParams('empty request: argument 0 (slots by address) names no slot')
  if (count > SLOTS_PER_REQUEST) {
    throw invalidParams(`too many slots in argument 0 (slots by address): ${count}, at most ${SLOTS_PER_REQUEST} are answered`)
  }
  const entries = [...requested].map(([address, slots]) => [address, slots.map((slot) => Hex.fromBytes32(state.storage(address, slot)))])
  return Object.fromEntries(entries) as Json // built from pairs of a string and an array
}

function proofJson({ address, account, storageHash, accountProof, storageProof }: AccountProof, keys: readonly string[]): Json {
  return {
    address,
    accountProof: accountProof.map(Hex.fromBytes),
    balance: Hex.fromQuantity(account?.balance ?? 0n),
    codeHash: account?.codeHash ?? EMPTY_CODE_HASH,
    nonce: Hex.fromQuantity(account?.nonce ?? 0n),
    storageHash,
    storageProof: storageProof.map(({ value, proof }, i) => ({
      key: keys[i],
      value: Hex.fromQuantity(value),
      proof: proof.map(Hex.fromBytes),
    })),
  }
}
