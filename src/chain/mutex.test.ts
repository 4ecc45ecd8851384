import { expect, test } from 'vitest'
import { Mutex } from './mutex.ts'

test('runs one call at a time in call order, also after failures', async () => {
  const mutex = new Mutex()
  const log: string[] = []
  const work =
    (name: string, fails = false) =>
    async (): Promise<string> => {
      log.push(`${name} begins`)
      await Promise.resolve()
      log.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    }
  const results = await Promise.allSettled([
    mutex.runExclusive(work('a')),
    mutex.runExclusive(work('b', true)),
    mutex.runExclusive(work('c')),
  ])
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('idle resolves when all calls have settled', async () => {
  const mutex = new Mutex()
  let done = false
  void mutex.runExclusive(async () => {
    await Promise.resolve()
    done = true
  })
  await mutex.idle()
  expect(done).toBe(true)
})

test('refuses calls that wait and later ones, except exempt ones, until it is told otherwise', async () => {
  const mutex = new Mutex()
  const order: string[] = []
  const first = mutex.runExclusive(async () => {
    mutex.refuse(() => new Error('not now'))
    await Promise.resolve()
    order.push('first')
  })
  const waiting = mutex.runExclusive(() => order.push('waiting'))
  const exempt = mutex.runExclusive(() => order.push('exempt'), true)
  await first
  await expect(waiting).rejects.toThrow('not now')
  await exempt
  await expect(mutex.runExclusive(() => order.push('later'))).rejects.toThrow('not now')
  mutex.refuse(null)
  await mutex.runExclusive(() => order.push('again'))
  expect(order).toEqual(['first', 'exempt', 'again'])
})

test('when it is closed it runs the calls made before and exempt ones, and refuses later ones for good', async () => {
  const mutex = new Mutex()
  const order: string[] = []
  const before = mutex.runExclusive(() => order.push('before'))
  mutex.close(() => new Error('closed'))
  const after = mutex.runExclusive(() => order.push('after'))
  await mutex.runExclusive(() => order.push('exempt'), true)
  mutex.refuse(null)
  await before
  await expect(after).rejects.toThrow('closed')
  await expect(mutex.runExclusive(() => order.push('later'))).rejects.toThrow('closed')
  expect(order).toEqual(['before', 'exempt'])
})
