import type { Block } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'

/** The block that the pool's executable transactions would form on the head. Its transactions are not promised. */
export interface PoolBlock {
  readonly block: Block
  /** From the state after the head to the state after the block. */
  readonly writes: WriteSet
}
