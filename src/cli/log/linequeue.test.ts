import { expect, it } from 'vitest'
import { LineQueue } from './linequeue.ts'
import { WAITING_ENTRIES } from './limits.ts'

it('prints entries in order after it is opened, also if one takes long or fails', async () => {
  const printed: string[] = []
  const bugs: unknown[] = []
  const queue = new LineQueue(
    (text) => {
      printed.push(text)
      return null
    },
    (error) => bugs.push(error),
  )
  let resolve: (text: string) => void = () => undefined
  queue.push(() => 'a')
  expect(printed).toEqual([])
  queue.open()
  queue.push(() => new Promise((done) => (resolve = done)))
  queue.push(() => Promise.reject(new Error('failed')))
  queue.push(() => {
    throw new Error('thrown')
  })
  queue.push(() => '')
  const last = new Promise<void>((done) => {
    queue.push(() => {
      done()
      return 'd'
    })
  })
  expect(printed).toEqual(['a'])
  resolve('b')
  await last
  expect(printed).toEqual(['a', 'b', 'd'])
  expect(bugs).toEqual([new Error('failed'), new Error('thrown')])
})

it('drops entries beyond its limit and prints their number', () => {
  const printed: string[] = []
  const queue = new LineQueue(
    (text) => {
      printed.push(text)
      return null
    },
    () => undefined,
  )
  for (let i = 0; i < WAITING_ENTRIES + 7; i++) queue.push(() => String(i))
  queue.open()
  expect(printed).toHaveLength(WAITING_ENTRIES + 1)
  expect(printed.at(-1)).toMatch(/^7 entries of the log were dropped/)
})

it('waits until the output accepts more, and drops entries beyond its limit meanwhile', async () => {
  const printed: string[] = []
  let drain: () => void = () => undefined
  const queue = new LineQueue(
    (text) => {
      printed.push(text)
      return text === 'full' ? new Promise((resolve) => (drain = resolve)) : null
    },
    () => undefined,
  )
  queue.open()
  queue.push(() => 'full')
  for (let i = 0; i < WAITING_ENTRIES + 7; i++) queue.push(() => String(i))
  expect(printed).toEqual(['full'])
  const last = new Promise<void>((done) => {
    drain()
    queueMicrotask(() => setImmediate(done))
  })
  await last
  expect(printed).toHaveLength(WAITING_ENTRIES + 2)
  expect(printed.at(-1)).toMatch(/^7 entries of the log were dropped/)
})
