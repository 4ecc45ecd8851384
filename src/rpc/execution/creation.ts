import { PrunedState } from '../../chain/index.ts'
import type { TransactionLocation, View } from '../../chain/index.ts'
import { EMPTY_CODE_HASH } from '../../eth/index.ts'
import type { Address, Block, Hash } from '../../eth/index.ts'
import type { Deadline, StateReader } from '../../evm/index.ts'
import { creatorOf } from './calllist.ts'
import { CREATION_CANDIDATES } from '../limits.ts'
import { withinBudget, withRun } from './tracing.ts'
import { blockAt } from '../blocks.ts'

/** The transaction that created a contract, and the account or contract that did it. */
interface Creation {
  readonly hash: Hash
  readonly creator: Address
}

/**
 * Returns null without a contract, or if no transaction created it. The index has transactions that create a contract directly; for others a binary
 * search over states finds the block, which is executed again. Throws PrunedState if the state of that block is pruned, and OutOfTime.
 */
export function creationOf(view: View, address: Address, deadline: Deadline): Creation | null {
  if (!hasCode(view.state(view.head), address)) return null
  return indexed(view, address) ?? traced(view, address, deadline)
}

export function hasCode(state: StateReader, address: Address): boolean {
  return (state.account(address)?.codeHash ?? EMPTY_CODE_HASH) !== EMPTY_CODE_HASH
}

function indexed(view: View, address: Address): Creation | null {
  let candidates = 0
  for (const place of view.transactionsFrom(address, 0)) {
    const { contractAddress, status, from, transactionHash } = receiptAt(view, place)
    if (contractAddress === address && status !== '0x0') return { hash: transactionHash, creator: from }
    if (++candidates === CREATION_CANDIDATES) break
  }
  return null
}

interface Shown {
  readonly transactionHash: Hash
  readonly from: Address
  readonly contractAddress: Address | null
  readonly status?: string
}

function receiptAt(view: View, place: TransactionLocation): Shown {
  return JSON.parse(Buffer.from(view.receiptJsonBytes(place)).toString('latin1')) as Shown // our own text
}

function traced(view: View, address: Address, deadline: Deadline): Creation | null {
  const block = firstWithCode(view, address)
  if (block.header.number === view.firstNumber) return null
  return withinBudget((budget) =>
    withRun(view, block, deadline, (run) => {
      for (const { hash } of block.transactions) {
        const creator = JSON.parse(run.trace(creatorOf(address), budget)) as Address | null // our own text
        if (creator !== null) return { hash, creator }
      }
      return null
    }),
  )
}

/** Returns the first block whose state has the code, or the first one whose state is kept. */
function firstWithCode(view: View, address: Address): Block {
  let [low, high] = [view.firstNumber, view.head.header.number]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (hadCode(view, address, middle)) high = middle
    else low = middle + 1
  }
  return blockAt(view, high)
}

/** False where the state is no longer kept. */
function hadCode(view: View, address: Address, number: number): boolean {
  try {
    return hasCode(view.state(blockAt(view, number)), address)
  } catch (error) {
    if (error instanceof PrunedState) return false
    throw error
  }
}
