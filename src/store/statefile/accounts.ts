import { Address, EMPTY_CODE_HASH, Hash, Hex } from '../../eth/index.ts'
import { isEmpty } from '../../evm/index.ts'
import type { Account, World, WriteSet } from '../../evm/index.ts'
import { STATE_FILE_TEXT_PER_PIECE } from './limits.ts'
import { integerOf } from './jsonfield.ts'
import type { JsonField } from './jsonfield.ts'

/** An account in a state file. */
export interface StateAccount {
  readonly address: Address
  readonly nonce: bigint
  /** wei */
  readonly balance: bigint
  readonly code: Uint8Array
  /** zero slots may be included */
  readonly storage: ReadonlyMap<Hash, bigint>
}

// --- reading --------------------------------------------------------------------------------------------------------------------------------

/** Reads accounts by address, as anvil and geth's `alloc` write them; the 0x of addresses is optional. Throws StateFileError. */
export function readAccounts(field: JsonField): readonly StateAccount[] {
  const accounts = field.entries().map(([key, account]) => readAccount(key, account))
  const seen = new Set<Address>()
  for (const { address } of accounts) {
    if (seen.has(address)) throw field.key(address).wrong('is there twice')
    seen.add(address)
  }
  return accounts
}

/** `secretKey` occurs in geth's test files and is ignored. */
const ACCOUNT_KEYS: ReadonlySet<string> = new Set(['nonce', 'balance', 'code', 'storage', 'secretKey'])

function readAccount(key: string, field: JsonField): StateAccount {
  if (!ADDRESS.test(key)) throw field.wrong('is not an address')
  field.only(ACCOUNT_KEYS)
  return {
    address: Address.from(`0x${key.slice(-40).toLowerCase()}`),
    nonce: field.maybe('nonce')?.quantity(64) ?? 0n,
    balance: field.maybe('balance')?.quantity() ?? 0n,
    code: field.maybe('code')?.bytes() ?? NO_BYTES,
    storage: readStorage(field.maybe('storage')),
  }
}

function readStorage(field: JsonField | null): ReadonlyMap<Hash, bigint> {
  const slots = new Map<Hash, bigint>()
  for (const [key, value] of field?.entries() ?? []) slots.set(slotOf(key, value), wordOf(value))
  return slots
}

function slotOf(key: string, value: JsonField): Hash {
  if (SLOT.test(key)) return Hash.from(`0x${key.slice(-64).toLowerCase()}`)
  const slot = integerOf(key)
  if (slot === null || slot >> 256n !== 0n) throw value.wrong('is not a slot')
  return Hash.fromBigint(slot)
}

/** geth also writes words without 0x. */
function wordOf(field: JsonField): bigint {
  return typeof field.value === 'string' && BARE_WORD.test(field.value) ? BigInt(`0x${field.value}`) : field.quantity()
}

const ADDRESS = /^(?:0x)?[0-9a-fA-F]{40}$/
const SLOT = /^(?:0x)?[0-9a-fA-F]{64}$/
const BARE_WORD = /^[0-9a-fA-F]{64}$/
const NO_BYTES = new Uint8Array(0)

/** Returns the state of these accounts. Accounts that are empty by EIP-161 are left out, because other nodes write them too, unless `withEmpty`. */
export function writeSetOf(list: readonly StateAccount[], withEmpty = false): WriteSet {
  const accounts = new Map<Address, Account>()
  const storage = new Map<Address, Map<Hash, bigint>>()
  const codes = new Map<Hash, Uint8Array>()
  for (const { address, nonce, balance, code, storage: all } of list) {
    const slots = new Map([...all].filter(([, value]) => value !== 0n))
    const codeHash = code.length === 0 ? EMPTY_CODE_HASH : Hash.keccak(code)
    const account = { nonce, balance, codeHash }
    if (!withEmpty && isEmpty(account) && slots.size === 0) continue
    if (code.length > 0) codes.set(codeHash, code)
    accounts.set(address, account)
    if (slots.size > 0) storage.set(address, slots)
  }
  return { accounts, storage, codes }
}

/** Overlays `upper` on `lower`: its accounts replace those of `lower` with their storage. */
export function overlayState(lower: WriteSet, upper: WriteSet): WriteSet {
  const storage = new Map([...lower.storage].filter(([address]) => !upper.accounts.has(address)))
  return {
    accounts: new Map([...lower.accounts, ...upper.accounts]),
    storage: new Map([...storage, ...upper.storage]),
    codes: new Map([...lower.codes, ...upper.codes]),
  }
}

/** Semantics of anvil_loadState: replaces nonce, balance, code and the given slots; other slots stay. */
export function mergeAccounts(world: World, accounts: readonly StateAccount[]): void {
  for (const { address, nonce, balance, code, storage } of accounts) {
    world.setBalance(address, balance)
    world.setNonce(address, nonce)
    world.setCode(address, code)
    for (const [slot, value] of storage) world.setStorage(address, slot, value)
    const account = world.account(address)
    if (account !== null && isEmpty(account) && !holdsStorage(world, address)) world.setAccount(address, null)
  }
}

function holdsStorage(world: World, address: Address): boolean {
  for (const slot of world.slots(address)) if (world.storage(address, slot) !== 0n) return true
  return false
}

// --- writing --------------------------------------------------------------------------------------------------------------------------------

/**
 * Writes a state as JSON. In `pieces` an account precedes its slots, which may continue in the next piece, and a code comes with an account
 * that has it.
 */
export function* accountsText(pieces: Iterable<WriteSet>): Iterable<string> {
  const text = new AccountsText()
  yield '{'
  for (const piece of pieces) yield* text.of(piece)
  yield `${text.end()}}`
}

/** The last account stays open until the next one begins. */
class AccountsText {
  #open: Address | null = null
  #hasSlots = false
  #hasAccounts = false

  end(): string {
    if (this.#open === null) return ''
    this.#open = null
    return '}}'
  }

  *of({ accounts, storage, codes }: WriteSet): Iterable<string> {
    if (this.#open !== null) yield* this.#slots(storage.get(this.#open))
    let text = ''
    for (const [address, account] of accounts) {
      text += this.#begin(address, account ?? DELETED, codes)
      const slots = storage.get(address)
      if (slots === undefined && text.length < STATE_FILE_TEXT_PER_PIECE) continue
      yield text
      text = ''
      yield* this.#slots(slots)
    }
    yield text
  }

  #begin(address: Address, account: Account, codes: WriteSet['codes']): string {
    const { nonce, balance } = account
    const before = `${this.end()}${this.#hasAccounts ? ',' : ''}`
    this.#open = address
    this.#hasAccounts = true
    this.#hasSlots = false
    return `${before}"${address}":{"nonce":${nonce},"balance":"${Hex.fromQuantity(balance)}","code":"${codeText(account, codes)}","storage":{`
  }

  *#slots(slots: ReadonlyMap<Hash, bigint> | undefined): Iterable<string> {
    let text = ''
    for (const [slot, value] of slots ?? []) {
      text += `${this.#hasSlots ? ',' : ''}"${slot}":"${Hash.fromBigint(value)}"`
      this.#hasSlots = true
      if (text.length < STATE_FILE_TEXT_PER_PIECE) continue
      yield text
      text = ''
    }
    yield text
  }
}

/** Written over the state of a fork block, which would bring a deleted account back. */
const DELETED: Account = { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }

function codeText({ codeHash }: Account, codes: WriteSet['codes']): string {
  const code = codes.get(codeHash)
  if (code === undefined && codeHash !== EMPTY_CODE_HASH) throw new Error(`the code ${codeHash} is not with its account`)
  return Hex.fromBytes(code ?? NO_BYTES)
}
