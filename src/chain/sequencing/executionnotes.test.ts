import { expect, it } from 'vitest'
import { Hash } from '../../eth/index.ts'
import type { Executed } from '../../evm/index.ts'
import { NOTES_BYTES, NOTE_OUTPUT_BYTES } from '../limits.ts'
import { ExecutionNotes } from './executionnotes.ts'

const hashOf = (index: number) => Hash.fromBigint(BigInt(index))
const executed = (changes: Partial<Executed>): Executed => ({
  outcome: { kind: 'success' },
  output: new Uint8Array(),
  logs: [],
  gasUsed: 0n,
  gasUsedBeforeRefund: 0n,
  effectiveGasPrice: 0n,
  contractAddress: null,
  l1: null,
  blobGasUsed: null,
  blobGasPrice: null,
  depositNonce: null,
  accessList: null,
  console: null,
  ...changes,
})
const reverted = (sizeBytes: number) => executed({ outcome: { kind: 'revert' }, output: new Uint8Array(sizeBytes) })

it('keeps failures and console calls until they are taken', () => {
  const notes = new ExecutionNotes()
  notes.record(hashOf(1), executed({ output: new Uint8Array(9) }))
  notes.record(hashOf(2), reverted(5))
  const console = { inputs: [new Uint8Array(3)], dropped: 0 }
  notes.record(hashOf(3), executed({ console, output: new Uint8Array(9) }))
  expect(notes.take(hashOf(1))).toBeNull()
  expect(notes.take(hashOf(2))).toEqual({ outcome: { kind: 'revert' }, revertData: new Uint8Array(5), console: null })
  expect(notes.take(hashOf(2))).toBeNull()
  expect(notes.take(hashOf(3))).toEqual({ outcome: { kind: 'success' }, revertData: new Uint8Array(), console })
})

it('replaces the note of an earlier execution', () => {
  const notes = new ExecutionNotes()
  notes.record(hashOf(1), reverted(5))
  notes.record(hashOf(1), executed({}))
  expect(notes.take(hashOf(1))).toBeNull()
})

it('drops the oldest notes beyond its size, and the end of long revert data', () => {
  const notes = new ExecutionNotes()
  const count = Math.ceil(NOTES_BYTES / NOTE_OUTPUT_BYTES)
  for (let i = 0; i < count; i++) notes.record(hashOf(i), reverted(NOTE_OUTPUT_BYTES + 7))
  expect(notes.take(hashOf(0))).toBeNull()
  expect(notes.take(hashOf(count - 1))?.revertData).toHaveLength(NOTE_OUTPUT_BYTES)
})
