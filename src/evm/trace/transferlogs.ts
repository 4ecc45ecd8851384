import { Address, Hash } from '../../eth/index.ts'
import type { Log } from '../../eth/index.ts'
import type { CallKind, Entered, Left, Tracer } from './tracer.ts'

/** Where eth_simulateV1 puts the logs of plain ether (ERC-7528), and the event they are dressed as (ERC-20 Transfer). */
const ETHER = Address.from('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')
const TRANSFER = Hash.from('0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef')

/** These carry a value and move nothing. */
const UNMOVING: ReadonlySet<CallKind> = new Set(['DELEGATECALL', 'CALLCODE'])

/** Puts a log for each movement of ether between the logs that contracts emit, in the order in which both happened. */
export class TransferLogTracer implements Tracer {
  readonly #logs: Log[] = []
  /** how many logs stood when each open frame began */
  readonly #marks: number[] = []

  enter({ kind, from, to, value }: Entered): void {
    this.#marks.push(this.#logs.length)
    if (value !== null && value > 0n && !UNMOVING.has(kind)) this.#logs.push(transferLog(from, to, value))
  }

  /** A frame that failed leaves nothing behind. */
  leave({ reverted }: Left): void {
    const mark = this.#marks.pop()
    if (reverted && mark !== undefined) this.#logs.length = mark
  }

  log(log: Log): void {
    this.#logs.push(log)
  }

  logs(): readonly Log[] {
    return this.#logs
  }
}

function transferLog(from: Address, to: Address, value: bigint): Log {
  return { address: ETHER, topics: [TRANSFER, asWord(from), asWord(to)], data: Hash.toBytes(Hash.fromBigint(value)) }
}

function asWord(address: Address): Hash {
  return Hash.fromBigint(Address.toBigint(address))
}
