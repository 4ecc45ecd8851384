import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { RecordLog } from './recordlog.ts'
import { SpillFile } from './spillfile.ts'

/** Small chunks, of which two stay in memory. */
function smallLog(openFile?: NonNullable<ConstructorParameters<typeof RecordLog>[0]>['openFile']): RecordLog {
  return new RecordLog({ chunkBytes: 64, memoryChunks: 2, ...(openFile === undefined ? {} : { openFile }) })
}

function recordOf(seed: number, size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => seed * 31 + i * 7)
}

it('returns what was appended after any appends, truncations and reads', () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('push' as const), value: fc.nat(200) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('truncate' as const), value: fc.nat(60) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('read' as const), value: fc.nat(60) }) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const log = smallLog()
      const model: Uint8Array[] = []
      const handedOut: { readonly record: Uint8Array; readonly copy: Uint8Array }[] = []
      for (const [i, { kind, value }] of steps.entries()) {
        if (kind === 'push') {
          const record = recordOf(i, value)
          log.push(record)
          model.push(record)
        } else if (kind === 'truncate') {
          log.truncate(value)
          model.splice(value)
        } else {
          const record = log.at(value)
          expect(record).toEqual(model[value] ?? null)
          if (record !== null) handedOut.push({ record, copy: record.slice() })
        }
      }
      expect(log.count).toBe(model.length)
      expect(log.sizeBytes).toBe(model.reduce((sum, { length }) => sum + length, 0))
      model.forEach((record, i) => expect(log.at(i)).toEqual(record))
      for (const { record, copy } of handedOut) expect(record).toEqual(copy)
      log.close()
    }),
  )
})

it('moves all but the newest chunks to the file', () => {
  const offsets: number[] = []
  const file = SpillFile.open()!
  const log = smallLog(() => ({
    write: (bytes: Uint8Array, offset: number) => {
      offsets.push(offset)
      return file.write(bytes, offset)
    },
    read: file.read.bind(file),
    close: file.close.bind(file),
  }))
  for (let i = 0; i < 10; i++) log.push(recordOf(i, 40))
  expect(offsets).toEqual([0, 64, 128, 192, 256])
  for (let i = 9; i >= 0; i--) expect(log.at(i)).toEqual(recordOf(i, 40))
  log.close()
})

it('keeps the records in memory when there is no file, and when the disk is full', () => {
  const full = { write: () => false, read: () => undefined, close: () => undefined }
  for (const openFile of [() => null, () => full]) {
    const log = smallLog(openFile)
    for (let i = 0; i < 20; i++) log.push(recordOf(i, 40))
    for (let i = 0; i < 20; i++) expect(log.at(i)).toEqual(recordOf(i, 40))
    log.close()
  }
})
