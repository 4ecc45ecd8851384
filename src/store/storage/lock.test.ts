import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openLmdb } from './index.ts'
import { compile } from './program.fixture.ts'
import type { Program, Running } from './program.fixture.ts'
import { META, scratch } from './backend.fixture.ts'

let program: Program
let directory: ReturnType<typeof scratch>
const started: Running[] = []

beforeAll(() => {
  program = compile('src/store/storage/writer.fixture.ts')
  directory = scratch()
}, 120_000)

afterEach(async () => {
  for (const { process, ended } of started.splice(0)) {
    process.kill('SIGKILL')
    await ended
  }
})

afterAll(() => {
  program.remove()
  directory.remove()
})

function hold(): Running {
  const running = program.start('hold', directory.path)
  started.push(running)
  return running
}

/** 'open' or the reason of the error */
async function outcome(running: Running): Promise<string> {
  return Promise.race([running.waitForOutput('open').then(() => 'open'), running.waitForOutput('refused').then((line) => line)])
}

describe('the lock of a data directory', () => {
  it('excludes a second process and names the first one', async () => {
    const first = hold()
    await first.waitForOutput('open')
    const sentence = `${directory.path} is in use by process ${first.process.pid}; stop it or choose another --data directory`
    await expect(openLmdb(directory.path)).rejects.toMatchObject({ name: 'StorageError', reason: 'locked', message: sentence })
    expect(await outcome(hold())).toBe(`refused locked ${sentence}`)
    // a failed attempt does not release the lock
    await expect(openLmdb(directory.path)).rejects.toMatchObject({ reason: 'locked', message: sentence })
  })

  it('excludes a process while the holder is stopped', async () => {
    const first = hold()
    await first.waitForOutput('open')
    first.process.kill('SIGSTOP')
    await expect(openLmdb(directory.path)).rejects.toMatchObject({ reason: 'locked' })
  })

  it('is released when its process exits or is killed', async () => {
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      const first = hold()
      await first.waitForOutput('open')
      first.process.kill(signal)
      await first.ended
      const storage = await openLmdb(directory.path)
      await storage.close()
    }
  })

  it('is free when another process has the id of the ended holder', async () => {
    const dead = hold()
    await dead.waitForOutput('open')
    dead.process.kill('SIGKILL')
    await dead.ended
    // The lock table of the dead process remains with its id. A live process may have that id now, so this process's id is written there.
    const table = `${directory.path}/pocketchain.lock-lock`
    const bytes = readFileSync(table)
    const [wasId, id] = [Buffer.alloc(4), Buffer.alloc(4)]
    wasId.writeUInt32LE(dead.process.pid!)
    expect(bytes.includes(wasId)).toBe(true)
    id.writeUInt32LE(process.pid)
    bytes.set(id, bytes.indexOf(wasId))
    writeFileSync(table, bytes)
    const storage = await openLmdb(directory.path)
    await storage.close()
  })

  it('admits this process once at a time', async () => {
    const storage = await openLmdb(directory.path)
    await expect(openLmdb(directory.path)).rejects.toMatchObject({
      reason: 'locked',
      message: expect.stringContaining(`this process (${process.pid})`),
    })
    expect(await outcome(hold())).toContain(`in use by process ${process.pid};`)
    await storage.close()
    const again = await openLmdb(directory.path)
    again.commit({ meta: META })
    await again.close()
  })

  it('admits at most one of many that start at once, and another one after they ended', async () => {
    for (let round = 0; round < Number(process.env['SHELF_ROUNDS'] ?? 3); round++) {
      const outcomes = await Promise.all(Array.from({ length: 4 }, () => outcome(hold())))
      expect(outcomes.filter((one) => one === 'open')).toHaveLength(1)
      for (const one of outcomes.filter((line) => line !== 'open')) expect(one).toMatch(/^refused locked .* is in use by /)
      for (const { process, ended } of started.splice(0)) {
        process.kill('SIGKILL')
        await ended
      }
    }
  })
})
