import type { Transaction } from '../../eth/index.ts'
import { rulesAt } from '../../evm/index.ts'
import type { ChainConfig, Rules } from '../../evm/index.ts'
import { SYSTEM_DEPOSIT_GAS } from '../sequencing/deposits.ts'
import type { Knobs } from '../sequencing/testoverrides.ts'
import type { Mempool } from './mempool.ts'
import type { SealedChain } from '../view/sealedchain.ts'
import type { ChainTime } from '../sequencing/chaintime.ts'
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

  /** What a block leaves to one transaction: its limit less what its deposits may take. */
  get room(): bigint {
    const { config, knobs } = this.#parts
    return knobs.gasLimit - (config.op === null ? 0n : SYSTEM_DEPOSIT_GAS)
  }

  /** The most gas that a transaction may have in the next block: its room, and EIP-7825's cap. */
  get mostGas(): bigint {
    const cap = this.#rules().has('osaka') ? this.#parts.config.transactionGasCap : null
    return cap !== null && cap < this.room ? cap : this.room
  }

  /** Puts a transaction into the pool. Throws PoolError; the pool is then as before. */
  admit(tx: Transaction): void {
    const { config, sealed, pool } = this.#parts
    const { history } = sealed
    pool.assertNew(tx)
    assertEnters(tx, {
      config,
      rules: this.#rules(),
      state: history.at(history.version),
      gasLimit: this.room,
      minGasPrice: this.minGasPrice,
    })
    pool.add(tx)
  }

  /** of the next block */
  #rules(): Rules {
    const { config, sealed, time } = this.#parts
    const { number, timestamp } = sealed.head.header
    return rulesAt(config, number + 1, Math.max(time.nowSeconds(), timestamp + 1))
  }
}
