import type { TransactionLocation, View } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { JsonText } from '../texts.ts'

/**
 * A page of the transactions of an address, the newest first: `size` of them and the rest of the last block, so that the next page begins with
 * another block. `firstPage`: nothing is newer; `lastPage`: nothing is older.
 */
interface Page {
  readonly places: readonly TransactionLocation[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

/** Returns the page below `block`; 0: the newest one. */
export function pageBefore(view: View, address: Address, block: number, size: number): JsonText {
  const end = block === 0 ? Infinity : block
  const { places, isLast } = taken(view.transactionsBefore(address, end), size)
  return pageJson(view, { places, firstPage: end === Infinity || isNone(view.transactionsFrom(address, end)), lastPage: isLast })
}

/** Returns the page directly above `block`; 0: the oldest one. */
export function pageAfter(view: View, address: Address, block: number, size: number): JsonText {
  const start = block === 0 ? 0 : block + 1
  const { places, isLast } = taken(view.transactionsFrom(address, start), size)
  const lastPage = start === 0 || isNone(view.transactionsBefore(address, start))
  return pageJson(view, { places: places.reverse(), firstPage: isLast, lastPage })
}

function taken(all: Iterable<TransactionLocation>, size: number): { readonly places: TransactionLocation[]; readonly isLast: boolean } {
  const places: TransactionLocation[] = []
  for (const place of all) {
    if (places.length >= size && places.at(-1)?.number !== place.number) return { places, isLast: false }
    places.push(place)
  }
  return { places, isLast: true }
}

function isNone(places: Iterable<TransactionLocation>): boolean {
  for (const _ of places) return false
  return true
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
