import { expect, test } from 'vitest'
import { Address, EMPTY_CODE_HASH, Hash } from '../../src/eth/index.ts'
import { World } from '../../src/evm/index.ts'
import type { StateReader, WriteSet } from '../../src/evm/index.ts'
import { BaseState, type Case } from './fuzz/program.ts'
import { Random } from './fuzz/random.ts'
import { OracleWorld } from './oracle/oracleworld.ts'

/** Compares the engine's world with a Map-based model: random steps, then all values are read. */
const WALKS = 60
const STEPS = 60

const ADDRESSES = [0x1n, 0x3n, 0xa1n, 0xa2n, 0xa3n].map(Address.fromBigint)
const SLOTS = [0n, 1n, 2n ** 255n].map(Hash.fromBigint)
const CODES = ['0x', '0x00', '0x6001', `0x${'5b'.repeat(300)}`] as const

/** A step applied to both. Marks are specific to a world, so each has its own list. */
type Step = (world: Walker) => void

class Walker {
  readonly world: World | OracleWorld
  readonly marks: number[] = []

  constructor(world: World | OracleWorld) {
    this.world = world
  }
}

test('random steps leave the same state as the reference model', () => {
  for (let walk = 0; walk < WALKS; walk++) {
    const random = new Random(4, walk)
    let base = baseFor(random)
    let pair = open(base)
    for (let at = 0; at < STEPS; at++) {
      if (random.chance(0.04)) {
        const next = base.with(pair[0].world.writes())
        // The codes are part of the write set. (Deleting an account deletes its storage.)
        expect(codesOf(next)).toEqual(codesOf(pair[1].world))
        const stays = random.chance(0.4)
        base = stays || random.chance(0.7) ? next : base.before
        pair = stays ? rebase(pair, base) : reopen(pair, base)
        continue
      }
      const step = random.weighted(STEPS_BY_WEIGHT)(random)
      for (const walker of pair) step(walker)
      expect(reading(pair[0].world), `walk ${walk}, step ${at}`).toEqual(reading(pair[1].world))
    }
    if (pair[0].world instanceof World) pair[0].world.release()
  }
})

function open(base: BaseState): [Walker, Walker] {
  return [new Walker(new World(base)), new Walker(new OracleWorld(base))]
}

function reopen([ours]: readonly Walker[], base: BaseState): [Walker, Walker] {
  if (ours?.world instanceof World) ours.world.release()
  return open(base)
}

/** `base` is the old base with all writes applied. */
function rebase([ours]: readonly Walker[], base: BaseState): [Walker, Walker] {
  if (!(ours?.world instanceof World)) throw new TypeError('not a world of the engine')
  ours.world.rebase(base)
  return [new Walker(ours.world), new Walker(new OracleWorld(base))]
}

const STEPS_BY_WEIGHT: readonly (readonly [number, (random: Random) => Step])[] = [
  [4, (random) => change(random, (world, address, value) => world.setBalance(address, value))],
  [4, (random) => change(random, (world, address, value) => world.setNonce(address, BigInt.asUintN(64, value)))],
  [2, (random) => change(random, (world, address) => world.setAccount(address, null))],
  [
    1,
    (random) => change(random, (world, address, balance) => world.setAccount(address, { nonce: 1n, balance, codeHash: EMPTY_CODE_HASH })),
  ],
  [2, (random) => change(random, (world, address) => world.clearStorage(address))],
  [3, (random) => codeStep(random)],
  [10, (random) => slotStep(random)],
  [5, () => (walker) => walker.marks.push(walker.world.checkpoint())],
  [4, (random) => revertStep(random)],
  [
    2,
    () =>
      ({ world }) =>
        world.beginTransaction(),
  ],
  [
    2,
    () =>
      ({ world }) =>
        world.removeTouchedEmpty(),
  ],
]

function change(random: Random, act: (world: World | OracleWorld, address: Address, value: bigint) => void): Step {
  const [address, value] = [random.pick(ADDRESSES), random.pick([0n, 0n, 1n, 2n, 2n ** 64n - 1n, 2n ** 255n + 1n])]
  return ({ world }) => act(world, address, value)
}

function codeStep(random: Random): Step {
  const [address, code] = [random.pick(ADDRESSES), random.pick(CODES)]
  return ({ world }) => world.setCode(address, Buffer.from(code.slice(2), 'hex'))
}

function slotStep(random: Random): Step {
  const [address, slot] = [random.pick(ADDRESSES), random.pick(SLOTS)]
  const value = random.pick([0n, 0n, 1n, 2n, 2n ** 256n - 1n])
  return ({ world }) => world.setStorage(address, slot, value)
}

/** Reverts to a mark; later marks become invalid. */
function revertStep(random: Random): Step {
  const choice = random.next()
  return ({ world, marks }) => {
    if (marks.length === 0) return
    const at = choice % marks.length
    world.revertTo(marks[at] ?? 0)
    marks.length = at
  }
}

function baseFor(random: Random): BaseState {
  const accounts = ADDRESSES.filter(() => random.chance(0.6)).map((address) => ({
    address,
    nonce: BigInt(random.below(2)),
    balance: BigInt(random.below(2)),
    code: random.pick(CODES),
    storage: [0n, 1n].filter(() => random.chance(0.5)).map((slot) => [slot, 1n] as const),
  }))
  return BaseState.of({ fork: 'osaka', codeSizeLimit: null, accounts, messages: [] } satisfies Case)
}

function reading(world: World | OracleWorld) {
  const accounts = ADDRESSES.map((address) => ({
    address,
    account: world.account(address),
    code: Buffer.from(world.codeAt(address)).toString('hex'),
    slots: [...world.slots(address)].toSorted(),
    values: SLOTS.map((slot) => world.storage(address, slot)),
  }))
  return { accounts, writes: plain(world.writes()) }
}

function codesOf(world: StateReader) {
  return ADDRESSES.map((address) => {
    const account = world.account(address)
    return account === null ? null : Buffer.from(world.code(account.codeHash)).toString('hex')
  })
}

/** Codes that the base already has may be omitted. */
function plain({ accounts, storage }: WriteSet) {
  return { accounts: new Map(accounts), storage: new Map(storage) }
}
