import { Address, Hash } from '../../eth/index.ts'
import type { Log } from '../../eth/index.ts'
import type { CallKind, FrameEntry, FrameExit, Tracer } from './tracer.ts'

/** Address of the logs for ether (ERC-7528) and their event (ERC-20 Transfer), as in eth_simulateV1. */
const ETHER = Address.from('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')
const TRANSFER = Hash.from('0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef')

/** These have a value but do not transfer it. */
const UNMOVING: ReadonlySet<CallKind> = new Set(['DELEGATECALL', 'CALLCODE'])

/** Inserts a log for each movement of ether between the logs of contracts, in execution order. */
export class TransferLogTracer implements Tracer {
  readonly #logs: Log[] = []
  /** log count at the start of each open frame */
  readonly #marks: number[] = []

  enter({ kind, from, to, value }: FrameEntry): void {
    this.#marks.push(this.#logs.length)
    if (value !== null && value > 0n && !UNMOVING.has(kind)) this.#logs.push(transferLog(from, to, value))
  }

  /** Drops the logs of a failed frame. */
  exit({ reverted }: FrameExit): void {
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
