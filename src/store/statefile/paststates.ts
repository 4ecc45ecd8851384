import { StateHistory } from '../../chain/index.ts'
import type { OpenedChain, SealedChain } from '../../chain/index.ts'
import { DecodeError } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import { WriteSets } from '../writesets.ts'
import type { JsonField } from './jsonfield.ts'
import { STATE_FILE_KEYS_PER_PIECE } from './limits.ts'

/** The state after a block, and the writes that lead to those of the blocks above it, up to the newest one. */
export interface PastStates {
  /** number of that block */
  readonly from: number
  /** its whole state, in parts */
  readonly base: readonly WriteSet[]
  /** changes of each block above it */
  readonly writes: readonly WriteSet[]
}

/**
 * Writes the states of `source` as JSON in pieces, without those that were pruned since. `assertHeld` throws once the chain has rewound. Throws as
 * `StateHistory.dump` does.
 */
export function* pastStatesText({ history, head, versions }: PastStatesSource, assertHeld: () => void): Iterable<string> {
  const held = versions.filter((version) => version >= history.oldestVersion)
  const [first = history.version] = held
  yield `{"from":${head - held.length + 1},"base":[`
  yield* joined(history.dump(first, STATE_FILE_KEYS_PER_PIECE))
  yield '],"writes":['
  yield* joined(writesOf(history, held, assertHeld))
  yield ']}'
}

interface PastStatesSource {
  readonly history: StateHistory
  /** number of the newest block */
  readonly head: number
  /** state versions after the newest blocks, ascending, up to the head */
  readonly versions: readonly number[]
}

/** Finds the states that are in memory. With a data directory those are the newest ones; older ones are read from the disk and are left out. */
export function pastStatesOf(sealed: SealedChain): PastStatesSource {
  const { history, store } = sealed
  const head = sealed.head.header.number
  const versions: number[] = []
  for (let number = head; number >= store.firstBlock; number--) {
    const version = sealed.versionAfter(number)
    if (version === null) break
    versions.push(version)
  }
  return { history, head, versions: versions.reverse() }
}

function* writesOf(history: StateHistory, versions: readonly number[], assertHeld: () => void): Iterable<WriteSet> {
  for (const [i, version] of versions.entries()) {
    if (i === 0) continue
    assertHeld()
    yield history.writesBetween(versions[i - 1] ?? version, version)
  }
}

function* joined(sets: Iterable<WriteSet>): Iterable<string> {
  let comma = ''
  for (const writes of sets) {
    yield `${comma}"${Buffer.from(WriteSets.encode(writes)).toString('base64')}"`
    comma = ','
  }
}

/** Throws StateFileError. */
export function readPastStates(field: JsonField, blocks: number): PastStates {
  const from = field.key('from').number()
  const base = field.key('base').items().map(readWrites)
  const writes = field.key('writes').items().map(readWrites)
  if (from + writes.length !== blocks - 1)
    throw field.key('from').wrong(`is ${from}, with ${writes.length} states after it for ${blocks} blocks`)
  return { from, base, writes }
}

function readWrites(field: JsonField): WriteSet {
  try {
    return WriteSets.decode(Buffer.from(field.text(), 'base64'))
  } catch (error) {
    if (error instanceof DecodeError) throw field.wrong(`is damaged: ${error.message}`)
    throw error
  }
}

/** Returns the history with one version per block. Throws InconsistentWrites. */
export function historyOf({ base, writes }: PastStates): Pick<OpenedChain, 'history' | 'versions'> {
  const history = StateHistory.fromChunks(base)
  return { history, versions: [history.version, ...writes.map((each) => history.apply(each))] }
}
