import { CONSOLE_BYTES_MAX, CONSOLE_CALLS_MAX } from './limits.ts'

/** Calls to the console address (`console.log` of Hardhat and Foundry) during one execution, in order, those of reverted frames included. */
export interface ConsoleCalls {
  /** the call data of each */
  readonly inputs: readonly Uint8Array[]
  /** calls beyond CONSOLE_CALLS or CONSOLE_BYTES, which are only counted */
  readonly dropped: number
}

/** Collects the console calls of one execution. */
export class ConsoleCollector implements ConsoleCalls {
  readonly inputs: Uint8Array[] = []
  dropped = 0
  #sizeBytes = 0

  /** `size` bytes at `at` are copied if there is room. */
  add(bytes: Uint8Array, at: number, size: number): void {
    this.#sizeBytes += size
    if (this.inputs.length < CONSOLE_CALLS_MAX && this.#sizeBytes <= CONSOLE_BYTES_MAX) this.inputs.push(bytes.slice(at, at + size))
    else this.dropped++
  }
}
