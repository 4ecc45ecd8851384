import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Address, Hash } from '../../eth/index.ts'
import { TrackedOverlay, World } from '../../evm/index.ts'
import type { StateReader } from '../../evm/index.ts'
import { StateHistory } from './history.ts'

/** Creates and releases worlds on versions of one history; the engine reuses tables that held other versions. */
const ADDRESSES = [0xa1n, 0xa2n, 0xa3n].map(Address.fromBigint)
const SLOTS = [0n, 1n, 2n].map(Hash.fromBigint)
const CODES = ['6001', '6002'].map((code) => Uint8Array.from(Buffer.from(code, 'hex')))

/** Changes of an 'abandoned' world are not applied. */
type Step = readonly [
  kind: 'apply' | 'overlay' | 'rewind' | 'prune' | 'read' | 'abandoned',
  ...picks: (readonly [number, number, number])[],
]

const pick = fc.tuple(fc.nat(2), fc.nat(2), fc.nat(4))
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.array(pick, { minLength: 1, maxLength: 4 }).map((picks): Step => ['apply', ...picks]) },
  { weight: 4, arbitrary: fc.array(pick, { minLength: 1, maxLength: 4 }).map((picks): Step => ['overlay', ...picks]) },
  { weight: 2, arbitrary: pick.map((one): Step => ['rewind', one]) },
  { weight: 1, arbitrary: pick.map((one): Step => ['prune', one]) },
  { weight: 4, arbitrary: pick.map((one): Step => ['read', one]) },
  { weight: 2, arbitrary: fc.array(pick, { maxLength: 4 }).map((picks): Step => ['abandoned', ...picks]) },
)

function change(world: World, [who, where, what]: readonly [number, number, number]): void {
  const address = ADDRESSES[who]!
  world.beginTransaction()
  if (what === 0) {
    // EIP-161 deletes the account; its storage is cleared separately.
    if (where > 0) world.clearStorage(address)
    return world.setAccount(address, null)
  }
  world.addBalance(address, BigInt(what))
  if (what === 1) world.setCode(address, CODES[where % CODES.length]!)
  world.setStorage(address, SLOTS[where]!, BigInt(what % 4))
}

function reading(state: StateReader) {
  return ADDRESSES.map((address) => ({
    account: state.account(address),
    code: state.code(state.account(address)?.codeHash ?? Hash.keccak(new Uint8Array())),
    values: SLOTS.map((slot) => state.storage(address, slot)),
    slots: [...state.slots(address)].toSorted(),
  }))
}

/** Compares a new world on the version with the version's reader. */
function check(history: StateHistory, version: number): void {
  const world = new World(history.at(version))
  try {
    expect(reading(world)).toEqual(reading(history.at(version)))
  } finally {
    world.release()
  }
}

/** Changes an overlay through one world, and reads it through another. */
function checkOverlay(base: StateReader, picks: readonly (readonly [number, number, number])[]): void {
  const overlay = new TrackedOverlay(base)
  const world = new World(overlay)
  // An overlay does not clear the storage of a removed account.
  for (const one of picks.filter(([, where, what]) => what > 0 || where > 0)) {
    change(world, one)
    overlay.apply(world.writes())
    world.rebase(overlay)
    expect(reading(world)).toEqual(reading(overlay))
  }
  world.release()
  const next = new World(overlay)
  expect(reading(next)).toEqual(reading(overlay))
  next.release()
}

test('a world with reused engine tables reads its own version: later, earlier, over an overlay, after rewinds and prunes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const history = new StateHistory()
      for (const [kind, ...picks] of steps) {
        const [first] = picks
        const version =
          history.oldestVersion + (((first?.[0] ?? 0) * 3 + (first?.[1] ?? 0)) % (history.version - history.oldestVersion + 1))
        if (kind === 'read') check(history, version)
        else if (kind === 'overlay') checkOverlay(history.at(version), picks)
        else if (kind === 'rewind') history.rewind(version)
        else if (kind === 'prune') history.prune(version)
        else {
          const world = new World(history.at(history.version))
          for (const one of picks) {
            change(world, one)
            if (kind === 'abandoned') continue
            history.apply(world.writes())
            world.rebase(history.at(history.version))
            expect(reading(world)).toEqual(reading(history.at(history.version)))
          }
          world.release()
        }
        check(history, history.version)
      }
    }),
    { seed: 11, numRuns: 300 },
  )
})
