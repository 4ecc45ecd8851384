import { existsSync, readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Address, EMPTY_CODE_HASH, EMPTY_OMMERS, EMPTY_ROOT, Hash, Hex, Rlp } from '../../eth/index.ts'
import type { RlpInput } from '../../eth/index.ts'
import type { Account, StateReader, WriteSet } from '../../evm/index.ts'
import { InconsistentWrites, PrunedState, RewoundState, StateHistory } from './history.ts'
import { rootOf, verify } from './trie.fixture.ts'

const ADDRESSES = [1n, 2n, 3n, 0xffffn].map(Address.fromBigint)
const SLOTS = [0n, 1n, 2n, 2n ** 255n].map(Hash.fromBigint)
const [ALICE, BOB] = ADDRESSES as [Address, Address]
const [ZERO, ONE] = SLOTS as [Hash, Hash]
const CODE = new Uint8Array([0x60, 0x00])
const OTHER_CODE = new Uint8Array([0x60, 0x01])
const CODES = new Map([CODE, OTHER_CODE].map((code) => [Hash.keccak(code), code]))

function account(nonce: number, balance = 0n, codeHash: Hash = EMPTY_CODE_HASH): Account {
  return { nonce: BigInt(nonce), balance, codeHash }
}

type Slots = Readonly<Record<Hash, bigint>>

function writes(accounts: Readonly<Record<Address, Account | null>>, storage: Readonly<Record<Address, Slots>> = {}): WriteSet {
  // Object.entries drops the brand of the keys
  const slots = (Object.entries(storage) as [Address, Slots][]).map(
    ([address, of]) => [address, new Map(Object.entries(of) as [Hash, bigint][])] as const,
  )
  return { accounts: new Map(Object.entries(accounts) as [Address, Account | null][]), storage: new Map(slots), codes: CODES }
}

describe('a version', () => {
  it('reads the same after later versions', () => {
    const history = new StateHistory(writes({ [ALICE]: account(1) }, { [ALICE]: { [ZERO]: 5n } }))
    const genesis = history.at(0)
    expect(history.apply(writes({ [ALICE]: account(2), [BOB]: account(7) }, { [ALICE]: { [ZERO]: 6n, [ONE]: 1n } }))).toBe(1)
    expect(history.apply(writes({ [ALICE]: null }))).toBe(2)

    expect(genesis.account(ALICE)).toEqual(account(1))
    expect([genesis.storage(ALICE, ZERO), genesis.storage(ALICE, ONE)]).toEqual([5n, 0n])
    expect([...genesis.slots(ALICE)]).toEqual([ZERO])
    expect(genesis.account(BOB)).toBeNull()
    expect([...history.at(1).slots(ALICE)]).toEqual([ZERO, ONE])
    expect(history.at(2).account(ALICE)).toBeNull()
    expect(history.at(2).account(BOB)).toEqual(account(7))
  })

  it('without an account has no storage of it, also when the account returns', () => {
    const history = new StateHistory(writes({ [ALICE]: account(1) }, { [ALICE]: { [ZERO]: 5n } }))
    history.apply(writes({ [ALICE]: null }))
    history.apply(writes({ [ALICE]: account(1) }))
    expect(history.at(2).storage(ALICE, ZERO)).toBe(0n)
    expect([...history.at(2).slots(ALICE)]).toEqual([])
    expect(history.storageRoot(ALICE)).toBe(EMPTY_ROOT)
  })

  it('code is read by hash; the empty hash has empty code; an unknown hash throws', () => {
    const history = new StateHistory(writes({ [ALICE]: account(1, 0n, Hash.keccak(CODE)) }))
    expect(history.at(0).code(Hash.keccak(CODE))).toEqual(CODE)
    expect(history.at(0).code(EMPTY_CODE_HASH)).toEqual(new Uint8Array())
    expect(() => history.at(0).code(Hash.zero)).toThrow(Hash.zero)
  })

  it('above the newest does not exist', () => {
    const history = new StateHistory()
    expect(() => history.at(1)).toThrow(RangeError)
    expect(() => history.rewind(1)).toThrow(RangeError)
    expect(() => history.prune(1)).toThrow(RangeError)
    expect(() => history.stateRoot(1)).toThrow(RangeError)
    expect(() => history.storageRoot(ALICE, 1)).toThrow(RangeError)
    expect(() => history.proofAt(1, ALICE, [])).toThrow(RangeError)
  })
})

describe('an inconsistent write set', () => {
  const history = new StateHistory(writes({ [ALICE]: account(1) }, { [ALICE]: { [ZERO]: 5n } }))
  const root = history.stateRoot()

  it.each([
    ['storage where there is no account', writes({ [ALICE]: account(2) }, { [BOB]: { [ZERO]: 1n } })],
    ['storage of an account that goes', writes({ [ALICE]: null }, { [ALICE]: { [ONE]: 1n } })],
    ['an account with unknown code', writes({ [ALICE]: account(2), [BOB]: account(1, 0n, Hash.zero) })],
  ])('is rejected and changes nothing: %s', (_, bad) => {
    const before = history.size()
    expect(() => history.apply(bad)).toThrow(InconsistentWrites)
    expect(history.version).toBe(0)
    expect(history.size()).toEqual(before)
    expect(history.at(0).account(ALICE)).toEqual(account(1))
    expect(history.stateRoot()).toBe(root)
  })

  it('zero slots without an account are consistent', () => {
    const empty = new StateHistory()
    empty.apply(writes({ [BOB]: null }, { [BOB]: { [ZERO]: 0n } }))
    expect(empty.size()).toMatchObject({ accounts: 0, slots: 0, entries: 0 })
  })
})

describe('memory', () => {
  it('writing an equal value adds no entry', () => {
    const history = new StateHistory(writes({ [ALICE]: account(1, 3n) }, { [ALICE]: { [ZERO]: 5n } }))
    const before = history.size()
    history.apply(writes({ [ALICE]: account(1, 3n), [BOB]: null }, { [ALICE]: { [ZERO]: 5n, [ONE]: 0n } }))
    expect(history.version).toBe(1)
    expect(history.size()).toEqual({ ...before, versions: 2 })
  })

  it('does not grow while old versions are pruned', () => {
    const history = new StateHistory(writes({ [ALICE]: account(0) }))
    for (let nonce = 1; nonce <= 1_000; nonce++) {
      history.apply(writes({ [ALICE]: account(nonce) }, { [ALICE]: { [ZERO]: BigInt(nonce) } }))
      history.prune(Math.max(0, history.version - 10))
    }
    expect(history.size()).toMatchObject({ accounts: 1, slots: 1, entries: 22, versions: 11 })
    expect(history.at(990).account(ALICE)).toEqual(account(990))
    expect(history.at(995).storage(ALICE, ZERO)).toBe(995n)
  })

  it('deleted keys below the oldest version leave no entry', () => {
    const history = new StateHistory(writes({ [ALICE]: account(1), [BOB]: account(1) }, { [ALICE]: { [ZERO]: 5n, [ONE]: 6n } }))
    history.apply(writes({ [ALICE]: null }))
    history.apply(writes({ [BOB]: null }))
    expect(history.size()).toMatchObject({ accounts: 2, slots: 2, entries: 8 })
    history.prune(1)
    expect(history.size()).toMatchObject({ accounts: 1, slots: 0, entries: 2 })
    history.prune(2)
    expect(history.size()).toMatchObject({ accounts: 0, slots: 0, entries: 0, versions: 1 })
    expect(history.stateRoot()).toBe(EMPTY_ROOT)
  })

  it('has no code that only rewound versions have', () => {
    const [hash, other] = [...CODES.keys()] as [Hash, Hash]
    const history = new StateHistory(writes({ [ALICE]: account(1, 0n, hash) }))
    expect(history.size().codes).toBe(1)
    history.apply(writes({ [ALICE]: account(2, 0n, other), [BOB]: account(1, 0n, hash) }))
    const [rewound, before] = [history.at(1), history.at(0)]
    expect(history.size().codes).toBe(2)
    history.rewind(0)
    expect(history.size().codes).toBe(1)
    expect(history.codeByHash(other)).toBeNull()
    expect(before.code(hash)).toEqual(CODE)
    // A reader has read the account before the rewind.
    expect(() => rewound.code(other)).toThrow(RewoundState)
    history.apply(writes({ [BOB]: account(1, 0n, other) }))
    expect(history.at(1).code(other)).toEqual(OTHER_CODE)
  })

  it('has no code that only pruned versions have', () => {
    const [hash, other] = [...CODES.keys()] as [Hash, Hash]
    const history = new StateHistory(writes({ [ALICE]: account(1, 0n, hash) }))
    const pruned = history.at(0)
    history.apply(writes({ [ALICE]: account(2, 0n, other) }))
    history.prune(1)
    expect(history.size().codes).toBe(1)
    expect(() => pruned.code(hash)).toThrow(PrunedState)
    expect(history.at(1).code(other)).toEqual(OTHER_CODE)
  })

  it('has no code that no account has', () => {
    const history = new StateHistory(writes({ [ALICE]: account(1) }))
    expect(history.size().codes).toBe(0)
  })

  it('the oldest version is never lowered', () => {
    const history = new StateHistory()
    for (let i = 0; i < 5; i++) history.apply(writes({ [ALICE]: account(i + 1) }))
    history.prune(3)
    history.prune(1)
    expect(history.oldestVersion).toBe(3)
    expect(() => history.at(2)).toThrow(PrunedState)
    expect(() => history.rewind(2)).toThrow(PrunedState)
  })
})

describe('a reader that is kept', () => {
  function grown(): StateHistory {
    const history = new StateHistory(writes({ [ALICE]: account(0) }, { [ALICE]: { [ZERO]: 1n } }))
    for (let i = 1; i <= 4; i++) history.apply(writes({ [ALICE]: account(i) }, { [ALICE]: { [ZERO]: BigInt(i + 1) } }))
    return history
  }

  it('throws once its version is pruned', () => {
    const history = grown()
    const [below, floor] = [history.at(2), history.at(3)]
    history.prune(3)
    expect(() => below.account(ALICE)).toThrow(PrunedState)
    expect(() => below.storage(ALICE, ZERO)).toThrow(PrunedState)
    expect(() => [...below.slots(ALICE)]).toThrow(PrunedState)
    expect(floor.account(ALICE)).toEqual(account(3))
  })

  it('throws once its version is rewound, even if another version has its number', () => {
    const history = grown()
    const [kept, gone] = [history.at(2), history.at(3)]
    history.rewind(2)
    history.apply(writes({ [ALICE]: account(33) }))
    expect(() => gone.account(ALICE)).toThrow(RewoundState)
    expect(() => gone.storage(ALICE, ZERO)).toThrow(RewoundState)
    expect(kept.account(ALICE)).toEqual(account(2))
    expect(history.at(3).account(ALICE)).toEqual(account(33))
  })
})

// ---- reference model: every version as a full copy, with the commitment computed from the definition

interface Copy {
  readonly accounts: ReadonlyMap<Address, Account>
  readonly storage: ReadonlyMap<Address, ReadonlyMap<Hash, bigint>>
}

const NOTHING: Copy = { accounts: new Map(), storage: new Map() }

function copyWith(copy: Copy, change: WriteSet): Copy {
  const accounts = new Map(copy.accounts)
  const storage = new Map([...copy.storage].map(([address, slots]) => [address, new Map(slots)]))
  for (const [address, slots] of change.storage) storage.set(address, new Map([...(storage.get(address) ?? []), ...slots]))
  for (const [address, of] of change.accounts) {
    if (of !== null) accounts.set(address, of)
    else accounts.delete(address)
  }
  for (const [address, slots] of storage) {
    for (const [slot, value] of slots) if (value === 0n || !accounts.has(address)) slots.delete(slot)
  }
  return { accounts, storage }
}

function storageRootOf(copy: Copy, address: Address): Hash {
  return rootOf(
    new Map([...(copy.storage.get(address) ?? [])].map(([slot, value]) => [Hash.keccak(Hash.toBytes(slot)), Rlp.encode(value)])),
  )
}

function leafOf(copy: Copy, address: Address): Uint8Array | null {
  const of = copy.accounts.get(address)
  return of === undefined ? null : Rlp.encode([of.nonce, of.balance, storageRootOf(copy, address), of.codeHash])
}

function stateRootOf(copy: Copy): Hash {
  return rootOf(new Map([...copy.accounts.keys()].map((address) => [Hash.keccak(Address.toBytes(address)), leafOf(copy, address)!])))
}

function expectSame(reader: StateReader, copy: Copy): void {
  for (const address of ADDRESSES) {
    const slots = copy.storage.get(address)
    const of = copy.accounts.get(address) ?? null
    expect(reader.account(address)).toEqual(of)
    if (of !== null) expect(reader.code(of.codeHash)).toEqual(CODES.get(of.codeHash) ?? new Uint8Array())
    expect([...reader.slots(address)].toSorted()).toEqual([...(slots?.keys() ?? [])].toSorted())
    for (const slot of SLOTS) expect(reader.storage(address, slot)).toBe(slots?.get(slot) ?? 0n)
  }
}

function expectProved(history: StateHistory, version: number, copy: Copy): void {
  const root = stateRootOf(copy)
  for (const address of ADDRESSES) {
    const proof = history.proofAt(version, address, SLOTS)
    expect(proof).toMatchObject({ address, account: copy.accounts.get(address) ?? null, storageHash: storageRootOf(copy, address) })
    expect(verify(root, Hash.keccak(Address.toBytes(address)), proof.accountProof)).toEqual(leafOf(copy, address))
    for (const { slot, value, proof: nodes } of proof.storageProof) {
      expect(value).toBe(copy.storage.get(address)?.get(slot) ?? 0n)
      const bytes = verify(proof.storageHash, Hash.keccak(Hash.toBytes(slot)), nodes)
      expect(bytes).toEqual(value === 0n ? null : Rlp.encode(value))
    }
  }
}

type Action =
  | {
      readonly kind: 'apply'
      readonly accounts: Readonly<Record<Address, Account | null>>
      readonly storage: Readonly<Record<Address, Slots>>
    }
  /** Fraction of the readable range. */
  | { readonly kind: 'rewind' | 'prune' | 'restart' | 'root' | 'prove'; readonly part: number }

// Not fc.double: nearly all doubles in 0…1 are close to 0.
const part = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100)
const anyAccount = fc
  .tuple(fc.integer({ min: 0, max: 2 }), fc.bigInt(0n, 2n), fc.constantFrom(EMPTY_CODE_HASH, ...CODES.keys()))
  .map((of) => account(...of))
const anyStorage = fc.dictionary(fc.constantFrom(...SLOTS), fc.bigInt(0n, 2n), { maxKeys: 3 })
const anyAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('apply' as const),
      accounts: fc.dictionary(fc.constantFrom(...ADDRESSES), fc.option(anyAccount, { freq: 3 }), { maxKeys: 3 }),
      storage: fc.dictionary(fc.constantFrom(...ADDRESSES), anyStorage, { maxKeys: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('rewind', 'prune', 'restart', 'root', 'prove'), part }) },
)

/** `size`, because fast-check would rarely generate more than ten. */
function actions(count: number): fc.Arbitrary<Action[]> {
  return fc.array(anyAction, { minLength: count / 2, maxLength: count, size: 'max' })
}

/** The history and its model: `copies[i]` is version `i`; each reader was created when its version was new. */
class Pair {
  readonly history = new StateHistory()
  readonly copies: Copy[] = [NOTHING]
  readonly readers: StateReader[] = [this.history.at(0)]

  act(action: Action): void {
    if (action.kind === 'apply') return this.#apply(writes(action.accounts, action.storage))
    const { oldestVersion, version } = this.history
    const target = oldestVersion + Math.round(action.part * (version - oldestVersion))
    if (action.kind === 'prune') this.history.prune(target)
    if (action.kind === 'rewind') this.#rewind(target)
    if (action.kind === 'restart') this.#restart(this.copies[target]!)
    if (action.kind === 'root') expect(this.history.stateRoot(target)).toBe(stateRootOf(this.copies[target]!))
    if (action.kind === 'prove') expectProved(this.history, target, this.copies[target]!)
  }

  #apply(wanted: WriteSet): void {
    const { accounts } = copyWith(this.copies.at(-1)!, { ...wanted, storage: new Map() })
    const change = { ...wanted, storage: new Map([...wanted.storage].filter(([address]) => accounts.has(address))) }
    expect(this.history.apply(change)).toBe(this.copies.length)
    this.copies.push(copyWith(this.copies.at(-1)!, change))
    this.readers.push(this.history.at(this.history.version))
  }

  #rewind(target: number): void {
    this.history.rewind(target)
    this.#expectGone(target + 1)
  }

  #restart(copy: Copy): void {
    const { oldestVersion } = this.history
    expect(this.history.restart({ ...writes({}), ...copy })).toBe(oldestVersion)
    this.#expectGone(oldestVersion)
    this.copies.push(copy)
    this.readers.push(this.history.at(oldestVersion))
  }

  #expectGone(from: number): void {
    this.copies.length = from
    for (const reader of this.readers.splice(from)) expect(() => reader.account(ALICE)).toThrow(RewoundState)
  }

  checkReads(): void {
    this.copies.forEach((copy, version) => {
      if (version >= this.history.oldestVersion) return expectSame(this.readers[version]!, copy)
      expect(() => this.readers[version]!.account(ALICE)).toThrow(PrunedState)
      expect(() => this.history.at(version)).toThrow(PrunedState)
    })
  }

  checkCommitments(): void {
    for (let version = this.history.oldestVersion; version <= this.history.version; version++) {
      expect(this.history.stateRoot(version)).toBe(stateRootOf(this.copies[version]!))
      for (const address of ADDRESSES)
        expect(this.history.storageRoot(address, version)).toBe(storageRootOf(this.copies[version]!, address))
      expectProved(this.history, version, this.copies[version]!)
    }
  }

  /** Counts the entries needed for the readable versions from the copies. */
  checkSize(): void {
    const kept = this.copies.slice(this.history.oldestVersion)
    const accounts = ADDRESSES.map((address) => changes(kept.map((copy) => copy.accounts.get(address) ?? null)))
    const slots = ADDRESSES.flatMap((address) =>
      SLOTS.map((slot) => changes(kept.map((copy) => copy.storage.get(address)?.get(slot) ?? null))),
    )
    expect(this.history.size()).toMatchObject({
      accounts: accounts.filter((count) => count > 0).length,
      slots: slots.filter((count) => count > 0).length,
      entries: [...accounts, ...slots].reduce((sum, count) => sum + count, 0),
      versions: kept.length,
      codes: new Set(kept.flatMap((copy) => [...copy.accounts.values()].map(({ codeHash }) => codeHash).filter((hash) => CODES.has(hash))))
        .size,
    })
  }
}

/** Number of changes of a key, starting from null. */
function changes(values: readonly (Account | bigint | null)[]): number {
  const plain = values.map((value) => (value !== null && typeof value === 'object' ? Object.values(value).join() : value))
  return plain.filter((value, index) => value !== (plain[index - 1] ?? null)).length
}

describe('any sequence of apply, rewind, prune and restart', () => {
  it('reads at every version the same as a full copy, with no more entries than needed', () => {
    fc.assert(
      fc.property(actions(40), (list) => {
        const pair = new Pair()
        for (const action of list) {
          pair.act(action)
          pair.checkReads()
          pair.checkSize()
        }
      }),
      { seed: 5, numRuns: 25 },
    )
  })

  it('has the roots and proofs of every version, whether or not they were read in between', () => {
    fc.assert(
      fc.property(actions(30), (list) => {
        const pair = new Pair()
        for (const action of list) pair.act(action)
        pair.checkCommitments()
        pair.checkReads()
      }),
      { seed: 6, numRuns: 40 },
    )
  })
})

// ---- genesis states of public chains

interface GenesisFile {
  readonly alloc: Readonly<Record<string, { nonce?: string; balance?: string; code?: Hex; storage?: Readonly<Record<Hex, Hex>> }>>
}

function genesisWrites(file: GenesisFile): WriteSet {
  const codes = new Map<Hash, Uint8Array>()
  const accounts = new Map<Address, Account>()
  const storage = new Map<Address, Map<Hash, bigint>>()
  for (const [key, { nonce = '0x0', balance = '0x0', code = '0x', storage: slots = {} }] of Object.entries(file.alloc)) {
    const address = Address.from(`0x${key.replace('0x', '')}`)
    const bytes = Hex.toBytes(code)
    codes.set(Hash.keccak(bytes), bytes)
    accounts.set(address, { nonce: BigInt(nonce), balance: BigInt(balance), codeHash: Hash.keccak(bytes) })
    storage.set(address, new Map(Object.entries(slots).map(([slot, value]) => [Hash.fromBigint(BigInt(slot)), BigInt(value)])))
  }
  return { accounts, storage, codes }
}

const ZERO_BYTES = new Uint8Array(256)

/** Hash of a pre-Shanghai genesis header; `tail` are its fields from the difficulty on. */
function genesisHash(coinbase: Address, stateRoot: Hash, tail: readonly RlpInput[]): Hash {
  return Hash.keccak(Rlp.encode([Hash.zero, EMPTY_OMMERS, coinbase, stateRoot, EMPTY_ROOT, EMPTY_ROOT, ZERO_BYTES, ...tail]))
}

const vectors = new URL('../../../../shared/vectors/', import.meta.url)

describe.skipIf(!existsSync(vectors))('the genesis of a known chain', () => {
  it('the chain of the RPC vectors', () => {
    // the file is JSON of this shape
    const file = JSON.parse(readFileSync(new URL('rpc-compat/genesis.json', vectors), 'utf8')) as GenesisFile
    const root = new StateHistory(genesisWrites(file)).stateRoot()
    const tail = [0x20000, 0, 0x5f5e100, 0, 0, '0x68697665636861696e', Hash.zero, ZERO_BYTES.slice(0, 8)] as const
    const chain = readFileSync(new URL('rpc-compat/chain.rlp', vectors))
    const block = Rlp.decode(chain.subarray(0, Rlp.itemEnd(chain, 0)))
    const parentHash = (block as Uint8Array[][])[0]![0]! // block 1: [header, …]
    expect(genesisHash(Address.zero, root, tail)).toBe(Hash.from(parentHash))
  })

  it('Base mainnet', () => {
    // the file is JSON of this shape
    const file = JSON.parse(brotliDecompressSync(readFileSync(new URL('genesis/mainnet-base.json.br', vectors))).toString()) as GenesisFile
    const history = new StateHistory(genesisWrites(file))
    const extraData = Hex.fromBytes(new TextEncoder().encode('all your base are belong to you.'))
    const tail = [0, 0, 0x1c9c380, 0, 0x648a5ce3, extraData, Hash.zero, ZERO_BYTES.slice(0, 8), 0x3b9aca00]
    const coinbase = Address.from('0x4200000000000000000000000000000000000011')
    expect(history.size().accounts).toBe(2_064)
    expect(genesisHash(coinbase, history.stateRoot(), tail)).toBe('0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd')
  })
})
