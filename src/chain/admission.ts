import type { Transaction } from '../eth/index.ts'
import { rulesAt } from '../evm/index.ts'
import type { ChainConfig } from '../evm/index.ts'
import { SYSTEM_DEPOSIT_GAS } from './deposits.ts'
import type { Knobs } from './knobs.ts'
import type { Mempool } from './mempool.ts'
import type { SealedChain } from './sealed.ts'
import type { ChainTime } from './time.ts'
import { assertEnters } from './validation.ts'

export interface AdmissionParts {
  readonly config: ChainConfig
  readonly sealed: SealedChain
  readonly pool: Mempool
  readonly time: ChainTime
  readonly knobs: Knobs
}

/** The door of the pool: measures what is sent against the chain as it stands. */
export class Admission {
  readonly #parts: AdmissionParts
  /** wei; nothing that offers less enters from now on. It is the pool's and no block's, so a snapshot does not hold it. */
  minGasPrice = 0n

  constructor(parts: AdmissionParts) {
    this.#parts = parts
  }

  /** Puts a transaction into the pool. Throws PoolError; the pool is then as before. */
  admit(tx: Transaction): void {
    const { config, sealed, pool, time, knobs } = this.#parts
    const { history, head } = sealed
    pool.assertNew(tx)
    assertEnters(tx, {
      config,
      rules: rulesAt(config, head.header.number + 1, Math.max(time.nowSeconds(), head.header.timestamp + 1)),
      state: history.at(history.version),
      gasLimit: knobs.gasLimit - (config.op === null ? 0n : SYSTEM_DEPOSIT_GAS),
      minGasPrice: this.minGasPrice,
    })
    pool.add(tx)
  }
}
