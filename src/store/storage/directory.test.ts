import { spawnSync } from 'node:child_process'
import {
  existsSync,
  chmodSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FILE_RESERVE_BYTES } from '../limits.ts'
import { openLmdb, STORAGE_FORMAT } from './index.ts'
import type { StorageBackend, StorageChange } from './index.ts'
import { account, address, bytes, hash, META, scratch, writes } from './backend.fixture.ts'
import { compile } from './program.fixture.ts'

let directory: ReturnType<typeof scratch>
let file: string

beforeEach(() => {
  directory = scratch()
  file = join(directory.path, 'pocketchain.mdb')
})

afterEach(() => directory.remove())

async function fill(change: StorageChange = { meta: META }): Promise<void> {
  const storage = await openLmdb(directory.path)
  const blocks = [0, 1, 2, 3].map((number) => ({ number, record: bytes(number, 200_000), writes: writes() }))
  storage.commit({ ...change, blocks })
  await storage.close()
}

/** Up to the last page of the newest commit; behind it the file has a hole. */
function dataBytes(): number {
  const metas = readFileSync(file).subarray(0, 8192)
  const lastPage = [0, 4096].map((at) => ({ commit: metas.readBigUInt64LE(at + 152), page: metas.readBigUInt64LE(at + 144) }))
  return (Number(lastPage.sort((a, b) => (a.commit > b.commit ? -1 : 1))[0]!.page) + 1) * 4096
}

/** All files except LMDB's lock files, which contain no data. */
function contents(path: string): Map<string, string> {
  const names = readdirSync(path).filter((name) => !name.includes('lock'))
  return new Map(names.map((name) => [name, readFileSync(join(path, name), 'latin1')]))
}

async function expectRefusal(reason: string, sentence: RegExp): Promise<void> {
  const before = contents(directory.path)
  await expect(openLmdb(directory.path)).rejects.toMatchObject({
    name: 'StorageError',
    reason,
    message: expect.stringMatching(sentence),
  })
  expect(contents(directory.path)).toEqual(before)
}

describe('a data directory', () => {
  it('is created if it is missing', async () => {
    const path = join(directory.path, 'a', 'b')
    const storage = await openLmdb(path)
    storage.commit({ meta: META })
    await storage.close()
    expect(readdirSync(path)).toContain('pocketchain.mdb')
  })

  it('is not changed if it holds other files', async () => {
    writeFileSync(join(directory.path, 'thesis.txt'), 'words')
    await expectRefusal('foreign', /holds other files \(thesis\.txt\) and no chain; choose an empty or a new directory with --data/)
    expect(readdirSync(directory.path)).toEqual(['thesis.txt'])
  })

  it('may hold other files beside a chain', async () => {
    await fill()
    writeFileSync(join(directory.path, 'notes.txt'), 'mine')
    const storage = await openLmdb(directory.path)
    expect(storage.height).toBe(3)
    await storage.close()
  })

  it('is used on a fresh disk, and after an interrupted start', async () => {
    mkdirSync(join(directory.path, 'lost+found'))
    writeFileSync(file, '')
    writeFileSync(join(directory.path, 'pocketchain.open1'), 'half an ent')
    const storage = await openLmdb(directory.path)
    expect(storage.openBlockRecord).toBeNull()
    await storage.close()
  })

  it('is rejected if a newer version wrote it', async () => {
    await fill({ meta: { ...META, format: STORAGE_FORMAT + 1 } })
    await expectRefusal('newer-format', /written by a newer pocketchain \(format 3, this one reads up to 2\); use that version/)
  })

  it.each([
    ['to half', (size: number) => Math.floor(size / 2)],
    ['by a byte', (size: number) => size - 1],
    ['to two pages', () => 8192],
    ['to a page', () => 4096],
    ['to a few bytes', () => 100],
  ])('is rejected when its file was cut %s', async (_, cut) => {
    await fill()
    expect(cut(dataBytes())).toBeLessThan(statSync(file).size)
    truncateSync(file, cut(dataBytes()))
    await expectRefusal('truncated', /pocketchain\.mdb ends after \d+ bytes and should have .*; restore it from a copy, or use another/)
  })

  it.each([
    ['a text', 'Once upon a time. '.repeat(1000)],
    ['zeros', '\0'.repeat(100_000)],
  ])('is rejected when its file is %s', async (_, content) => {
    writeFileSync(file, content)
    await expectRefusal('corrupt', /pocketchain\.mdb is not a chain of pocketchain: .*; restore it from a copy/)
  })

  it('is rejected if one of its meta pages was overwritten', async () => {
    await fill()
    const whole = readFileSync(file)
    for (const at of [18, 24, 28, 48, 4096 + 18, 4096 + 24, 4096 + 28]) {
      const damaged = Buffer.from(whole)
      damaged.fill(0x11, at, at + 2)
      writeFileSync(file, damaged)
      await expectRefusal('corrupt', /is not a chain of pocketchain/)
    }
    writeFileSync(file, whole)
    const storage = await openLmdb(directory.path)
    expect(storage.height).toBe(3)
    await storage.close()
  })

  it.each(['pocketchain.lock', 'pocketchain.lock-lock', 'pocketchain.mdb-lock', 'pocketchain.mdb', 'pocketchain.open1'])(
    'is rejected when there is a folder %s',
    async (name) => {
      mkdirSync(join(directory.path, name))
      await expect(openLmdb(directory.path)).rejects.toMatchObject({
        reason: 'unreadable',
        message: expect.stringContaining(`${name} is not a file`),
      })
    },
  )

  it('is created with the directories above it', async () => {
    const path = join(directory.path, 'a', 'b')
    const storage = await openLmdb(path)
    await storage.close()
    expect(readdirSync(path)).toContain('pocketchain.mdb')
  })

  it.each([
    ['file', 'file is not a directory; choose another one with --data, nothing was changed'],
    [join('file', 'below'), 'ENOTDIR'],
  ])('is rejected where it is or lies below a file: %s', async (name, message) => {
    writeFileSync(join(directory.path, 'file'), 'text')
    const path = join(directory.path, name)
    await expect(openLmdb(path)).rejects.toMatchObject({ reason: 'unreadable', message: expect.stringContaining(message) })
    expect(readFileSync(join(directory.path, 'file'), 'utf8')).toBe('text')
  })

  it.skipIf(!existsSync('/proc/self'))('is rejected where no directory can be created', async () => {
    await expect(openLmdb('/proc/pocketchain/data')).rejects.toMatchObject({ reason: 'unreadable' })
  })

  it('is rejected if its lock file is another file', async () => {
    await fill()
    writeFileSync(join(directory.path, 'pocketchain.lock'), 'something '.repeat(1000))
    await expectRefusal('corrupt', /pocketchain\.lock is not/)
  })

  it('accepts any content of the lock tables', async () => {
    await fill()
    for (const content of ['', 'x', 'garbage '.repeat(10_000)]) {
      for (const name of ['pocketchain.lock-lock', 'pocketchain.mdb-lock']) writeFileSync(join(directory.path, name), content)
      const storage = await openLmdb(directory.path)
      expect(storage.height).toBe(3)
      await storage.close()
    }
  })

  it('is rejected if its metadata is invalid', async () => {
    await fill()
    const damaged = readFileSync(file)
    // in every page that holds it
    for (let at = damaged.indexOf('{"format"'); at >= 0; at = damaged.indexOf('{"format"', at + 1)) damaged.write('{"f?r???"', at)
    writeFileSync(file, damaged)
    await expectRefusal('corrupt', /restore it from a copy/)
  })

  it('returns no damaged state, code, change or record of the open block', async () => {
    const owner = address(1)
    const code = bytes(7, 500)
    const storage = await openLmdb(directory.path)
    const slots = (value: bigint) => writes([[owner, { ...account(0x1111_2222_3333n), codeHash: hash(9) }]], [[owner, [[hash(1), value]]]])
    storage.commit({
      meta: META,
      blocks: [{ number: 0, record: bytes(0, 10), writes: { ...slots(0x5555_6666_7777n), codes: new Map([[hash(9), code]]) } }],
    })
    storage.commit({
      blocks: [{ number: 1, record: bytes(1, 10), writes: slots(0x5555_6666_8888n) }],
      openBlockRecord: Buffer.from('an open block'),
    })
    await storage.close()
    const whole = readFileSync(file)
    const reads: readonly [Uint8Array | string, (opened: StorageBackend) => unknown][] = [
      [Buffer.from('111122223333', 'hex'), (opened) => opened.state!.at(1).account(owner)],
      [Buffer.from('111122223333', 'hex'), (opened) => [...opened.state!.whole()]],
      [Buffer.from('555566667777', 'hex'), (opened) => opened.state!.at(0).storage(owner, hash(1))],
      [Buffer.from('555566667777', 'hex'), (opened) => opened.state!.writesBack(0)],
      [Buffer.from('555566668888', 'hex'), (opened) => opened.state!.at(0).storage(owner, hash(1))],
      [code, (opened) => opened.state!.at(1).code(hash(9))],
      ['an open block', (opened) => opened.openBlockRecord],
      ['"height":1', (opened) => opened.height],
    ]
    for (const [pattern, read] of reads) {
      const damaged = Buffer.from(whole)
      for (let at = damaged.indexOf(pattern); at >= 0; at = damaged.indexOf(pattern, at + 1)) damaged[at + pattern.length - 1]! ^= 4
      expect(damaged.equals(whole)).toBe(false)
      writeFileSync(file, damaged)
      const openAndRead = async () => {
        const opened = await openLmdb(directory.path)
        try {
          read(opened)
        } finally {
          await opened.close()
        }
      }
      await expect(openAndRead(), String(read)).rejects.toMatchObject({ name: 'StorageError', reason: 'corrupt' })
    }
  })

  it('is never shorter than its last page, regardless of freed pages', async () => {
    const storage = await openLmdb(directory.path)
    for (let i = 0; i < 60; i++) {
      storage.records.transaction(() => {
        storage.records.put('large', bytes(i, 200_000 + i * 10_000))
        for (let j = 0; j < 50; j++) storage.records.put(`small ${j}`, bytes(j, 1_000))
        storage.records.put('large', null)
        if (i % 2 === 0) for (let j = 0; j < 50; j++) storage.records.put(`small ${j}`, null)
      })
      expect(statSync(file).size).toBeGreaterThanOrEqual(dataBytes())
    }
    expect(storage.sizeBytes()).toBeLessThan(FILE_RESERVE_BYTES / 4)
    await storage.close()
  })

  it('can be copied while it is closed', async () => {
    await fill()
    const copy = join(directory.path, 'copy')
    mkdirSync(copy)
    for (const name of readdirSync(directory.path)) if (name.startsWith('pocketchain')) cpSync(join(directory.path, name), join(copy, name))
    const [storage, other] = [await openLmdb(directory.path), await openLmdb(copy)]
    expect([storage.height, other.height]).toEqual([3, 3])
    await storage.close()
    await other.close()
  })
})

/** Root may write everywhere. */
describe('a closed data directory', () => {
  it('refuses writes, and changes no file that was opened after it', async () => {
    const storage = await openLmdb(directory.path)
    storage.commit({ meta: META, blocks: [{ number: 0, record: bytes(0, 100), writes: writes() }] })
    storage.writeOpenBlockRecord(bytes(1, 50))
    const before = contents(directory.path)
    await storage.close()
    const path = join(directory.path, 'foreign')
    writeFileSync(path, 'foreign')
    const descriptors = Array.from({ length: 16 }, () => openSync(path, 'r+'))
    try {
      expect(() => storage.writeOpenBlockRecord(bytes(2, 50))).toThrow('closed')
      expect(() => storage.commit({ openBlockRecord: null })).toThrow('closed')
      expect(contents(directory.path)).toEqual(new Map([...before, ['foreign', 'foreign']]))
    } finally {
      for (const descriptor of descriptors) closeSync(descriptor)
    }
  })
})

describe.skipIf(process.getuid?.() === 0)('a data directory without permission', () => {
  it('is rejected', async () => {
    await fill()
    for (const name of readdirSync(directory.path)) {
      chmodSync(join(directory.path, name), 0o444)
      await expectRefusal('unreadable', /permission/i)
      chmodSync(join(directory.path, name), 0o644)
    }
    chmodSync(directory.path, 0o555)
    await expectRefusal('unreadable', /permission/i)
    chmodSync(directory.path, 0o755)
  })
})

it('is rejected if it is a file', async () => {
  const path = join(directory.path, 'file')
  writeFileSync(path, 'words')
  await expect(openLmdb(path)).rejects.toMatchObject({ reason: 'unreadable', message: expect.stringContaining(path) })
  expect(readFileSync(path, 'utf8')).toBe('words')
})

const CAN_MOUNT = canMount()

function canMount(): boolean {
  const place = scratch()
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', place.path])
  if (status === 0) spawnSync('umount', [place.path])
  place.remove()
  return status === 0
}

describe.skipIf(!CAN_MOUNT)('a full disk', () => {
  beforeEach(() => {
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', directory.path])
  })

  afterEach(() => {
    spawnSync('umount', [directory.path])
  })

  it('rejects a whole commit, and applies it once there is room', async () => {
    const storage = await openLmdb(directory.path)
    storage.commit({ meta: META, blocks: [{ number: 0, record: bytes(0, 100), writes: writes() }] })
    const full = () => {
      for (;;)
        storage.commit({
          blocks: [{ number: storage.height + 1, record: bytes(storage.height + 1, 300_000), writes: writes() }],
          openBlockRecord: bytes(1, 9),
        })
    }
    expect(full).toThrow(
      expect.objectContaining({
        name: 'StorageError',
        reason: 'full',
        message: expect.stringMatching(/no room left for .*make room and try again/),
      }),
    )
    const { height } = storage
    expect(height).toBeGreaterThan(5)
    for (let i = 0; i < 3; i++) expect(full).toThrow(expect.objectContaining({ reason: 'full' }))
    expect(storage.height).toBe(height)
    const write = () => {
      for (let i = 0; i < 100; i++) storage.writeOpenBlockRecord(bytes(i, 100_000 * i))
    }
    expect(write).toThrow(expect.objectContaining({ reason: 'full' }))
    expect(storage.block(height + 1)).toBeNull()
    for (let number = 1; number <= height; number++) expect(Buffer.compare(storage.block(number)!, bytes(number, 300_000))).toBe(0)
    spawnSync('mount', ['-o', 'remount,size=20m', directory.path])
    storage.commit({ blocks: [{ number: height + 1, record: bytes(1, 300_000), writes: writes() }] })
    await storage.close()
    const again = await openLmdb(directory.path)
    expect(again.height).toBe(height + 1)
    await again.close()
  })

  it('is found before a transaction, and only as much as a change needs', async () => {
    const storage = await openLmdb(directory.path)
    storage.commit({ meta: META, blocks: [{ number: 0, record: bytes(0, 100), writes: writes() }] })
    const size = () => statSync(join(directory.path, 'pocketchain.mdb')).blocks
    const before = size()
    const large = { blocks: [{ number: 1, record: bytes(1, 4_000_000), writes: writes() }] }
    expect(() => storage.commit(large)).toThrow(/no room left for .*bytes are free and the change can take \d{7}.*make room and try again/)
    expect(size()).toBe(before)
    storage.commit({ blocks: [{ number: 1, record: bytes(1, 100_000), writes: writes() }] })
    await storage.close()
  })

  it('is rejected at start if there is no room', async () => {
    const hog = openSync(join(directory.path, 'pocketchain.hog'), 'w')
    try {
      for (;;) writeSync(hog, bytes(1, 100_000))
    } catch {
      closeSync(hog)
    }
    await expect(openLmdb(directory.path)).rejects.toMatchObject({ name: 'StorageError', reason: 'full' })
  })
})

const CAN_LIMIT = spawnSync('prlimit', ['--version']).status === 0

it.skipIf(!CAN_LIMIT)('stays usable when its file cannot grow', async () => {
  const program = compile('src/store/storage/writer.fixture.ts')
  const running = program.start('fill', directory.path)
  // the soft limit, which can be raised again
  const limit = (size: string) => spawnSync('prlimit', [`--pid=${running.process.pid}`, `--fsize=${size}:`])
  try {
    await running.waitForOutput('open')
    limit('9000000')
    expect(await running.waitForOutput('full')).toMatch(/^full full unchanged \d+$/)
    limit('unlimited')
    running.process.stdin.end('go on\n')
    await running.waitForOutput('again')
    expect(await running.ended).toMatchObject({ code: 0 })
  } finally {
    running.process.kill('SIGKILL')
    await running.ended
    program.remove()
  }
})
