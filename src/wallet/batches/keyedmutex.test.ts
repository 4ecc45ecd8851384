import { expect, it } from 'vitest'
import { KeyedMutex } from './keyedmutex.ts'

it('runs the work of one key in call order, also after a failure, and other keys concurrently', async () => {
  const mutex = new KeyedMutex()
  const log: string[] = []
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const first = mutex.runExclusive('a', async () => {
    await held
    log.push('first')
    throw new Error('first failed')
  })
  const second = mutex.runExclusive('a', async () => void log.push('second'))
  await mutex.runExclusive('b', async () => void log.push('other key'))
  release()
  await expect(first).rejects.toThrow('first failed')
  await second
  expect(log).toEqual(['other key', 'first', 'second'])
})

it('a reservation delays later work of its key until it is released', async () => {
  const mutex = new KeyedMutex()
  const log: string[] = []
  const reservation = mutex.reserve('a')
  const later = mutex.runExclusive('a', async () => void log.push('later'))
  await reservation.acquired
  log.push('acquired')
  reservation.release()
  await later
  expect(log).toEqual(['acquired', 'later'])
})
