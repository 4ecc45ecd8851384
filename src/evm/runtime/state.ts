// Accounts, slots and codes of this instance, and the journal that reverts changes.
//
// Entries are contiguous, found through two hash indices, and do not move until the tables are cleared. A miss calls the host once,
// synchronously. Every change saves the entry first, at most once per entry and checkpoint.

import {
  ACCOUNT_INDEX, ACCOUNT_SIZE, ACCOUNTS, ACCOUNTS_SOFT_MAX, ACCOUNTS_MAX, A_ADDRESS, A_BALANCE, A_CHANGED, A_CODE, A_CODE_HASH, A_CREATED,
  A_FLAGS, A_NONCE, A_CHECKPOINT, A_TOUCHED, A_WARM, C_BYTES, C_COMPILED, C_GAS, C_JUMPS, C_SIZE, CODE_BYTES_SOFT_MAX, CODE_INDEX,
  CODE_INDEX_BITS, CODE_PADDING, CODES, CODES_END, CODES_SOFT_MAX, COST_COLD_ACCOUNT, COST_COLD_SLOT, DIRTY, DIRTY_ACCOUNTS, DIRTY_SLOTS,
  EXISTS, JOURNAL, JOURNAL_END, LOADED, LOGS, MOVED, MOVED_COUNT, MOVED_SIZE, OUT_OF_MEMORY, PRECOMPILES, CHECKPOINTS_SOFT_MAX, SLOT_INDEX,
  SLOT_SIZE, SLOTS, SLOTS_SOFT_MAX, SLOTS_MAX, S_EPOCH, S_FLAGS, S_KEY, S_NEXT, S_ORIGINAL, S_OWNER, S_CHECKPOINT, S_VALUE, S_WARM, TOUCHED,
  TOUCHED_END,
} from './layout'
import { keccak256 } from './keccak'
import { clear, copy, copyAddress, isZero } from './word'

/** Writes flags, nonce, balance and code hash of a new account entry. */
@external('host', 'loadAccount')
declare function loadAccount(entry: usize): void
/** Writes the value of a new slot entry. */
@external('host', 'loadSlot')
declare function loadSlot(entry: usize): void
/** Creates the code record of an unknown hash: `allocateCode`, the bytes, `markJumpDestinations`. */
@external('host', 'loadCode')
declare function loadCode(hash: usize): usize

let epoch: u32 = 1
/** id of the current checkpoint; ids are not reused */
let checkpointId: u32 = 1
let lastCheckpoint: u32 = 1
let journal: usize = JOURNAL
/** An index is an open-addressing table of { u32 stamp, u32 entry }; a bucket with another stamp is free. It grows with its content. */
const MIN_INDEX_MASK: u32 = 1023
/** reduces a hash to MIN_INDEX_MASK + 1 buckets */
const MIN_INDEX_SHIFT: u64 = 54
/** Random and not exposed: otherwise a caller could choose keys that collide, and each lookup would scan the table. */
let seed: u64 = 0
let accountMask: u32 = MIN_INDEX_MASK
let accountShift: u64 = MIN_INDEX_SHIFT
let accountStamp: u32 = 1
let accountCount: u32 = 0
let slotMask: u32 = MIN_INDEX_MASK
let slotShift: u64 = MIN_INDEX_SHIFT
let slotStamp: u32 = 1
let slotCount: u32 = 0
let codeTop: usize = CODES
let codeCount: u32 = 0
let dirtyAccountCount: u32 = 0
let dirtySlotCount: u32 = 0
let touched: usize = TOUCHED

/** status that caused the last trap; 0: the trap is a bug */
export let trapReason: i32 = 0
/** refund counter of the running transaction */
export let refund: i64 = 0
export let logTop: usize = LOGS
export let logCount: u32 = 0

export function setRefund(value: i64): void {
  refund = value
}

export function setLogs(top: usize, count: u32): void {
  logTop = top
  logCount = count
}

/** Aborts with a trap; the host reverts the journal and refuses the message. */
export function outOfMemory(): void {
  trapReason = OUT_OF_MEMORY
  unreachable()
}

export function clearTrapReason(): void {
  trapReason = 0
}

export function setSeed(value: u64): void {
  seed = value
}

// --- tables --------------------------------------------------------------------------------------------------------

/** Removes all accounts and slots; codes stay. */
export function clearState(): void {
  accountStamp++
  slotStamp++
  accountMask = MIN_INDEX_MASK
  accountShift = MIN_INDEX_SHIFT
  slotMask = MIN_INDEX_MASK
  slotShift = MIN_INDEX_SHIFT
  accountCount = 0
  slotCount = 0
  markClean()
}

/** Marks all entries as equal to the host's state. */
export function markClean(): void {
  for (let i: u32 = 0; i < dirtyAccountCount; i++) {
    const entry = <usize>load<u32>(DIRTY_ACCOUNTS + (i << 2))
    store<u32>(entry, load<u32>(entry, A_FLAGS) & ~DIRTY, A_FLAGS)
  }
  for (let i: u32 = 0; i < dirtySlotCount; i++) {
    const entry = <usize>load<u32>(DIRTY_SLOTS + (i << 2))
    store<u32>(entry, load<u32>(entry, S_FLAGS) & ~DIRTY, S_FLAGS)
    store<u32>(<usize>load<u32>(entry, S_OWNER), 0, A_CHANGED)
  }
  dirtyAccountCount = 0
  dirtySlotCount = 0
  journal = JOURNAL
  beginTransaction() // the touched entries may no longer be in the tables
}

/** Removes accounts, slots and codes. No message may be running. */
export function clearCodes(): void {
  clearState()
  memory.fill(CODE_INDEX, 0, <usize>48 << CODE_INDEX_BITS)
  codeTop = CODES
  codeCount = 0
}

/** Reverts the message and keeps what was read. Returns true if there is room for the next message. */
export function releaseState(): bool {
  revertTo(JOURNAL)
  markClean()
  trapReason = 0
  return !isNearlyFull() && lastCheckpoint <= CHECKPOINTS_SOFT_MAX
}

export function isNearlyFull(): bool {
  return areCodesNearlyFull() || accountCount > ACCOUNTS_SOFT_MAX || slotCount > SLOTS_SOFT_MAX
}
export function areCodesNearlyFull(): bool {
  return codeTop > CODES + CODE_BYTES_SOFT_MAX || codeCount > CODES_SOFT_MAX
}
export function accountsUsed(): u32 {
  return accountCount
}
export function dirtyAccounts(): u32 {
  return dirtyAccountCount
}
export function dirtySlots(): u32 {
  return dirtySlotCount
}
export function touchedEnd(): usize {
  return touched
}

/** The entry of an address (20 bytes), created and loaded if absent. */
export function account(address: usize): usize {
  let place = accountPlace(address)
  let entry = accountAt(place)
  while (entry != 0) {
    if (holdsAddress(entry, address)) {
      if (!(load<u32>(entry, A_FLAGS) & LOADED)) loadEntry(entry)
      return entry
    }
    place = (place + 1) & accountMask
    entry = accountAt(place)
  }
  return newAccount(place, address)
}

/** The entry of an address, loaded or not; 0: none. */
export function cachedAccount(address: usize): usize {
  let place = accountPlace(address)
  let entry = accountAt(place)
  while (entry != 0 && !holdsAddress(entry, address)) {
    place = (place + 1) & accountMask
    entry = accountAt(place)
  }
  return entry
}

@inline
function accountPlace(address: usize): u32 {
  let hash = (load<u64>(address) ^ seed) * (seed << 1 ^ 0x9e3779b97f4a7c15)
  hash = (hash ^ hash >> 32 ^ load<u64>(address, 8)) * 0xc2b2ae3d27d4eb4f
  hash = (hash ^ hash >> 32 ^ <u64>load<u32>(address, 16)) * 0xff51afd7ed558ccd
  return <u32>(hash >> accountShift)
}

@inline
function accountAt(place: u32): usize {
  const at = ACCOUNT_INDEX + (<usize>place << 3)
  return load<u32>(at) == accountStamp ? <usize>load<u32>(at, 4) : 0
}

@inline
function holdsAddress(entry: usize, address: usize): bool {
  return (
    load<u64>(entry, A_ADDRESS) == load<u64>(address) &&
    load<u64>(entry, A_ADDRESS + 8) == load<u64>(address, 8) &&
    load<u32>(entry, A_ADDRESS + 16) == load<u32>(address, 16)
  )
}

function newAccount(place: u32, address: usize): usize {
  if (accountCount >= ACCOUNTS_MAX) outOfMemory()
  const entry = ACCOUNTS + <usize>accountCount * ACCOUNT_SIZE
  accountCount++
  memory.fill(entry, 0, ACCOUNT_SIZE)
  copyAddress(entry + A_ADDRESS, address)
  putAccount(place, entry)
  if (accountCount > accountMask >> 1) growAccounts()
  loadEntry(entry)
  return entry
}

@inline
function putAccount(place: u32, entry: usize): void {
  const at = ACCOUNT_INDEX + (<usize>place << 3)
  store<u32>(at, accountStamp)
  store<u32>(at, <u32>entry, 4)
}

/** Rebuilds the index; entries do not move. */
function growAccounts(): void {
  accountMask = (accountMask << 1) | 1
  accountShift--
  accountStamp++
  for (let i: u32 = 0; i < accountCount; i++) {
    const entry = ACCOUNTS + <usize>i * ACCOUNT_SIZE
    let place = accountPlace(entry + A_ADDRESS)
    while (accountAt(place) != 0) place = (place + 1) & accountMask
    putAccount(place, entry)
  }
}

function loadEntry(entry: usize): void {
  store<u32>(entry, 0, A_CODE)
  loadAccount(entry)
  store<u32>(entry, load<u32>(entry, A_FLAGS) | LOADED, A_FLAGS)
}

@inline
function slotPlace(owner: u32, key: usize): u32 {
  let hash = (load<u64>(key) ^ <u64>owner << 20 ^ seed) * (seed << 1 ^ 0x9e3779b97f4a7c15)
  hash = (hash ^ hash >> 32 ^ load<u64>(key, 8)) * 0xc2b2ae3d27d4eb4f
  hash = (hash ^ hash >> 32 ^ load<u64>(key, 16)) * 0x165667b19e3779f9
  hash = (hash ^ hash >> 29 ^ load<u64>(key, 24)) * 0xff51afd7ed558ccd
  return <u32>(hash >> slotShift)
}

@inline
function holdsKey(entry: usize, owner: u32, key: usize): bool {
  return (
    load<u32>(entry, S_OWNER) == owner &&
    load<u64>(entry, S_KEY) == load<u64>(key) &&
    load<u64>(entry, S_KEY + 8) == load<u64>(key, 8) &&
    load<u64>(entry, S_KEY + 16) == load<u64>(key, 16) &&
    load<u64>(entry, S_KEY + 24) == load<u64>(key, 24)
  )
}

@inline
function slotAt(place: u32): usize {
  const at = SLOT_INDEX + (<usize>place << 3)
  return load<u32>(at) == slotStamp ? <usize>load<u32>(at, 4) : 0
}

/** The entry of a slot (key: a word), created and loaded if absent. `owner`: account entry. */
export function slot(owner: usize, key: usize): usize {
  let place = slotPlace(<u32>owner, key)
  let entry = slotAt(place)
  while (entry != 0) {
    if (holdsKey(entry, <u32>owner, key)) {
      if (!(load<u32>(entry, S_FLAGS) & LOADED)) loadSlotEntry(entry, owner)
      return entry
    }
    place = (place + 1) & slotMask
    entry = slotAt(place)
  }
  entry = newSlot(place, <u32>owner, key)
  loadSlotEntry(entry, owner)
  return entry
}

/** The entry of a slot, loaded or not; 0: none. */
export function cachedSlot(owner: usize, key: usize): usize {
  let place = slotPlace(<u32>owner, key)
  let entry = slotAt(place)
  while (entry != 0 && !holdsKey(entry, <u32>owner, key)) {
    place = (place + 1) & slotMask
    entry = slotAt(place)
  }
  return entry
}

function newSlot(place: u32, owner: u32, key: usize): usize {
  if (slotCount >= SLOTS_MAX) outOfMemory()
  const entry = SLOTS + <usize>slotCount * SLOT_SIZE
  slotCount++
  memory.fill(entry, 0, SLOT_SIZE)
  store<u32>(entry, owner, S_OWNER)
  copy(entry + S_KEY, key)
  putSlot(place, entry)
  if (slotCount > slotMask >> 1) growSlots()
  return entry
}

@inline
function putSlot(place: u32, entry: usize): void {
  const at = SLOT_INDEX + (<usize>place << 3)
  store<u32>(at, slotStamp)
  store<u32>(at, <u32>entry, 4)
}

function growSlots(): void {
  slotMask = (slotMask << 1) | 1
  slotShift--
  slotStamp++
  for (let i: u32 = 0; i < slotCount; i++) {
    const entry = SLOTS + <usize>i * SLOT_SIZE
    let place = slotPlace(load<u32>(entry, S_OWNER), entry + S_KEY)
    while (slotAt(place) != 0) place = (place + 1) & slotMask
    putSlot(place, entry)
  }
}

/** An account created in this transaction has no storage in the host's state. */
function loadSlotEntry(entry: usize, owner: usize): void {
  if (load<u32>(owner, A_CREATED) == epoch) clear(entry + S_VALUE)
  else loadSlot(entry)
  store<u32>(entry, load<u32>(entry, S_FLAGS) | LOADED, S_FLAGS)
}

/** EIP-1153: a transient slot is an entry whose value is valid for one transaction. */
export function transient(owner: usize, key: usize, out: usize): void {
  const entry = cachedSlot(owner | 1, key)
  if (entry != 0 && load<u32>(entry, S_WARM) == epoch) copy(out, entry + S_VALUE)
  else clear(out)
}

export function setTransient(owner: usize, key: usize, value: usize): void {
  const marked = <u32>owner | 1
  let place = slotPlace(marked, key)
  let entry = slotAt(place)
  while (entry != 0 && !holdsKey(entry, marked, key)) {
    place = (place + 1) & slotMask
    entry = slotAt(place)
  }
  if (entry == 0) entry = newSlot(place, marked, key)
  if (load<u32>(entry, S_WARM) != epoch) {
    clear(entry + S_VALUE)
    store<u32>(entry, epoch, S_WARM)
    store<u32>(entry, 0, S_CHECKPOINT)
  }
  saveSlot(entry)
  copy(entry + S_VALUE, value)
}

// --- the journal ---------------------------------------------------------------------------------------------------

const ACCOUNT_RECORD: usize = 112 // fields from A_NONCE, then flags, (unused), entry, kind
const SLOT_RECORD: usize = 48 // value, then warm, checkpoint, entry, kind

/** Saves an account before a change, unless this checkpoint has saved it. */
@inline
export function saveAccount(entry: usize): void {
  if (load<u32>(entry, A_CHECKPOINT) != checkpointId) recordAccount(entry)
}

function recordAccount(entry: usize): void {
  if (journal + ACCOUNT_RECORD > JOURNAL_END) outOfMemory()
  copyJournaledFields(journal, entry + A_NONCE)
  const flags = load<u32>(entry, A_FLAGS)
  store<u32>(journal, flags, 96)
  store<u32>(journal, <u32>entry, 104)
  store<u32>(journal, 1, 108)
  journal += ACCOUNT_RECORD
  store<u32>(entry, checkpointId, A_CHECKPOINT)
  if (flags & DIRTY) return
  store<u32>(entry, flags | DIRTY, A_FLAGS)
  store<u32>(DIRTY_ACCOUNTS + (dirtyAccountCount++ << 2), <u32>entry)
}

/** Copies the journaled fields, A_NONCE to the end. By vectors: memory.copy is a call out of the module. */
@inline
function copyJournaledFields(out: usize, from: usize): void {
  for (let at: usize = 0; at < ACCOUNT_SIZE - A_NONCE; at += 16) v128.store(out + at, v128.load(from + at))
}

@inline
export function saveSlot(entry: usize): void {
  if (load<u32>(entry, S_CHECKPOINT) != checkpointId) recordSlot(entry)
}

function recordSlot(entry: usize): void {
  if (journal + SLOT_RECORD > JOURNAL_END) outOfMemory()
  copy(journal, entry + S_VALUE)
  store<u32>(journal, load<u32>(entry, S_WARM), 32)
  store<u32>(journal, load<u32>(entry, S_CHECKPOINT), 36)
  store<u32>(journal, <u32>entry, 40)
  store<u32>(journal, 2, 44)
  journal += SLOT_RECORD
  store<u32>(entry, checkpointId, S_CHECKPOINT)
}

function dirtySlot(entry: usize): void {
  const flags = load<u32>(entry, S_FLAGS)
  if (flags & DIRTY) return
  store<u32>(entry, flags | DIRTY, S_FLAGS)
  const owner = <usize>load<u32>(entry, S_OWNER)
  store<u32>(entry, load<u32>(owner, A_CHANGED), S_NEXT)
  store<u32>(owner, <u32>entry, A_CHANGED)
  store<u32>(DIRTY_SLOTS + (dirtySlotCount++ << 2), <u32>entry)
}

/** Opens a checkpoint and returns the mark for `revertTo`. Later changes save their entry again. */
export function checkpoint(): usize {
  checkpointId = ++lastCheckpoint
  return journal
}

/** Returns to the checkpoint that was current before (`currentCheckpoint`). */
export function resumeCheckpoint(before: u32): void {
  checkpointId = before
}

export function currentCheckpoint(): u32 {
  return checkpointId
}

export function revertTo(mark: usize): void {
  while (journal > mark) {
    const entry = <usize>load<u32>(journal - 8)
    if (load<u32>(journal - 4) == 1) {
      journal -= ACCOUNT_RECORD
      const touchedNow = load<u32>(entry, A_TOUCHED)
      copyJournaledFields(entry + A_NONCE, journal)
      store<u32>(entry, (load<u32>(entry, A_FLAGS) & ~EXISTS) | (load<u32>(journal, 96) & EXISTS), A_FLAGS)
      if (isRipemd(entry)) store<u32>(entry, touchedNow, A_TOUCHED)
    } else {
      journal -= SLOT_RECORD
      copy(entry + S_VALUE, journal)
      store<u32>(entry, load<u32>(journal, 32), S_WARM)
      store<u32>(entry, load<u32>(journal, 36), S_CHECKPOINT)
    }
  }
  checkpointId = ++lastCheckpoint
}

/**
 * The one address whose touch survives a revert: geth and Parity deleted it in mainnet block 2675119 although the frame that touched it ran
 * out of gas, and consensus kept the rule.
 */
function isRipemd(entry: usize): bool {
  return load<u64>(entry, A_ADDRESS) == 0 && load<u64>(entry, A_ADDRESS + 8) == 0 && load<u32>(entry, A_ADDRESS + 16) == 0x03000000
}

/** Resets what is scoped to one transaction: warm and created marks, original values, transient storage, logs, refund. */
export function beginTransaction(): void {
  epoch++
  touched = TOUCHED
  logTop = LOGS
  logCount = 0
  refund = 0
  checkpointId = ++lastCheckpoint
}

export function currentEpoch(): u32 {
  return epoch
}

// --- accounts ------------------------------------------------------------------------------------------------------

@inline
export function exists(entry: usize): bool {
  return (load<u32>(entry, A_FLAGS) & EXISTS) != 0
}

/** EIP-161: no nonce, no balance, no code. True for an absent account. */
export function isEmpty(entry: usize): bool {
  return !exists(entry) || (load<u64>(entry, A_NONCE) == 0 && isZero(entry + A_BALANCE) && hasNoCode(entry))
}

// keccak256 of the empty input, as four little-endian u64.
const EMPTY_0: u64 = 0x3c23f7860146d2c5
const EMPTY_1: u64 = 0xc003c7dcb27d7e92
const EMPTY_2: u64 = 0x3b2782ca53b600e5
const EMPTY_3: u64 = 0x70a4855d04d8fa7b

@inline
export function hasNoCode(entry: usize): bool {
  return (
    load<u64>(entry, A_CODE_HASH) == EMPTY_0 &&
    load<u64>(entry, A_CODE_HASH + 8) == EMPTY_1 &&
    load<u64>(entry, A_CODE_HASH + 16) == EMPTY_2 &&
    load<u64>(entry, A_CODE_HASH + 24) == EMPTY_3
  )
}

function setNoCode(entry: usize): void {
  store<u64>(entry, EMPTY_0, A_CODE_HASH)
  store<u64>(entry, EMPTY_1, A_CODE_HASH + 8)
  store<u64>(entry, EMPTY_2, A_CODE_HASH + 16)
  store<u64>(entry, EMPTY_3, A_CODE_HASH + 24)
  store<u32>(entry, 0, A_CODE)
}

/** Marks an account as touched (EIP-161) and journals it. */
export function touch(entry: usize): void {
  saveAccount(entry)
  if (load<u32>(entry, A_TOUCHED) == epoch) return
  store<u32>(entry, epoch, A_TOUCHED)
  if (touched >= TOUCHED_END) outOfMemory()
  store<u32>(touched, <u32>entry)
  touched += 4
}

/** Creates the account if absent; touches it. */
export function ensureExists(entry: usize): void {
  touch(entry)
  if (exists(entry)) return
  store<u32>(entry, load<u32>(entry, A_FLAGS) | EXISTS, A_FLAGS)
  store<u64>(entry, 0, A_NONCE)
  clear(entry + A_BALANCE)
  setNoCode(entry)
}

/** Removes the account; its storage is not affected. */
export function remove(entry: usize): void {
  touch(entry)
  store<u32>(entry, load<u32>(entry, A_FLAGS) & ~EXISTS, A_FLAGS)
  store<u64>(entry, 0, A_NONCE)
  clear(entry + A_BALANCE)
  setNoCode(entry)
}

/** EIP-161, at the end of a transaction. */
export function removeTouchedEmpty(): void {
  const end = touched
  for (let at = TOUCHED; at < end; at += 4) {
    const entry = <usize>load<u32>(at)
    if (load<u32>(entry, A_TOUCHED) == epoch && exists(entry) && isEmpty(entry)) remove(entry)
  }
}

@inline
export function isWarm(entry: usize): bool {
  return load<u32>(entry, A_WARM) == epoch
}

export function warmAccount(entry: usize): void {
  if (load<u32>(entry, A_WARM) == epoch) return
  saveAccount(entry)
  store<u32>(entry, epoch, A_WARM)
}

export function warmSlot(entry: usize): void {
  if (load<u32>(entry, S_WARM) == epoch) return
  saveSlot(entry)
  store<u32>(entry, epoch, S_WARM)
}

/** Cost of a cold access in excess of a warm one (EIP-2929), 0 if warm. Warms the account. */
export function coldAccountCost(entry: usize): i64 {
  if (load<u32>(entry, A_WARM) == epoch) return 0
  if (standardPrecompile(entry + A_ADDRESS) != 0) return 0 // always warm, even when an override has moved it (geth)
  saveAccount(entry)
  store<u32>(entry, epoch, A_WARM)
  return <i64>load<u32>(COST_COLD_ACCOUNT)
}

/** Cold access cost of a slot, 0 if warm. Warms the slot. */
export function coldSlotCost(entry: usize): i64 {
  if (load<u32>(entry, S_WARM) == epoch) return 0
  saveSlot(entry)
  store<u32>(entry, epoch, S_WARM)
  return <i64>load<u32>(COST_COLD_SLOT)
}

/** Number of the precompile at an address under the rules and overrides of this message; 0: none. */
export function precompileAt(address: usize): u32 {
  if (load<u32>(MOVED_COUNT) != 0) {
    const moved = movedPrecompile(address)
    if (moved >= 0) return moved
  }
  return standardPrecompile(address)
}

function standardPrecompile(address: usize): u32 {
  if (load<u64>(address) != 0 || load<u64>(address, 8) != 0) return 0
  const low = bswap(load<u32>(address, 16))
  return low <= 256 && load<u8>(PRECOMPILES + low) != 0 ? low : 0
}

/** -1: the address is not overridden. */
function movedPrecompile(address: usize): i32 {
  const count = load<u32>(MOVED_COUNT)
  for (let i: u32 = 0; i < count; i++) {
    const at = MOVED + <usize>i * MOVED_SIZE
    if (load<u64>(at) == load<u64>(address) && load<u64>(at, 8) == load<u64>(address, 8) && load<u32>(at, 16) == load<u32>(address, 16)) {
      return <i32>load<u32>(at, 20)
    }
  }
  return -1
}

// --- storage -------------------------------------------------------------------------------------------------------

/** Sets a slot and saves its value at the start of the transaction. */
export function setSlot(entry: usize, value: usize): void {
  if (load<u32>(entry, S_EPOCH) != epoch) {
    store<u32>(entry, epoch, S_EPOCH)
    copy(entry + S_ORIGINAL, entry + S_VALUE)
  }
  saveSlot(entry)
  dirtySlot(entry)
  copy(entry + S_VALUE, value)
}

/** Address of the slot's value at the start of the transaction. */
export function originalValue(entry: usize): usize {
  return load<u32>(entry, S_EPOCH) == epoch ? entry + S_ORIGINAL : entry + S_VALUE
}

/** The host's state has changed; the entry is loaded again on the next access. */
export function invalidateAccount(entry: usize): void {
  store<u32>(entry, load<u32>(entry, A_FLAGS) & ~LOADED, A_FLAGS)
}
export function invalidateSlot(entry: usize): void {
  store<u32>(entry, load<u32>(entry, S_FLAGS) & ~LOADED, S_FLAGS)
}

// --- codes ---------------------------------------------------------------------------------------------------------

/** The code record of an account. Accounts with equal code share one record. */
@inline
export function codeOf(entry: usize): usize {
  const code = <usize>load<u32>(entry, A_CODE)
  return code != 0 ? code : findCode(entry)
}

function findCode(entry: usize): usize {
  const code = codeByHash(entry + A_CODE_HASH)
  store<u32>(entry, <u32>code, A_CODE)
  return code
}

/** The code record of a hash (32 bytes), loaded if absent. */
export function codeByHash(hash: usize): usize {
  const code = findCodeRecord(hash)
  return code != 0 ? code : loadCode(hash)
}

/** Bucket of a hash: { 32 bytes, u32 record }, 48 bytes each. */
function indexPlace(hash: usize): usize {
  const mask: u32 = (1 << CODE_INDEX_BITS) - 1
  let place = load<u32>(hash) & mask
  while (true) {
    const at = CODE_INDEX + <usize>place * 48
    if (load<u32>(at, 32) == 0) return at
    if (
      load<u64>(at) == load<u64>(hash) &&
      load<u64>(at, 8) == load<u64>(hash, 8) &&
      load<u64>(at, 16) == load<u64>(hash, 16) &&
      load<u64>(at, 24) == load<u64>(hash, 24)
    )
      return at
    place = (place + 1) & mask
  }
}

/** The code record of a hash; 0: not in the index. */
export function findCodeRecord(hash: usize): usize {
  return <usize>load<u32>(indexPlace(hash), 32)
}

/** Allocates a record for a code of `size` bytes. The host writes the bytes, then calls `markJumpDestinations`. */
export function allocateCode(hash: usize, size: u32): usize {
  const bitmap = ((size + 63) >> 6) << 3
  const whole = ((C_BYTES + <usize>size + CODE_PADDING + 15) & ~15) + <usize>bitmap + 16
  if (codeTop + whole > CODES_END || codeCount >= (7 << (CODE_INDEX_BITS - 3))) outOfMemory()
  const code = codeTop
  codeTop += (whole + 15) & ~15
  codeCount++
  initCodeRecord(code, size)
  const at = indexPlace(hash)
  memory.copy(at, hash, 32)
  store<u32>(at, <u32>code, 32)
  return code
}

/** Writes the header and padding of a record; the jump bitmap follows its bytes. */
export function initCodeRecord(code: usize, size: u32): void {
  store<u32>(code, size, C_SIZE)
  store<u32>(code, <u32>((code + C_BYTES + <usize>size + CODE_PADDING + 15) & ~15), C_JUMPS)
  store<u32>(code, 0, C_COMPILED)
  store<u32>(code, 0, C_GAS)
  memory.fill(code + C_BYTES + <usize>size, 0, CODE_PADDING)
}

/** Marks every 0x5b that is not PUSH data. */
export function markJumpDestinations(code: usize): void {
  const bytes = code + C_BYTES
  const jumps = <usize>load<u32>(code, C_JUMPS)
  const size = load<u32>(code, C_SIZE)
  memory.fill(jumps, 0, ((size + 63) >> 6) << 3)
  for (let i: u32 = 0; i < size; i++) {
    const op = load<u8>(bytes + i)
    if (op == 0x5b) store<u8>(jumps + (i >> 3), load<u8>(jumps + (i >> 3)) | (<u8>1 << <u8>(i & 7)))
    else if (op >= 0x60 && op <= 0x7f) i += op - 0x5f
  }
}

/** Sets the code of an account to the bytes at `source`. */
export function setCode(entry: usize, source: usize, size: u32): void {
  ensureExists(entry)
  if (size == 0) {
    setNoCode(entry)
    return
  }
  keccak256(source, size, entry + A_CODE_HASH)
  let code = findCodeRecord(entry + A_CODE_HASH)
  if (code == 0) {
    code = allocateCode(entry + A_CODE_HASH, size)
    memory.copy(code + C_BYTES, source, size)
    markJumpDestinations(code)
  }
  store<u32>(entry, <u32>code, A_CODE)
}
