import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Refused, begin, launch, refusal } from '../command.fixture.ts'
import { Random } from '../evm/fuzz/random.ts'
import type { Answer, Call } from '../node.fixture.ts'
import { answers, fill, questions } from './world.fixture.ts'

// Flips bits of a data directory: each response of the node is correct or is an error that reports the damage.

const ROUNDS = Number(process.env['DAMAGE_ROUNDS'] ?? 8)
const SEED = Number(process.env['DAMAGE_SEED'] ?? 1)

const FLAGS = ['--cadence', 'manual']

let folder: string
let whole: string
let calls: readonly Call[]
let expected: readonly Answer[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-damage-'))
  whole = join(folder, 'whole')
  const random = new Random(SEED, 0)
  const node = await launch('--data', whole, ...FLAGS)
  await fill(node, random, 120)
  await node.stop()
  const again = await launch('--data', whole, ...FLAGS)
  calls = await questions(again, random)
  expected = await answers(again, calls)
  await again.stop()
  expect(expected.filter(({ error }) => error !== undefined)).toEqual([])
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a data file with a flipped bit', () => {
  it(
    `is detected at the start or by the requests that read it; no other response changes (seed ${SEED})`,
    { timeout: 30_000 + ROUNDS * 15_000 },
    async () => {
      const found = new Map<string, number>()
      for (let round = 1; round <= ROUNDS; round++) {
        const what = await flipped(new Random(SEED, round), `round ${round} of seed ${SEED}`)
        found.set(what, (found.get(what) ?? 0) + 1)
      }
      if (ROUNDS > 20) process.stdout.write(`${ROUNDS} flipped bits: ${JSON.stringify([...found])}\n`)
    },
  )
})

describe('a data directory that cannot be continued', () => {
  const cases: readonly Case[] = [
    [
      'a chain with another chain id',
      whole_,
      ['--chain-id', '5'],
      3,
      /the directory holds the chain 31337, not 5; start it with --chain-id 31337/,
    ],
    ['the chain of other accounts', whole_, ['--accounts', '3'], 3, /another genesis/],
    ['other files', foreign, [], 3, /holds other files \(thesis\.txt\) and no chain; choose an empty or a new directory/],
    ['a file that was cut in half', cutInHalf, [], 3, /ends after \d+ bytes and should have \d+ bytes; restore it from a copy/],
    [
      'a file',
      () => join(foreign(), 'thesis.txt'),
      [],
      3,
      /thesis\.txt is not a directory; choose another one with --data, nothing was changed/,
    ],
    [
      'a chain, and the state of memory is to be kept',
      whole_,
      ['--state-history', '5'],
      2,
      /--data and --state-history exclude each other: --prune limits the state that a directory keeps/,
    ],
  ]

  it.each(cases)('is rejected with one sentence: %s', async (_, make, flags, code, sentence) => {
    const directory = make()
    const before = contents(directory)
    const end = await refusal('--data', directory, ...FLAGS, ...flags)
    expect(end).toMatchObject({ code, out: '', err: expect.stringMatching(sentence) })
    expect(end.err.trim().split('\n')).toHaveLength(1)
    expect(contents(directory)).toEqual(before)
  })

  it('is rejected while another process holds the lock, and that process keeps running', async () => {
    const directory = copied()
    const node = await launch('--data', directory, ...FLAGS)
    const end = await refusal('--data', directory, ...FLAGS)
    expect(end).toMatchObject({ code: 3, err: expect.stringContaining(`is in use by process ${node.pid}; stop it or choose another`) })
    await node.ask('anvil_mine', 2)
    expect(await node.stop()).toMatchObject({ code: 0, err: '' })
  })

  it('is required by --prune: --prune alone is an invalid flag', async () => {
    const end = await refusal('--prune', '5')
    expect(end).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--prune requires --data <dir>') })
  })
})

type Case = readonly [string, () => string, readonly string[], number, RegExp]

function whole_(): string {
  return whole
}

function copied(): string {
  const copy = mkdtempSync(join(folder, 'copy-'))
  cpSync(whole, copy, { recursive: true })
  return copy
}

function foreign(): string {
  const directory = mkdtempSync(join(folder, 'foreign-'))
  writeFileSync(join(directory, 'thesis.txt'), 'words')
  return directory
}

function cutInHalf(): string {
  const directory = copied()
  const file = join(directory, 'pocketchain.mdb')
  truncateSync(file, usedBytes(readFileSync(file)) / 2)
  return directory
}

/** Digests of a file, or of all files of a directory except the lock tables, which contain no data. */
function contents(path: string): ReadonlyMap<string, string> {
  if (statSync(path).isFile()) return new Map([[path, digest(readFileSync(path))]])
  const names = readdirSync(path).filter((name) => !name.endsWith('-lock'))
  return new Map(names.map((name) => [name, digest(readFileSync(join(path, name)))]))
}

/** Flips one bit of a copy and returns the outcome. */
async function flipped(random: Random, name: string): Promise<string> {
  const directory = copied()
  const file = join(directory, 'pocketchain.mdb')
  const bytes = readFileSync(file)
  // Half of the flips hit the header of a page, which LMDB uses for navigation.
  const at = random.chance(0.5)
    ? random.below(usedBytes(bytes))
    : random.below(usedBytes(bytes) / PAGE_BYTES) * PAGE_BYTES + random.below(96)
  const bit = random.below(8)
  bytes[at]! ^= 1 << bit
  writeFileSync(file, bytes)
  const start = begin('--data', directory, ...FLAGS)
  try {
    const node = await start.answers()
    const got = await answers(node, calls)
    await node.stop()
    return checked(got, directory, `${name}: bit ${bit} of byte ${at}`)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const { code, out, err } = error.end
    // LMDB has no checksums of its own: a header of a page that is wrong may end the process, which leaves the file as it is.
    if (code !== null)
      expect({ code, out, err }, `${name}: bit ${bit} of byte ${at}`).toEqual({ code: 3, out: '', err: expect.stringMatching(DAMAGE) })
    expect(digest(readFileSync(file)), name).toBe(digest(bytes))
    return 'refused'
  } finally {
    await start.kill()
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * Every response is correct or reports the damage. One case is not detected: a flipped bit in a key of the table of past state values hides
 * that entry, and a read at an old block finds the value before it (src/store/README.md).
 */
function checked(got: readonly Answer[], directory: string, name: string): string {
  const changed = got.flatMap((answer, index) => (isDeepStrictEqual(answer, expected[index]) ? [] : [{ call: calls[index], answer }]))
  const isHiding = changed.some(({ answer }) => answer.error === undefined) && hidesPastValue(directory)
  for (const { call, answer } of changed) {
    if (isHiding && answer.error === undefined && PAST_READS.has(call?.[0] ?? '')) continue
    expect(answer.error, `${name}: ${JSON.stringify(call)}`).toEqual({ code: -32_000, message: expect.stringMatching(DAMAGE) })
  }
  if (isHiding) return 'hides a past value'
  return changed.length === 0 ? 'not concerned' : 'some answers refused'
}

const PAST_READS = new Set(['eth_getBalance', 'eth_getTransactionCount', 'eth_getStorageAt', 'eth_getCode', 'eth_getProof', 'eth_call'])

/** True if a key of the table of past state values is no longer found. */
function hidesPastValue(directory: string): boolean {
  const before = pastKeys(whole)
  const found = new Set(pastKeys(directory))
  return before.some((key) => !found.has(key))
}

/** Looks up each key, as the node does, in a separate process, because LMDB may crash on a damaged file. */
function pastKeys(directory: string): readonly string[] {
  const keys = execFileSync(process.execPath, ['--input-type=module', '-e', PAST_KEYS, join(directory, 'pocketchain.mdb')], {
    encoding: 'utf8',
  })
  return keys.split('\n')
}

const PAST_KEYS = `
  import { open } from 'lmdb'
  const bytes = { encoding: 'binary', keyEncoding: 'binary', cache: false }
  const root = open(process.argv[1], { ...bytes, noSubdir: true, maxDbs: 16, readOnly: true })
  for (const key of root.openDB({ name: 'past', ...bytes }).getKeys()) console.log(Buffer.from(key).toString('hex'))
`

const PAGE_BYTES = 4_096

const DAMAGE = /damaged|corrupt|missing|lost one of its parts|cannot be read|should be|is not a chain/

/** Up to the last page of the newest commit. */
function usedBytes(bytes: Buffer): number {
  const metas = [0, 4096].map((at) => ({ commit: bytes.readBigUInt64LE(at + 152), page: bytes.readBigUInt64LE(at + 144) }))
  return (Number(metas.sort((a, b) => (a.commit > b.commit ? -1 : 1))[0]!.page) + 1) * 4096
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
