import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Refused, begin, launch } from './command.fixture.ts'
import type { End } from './command.fixture.ts'
import { Random } from './fuzz/random.ts'
import type { Answer, Call } from './node.fixture.ts'
import { answers, fill, questions } from './world.fixture.ts'

// Bytes of a data directory change behind the node's back: it says so, or it is not concerned. It never answers something else.

const ROUNDS = Number(process.env['DAMAGE_ROUNDS'] ?? 8)
const SEED = Number(process.env['DAMAGE_SEED'] ?? Date.now() % 1_000_000)

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

describe('a data file with flipped bits', () => {
  it(`is refused, or what is damaged is (seed ${SEED})`, { timeout: 30_000 + ROUNDS * 15_000 }, async () => {
    const found: Record<string, number> = {}
    for (let round = 1; round <= ROUNDS; round++) {
      const { what, at } = await flipped(new Random(SEED, round), `round ${round} of seed ${SEED}`)
      found[what] = (found[what] ?? 0) + 1
      if (ROUNDS > 20) process.stdout.write(`${round} ${at} ${what}\n`)
    }
    if (ROUNDS > 20) process.stdout.write(`${JSON.stringify(found)}\n`)
  })
})

/** Flips one bit of a copy and answers what became of it. */
async function flipped(random: Random, name: string): Promise<{ what: string; at: number }> {
  const copy = join(folder, 'copy')
  cpSync(whole, copy, { recursive: true })
  const file = join(copy, 'pocketchain.mdb')
  const bytes = readFileSync(file)
  const at = random.below(usedBytes(bytes))
  bytes[at]! ^= 1 << random.below(8)
  writeFileSync(file, bytes)
  const before = digest(bytes)
  try {
    return { what: await outcome(copy, name), at }
  } finally {
    if (digest(readFileSync(file)) !== before) process.stdout.write(`${name}: changed\n`)
    rmSync(copy, { recursive: true })
  }
}

async function outcome(directory: string, name: string): Promise<string> {
  const start = begin('--data', directory, ...FLAGS)
  try {
    const node = await start.answers()
    const got = await answers(node, calls)
    await node.stop()
    return compared(got, name)
  } catch (error) {
    if (!(error instanceof Refused)) {
      const { signal, err } = await start.kill()
      return `died of ${signal} ${err} ${error}`
    }
    return refusedAs(error.end)
  }
}

function compared(got: readonly Answer[], name: string): string {
  let what = 'nothing'
  for (const [index, answer] of got.entries()) {
    if (JSON.stringify(answer) === JSON.stringify(expected[index])) continue
    if (answer.error === undefined) return `WRONG ${JSON.stringify(calls[index])} ${JSON.stringify(answer).slice(0, 100)} instead of ${JSON.stringify(expected[index]).slice(0, 100)}`
    what = `error ${answer.error.code} ${answer.error.message}`.replace(/\d{2,}/g, 'N')
    if (answer.error.code === -32603) return `INTERNAL ${what} ${JSON.stringify(calls[index])}`
  }
  void name
  return what
}

function refusedAs({ code, signal, err }: End): string {
  return `refused ${code ?? signal} ${err.split('\n')[0]!.replace(/\/tmp\S+/, '').replace(/\d{2,}/g, 'N')}`
}

/** Up to the last page of the newest commit. */
function usedBytes(bytes: Buffer): number {
  const metas = [0, 4096].map((at) => ({ commit: bytes.readBigUInt64LE(at + 152), page: bytes.readBigUInt64LE(at + 144) }))
  return (Number(metas.sort((a, b) => (a.commit > b.commit ? -1 : 1))[0]!.page) + 1) * 4096
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
void [readdirSync, statSync, truncateSync]
