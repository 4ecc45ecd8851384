import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openLmdb } from './index.ts'
import type { StorageBackend, StorageChange } from './index.ts'
import { META, account, address, bytes, hash, sectionChange, writes } from './backend.fixture.ts'

/*
 * A program that tests kill: `writer.fixture.js hold|commit|journal|fill <directory> [n]`. It prints a line for each completed step, so that the
 * test can compare the directory.
 */

/** A block whose size and keys are determined by its number. */
export function blockOf(number: number): NonNullable<StorageChange['blocks']>[number] {
  const keys = 4 + (number % 7) * 5
  const accounts = Array.from(
    { length: keys },
    (_, i) => [address((number * 31 + i * 7) % 500), account(BigInt(number + 1), BigInt(i))] as const,
  )
  const slots = Array.from({ length: keys }, (_, i) => [hash((number * 17 + i) % 300), BigInt(number + 1)] as const)
  return { number, record: recordOf(number), writes: writes(accounts, [[accounts[0]![0], slots]]) }
}

/** Its first 32 bytes are the hash of the rest. */
export function recordOf(number: number): Uint8Array {
  const body = bytes(number, 500 + ((number * 7919) % 150_000))
  return Buffer.concat([digest(body), body])
}

export function digest(body: Uint8Array): Buffer {
  return createHash('sha256').update(body).digest()
}

/** Every tenth step truncates a few blocks; every commit adds and removes pages. */
export function changeOf(height: number, step: number): StorageChange {
  const truncateTo = step % 10 === 9 && height > 20 ? { truncateTo: height - 3 } : {}
  const next = (truncateTo.truncateTo ?? height) + 1
  const section = { id: step, head: bytes(step, 30), pages: [bytes(step, 65_520), bytes(step + 1, 65_520)] }
  const sections = sectionChange([section], step >= 4 ? [step - 4] : [])
  const floor = Math.max(0, next - 50)
  return {
    ...truncateTo,
    blocks: [blockOf(next), blockOf(next + 1)],
    stateRoot: hash(next + 1),
    sections,
    openBlockRecord: bytes(step, 300),
    floor,
  }
}

const [, program, kind, directory, count] = process.argv
if (program?.endsWith('writer.fixture.js') && directory !== undefined) await main(kind, directory, Number(count ?? 0))

async function main(work: string | undefined, path: string, n: number): Promise<void> {
  try {
    const storage = await openLmdb(path)
    say('open', storage.height)
    // The storage is not used again: its collection must not release the directory.
    if (work === 'hold') setInterval(collectGarbage, 20)
    if (work === 'commit') commitForEver(storage, n)
    if (work === 'journal') writeRecordsForever(storage)
    if (work === 'fill') await fill(storage)
  } catch (error) {
    const reason = error instanceof Error && 'reason' in error ? String(error.reason) : 'none'
    say('refused', reason, error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

function commitForEver(storage: StorageBackend, first: number): void {
  if (storage.meta === null) storage.commit({ meta: META })
  for (let step = first; ; step++) {
    storage.commit(changeOf(storage.height, step))
    say('step', step, storage.height)
  }
}

function writeRecordsForever(storage: StorageBackend): void {
  for (let entry = 0; ; entry++) {
    const body = bytes(entry, 20_000 + (entry % 13) * 1000)
    storage.writeOpenBlockRecord(Buffer.concat([digest(body), body]))
    say('entry', entry, body.length)
  }
}

/** Commits until the disk is full, then once more after a line on stdin. */
async function fill(storage: StorageBackend): Promise<void> {
  process.on('SIGXFSZ', () => {})
  storage.commit({ meta: META })
  for (let step = 0; ; step++) {
    const [height, size] = [storage.height, storage.sections().length]
    try {
      storage.commit(changeOf(height, step))
    } catch (error) {
      const reason = error instanceof Error && 'reason' in error ? String(error.reason) : String(error)
      say('full', reason, storage.height === height && storage.sections().length === size ? 'unchanged' : 'changed', step)
      break
    }
  }
  await new Promise((resolve) => process.stdin.once('data', resolve))
  storage.commit(changeOf(storage.height, 5))
  say('again', storage.height)
  await storage.close()
  process.exit(0)
}

/** Writes synchronously: a queued line would be lost with the process. */
function say(...words: readonly (string | number)[]): void {
  for (let rest = Buffer.from(`${words.join(' ')}\n`); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(process.stdout.fd, rest))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
}
