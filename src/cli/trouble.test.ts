import { expect, test } from 'vitest'
import { StorageError } from '../store/index.ts'
import { troubleTeller } from './trouble.ts'

test('a full disk is told in words, and again only after a while', () => {
  const lines: string[] = []
  let nowMs = 5
  const trouble = troubleTeller(
    (line) => lines.push(line),
    () => nowMs,
  )
  const full = new StorageError('full', 'no room left for /there: make room and try again')
  for (; nowMs < 30_000; nowMs += 200) trouble(full)
  expect(lines).toEqual(['nothing can be sealed: no room left for /there: make room and try again; the node lives on and tries again'])
  nowMs = 30_005
  trouble(full)
  expect(lines).toHaveLength(2)
  trouble(new StorageError('unreadable', 'cannot use /there: gone'))
  expect(lines[2]).toContain('cannot use /there: gone')
})

test('a bug is told each time, with where it is', () => {
  const lines: string[] = []
  const trouble = troubleTeller((line) => lines.push(line))
  const bug = new TypeError('x is not a function')
  trouble(bug)
  trouble(bug)
  trouble('words')
  expect(lines).toEqual([
    `internal error, the node lives on: ${bug.stack}`,
    `internal error, the node lives on: ${bug.stack}`,
    'internal error, the node lives on: words',
  ])
})
