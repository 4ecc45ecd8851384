import { open } from 'lmdb'
import { afterEach, expect, test } from 'vitest'
import { StorageError } from './backend.ts'
import { Environment } from './environment.ts'
import { join } from 'node:path'
import { scratch } from './backend.fixture.ts'

const KEY = Buffer.from('key')
/** LMDB's error for a list of free pages that it cannot write. Which transactions cause it is not known, so it is thrown here instead. */
const badTransaction = () =>
  Object.assign(new Error('MDB_BAD_TXN: reserved freelist had a data entry with zero-size, last id 1'), { code: -30_782 })

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** An environment whose next `failures` commits fail. */
function environment(failures: number) {
  const directory = scratch()
  let left = failures
  const failing = ((...args: Parameters<typeof open>) => {
    const root = open(...args)
    const commit = root.transactionSync.bind(root)
    root.transactionSync = (work, flags) =>
      commit(() => {
        const result = work()
        if (left-- > 0) throw badTransaction()
        return result
      }, flags)
    return root
  }) as typeof open
  const opened = new Environment(failing, join(directory.path, 'data.mdb'))
  ends.push(directory.remove, () => opened.close())
  let runs = 0
  const write = (text: string) =>
    opened.write(() => {
      opened.tables.records.putSync(KEY, Buffer.from(text))
      return ++runs
    })
  const read = () => opened.tables.records.getBinary(KEY)?.toString()
  return { write, read }
}

test('a commit that LMDB refuses for its free pages is tried once more', () => {
  const { write, read } = environment(1)
  expect(write('one')).toBe(2)
  expect(read()).toBe('one')
})

test('a commit that LMDB refuses twice is reported, writes nothing, and the next one succeeds', () => {
  const { write, read } = environment(2)
  expect(() => write('one')).toThrow(StorageError)
  expect(read()).toBeUndefined()
  expect(write('two')).toBe(3)
  expect(read()).toBe('two')
})
