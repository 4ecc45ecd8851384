import { expect, test } from 'vitest'
import { Mutex } from './mutex.ts'

test('one at a time, in the order asked for, whatever becomes of each', async () => {
  const turns = new Mutex()
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
    turns.runExclusive(work('a')),
    turns.runExclusive(work('b', true)),
    turns.runExclusive(work('c')),
  ])
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('idle waits for what is under way', async () => {
  const turns = new Mutex()
  let done = false
  void turns.runExclusive(async () => {
    await Promise.resolve()
    done = true
  })
  await turns.idle()
  expect(done).toBe(true)
})
