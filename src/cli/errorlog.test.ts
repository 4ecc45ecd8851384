import { expect, test } from 'vitest'
import { UpstreamError } from '../chain/index.ts'
import { StorageError } from '../store/index.ts'
import { createErrorLog } from './errorlog.ts'

test('a full disk is logged in one sentence, which is repeated after 30 s only', () => {
  const lines: string[] = []
  let nowMs = 5
  const onError = createErrorLog(
    (line) => lines.push(line),
    () => nowMs,
  )
  const full = new StorageError('full', 'no room left for /there: make room and try again')
  for (; nowMs < 30_000; nowMs += 200) onError(full)
  expect(lines).toEqual(['no block can be sealed: no room left for /there: make room and try again; the node continues and retries'])
  nowMs = 30_005
  onError(full)
  expect(lines).toHaveLength(2)
  onError(new StorageError('unreadable', 'cannot use /there: gone'))
  expect(lines[2]).toContain('cannot use /there: gone')
})

test('a failure of upstream is logged without a stack, since it is no bug', () => {
  const lines: string[] = []
  createErrorLog((line) => lines.push(line))(new UpstreamError('unreachable', 'transaction 0x12 is dropped: upstream did not answer'))
  expect(lines).toEqual(['transaction 0x12 is dropped: upstream did not answer'])
})

test('a bug is logged each time, with its stack', () => {
  const lines: string[] = []
  const onError = createErrorLog((line) => lines.push(line))
  const bug = new TypeError('x is not a function')
  onError(bug)
  onError(bug)
  onError('words')
  expect(lines).toEqual([
    `internal error, the node continues: ${bug.stack}`,
    `internal error, the node continues: ${bug.stack}`,
    'internal error, the node continues: words',
  ])
})
