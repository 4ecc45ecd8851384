import type { Hash } from '../../eth/index.ts'
import type { ConsoleCalls, Executed, Outcome } from '../../evm/index.ts'
import { NOTE_OUTPUT_BYTES, NOTES_BYTES } from '../limits.ts'

/** Facts about an execution that its receipt lacks. */
export interface ExecutionNote {
  readonly outcome: Outcome
  /** revert data, at most NOTE_OUTPUT_BYTES of it; empty unless the outcome is a revert */
  readonly revertData: Uint8Array
  /** calls to the console address; null: none */
  readonly console: ConsoleCalls | null
}

/**
 * Notes about the transactions that failed or called the console address, by hash, for the terminal log. The block builder records them, and the log
 * takes the note of each transaction that it prints. The oldest notes are dropped beyond NOTES_BYTES.
 */
export class ExecutionNotes {
  /** in the order of their recording */
  readonly #notes = new Map<Hash, ExecutionNote>()
  #sizeBytes = 0

  /** Replaces the note of an earlier execution of the transaction. Succeeding transactions without console calls have none. */
  record(hash: Hash, { outcome, output, console }: Executed): void {
    this.take(hash)
    if (outcome.kind === 'success' && console === null) return
    const revertData = outcome.kind === 'revert' ? output.slice(0, NOTE_OUTPUT_BYTES) : NO_DATA // a copy: a view would keep the whole output
    const note: ExecutionNote = { outcome, revertData, console }
    this.#notes.set(hash, note)
    this.#sizeBytes += sizeOf(note)
    for (const [oldest] of this.#notes) {
      if (this.#sizeBytes <= NOTES_BYTES) break
      this.take(oldest)
    }
  }

  /** Removes and returns the note of a transaction; null: it succeeded without console calls, or the note was dropped. */
  take(hash: Hash): ExecutionNote | null {
    const note = this.#notes.get(hash)
    if (note === undefined) return null
    this.#notes.delete(hash)
    this.#sizeBytes -= sizeOf(note)
    return note
  }
}

const NO_DATA = new Uint8Array()

/** Map entry and objects of a note. */
const NOTE_BYTES = 300

function sizeOf({ revertData, console }: ExecutionNote): number {
  return (console?.inputs ?? []).reduce((sum, { length }) => sum + length, NOTE_BYTES + revertData.length)
}
