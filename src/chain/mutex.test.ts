import { expect, test } from 'vitest'
import { Turns } from './mutex.ts'

test('one at a time, in the order asked for, whatever becomes of each', async () => {
  const turns = new Turns()
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
  const results = await Promise.allSettled([turns.take(work('a')), turns.take(work('b', true)), turns.take(work('c'))])
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('idle waits for what is under way', async () => {
  const turns = new Turns()
  let done = false
  void turns.take(async () => {
    await Promise.resolve()
    done = true
  })
  await turns.idle()
  expect(done).toBe(true)
})
