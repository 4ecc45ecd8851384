import { Address, Hash } from '../eth/index.ts'
import type { Log } from '../eth/index.ts'

/** Where eth_simulateV1 puts the logs of plain ether, and the event they are dressed as (ERC-20 Transfer). */
const ETHER = Address.from('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')
const TRANSFER = Hash.from('0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef')

/** `to` null: the contract that the frame creates */
interface Transfer {
  readonly from: Address
  to: Address | null
  readonly value: bigint
}

/** A LOG opcode's place among the transfers; the log itself is what the interpreter emitted. */
const EMITTED = 'emitted'
type Entry = Transfer | typeof EMITTED

/** Puts a log for each movement of ether between the logs that contracts emitted, in the order in which both happened. */
export class TransferRecorder {
  /** one list per open frame; the first is what remains */
  readonly #frames: Entry[][] = [[]]

  enter(): void {
    this.#frames.push([])
  }

  transfer(from: Address, to: Address | null, value: bigint): void {
    this.#frames.at(-1)?.push({ from, to, value })
  }

  log(): void {
    this.#frames.at(-1)?.push(EMITTED)
  }

  /** A frame that failed leaves nothing behind. */
  leave(success: boolean, created: Address | null): void {
    const entries = this.#frames.pop() ?? []
    if (!success) return
    for (const entry of entries) if (entry !== EMITTED) entry.to ??= created
    this.#frames.at(-1)?.push(...entries)
  }

  merge(emitted: readonly Log[]): Log[] {
    const rest = emitted[Symbol.iterator]()
    const merged: Log[] = []
    for (const entry of this.#frames[0] ?? []) {
      const log = entry === EMITTED ? rest.next().value : transferLog(entry)
      if (log !== undefined) merged.push(log)
    }
    return merged
  }
}

function transferLog({ from, to, value }: Transfer): Log {
  const topics = [TRANSFER, asWord(from), asWord(to ?? Address.zero)]
  return { address: ETHER, topics, data: Hash.toBytes(Hash.fromBigint(value)) }
}

function asWord(address: Address): Hash {
  return Hash.fromBigint(Address.toBigint(address))
}
