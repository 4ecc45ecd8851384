import type { Chain } from '../../chain/index.ts'
import { Hash } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { isEmpty } from '../../evm/index.ts'
import type { World } from '../../evm/index.ts'
import { ACCOUNTS_PER_EDIT } from '../limits.ts'
import { required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { BOOLEAN } from '../../jsonrpc/jsonschema.ts'
import { address, bigInteger, bytes, oneOrMany, prefixOptional, storageSlot } from '../../jsonrpc/schema.ts'
import { atMost } from './bounds.ts'
import { voidMethods, prefixed, named } from './named.ts'
import { ALICE, WETH } from './examples.ts'

/** EIP-2681 */
const nonce = atMost(bigInteger, 2n ** 64n - 1n, 'transactions')
/** As in eth_getStorageAt, or a JSON number, which the other setters and anvil take too. */
export const slotOrNumber: Schema<Hash> = {
  json: { title: 'storage key', oneOf: [storageSlot.json, { type: 'integer', minimum: 0 }] },
  parse: (value, path) => (typeof value === 'number' ? Hash.fromBigint(bigInteger.parse(value, path)) : storageSlot.parse(value, path)),
}
const addresses = oneOrMany(address, ACCOUNTS_PER_EDIT)
/** 64 digits without 0x are the hex of a word as in anvil, not a decimal number. Ganache clears a slot with `0x`. */
const storageValue: Schema<bigint> = {
  json: { ...bigInteger.json, title: 'integer or 32 bytes' },
  parse: (value, path) => {
    if (value === '0x') return 0n
    return bigInteger.parse(typeof value === 'string' && /^[0-9a-fA-F]{64}$/.test(value) ? `0x${value}` : value, path)
  },
}

/** State changes of tests. The pending block is sealed first, so that the change is visible under latest and pending. */
export const EDIT_METHODS: readonly Method[] = [
  ...voidMethods([...prefixed('setBalance'), 'evm_setAccountBalance'], {
    doc: 'Sets the balance of an account in wei.',
    params: [required('address', address), required('wei', bigInteger)],
    example: [ALICE, '0xde0b6b3a7640000'],
    handler: ({ chain }, [target, wei]) => edit(chain, [target], (world) => world.setBalance(target, wei)),
  }),
  ...voidMethods(prefixed('addBalance'), {
    doc: 'Adds wei to the balance of an account, at most up to 2^256 - 1.',
    params: [required('address', address), required('wei', bigInteger)],
    example: [ALICE, '0xde0b6b3a7640000'],
    handler: ({ chain }, [target, wei]) => edit(chain, [target], (world) => world.addBalance(target, wei)),
  }),
  ...voidMethods(['tenderly_setBalance'], {
    doc: 'Sets the balance of one account or of a list of them in wei.',
    params: [required('addresses', addresses), required('wei', bigInteger)],
    example: [[ALICE, WETH], '0xde0b6b3a7640000'],
    handler: ({ chain }, [targets, wei]) => {
      return edit(chain, targets, (world) => targets.forEach((target) => world.setBalance(target, wei)))
    },
  }),
  ...voidMethods(['tenderly_addBalance'], {
    doc: 'Adds wei to the balance of one account or of a list of them.',
    params: [required('addresses', addresses), required('wei', bigInteger)],
    example: [[ALICE, WETH], '0xde0b6b3a7640000'],
    handler: ({ chain }, [targets, wei]) => {
      return edit(chain, targets, (world) => targets.forEach((target) => world.addBalance(target, wei)))
    },
  }),
  ...voidMethods([...prefixed('setCode'), 'evm_setAccountCode'], {
    doc: 'Sets the code of an account, whatever its size; its nonce and storage stay.',
    params: [required('address', address), required('code', prefixOptional(bytes))],
    example: [ALICE, '0x6001600055'],
    handler: ({ chain }, [target, code]) => edit(chain, [target], (world) => world.setCode(target, code)),
  }),
  ...voidMethods([...prefixed('setNonce'), 'evm_setAccountNonce'], {
    doc: 'Sets the nonce of an account, lower ones too; pooled transactions whose nonce has passed are dropped.',
    params: [required('address', address), required('nonce', nonce)],
    example: [ALICE, '0x2a'],
    handler: ({ chain }, [target, value]) => edit(chain, [target], (world) => world.setNonce(target, value)),
  }),
  ...named([...prefixed('setStorageAt'), 'evm_setAccountStorageAt'], {
    doc: 'Sets one storage slot of an account.',
    params: [required('address', address), required('slot', slotOrNumber), required('value', storageValue)],
    result: BOOLEAN,
    example: { params: [WETH, '0x0', `0x${'1'.padStart(64, '0')}`], result: true },
    handler: async ({ chain }, [target, slot, value]) => {
      await edit(chain, [target], (world) => setStorage(world, target, slot, value))
      return true
    },
  }),
]

/** Removes accounts that are empty afterwards, as a transaction does (EIP-161). */
function edit(chain: Chain, targets: readonly Address[], change: (world: World) => void): Promise<void> {
  return chain.edit((world) => {
    change(world)
    for (const target of targets) removeEmpty(world, target)
  })
}

function removeEmpty(world: World, target: Address): void {
  const account = world.account(target)
  if (account !== null && isEmpty(account) && !holdsStorage(world, target)) world.setAccount(target, null)
}

function holdsStorage(world: World, target: Address): boolean {
  for (const slot of world.slots(target)) if (world.storage(target, slot) !== 0n) return true
  return false
}

/** Storage needs an account, which may be empty. */
function setStorage(world: World, target: Address, slot: Hash, value: bigint): void {
  if (world.account(target) === null) world.setBalance(target, 0n)
  world.setStorage(target, slot, value)
}
