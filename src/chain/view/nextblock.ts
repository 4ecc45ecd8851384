import type { Header } from '../../eth/index.ts'
import { TrackedOverlay } from '../../evm/index.ts'
import type { StateReader, WriteSet } from '../../evm/index.ts'

/** What is fixed of a block before its first transaction of a user. */
export interface NextBlock {
  readonly header: Header
  /** Returns what its system calls and deposits write to the state `version` of its parent. Throws MissingState. */
  readonly writesOn: (version: number) => WriteSet
}

/** The state on which the first transaction of a user runs in the next block. */
export class NextState extends TrackedOverlay {
  readonly identity = {}

  constructor(head: StateReader, writes: WriteSet) {
    super(head)
    this.apply(writes)
  }
}
