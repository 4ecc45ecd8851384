import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openLmdb } from './index.ts'
import type { StorageBackend } from './index.ts'
import { compile } from './program.fixture.ts'
import type { Program } from './program.fixture.ts'
import { bytes, hash, scratch } from './backend.fixture.ts'
import { blockOf, digest } from './writer.fixture.ts'

/** Each round restarts the writer on the data of the previous round. */
const ROUNDS = Number(process.env['SHELF_ROUNDS'] ?? 10)

let program: Program
let directory: ReturnType<typeof scratch>
let storage: StorageBackend | null = null

beforeAll(() => {
  program = compile('src/store/storage/writer.fixture.ts')
}, 120_000)

beforeEach(() => {
  directory = scratch()
})

afterEach(async () => {
  await storage?.close()
  directory.remove()
})

afterAll(() => program.remove())

/** The last line of this kind, as numbers. */
function last(lines: readonly string[], kind: string): number[] | null {
  const line = lines.filter((one) => one.startsWith(`${kind} `)).at(-1)
  return line === undefined ? null : line.split(' ').slice(1).map(Number)
}

/** Runs the writer until it is killed at a random moment; returns its output. */
async function killed(kind: string, first: number): Promise<readonly string[]> {
  const writer = program.start(kind, directory.path, String(first))
  await writer.waitForOutput(kind === 'journal' ? 'entry' : 'step')
  const kill = setTimeout(() => writer.process.kill('SIGKILL'), Math.random() * 250)
  const { signal, err } = await writer.ended
  clearTimeout(kill)
  expect({ signal, err }).toEqual({ signal: 'SIGKILL', err: '' })
  return writer.lines
}

describe('a process that is killed while it writes', () => {
  it('leaves every acknowledged commit and no partial one', { timeout: ROUNDS * 15_000 }, async () => {
    let next = 0
    for (let round = 0; round < ROUNDS; round++) {
      const lines = await killed('commit', next)
      const [step, height] = last(lines, 'step')!
      storage = await openLmdb(directory.path)
      next = expectCommit(storage, step!, height!) + 1
      await storage.close()
      storage = null
    }
  })

  it('leaves its newest entry of the open block log, or a newer one', async () => {
    for (let round = 0; round < ROUNDS / 4; round++) {
      const lines = await killed('journal', 0)
      const [entry] = last(lines, 'entry')!
      storage = await openLmdb(directory.path)
      const record = storage.openBlockRecord!
      const body = record.subarray(32)
      expect(Buffer.compare(record.subarray(0, 32), digest(body))).toBe(0)
      const which = [entry!, entry! + 1].find((one) => Buffer.compare(bytes(one, 20_000 + (one % 13) * 1000), body) === 0)
      expect(which).toBeDefined()
      await storage.close()
      storage = null
    }
  })
})

/** Expects the contents of one commit, the last acknowledged one or the next. Returns its step. */
function expectCommit(opened: StorageBackend, step: number, acknowledged: number): number {
  const { height } = opened
  const state = opened.state!
  const newest = opened.sections().at(-1)!.id
  expect([step, step + 1]).toContain(newest)
  if (newest === step) expect(height).toBe(acknowledged)
  expect(opened.stateRoot).toBe(hash(height))
  expect(opened.openBlockRecord).toEqual(bytes(newest, 300))
  expect(opened.sections().map(({ id }) => id)).toEqual([3, 2, 1, 0].map((back) => newest - back).filter((id) => id >= 0))
  for (const { id, head } of opened.sections()) {
    expect(Buffer.from(head).equals(bytes(id, 30))).toBe(true)
    for (const at of [0, 1]) expect(Buffer.from(opened.page(id, at)).equals(bytes(id + at, 65_520))).toBe(true)
  }
  for (let number = 0; number <= height; number++) {
    const record = opened.block(number)!
    expect(Buffer.from(record.subarray(0, 32)).equals(digest(record.subarray(32)))).toBe(true)
    expect(record.length).toBe(blockOf(number).record.length)
  }
  for (let number = state.floor; number <= height; number++) {
    const reader = state.at(number)
    const { writes } = blockOf(number)
    for (const [owner, account] of writes.accounts) expect(reader.account(owner)).toEqual(account)
    for (const [owner, slots] of writes.storage) for (const [slot, value] of slots) expect(reader.storage(owner, slot)).toBe(value)
  }
  return newest
}
