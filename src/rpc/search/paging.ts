import type { TransactionLocation, View } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { JsonText } from '../texts.ts'
import type { TransactionSearch } from './search.ts'

/**
 * A page of the transactions of an address, the newest first: `size` of them and the rest of the last block, so that the next page begins with
 * another block. As in anvil, only the blocks of the page are searched: `firstPage` is true if it reaches the newest block, `lastPage` if it reaches
 * the oldest one, so a full page may be followed by an empty one.
 */
interface Page {
  readonly places: readonly TransactionLocation[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

/** Returns the page below `block`; 0: the newest one. */
export function pageBefore(search: TransactionSearch, address: Address, block: number, size: number): Promise<JsonText> {
  const startOf = ({ head }: View) => (block === 0 ? head.header.number : Math.min(block - 1, head.header.number))
  return search.find({
    address,
    size,
    pathOf: (view) => ({ start: startOf(view), end: oldestOf(view), direction: 'down' }),
    respond: (view, { places, reachesEnd }) =>
      pageJson(view, { places, firstPage: startOf(view) === view.head.header.number, lastPage: reachesEnd }),
  })
}

/** Returns the page directly above `block`; 0: the oldest one. */
export function pageAfter(search: TransactionSearch, address: Address, block: number, size: number): Promise<JsonText> {
  const startOf = (view: View) => Math.max(block + 1, oldestOf(view))
  return search.find({
    address,
    size,
    pathOf: (view) => ({ start: startOf(view), end: view.head.header.number, direction: 'up' }),
    respond: (view, { places, reachesEnd }) =>
      pageJson(view, { places: places.toReversed(), firstPage: reachesEnd, lastPage: startOf(view) === oldestOf(view) }),
  })
}

/** The first block with transactions of this chain: the genesis has none, and on a fork `forksearch.ts` joins those of upstream. */
function oldestOf(view: View): number {
  return view.firstNumber + 1
}

/** Concatenates the JSON of the store without decoding it. */
function pageJson(view: View, { places, firstPage, lastPage }: Page): JsonText {
  const transactions = places.map((place) => text(view.transactionJsonBytes(place)))
  const receipts = places.map((place) => timed(text(view.receiptJsonBytes(place)), view.timestampOf(place.number) ?? 0)) // they are there
  return new JsonText(
    `{"txs":[${transactions.join(',')}],"receipts":[${receipts.join(',')}],"firstPage":${firstPage},"lastPage":${lastPage}}`,
  )
}

/** A receipt with the time of its block. */
function timed(receipt: string, seconds: number): string {
  return `${receipt.slice(0, -1)},"timestamp":"${Hex.fromQuantity(seconds)}"}`
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1') // names and hex
}
